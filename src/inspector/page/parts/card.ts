import type { ComponentChildren, VNode } from 'preact';
import { el } from './element.ts';

/** A section of a view under a heading; `note` stands small beside it. */
export function card(heading: string, note: string | undefined, ...children: ComponentChildren[]): VNode {
  return el(
    'section',
    { class: 'card' },
    el('h3', null, heading, note !== undefined && el('small', null, note)),
    ...children,
  );
}
