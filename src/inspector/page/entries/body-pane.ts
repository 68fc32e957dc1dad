import type { VNode } from 'preact';
import { useMemo } from 'preact/hooks';
import type { BodyView, HeaderView } from '../../api.ts';
import { CodeLines } from './code-lines.ts';
import { classes, el, part } from '../parts/element.ts';
import { bytes } from '../parts/format.ts';
import { HeaderName } from './header-name.ts';
import { markedLines } from './marked-lines.ts';
import { visibleText } from './visible-text.ts';

/** A body as one side saw it: its values, its structure, or the reason that neither is available. */
export function BodyPane({ body, label }: { readonly body: BodyView; readonly label: string }): VNode {
  const lines = useMemo(() => markedLines(body.text ?? '', []), [body.text]);
  return el(
    'section',
    { class: 'body-pane' },
    el('h3', { class: 'pane-title' }, 'Body', el('small', null, bodyWords(body))),
    body.text === undefined
      ? body.note !== undefined && el('p', { class: 'empty' }, body.note)
      : part(CodeLines, { label, lines, marks: [], hueOf: () => 1 }),
  );
}

/** The headers of one side; each one that differs from the previous side is labelled. */
export function HeaderTable({ headers }: { readonly headers: readonly HeaderView[] }): VNode {
  if (headers.length === 0) return el('p', { class: 'empty' }, 'No headers.');
  return el(
    'table',
    { class: 'headers' },
    el(
      'thead',
      { class: 'sr-only' },
      el(
        'tr',
        null,
        el('th', { scope: 'col' }, 'Change'),
        el('th', { scope: 'col' }, 'Header'),
        el('th', { scope: 'col' }, 'Value'),
      ),
    ),
    el(
      'tbody',
      null,
      headers.map(({ name, value, masked, change }, index) =>
        el(
          'tr',
          { key: index, class: classes(change !== undefined && `header-${change}`) },
          el(
            'td',
            { class: 'header-change' },
            change === undefined ? '' : el('abbr', { title: change }, SIGNS[change]),
          ),
          el('th', { scope: 'row' }, part(HeaderName, { name })),
          el('td', { class: classes('header-value', masked && 'masked') }, visibleText(value)),
        ),
      ),
    ),
  );
}

const SIGNS = { added: '+', changed: '±', removed: '−' } as const;

function bodyWords({ state, bytes: size }: BodyView): string {
  switch (state) {
    case 'none':
      return 'none';
    case 'values':
      return `${bytes(size)}, as captured`;
    case 'structure':
      return `${bytes(size)}, keys and structure only`;
    case 'withheld':
      return `${bytes(size)}, not kept`;
  }
}
