import type { VNode } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { EntryDetail, HeaderView, RequestView } from '../../api.ts';
import { DiffView } from './diff-view.ts';
import { EditList } from './edit-list.ts';
import { classes, el, part } from '../parts/element.ts';
import { HeaderName } from './header-name.ts';
import type { HueOf } from '../traffic/hues.ts';
import { requestLine } from '../perspective-view.ts';
import { visibleText } from './visible-text.ts';

/** The result of a request, for live exchanges and explanations alike. */
export type Changed = Pick<EntryDetail, 'v1Request' | 'v2Request' | 'diff'> & {
  readonly edits: EntryDetail['entry']['edits'];
  /** The heading above the edits. */
  readonly editsTitle: string;
  /** Who sent the left body, and what became of the right one. */
  readonly captions: { readonly before: string; readonly after: string };
  /** Shown in the place of a V2 request that is not there. */
  readonly nothingSent: string;
  /** Shown when there is no diff, or no right side of it. */
  readonly missing: string;
};

/** Properties of the comparison. */
export interface DiffPaneProps {
  readonly changed: Changed;
  readonly hueOf: HueOf;
  readonly summaryOf: (change: string) => string | undefined;
}

/** The differences between V1 and V2 request: first line, headers, body, and each edit with its reason. */
export function DiffPane({ changed, hueOf, summaryOf }: DiffPaneProps): VNode {
  const { v1Request, v2Request, nothingSent, diff, edits, editsTitle, captions, missing } = changed;
  const [active, setActive] = useState<number>();
  useEffect(() => setActive(undefined), [diff]);
  return el(
    'div',
    { class: 'changed' },
    v1Request !== undefined && heads(v1Request, v2Request, nothingSent),
    diff === undefined
      ? el('p', { class: 'empty' }, missing)
      : part(DiffView, { diff, captions, hueOf, active, onActive: setActive, missing }),
    part(EditList, {
      title: editsTitle,
      edits,
      marks: diff?.marks ?? [],
      hueOf,
      active,
      onActive: setActive,
      summaryOf,
    }),
  );
}

/** First lines side by side, with the headers that differ. */
function heads(v1: RequestView, v2: RequestView | undefined, nothingSent: string): VNode {
  const changed = v2?.headers.filter(({ change }) => change !== undefined) ?? [];
  return el(
    'div',
    { class: 'heads' },
    el('div', { class: 'head' }, requestLine(v1), headerLines(replaced(v1, changed), 'before')),
    el(
      'div',
      { class: 'head' },
      v2 === undefined ? el('p', { class: 'empty' }, nothingSent) : requestLine(v2),
      headerLines(
        changed.filter(({ change }) => change !== 'removed'),
        'after',
      ),
    ),
  );
}

/** The lines of the V1 request that V2 received changed, or not at all. */
function replaced(v1: RequestView, changed: readonly HeaderView[]): readonly HeaderView[] {
  const names = new Set(
    changed.filter(({ change }) => change !== 'added').map(({ name }) => name.toLowerCase()),
  );
  return v1.headers.filter(({ name }) => names.has(name.toLowerCase()));
}

function headerLines(headers: readonly HeaderView[], side: 'before' | 'after'): VNode | false {
  if (headers.length === 0) return false;
  return el(
    'ul',
    { class: classes('header-lines', side) },
    headers.map(({ name, value }) =>
      el(
        'li',
        { key: name },
        el('span', { class: 'name' }, part(HeaderName, { name }), ': '),
        visibleText(value),
      ),
    ),
  );
}
