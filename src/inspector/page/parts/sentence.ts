import type { VNode } from 'preact';
import { el } from './element.ts';
import { visibleText } from '../entries/visible-text.ts';

/** An instant of RFC 3339 in UTC, a day, or a number with its unit: a line never ends within one. */
const WHOLE = /(\d{4}-\d\d-\d\dT[\d:.]+Z|\d{4}-\d\d-\d\d|\d[\d.,]{0,30} (?:%|ms|s|min|h|days?)(?![\w]))/;

/** A sentence about the gateway: instants are readable times of UTC, and figures keep their units on their line. */
export function sentence(text: string): (VNode | ReturnType<typeof visibleText>)[] {
  return text.split(WHOLE).map((piece, index) => {
    if (index % 2 === 0) return visibleText(piece);
    if (!piece.endsWith('Z')) return el('span', { class: 'nowrap' }, piece);
    const shown = `${piece.slice(0, 10)} ${piece.slice(11, 19)} UTC`;
    return el('time', { class: 'nowrap', dateTime: piece, title: piece }, shown);
  });
}

/** A text of code whose lines end between its words only, never after a `?` or `-` within one. */
export function unbrokenWords(text: string): (VNode | string)[] {
  return text
    .split(' ')
    .flatMap((word, index) => [
      ...(index === 0 ? [] : [' ']),
      el('span', { key: index, class: 'word' }, word),
    ]);
}
