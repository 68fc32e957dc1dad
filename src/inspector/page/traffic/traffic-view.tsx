import type { VNode } from 'preact';
import { useEffect, useMemo, useState } from 'preact/hooks';
import type { CaptureState, EntryHistogram, NumberedEntry, RulesView } from '../../api.ts';
import { entrySentence } from '../../entries/entry-words.ts';
import { useAsked } from '../admin-client.ts';
import { EntryDetail } from '../entry/entry-detail.tsx';
import { count, counted, dayTime, searchedWords, zoneOf } from '../format.ts';
import { keepValue, keptValue, linkTo, type PageState } from '../page-state.ts';
import type { ChartMark } from '../overview/time-chart.tsx';
import { MarkList, marksOf, MAX_MARKS } from '../overview/traffic-charts.tsx';
import { Button, classes, LinkButton, type PageTools, PaneSplitter, visibleText } from '../parts.tsx';
import { EntryList } from './entry-list.tsx';
import { FilterBar, knownValues } from './filter-bar.tsx';
import type { LiveEntries, LiveView } from './live-entries.ts';
import { TrafficParts } from './problems-view.tsx';
import {
  hasTimes,
  localText,
  secondOfLocal,
  type TimeRange,
  timeRangeOf,
  timesNote,
  withTimeRange,
} from './time-range.ts';

interface TrafficViewProps extends PageTools {
  readonly place: PageState;
  readonly live: LiveEntries;
  readonly view: LiveView;
  readonly rules: RulesView | undefined;
  /** Names the replica whose exchanges these are, if there are others. */
  readonly whose: string | undefined;
  readonly active: number | undefined;
  readonly onActive: (seq: number | undefined) => void;
  /** Share of the list beside an exchange, in percent. */
  readonly listShare: number;
  readonly onListShare: (share: number) => void;
}

const REFRESH_MS = 5000;

/** Interval while the list is empty. It must differ from the other, so that the first row causes a request at once. */
const EMPTY_REFRESH_MS = 2500;
const OPEN_KEY = 'capture-gateway.time';

/** The live list of exchanges, and the open one beside it. */
export function TrafficView(props: TrafficViewProps): VNode {
  const { place, go, live, view, rules, active, onActive, hueOf, nameOf, summaryOf, addressOf, announce } =
    props;
  const { filter, entry: open } = place;
  useEffect(() => void live.follow(filter), [filter]);
  useEffect(() => {
    if (open !== undefined) live.pause();
  }, [open]);
  const known = useMemo(() => knownValues(rules, view.rows), [rules, view.paused, open, filter]);
  const openEntry = (entry: NumberedEntry): void => {
    onActive(entry.seq);
    go({ entry: linkTo(entry) }, open === undefined ? 'keep' : 'replace');
    // Only for screen readers: on the page it would cover the edits.
    announce(entrySentence(entry), true);
  };
  return (
    <div class={classes('traffic', open !== undefined && 'with-detail')}>
      <h2 class="sr-only">Traffic</h2>
      <div class="toolbar">
        <TrafficParts part={undefined} filter={filter} go={go} />
        <FilterBar filter={filter} known={known} onFilter={(text) => go({ filter: text }, 'replace')} />
        {flow(view, live)}
        {[props.whose, searchedWords(view.state, filter)].map(
          (words) =>
            words !== undefined && (
              <p key={words} class="whose">
                {visibleText(words)}
              </p>
            ),
        )}
        <TimeBar
          filter={filter}
          rows={view.rows.length}
          hasList={open === undefined}
          onFilter={(text) => go({ filter: text }, 'replace')}
          onChanges={() => go({ view: 'overview' })}
        />
      </div>
      <div class="split" style={{ '--list-share': `${props.listShare}%` }}>
        <div class="list-box">
          <EntryList
            rows={view.rows}
            isLive={!view.paused}
            active={active}
            open={open}
            hueOf={hueOf}
            nameOf={nameOf}
            addressOf={addressOf}
            empty={emptyWords(view, filter)}
            onOpen={openEntry}
            onLeaveTop={() => live.pause()}
            onNearEnd={() => live.loadOlder()}
          />
        </div>
        {open !== undefined && <PaneSplitter share={props.listShare} onShare={props.onListShare} />}
        {open !== undefined && (
          <EntryDetail
            link={open}
            canResend={view.state?.canResend === true}
            perspective={place.perspective}
            go={go}
            announce={announce}
            hueOf={hueOf}
            nameOf={nameOf}
            addressOf={addressOf}
            summaryOf={summaryOf}
          />
        )}
      </div>
    </div>
  );
}

