import type { VNode } from 'preact';
import { el } from '../parts/element.ts';

/**
 * Characters that affect the display instead of being readable: control and format characters (bidirectional, zero-width), line
 * separators and lone surrogates. Tabs and line feeds lay a body out.
 */
const UNPRINTABLE = /(?![\n\t])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu;

/** Shows untrusted text: a character that would hide, reverse or move others is replaced by its code point, such as `U+202E`. */
export function visibleText(text: string): string | (string | VNode)[] {
  const parts: (string | VNode)[] = [];
  let shown = 0;
  for (const match of text.matchAll(UNPRINTABLE)) {
    const code = (match[0].codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0');
    parts.push(
      text.slice(shown, match.index),
      el('span', { class: 'unprintable', title: 'A character that cannot be seen' }, `U+${code}`),
    );
    shown = match.index + match[0].length;
  }
  return shown === 0 ? text : [...parts, text.slice(shown)];
}
