import type { VNode } from 'preact';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import type { NumberedEntry } from '../../api.ts';
import { classes, el, part } from '../parts/element.ts';
import { COLUMNS, EntryRow, type EntryRowProps } from './entry-row.ts';
import type { HueOf } from '../traffic/hues.ts';
import type { EntryLink } from '../page-state.ts';
import { type ListWindow, useAnchor, useMeasured } from './list-window.ts';

/** Properties of the list. */
export interface EntryListProps {
  /** Newest first. */
  readonly rows: readonly NumberedEntry[];
  /** True while rows arrive, with the list scrolled to its top. */
  readonly isLive: boolean;
  readonly active: number | undefined;
  readonly open: EntryLink | undefined;
  readonly hueOf: HueOf;
  readonly nameOf: EntryRowProps['nameOf'];
  /** Message for an empty list. */
  readonly empty: string;
  readonly onOpen: (entry: NumberedEntry) => void;
  /** Called when the reader scrolls away from the top: rows must not move from then on. */
  readonly onLeaveTop: () => void;
  readonly onNearEnd: () => void;
}

const START: ListWindow = { top: 0, height: 600, rowHeight: 36 };
/** Rows drawn beyond the visible part, on either side. */
const SPARE = 8;

/** The exchanges as a grid; only the visible rows are in the document. */
export function EntryList(props: EntryListProps): VNode {
  const { rows, isLive, active, open, hueOf, nameOf, onOpen, onLeaveTop, onNearEnd, empty } = props;
  const scroller = useRef<HTMLDivElement>(null);
  const sheet = useRef<HTMLDivElement>(null);
  const [{ top, height, rowHeight }, setWindow] = useState(START);
  useMeasured(scroller, sheet, setWindow);
  useLayoutEffect(() => {
    if (isLive) scroller.current?.scrollTo(0, 0);
  }, [isLive]);
  useAnchor(scroller, rows, rowHeight);
  useEffect(() => bringIntoSight(scroller.current, rows, active, rowHeight), [active]);
  const first = Math.max(0, Math.floor(top / rowHeight) - SPARE);
  const last = Math.min(rows.length, Math.ceil((top + height) / rowHeight) + SPARE);
  const onScroll = (): void => {
    const { current } = scroller;
    if (current === null) return;
    setWindow((before) => ({ ...before, top: current.scrollTop }));
    if (current.scrollTop > 0) onLeaveTop();
    if (current.scrollHeight - current.scrollTop - current.clientHeight < 400) onNearEnd();
  };
  const isActiveDrawn = rows.slice(first, last).some(({ seq }) => seq === active);
  return el(
    'div',
    {
      class: 'list',
      role: 'grid',
      id: 'entries',
      'aria-label': 'Exchanges, newest first',
      'aria-rowcount': rows.length + 1,
      'aria-activedescendant': isActiveDrawn ? `entry-${active}` : undefined,
      tabIndex: 0,
      ref: scroller,
      onScroll,
    },
    el(
      'div',
      { class: 'row columns', role: 'row', 'aria-rowindex': 1 },
      COLUMNS.map((name) =>
        el(
          'span',
          {
            key: name,
            role: 'columnheader',
            class: classes('cell', name === 'What happened' && 'account-cell'),
          },
          name,
        ),
      ),
    ),
    el(
      'div',
      { class: 'sheet', role: 'rowgroup', ref: sheet, style: { height: `${rows.length * rowHeight}px` } },
      rows.slice(first, last).map((entry, at) =>
        part(EntryRow, {
          key: entry.seq,
          entry,
          index: first + at,
          top: (first + at) * rowHeight,
          nameOf,
          isActive: entry.seq === active,
          isOpen: entry.requestId === open?.id && entry.seq === (open.seq ?? entry.seq),
          hueOf,
          onOpen,
        }),
      ),
    ),
    rows.length === 0 && el('p', { class: 'empty' }, empty),
  );
}

function bringIntoSight(
  scroller: HTMLDivElement | null,
  rows: readonly NumberedEntry[],
  active: number | undefined,
  rowHeight: number,
): void {
  const index = rows.findIndex(({ seq }) => seq === active);
  if (scroller === null || index < 0) return;
  const head = scroller.querySelector('.columns')?.clientHeight ?? 0;
  const top = index * rowHeight;
  if (top < scroller.scrollTop) scroller.scrollTop = top;
  const bottom = top + rowHeight + head;
  if (bottom > scroller.scrollTop + scroller.clientHeight)
    scroller.scrollTop = bottom - scroller.clientHeight;
}
