import type { VNode } from 'preact';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { editCount, modeOf, responseEditCount, sentTo } from '../../../rewrite-log/entry.ts';
import type { NumberedEntry } from '../../api.ts';
import {
  accountOf,
  editWords,
  entryName,
  MODE_MEANINGS,
  reasonWords,
  responseEditWords,
  sentToWords,
  shortClient,
  statusTitle,
  requestBadge,
  statusTone,
  statusWords,
} from '../../entries/entry-words.ts';
import { count, type HueOf, milliseconds, rowTime } from '../format.ts';
import type { EntryLink } from '../page-state.ts';
import { classes, type PageTools, VerdictBadge, visibleText } from '../parts.tsx';

interface EntryListProps extends Pick<PageTools, 'hueOf' | 'nameOf' | 'addressOf'> {
  /** Newest first. */
  readonly rows: readonly NumberedEntry[];
  /** True while rows arrive at the top. */
  readonly isLive: boolean;
  readonly active: number | undefined;
  readonly open: EntryLink | undefined;
  /** Message for an empty list. */
  readonly empty: string;
  readonly onOpen: (entry: NumberedEntry) => void;
  /** Called when the reader scrolls away from the top, after which rows must not move. */
  readonly onLeaveTop: () => void;
  readonly onNearEnd: () => void;
}

const START: ListWindow = { top: 0, height: 600, rowHeight: 36 };

/** Rows drawn beyond the visible part, on either side. */
const SPARE = 8;

/** The columns of the list. */
const COLUMNS = [
  'Time',
  'Client',
  'Operation',
  'What happened',
  'Mode',
  'Sent to',
  'Request',
  'Response',
  'Status',
  'Upstream ms',
  'Total ms',
] as const;

