import type { VNode } from 'preact';
import { useMemo } from 'preact/hooks';
import type { SeriesPoint, SeriesStep } from '../../../rewrite-log/traffic-series.ts';
import type { ChangeRecord } from '../../../rollout/rollout-tally.ts';
import type { SeriesView } from '../../api.ts';
import { count, dayText, dayTime, milliseconds, minuteTime, shortTime } from '../format.ts';
import { type Go, toExchanges } from '../page-state.ts';
import { Card, type Column, LinkButton, ScrollTable, sentence, visibleText } from '../parts.tsx';
import { withTimeRange } from '../traffic/time-range.ts';
import { type ChartMark, type ChartSeries, TimeChart } from './time-chart.tsx';

interface TrafficChartsProps {
  readonly go: Go;
  /** Names the replica whose exchanges these are, if there are others. */
  readonly whose: string | undefined;
  readonly series: SeriesView;
  /** The chosen span; until its series is there, that of `series` is shown. */
  readonly span: Span;
  readonly onSpan: (span: Span) => void;
}

/** The selectable spans of time, each with its step; enough points that bars do not become too wide. */
export const SPANS = [
  { name: '1 hour', by: 'minute', points: 60, fewest: 15 },
  { name: '6 hours', by: 'minute', points: 360, fewest: 60 },
  { name: '2 weeks', by: 'hour', points: 336, fewest: 24 },
  { name: '2 years', by: 'day', points: 731, fewest: 14 },
] as const satisfies readonly Span[];

/** A span of time, its step, its number of points, and the fewest for which a chart has room. */
export interface Span {
  readonly name: string;
  readonly by: SeriesStep;
  readonly points: number;
  readonly fewest: number;
}

const SECONDS: Readonly<Record<SeriesStep, number>> = { minute: 60, hour: 3600, day: 86_400 };

/** Requests by responding side, with failures of each, and their time beside V2's. */
export function TrafficCharts({
  go,
  whose,
  series: response,
  span: chosen,
  onSpan,
}: TrafficChartsProps): VNode {
  const { by } = response;
  const span = chosen.by === by ? chosen : (SPANS.find((one) => one.by === by) ?? chosen);
  const { fewest } = span;
  const points = useMemo(() => response.points.slice(-span.points), [response, span]);
  const times = useMemo(() => points.map(({ time }) => Date.parse(time) / 1000), [points]);
  const answered = useMemo(() => answeredSeries(points), [points]);
  const failed = useMemo(() => failedSeries(points), [points]);
  const latency = useMemo(() => latencySeries(points), [points]);
  const last = times.at(-1) ?? 0;
  const from = last - (Math.max(fewest, points.length) - 1) * SECONDS[by];
  const marks = useMemo(
    () =>
      marksOf(response.marks)
        .filter(({ at }) => at >= from)
        .slice(-MAX_MARKS),
    [response, from],
  );
  const tickText = (second: number): string => stepText(second, by);
  const shared = {
    times,
    step: SECONDS[by],
    from,
    until: last + SECONDS[by],
    // The bar of the first minute begins before the first request.
    knownSince: Math.floor(Date.parse(response.since) / 1000 / SECONDS[by]) * SECONDS[by],
    marks,
    tickText,
    onRange: (start: number, end: number): void =>
      toExchanges(go, withTimeRange('', { from: start, to: end }))(),
  };
  const within = points.length === 1 ? `the last ${by}` : `the last ${count(points.length)} ${by}s`;
  return (
    <section class="charts" aria-label="Traffic over time">
      <div class="title">
        <h3>Traffic</h3>
        <small>{sentence(response.known)}</small>
        <div class="spans" role="group" aria-label="Time shown">
          {SPANS.map((one) => (
            <button
              key={one.name}
              type="button"
              aria-pressed={one.name === chosen.name}
              onClick={() => onSpan(one)}
            >
              {one.name}
            </button>
          ))}
        </div>
      </div>
      {whose !== undefined && <p class="lead">{visibleText(whose)}</p>}
      {!points.some(isBusy) ? (
        <Card heading={`Requests a ${by}`}>
          <p class="empty">No request in this time.</p>
        </Card>
      ) : (
        <div class="pair">
          <Card
            heading={`Requests a ${by}, by who answered`}
            note="click a bar, or drag, to see its exchanges"
          >
            <TimeChart
              {...shared}
              label={`Requests of ${within} by who answered: ${sumsOf(answered)}.`}
              series={answered}
              height={10}
              valueText={wholeText}
            />
            <TimeChart
              {...shared}
              label={`Failures of ${within}: ${sumsOf(failed)}.`}
              series={failed}
              height={8}
              valueText={wholeText}
            />
          </Card>
          <Card heading="Time to answer" note="median and 95th percentile, logarithmic">
            <TimeChart
              {...shared}
              label={latencySummary(points, by)}
              series={latency}
              height={20}
              scale="log"
              valueText={timeText}
            />
          </Card>
        </div>
      )}
      {marks.length > 0 && (
        <Card heading="Changed in this time" note="numbered in the charts">
          <MarkList marks={marks} />
        </Card>
      )}
      {figures(points, by, within, go)}
    </section>
  );
}

