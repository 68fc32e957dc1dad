import type { VNode } from 'preact';
import { useCallback, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { Diff, DiffMark } from '../../api.ts';
import { CodeLines } from './code-lines.ts';
import { classes, el, part } from '../parts/element.ts';
import { type HueOf, markClass } from '../traffic/hues.ts';
import { findJoins } from './find-joins.ts';
import { type Join, joinPath, type Pair, pairsOf, stubEnd } from './joins.ts';
import { type MarkedSpan, markedLines } from './marked-lines.ts';

/** Properties of the two bodies. */
export interface DiffViewProps {
  readonly diff: Diff;
  /** Who sent the left body, and what became of the right one. */
  readonly captions: { readonly before: string; readonly after: string };
  readonly hueOf: HueOf;
  readonly active: number | undefined;
  readonly onActive: (mark: number | undefined) => void;
  /** The reason that the right side is empty. */
  readonly missing: string;
}

/** The V1 and the V2 body side by side, their edits highlighted and joined by lines. */
export function DiffView({ diff, captions, hueOf, active, onActive, missing }: DiffViewProps): VNode {
  const panes = useRef<HTMLDivElement>(null);
  const gutter = useRef<HTMLDivElement>(null);
  const [joins, setJoins] = useState<readonly Join[]>([]);
  const { before, after, marks } = diff;
  const pairs = useMemo(() => marks.map((mark) => pairsOf(diff, mark)), [diff]);
  const left = useMemo(() => markedLines(before, spansOf(marks, 'before', pairs)), [before, pairs]);
  const right = useMemo(
    () => (after === undefined ? undefined : markedLines(after, spansOf(marks, 'after', pairs))),
    [after, pairs],
  );
  const measure = useCallback(() => {
    if (panes.current !== null && gutter.current !== null)
      setJoins(findJoins(panes.current, gutter.current, pairs));
  }, [pairs]);
  useLayoutEffect(() => {
    measure();
    const observer = new ResizeObserver(measure);
    if (panes.current !== null) observer.observe(panes.current);
    return () => observer.disconnect();
  }, [measure, left, right]);
  const shared = { marks, hueOf, active, onActive, onResize: measure };
  return el(
    'div',
    { class: 'diff', ref: panes },
    el(
      'div',
      { class: 'pane' },
      el('h3', { class: 'pane-title' }, 'V1', el('small', null, captions.before)),
      part(CodeLines, { ...shared, lines: left, side: 'before', label: 'V1 body' }),
    ),
    el(
      'div',
      { class: 'gutter', ref: gutter, 'aria-hidden': true },
      part(Joins, { joins, marks, hueOf, active }),
    ),
    el(
      'div',
      { class: 'pane' },
      el('h3', { class: 'pane-title' }, 'V2', right !== undefined && el('small', null, captions.after)),
      right === undefined
        ? el('p', { class: 'empty' }, missing)
        : part(CodeLines, { ...shared, lines: right, side: 'after', label: 'V2 body' }),
    ),
  );
}

interface JoinsProps {
  readonly joins: readonly Join[];
  readonly marks: readonly DiffMark[];
  readonly hueOf: HueOf;
  readonly active: number | undefined;
}

/** Width of the gutter, in the units of its drawing; the style sheet sets the same width. */
const GUTTER = 64;

function Joins({ joins, marks, hueOf, active }: JoinsProps): VNode {
  return el(
    'svg',
    { class: 'joins', width: GUTTER, height: '100%' },
    joins.map((join) => {
      const mark = marks[join.mark];
      const end = stubEnd(join, GUTTER);
      const state = classes(
        'join',
        mark !== undefined && markClass(mark, hueOf),
        active === join.mark && 'active',
        active !== undefined && active !== join.mark && 'faded',
      );
      return el(
        'g',
        { class: state },
        el('path', { d: joinPath(join, GUTTER) }),
        end !== undefined && el('path', { d: cross(end.x, end.y) }),
      );
    }),
  );
}

function cross(x: number, y: number): string {
  return `M ${x - 3} ${y - 3} l 6 6 m 0 -6 l -6 6`;
}

function spansOf(
  marks: readonly DiffMark[],
  side: 'before' | 'after',
  pairs: readonly (readonly Pair[])[],
): readonly MarkedSpan[] {
  return marks.flatMap((entry, mark) =>
    entry[side].map((span, part) => ({
      ...span,
      mark,
      part,
      isNumbered: pairs[mark]?.some((pair) => pair[side] === part) === true,
    })),
  );
}