/** The state of the list, and the button that pauses or resumes it. */
function flow(view: LiveView, live: LiveEntries): VNode {
  const { paused, waiting, state } = view;
  const sample = paused ? olderWords(view) : sampleWords(view.strides);
  return (
    <div class="flow">
      <span class="rate">
        {state !== undefined && <span class="per-second">{`${count(state.perSecond)}/s`}</span>}
        {sample !== '' && (
          <span
            class="sample"
            title={
              paused
                ? 'The gateway keeps refusals and failures for longer than other exchanges.'
                : 'At this rate the page shows only a sample. Pause or filter to see every exchange.'
            }
          >
            {sample}
          </span>
        )}
      </span>
      <Button
        class={classes('button', 'pause', paused && 'held')}
        aria-keyshortcuts="p"
        onClick={() => (paused ? live.resume() : live.pause())}
      >
        {[
          <span class={classes('sign', paused ? 'sign-live' : 'sign-pause')} aria-hidden />,
          paused ? 'Go live' : 'Pause',
          paused && waiting > 0 && <span class="waiting">{`${count(waiting)} new`}</span>,
        ]}
      </Button>
    </div>
  );
}

function sampleWords({ failures, others }: LiveView['strides']): string {
  if (failures > 1)
    return `showing 1 of ${count(failures)} refusals and failures, 1 of ${count(others)} others`;
  return others > 1 ? `showing 1 of ${count(others)}, and every refusal and failure` : '';
}

function olderWords({ rows, oldest }: LiveView): string {
  const older = rows.filter(({ seq }) => seq < oldest).length;
  return older === 0 ? '' : `the last ${counted(older, 'row')}: refusals and failures only`;
}

function emptyWords({ connection, failure, state }: LiveView, filter: string): string {
  // The filter's field says what is wrong with it.
  if (failure?.status === 400) return 'No exchange is shown, because the filter cannot be read.';
  if (failure !== undefined) return failure.message;
  if (connection === 'connecting') return 'Loading exchanges…';
  if (filter !== '')
    return `No recent exchange matches this filter. New ones appear here. ${searchHint(state?.capture)}`;
  return 'No exchanges yet. Send a request to the gateway, and it appears here.';
}

/** Says where words are searched for, and how fields narrow a search. */
function searchHint(capture: CaptureState | undefined): string {
  const values =
    capture?.mode === 'bodies'
      ? `captured bodies, which ${counted(capture.entries, 'exchange')} ${capture.entries === 1 ? 'has' : 'have'}`
      : 'kept header fields, but not in values of bodies: capture is off';
  return `A word is searched for in paths, operations, errors, request ids, names of clients and ${values}. Fields narrow it: client:"Acme Media", op:create_client, status:4xx, time:12:35 (${zoneOf(new Date())}).`;
}

interface TimeBarProps {
  readonly filter: string;
  /** Number of rows in the list, which may be newer than the last count. */
  readonly rows: number;
  /** False beside an open exchange, which has the room of the list of marks. */
  readonly hasList: boolean;
  readonly onFilter: (filter: string) => void;
  /** Shows all marks. */
  readonly onChanges: () => void;
}

/** Maximum changes that are marked, the newest; more of a chosen time. */
const FEW_MARKS = 4;