/** The exchanges as a grid; only the visible rows are in the document. */
export function EntryList(props: EntryListProps): VNode {
  const { rows, isLive, active, open, hueOf, nameOf, addressOf, onOpen, onLeaveTop, onNearEnd, empty } =
    props;
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
  return (
    <div
      class="list"
      role="grid"
      id="entries"
      aria-label="Exchanges, newest first"
      aria-rowcount={rows.length + 1}
      aria-activedescendant={isActiveDrawn ? `entry-${active}` : undefined}
      tabIndex={0}
      ref={scroller}
      onScroll={onScroll}
    >
      <div class="row columns" role="row" aria-rowindex={1}>
        {COLUMNS.map((name) => (
          <span
            key={name}
            role="columnheader"
            class={classes('cell', name === 'What happened' && 'account-cell')}
          >
            {name}
          </span>
        ))}
      </div>
      <div class="sheet" role="rowgroup" ref={sheet} style={{ height: `${rows.length * rowHeight}px` }}>
        {rows.slice(first, last).map((entry, at) => (
          <EntryRow
            key={entry.seq}
            entry={entry}
            index={first + at}
            top={(first + at) * rowHeight}
            nameOf={nameOf}
            addressOf={addressOf}
            isActive={entry.seq === active}
            isOpen={entry.requestId === open?.id && entry.seq === (open.seq ?? entry.seq)}
            hueOf={hueOf}
            onOpen={onOpen}
          />
        ))}
      </div>
      {rows.length === 0 && <p class="empty">{empty}</p>}
    </div>
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

interface EntryRowProps extends Pick<PageTools, 'hueOf' | 'nameOf' | 'addressOf'> {
  readonly entry: NumberedEntry;
  /** Its index in the list, from 0. */
  readonly index: number;
  /** Pixels from the top of the list. */
  readonly top: number;
  readonly isActive: boolean;
  readonly isOpen: boolean;
  readonly onOpen: (entry: NumberedEntry) => void;
}

/** One exchange as a row of the list. */
function EntryRow({
  entry,
  index,
  top,
  isActive,
  isOpen,
  hueOf,
  nameOf,
  addressOf,
  onOpen,
}: EntryRowProps): VNode {
  const client = nameOf(entry.client);
  return (
    <div
      class={classes(
        'row',
        'entry',
        isActive && 'active',
        isOpen && 'open',
        entry.verdict === 'refused' && 'refused',
      )}
      role="row"
      id={`entry-${entry.seq}`}
      aria-rowindex={index + 2}
      aria-selected={isOpen}
      style={{ transform: `translateY(${top}px)` }}
      onClick={() => onOpen(entry)}
    >
      {cell('time', rowTime(entry.time), entry.time)}
      {cell(
        'client',
        client ?? shortClient(entry.client),
        client === undefined ? entry.client : `${client}, ${entry.client}`,
      )}
      {name(entry)}
      {account(entry)}
      {mode(entry)}
      {cell(`sent-to to-${sentTo(entry) ?? 'none'}`, sentToWords(entry))}
      <span role="gridcell" class="cell verdict-cell">
        <VerdictBadge {...requestBadge(entry, addressOf(entry.operation))} />
        {requestEdits(entry, hueOf)}
      </span>
      {responseEdits(entry, hueOf)}
      {cell(`status status-${statusTone(entry)}`, statusWords(entry), statusTitle(entry))}
      {cell('ms upstream', entry.upstreamMs === undefined ? '–' : milliseconds(entry.upstreamMs))}
      {cell('ms total', milliseconds(entry.totalMs))}
    </div>
  );
}

function cell(name: string, text: string, title?: string): VNode {
  return (
    <span role="gridcell" class={`cell ${name}`} title={title}>
      {text}
    </span>
  );
}

/** The operation with method and path, and the reason for a failure. */
function name(entry: NumberedEntry): VNode {
  const { operation, method, path } = entry;
  const reason = reasonWords(entry);
  return (
    <span
      role="gridcell"
      class="cell name"
      title={reason === undefined ? `${method} ${path}` : `${method} ${path}: ${reason}`}
    >
      <span class="what">{visibleText(entryName(entry))}</span>
      {operation !== undefined && <span class="asked">{visibleText(`${method} ${path}`)}</span>}
      {reason !== undefined && <span class="reason">{visibleText(reason)}</span>}
    </span>
  );
}

/** The account of the exchange, shown if there is room. */
function account(entry: NumberedEntry): VNode {
  const words = accountOf(entry).join(' ');
  return (
    <span role="gridcell" class="cell account-cell" title={words}>
      {visibleText(words)}
    </span>
  );
}

function mode(entry: NumberedEntry): VNode {
  const applied = modeOf(entry);
  return applied === undefined
    ? cell('mode', '–', 'V2 request')
    : cell(`mode mode-${applied}`, applied, MODE_MEANINGS[applied]);
}

/** The number of edits of the request, with a dot for each change that made some; nothing without any. */
function requestEdits(entry: NumberedEntry, hueOf: HueOf): VNode[] {
  const made = entry.edits.filter(({ note }) => note !== 'already-flat');
  return editCount(entry) === 0 ? [] : countedEdits(editCount(entry), made, editWords(entry), hueOf);
}

/** The number of edits of the response, in the same way. */
function responseEdits(entry: NumberedEntry, hueOf: HueOf): VNode {
  const words = responseEditWords(entry) ?? 'The response was not edited.';
  const all = responseEditCount(entry);
  return (
    <span role="gridcell" class={classes('cell', 'edits-cell', all === 0 && 'none')}>
      {countedEdits(all, entry.responseEdits ?? [], words, hueOf)}
    </span>
  );
}

function countedEdits(
  all: number,
  made: readonly { readonly change: string }[],
  words: string,
  hueOf: HueOf,
): VNode[] {
  const changes = [...new Set(made.map(({ change }) => change))];
  const title = changes.length === 0 ? words : `${words}: ${changes.join(', ')}`;
  return [
    <span key="count" class="edit-count" title={title}>
      {all === 0 ? '–' : count(all)}
    </span>,
    ...changes.slice(0, 3).map((change) => <span key={change} class={`dot hue-${hueOf(change)}`} />),
  ];
}

/** The visible part of a list, in pixels. */
interface ListWindow {
  readonly top: number;
  readonly height: number;
  readonly rowHeight: number;
}

type ElementRef = { readonly current: HTMLDivElement | null };

/** The row height follows the style sheet: two lines in a narrow list, more with larger text. */
function useMeasured(
  scroller: ElementRef,
  sheet: ElementRef,
  set: (update: (before: ListWindow) => ListWindow) => void,
): void {
  useLayoutEffect(() => {
    const measure = (): void => {
      if (scroller.current === null || sheet.current === null) return;
      const { clientHeight } = scroller.current;
      const rem = Number.parseFloat(getComputedStyle(document.documentElement).fontSize);
      const rows = Number.parseFloat(getComputedStyle(sheet.current).getPropertyValue('--row-height'));
      set((before) => ({ ...before, height: clientHeight, rowHeight: Math.round(rows * rem) }));
    };
    measure();
    const observer = new ResizeObserver(measure);
    if (scroller.current !== null) observer.observe(scroller.current);
    // Another density changes the height of rows, but not that of the list.
    addEventListener('resize', measure);
    return () => {
      observer.disconnect();
      removeEventListener('resize', measure);
    };
  }, []);
}

/** Keeps the first visible row in place when rows are inserted before it. */
function useAnchor(scroller: ElementRef, rows: readonly NumberedEntry[], rowHeight: number): void {
  const anchor = useRef<{ readonly seq: number; readonly offset: number } | undefined>(undefined);
  useLayoutEffect(() => {
    const { current } = scroller;
    if (current === null) return undefined;
    const { current: kept } = anchor;
    if (kept !== undefined && current.scrollTop > 0) {
      const index = rows.findIndex(({ seq }) => seq <= kept.seq);
      if (index > 0) current.scrollTop = index * rowHeight + kept.offset;
    }
    const remember = (): void => {
      const index = Math.floor(current.scrollTop / rowHeight);
      const row = rows[index];
      anchor.current = row && { seq: row.seq, offset: current.scrollTop - index * rowHeight };
    };
    remember();
    current.addEventListener('scroll', remember);
    return () => current.removeEventListener('scroll', remember);
  }, [rows, rowHeight]);
}