/** Maximum marks, the newest. */
export const MAX_MARKS = 20;

/** What changed or happened, with the numbers of its marks. */
export function MarkList({ marks }: { readonly marks: readonly ChartMark[] }): VNode {
  return (
    <ol class="marks" aria-label="Changes, marked in the charts">
      {marks.map(({ at, words }, index) => (
        <li key={`${at} ${words}`}>
          <b>{index + 1}</b>
          <span title={words}>{sentence(words)}</span>
        </li>
      ))}
    </ol>
  );
}

/** What changed or happened, with its time and reason. */
export function marksOf(changes: readonly ChangeRecord[]): readonly ChartMark[] {
  return changes.map(({ at, what, who, why }) => ({
    at: Date.parse(at) / 1000,
    words: `${shortTime(at)} ${what}${who === undefined ? '' : `, by ${who}`}${why === undefined ? '' : `: ${why}`}`,
  }));
}

function stepText(second: number, by: SeriesStep): string {
  if (by === 'day') return dayText(second);
  const time = new Date(second * 1000).toISOString();
  return by === 'minute' ? minuteTime(time) : shortTime(time);
}

function answeredSeries(points: readonly SeriesPoint[]): readonly ChartSeries[] {
  const of = (value: (point: SeriesPoint) => number): readonly number[] => points.map(value);
  const isSome = (value: (point: SeriesPoint) => number): boolean => points.some((point) => value(point) > 0);
  const nobody = (point: SeriesPoint): number => point.answered.nobody;
  return [
    {
      name: 'V2',
      kind: 'bar',
      color: '--fill-rewritten',
      look: 'plain',
      values: of(({ answered }) => answered.v2),
    },
    {
      name: 'V1',
      kind: 'bar',
      color: '--fill-v1',
      look: 'striped',
      values: of(({ answered }) => answered.v1),
    },
    {
      name: 'the gateway',
      kind: 'bar',
      color: '--fill-passed',
      look: 'dotted',
      values: of(({ answered }) => answered.gateway),
    },
    ...(isSome(nobody)
      ? [
          {
            name: 'client left',
            kind: 'bar',
            color: '--fault',
            look: 'dotted',
            values: of(nobody),
          } as const,
        ]
      : []),
  ];
}

/** On a scale of their own: a few failures among many requests would not be seen. */
function failedSeries(points: readonly SeriesPoint[]): readonly ChartSeries[] {
  return [
    {
      name: 'failed',
      kind: 'bar',
      color: '--refused',
      look: 'plain',
      values: points.map((one) => one.failed),
    },
    {
      name: 'refused on purpose',
      kind: 'bar',
      color: '--fault',
      look: 'dotted',
      values: points.map((one) => one.onPurpose),
    },
  ];
}