/** The kept exchanges that match the filter, by time. A chosen bar or range becomes a term of the filter. */
function TimeBar({ filter, rows, hasList, onFilter, onChanges }: TimeBarProps): VNode {
  const [isOpen, setIsOpen] = useState(() => keptValue(OPEN_KEY) !== 'closed');
  const range = timeRangeOf(filter);
  const choose = (chosen: TimeRange): void => onFilter(withTimeRange(filter, chosen));
  const query = new URLSearchParams(filter === '' ? {} : { filter });
  const { response } = useAsked<EntryHistogram>(
    isOpen ? `entries/histogram?${query.toString()}` : undefined,
    rows > 0 ? REFRESH_MS : EMPTY_REFRESH_MS,
  );
  const changes = response === undefined ? [] : changesIn(response, range);
  const marks = marksOf(changes.slice(-(hasTimes(filter) ? MAX_MARKS : FEW_MARKS)));
  const earlier = changes.length - marks.length;
  const failed = response?.bars.reduce((sum, bar) => sum + bar.failed, 0) ?? 0;
  return (
    <details
      class="time-bar"
      open={isOpen}
      onToggle={({ currentTarget }) => {
        setIsOpen(currentTarget.open);
        keepValue(OPEN_KEY, currentTarget.open ? 'open' : 'closed');
      }}
    >
      <summary>
        Time
        <small>{response === undefined ? '' : spanWords(response, hasTimes(filter), rows)}</small>
        {failed > 0 && (
          <small>
            <span class="swatch fill-failed" aria-hidden />
            {`${count(failed)} failed`}
          </small>
        )}
      </summary>
      {/* Before the bars, which its fields would cover or push away from under the pointer. */}
      <div class="time-range">
        <details>
          <summary>Choose times</summary>
          <TimeField label="From" second={range?.from} onTime={(from) => choose({ ...range, from })} />
          <TimeField label="To" second={range?.to} onTime={(to) => choose({ ...range, to })} />
          <small>{`Your time, ${zoneOf(new Date())}. ${timesNote(filter)}`.trim()}</small>
        </details>
        {hasTimes(filter) && <Button onClick={() => choose({})}>Everything kept</Button>}
      </div>
      {/* Its height is there before the bars, so that the list stays where it is. */}
      {response === undefined && <div class="histogram" />}
      {response !== undefined && response.bars.length > 0 && histogram(response, marks, choose)}
      {hasList && marks.length > 0 && (
        <div class="changed">
          <MarkList marks={marks} />
          {earlier > 0 && (
            <LinkButton onClick={onChanges}>{`${count(earlier)} earlier, in Overview`}</LinkButton>
          )}
        </div>
      )}
    </details>
  );
}

/** The changes in a range of time, or since the first bar; oldest first. */
function changesIn({ marks, bars }: EntryHistogram, range: TimeRange | undefined): EntryHistogram['marks'] {
  const [from, to] = [range?.from ?? Date.parse(bars[0]?.time ?? '') / 1000, range?.to ?? Infinity];
  return marks.filter(({ at }) => {
    const second = Math.floor(Date.parse(at) / 1000);
    return second >= from && second <= to;
  });
}

/** A bar chart as a list box, in which arrow keys move among the bars and Tab stops only once. */
function histogram(
  { bars, step }: EntryHistogram,
  marks: readonly ChartMark[],
  choose: (range: TimeRange) => void,
): VNode {
  const most = Math.max(1, ...bars.map((bar) => bar.count));
  const changesAt = bars.map(({ time }) => {
    const start = Date.parse(time) / 1000;
    return marks.flatMap(({ at, words }, order) =>
      at >= start && at < start + step ? [{ number: order + 1, words }] : [],
    );
  });
  const numbers = markNumbers(changesAt.map((changes) => changes.map(({ number }) => number)));
  const take = (index: number): void => {
    const start = Date.parse(bars[index]?.time ?? '') / 1000;
    if (!Number.isNaN(start)) choose({ from: start, to: start + step - 1 });
  };
  return (
    <div
      class="histogram"
      role="listbox"
      tabIndex={0}
      aria-label="Kept exchanges by time"
      aria-orientation="horizontal"
      onFocus={({ currentTarget }) => mark(currentTarget, markedIn(currentTarget) ?? bars.length - 1)}
      onKeyDown={(event) => {
        const { currentTarget, key } = event;
        const at = markedIn(currentTarget) ?? bars.length - 1;
        if (key === 'ArrowLeft') mark(currentTarget, Math.max(0, at - 1));
        else if (key === 'ArrowRight') mark(currentTarget, Math.min(bars.length - 1, at + 1));
        else if (key === 'Home') mark(currentTarget, 0);
        else if (key === 'End') mark(currentTarget, bars.length - 1);
        else if (key === 'Enter' || key === ' ') take(at);
        else return;
        event.preventDefault();
      }}
    >
      {bars.map((bar, index) => {
        const changes = changesAt[index] ?? [];
        const words = [barWords(bar, step), ...changes.map((change) => change.words)].join('; ');
        return (
          <span
            key={bar.time}
            id={`bar-${index}`}
            role="option"
            class={classes('bar', changes.length > 0 && 'changed-bar')}
            data-marks={numbers[index]}
            aria-label={words}
            aria-selected={false}
            title={words}
            onClick={() => take(index)}
          >
            <i class="fill-passed" style={{ height: `${((bar.count - bar.failed) / most) * 100}%` }} />
            <i class="fill-failed" style={{ height: `${(bar.failed / most) * 100}%` }} />
          </span>
        );
      })}
    </div>
  );
}

