import type { VNode } from 'preact';
import { useId } from 'preact/hooks';
import { headerMeaning } from '../../entries/header-meanings.ts';
import { el } from '../parts/element.ts';
import { visibleText } from './visible-text.ts';

/** The name of a header field, explained on hover and focus where its meaning is known. */
export function HeaderName({ name }: { readonly name: string }): VNode {
  const id = useId();
  const meaning = headerMeaning(name);
  if (meaning === undefined) return el('span', { class: 'header-name' }, visibleText(name));
  return el(
    'span',
    { class: 'header-name explained' },
    el('span', { class: 'header-term', tabIndex: 0, 'aria-describedby': id }, visibleText(name)),
    el('span', { class: 'header-meaning', role: 'tooltip', id }, meaning),
  );
}