function latencySeries(points: readonly SeriesPoint[]): readonly ChartSeries[] {
  const of = (whose: 'latency' | 'v2Latency', quantile: 'median' | 'p95'): readonly (number | null)[] =>
    points.map((point) => point[whose]?.[quantile] ?? null);
  return [
    {
      name: 'clients, median',
      kind: 'line',
      color: '--rewritten',
      look: 'plain',
      values: of('latency', 'median'),
    },
    {
      name: 'clients, p95',
      kind: 'line',
      color: '--rewritten',
      look: 'striped',
      values: of('latency', 'p95'),
    },
    { name: 'V2, median', kind: 'line', color: '--fault', look: 'plain', values: of('v2Latency', 'median') },
    { name: 'V2, p95', kind: 'line', color: '--fault', look: 'striped', values: of('v2Latency', 'p95') },
  ];
}

function sumsOf(series: readonly ChartSeries[]): string {
  return series
    .map(({ name, values }) => `${count(values.reduce<number>((sum, one) => sum + (one ?? 0), 0))} ${name}`)
    .join(', ');
}

function latencySummary(points: readonly SeriesPoint[], by: SeriesStep): string {
  const words = (['latency', 'v2Latency'] as const).map((whose) => {
    const name = whose === 'latency' ? 'clients' : 'V2';
    const last = points.flatMap((point) => point[whose] ?? []).at(-1);
    return last === undefined
      ? `${name} no requests`
      : `${name} median ${timeText(last.median)}, p95 ${timeText(last.p95)}`;
  });
  return `Time to answer by ${by}; the latest: ${words.join('; ')}.`;
}

function wholeText(value: number): string {
  return Number.isInteger(value) ? count(value) : '';
}

function timeText(value: number): string {
  return value >= 1000
    ? `${Number((value / 1000).toPrecision(3))} s`
    : `${milliseconds(value).replace(/\.0$/, '')} ms`;
}

function isBusy({ answered }: SeriesPoint): boolean {
  return Object.values(answered).some((times) => times > 0);
}

/** The data of the charts as a table, newest first. */
function figures(points: readonly SeriesPoint[], by: SeriesStep, within: string, go: Go): VNode | false {
  const busy = points.filter(isBusy).toReversed();
  if (busy.length === 0) return false;
  const columns: readonly Column<SeriesPoint>[] = [
    {
      name: by.charAt(0).toUpperCase() + by.slice(1),
      kind: 'head',
      cell: ({ time }) => (
        <LinkButton onClick={toExchanges(go, rangeFilter(time, by))}>
          {by === 'day' ? time.slice(0, 10) : by === 'hour' ? dayTime(time) : minuteTime(time)}
        </LinkButton>
      ),
    },
    numberColumn('By V2', ({ answered }) => answered.v2),
    numberColumn('By V1', ({ answered }) => answered.v1),
    numberColumn('By the gateway', ({ answered }) => answered.gateway),
    numberColumn('Client left', ({ answered }) => answered.nobody),
    numberColumn('Failed', ({ failed }) => failed),
    numberColumn('On purpose', ({ onPurpose }) => onPurpose),
    timeColumn('Median ms', ({ latency }) => latency?.median),
    timeColumn('p95 ms', ({ latency }) => latency?.p95),
    timeColumn('V2 median ms', ({ v2Latency }) => v2Latency?.median),
    timeColumn('V2 p95 ms', ({ v2Latency }) => v2Latency?.p95),
  ];
  return (
    <details class="figures">
      <summary>{`${within.charAt(0).toUpperCase()}${within.slice(1)} as a table`}</summary>
      <ScrollTable label="Data of the charts" columns={columns} rows={busy} keyOf={({ time }) => time} />
    </details>
  );
}

function rangeFilter(time: string, by: SeriesStep): string {
  const from = Date.parse(time) / 1000;
  return withTimeRange('', { from, to: from + SECONDS[by] - 1 });
}

function numberColumn(name: string, of: (point: SeriesPoint) => number): Column<SeriesPoint> {
  return { name, kind: 'number', cell: (point) => count(of(point)) };
}

function timeColumn(name: string, of: (point: SeriesPoint) => number | undefined): Column<SeriesPoint> {
  return {
    name,
    kind: 'number',
    cell: (point) => {
      const value = of(point);
      return value === undefined ? '–' : milliseconds(value);
    },
  };
}