/** The numbers at each bar; those of bars so close that they would overlap stand at the first of them. */
function markNumbers(numbersOf: readonly (readonly number[])[]): readonly string[] {
  const shown: string[] = numbersOf.map(() => '');
  let first: number | undefined;
  for (const [index, numbers] of numbersOf.entries()) {
    if (numbers.length === 0) continue;
    // On a phone, a bar is as wide as a digit.
    if (first === undefined || index - first > (shown[first] ?? '').length) first = index;
    shown[first] = `${shown[first] ?? ''} ${numbers.join(' ')}`.trim();
  }
  return shown;
}

/** Moves the mark without a redraw of all bars. */
function mark(list: HTMLElement, index: number): void {
  for (const bar of list.children) bar.setAttribute('aria-selected', String(bar.id === `bar-${index}`));
  list.setAttribute('aria-activedescendant', `bar-${index}`);
}

function markedIn(list: HTMLElement): number | undefined {
  const id = list.getAttribute('aria-activedescendant');
  return id === null ? undefined : Number(id.slice('bar-'.length));
}

function barWords({ time, count: all, failed }: EntryHistogram['bars'][number], step: number): string {
  const end = new Date(Date.parse(time) + step * 1000).toISOString();
  return `${dayTime(time)} to ${dayTime(end)}: ${counted(all, 'exchange')}, ${count(failed)} failed`;
}

function spanWords({ bars, step, wholeSince }: EntryHistogram, isChosen: boolean, rows: number): string {
  const zone = isChosen ? ` (${zoneOf(new Date())})` : '';
  const [first, last] = [bars[0], bars.at(-1)];
  if (first === undefined || last === undefined) {
    if (rows > 0) return '';
    return isChosen ? `nothing is kept for the chosen time${zone}` : 'nothing is kept yet';
  }
  const end = new Date(Date.parse(last.time) + step * 1000).toISOString();
  const all = Math.max(
    rows,
    bars.reduce((sum, bar) => sum + bar.count, 0),
  );
  const only =
    wholeSince !== undefined && first.time < wholeSince.slice(0, 19)
      ? `; refusals and failures only before ${dayTime(wholeSince)}`
      : '';
  return `${dayTime(first.time)} to ${dayTime(end)}${zone}, ${counted(all, 'matching exchange')}${only}`;
}

interface TimeFieldProps {
  readonly label: string;
  readonly second: number | undefined;
  readonly onTime: (second: number | undefined) => void;
}

/** A local time as the rest of the page writes it: fields of the browser have its own form, such as AM and PM. */
function TimeField({ label, second, onTime }: TimeFieldProps): VNode {
  const [typed, setTyped] = useState<string | undefined>(undefined);
  const [isFault, setIsFault] = useState(false);
  const id = `time-${label.toLowerCase()}`;
  return (
    <span class="time-field">
      <label for={id}>{label}</label>
      <input
        id={id}
        type="text"
        size={19}
        spellcheck={false}
        autocomplete="off"
        placeholder="09:30"
        value={typed ?? (second === undefined ? '' : localText(second))}
        aria-invalid={isFault}
        aria-describedby={isFault ? `${id}-fault` : undefined}
        onInput={({ currentTarget }) => setTyped(currentTarget.value)}
        onChange={({ currentTarget: { value } }) => {
          const time = secondOfLocal(value);
          setIsFault(time === undefined && value.trim() !== '');
          if (time === undefined && value.trim() !== '') return;
          setTyped(undefined);
          onTime(time);
        }}
      />
      {isFault && (
        <small class="fault" id={`${id}-fault`} role="alert">
          Write 2026-11-22 09:30, or 09:30 for today.
        </small>
      )}
    </span>
  );
}
