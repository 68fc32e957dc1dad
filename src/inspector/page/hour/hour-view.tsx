import type { VNode } from 'preact';
import { percentWords } from '../../../report/text.ts';
import type { HourOutcome } from '../../../rewrite-log/history.ts';
import type { ChangeRecord, RolloutView } from '../../../rollout/rollout-tally.ts';
import type { HistoryMinute, HistoryView, Quantiles } from '../../api.ts';
import { OUTCOME_MEANINGS } from '../../entries/entry-words.ts';
import { useAsked } from '../admin-client.ts';
import { count, counted, dayTime, milliseconds, minuteTime } from '../format.ts';
import { type Go, toExchanges } from '../page-state.ts';
import {
  Card,
  type Column,
  Legend,
  LinkButton,
  Loading,
  ScrollTable,
  SentenceList,
  visibleText,
} from '../parts.tsx';
import { ChartFrame, type ChartFrameProps, type Plot } from './charts.tsx';
import { linearTicks, logShare, logTicks } from './ticks.ts';

/** Number of slots in a chart of the last hour, one for each minute. */
const HOUR_SLOTS = 60;

const MINUTE_MS = 60_000;

const QUANTILES = ['p99', 'p90', 'p50'] as const;

const REFRESH = 5000;

/** The last hour: traffic by verdict, and durations. */
export function HourView({ go, whose }: { readonly go: Go; readonly whose: string | undefined }): VNode {
  const { response, failure } = useAsked<HistoryView>('history', REFRESH);
  const { response: rollout } = useAsked<Pick<RolloutView, 'changes'>>('rollout', REFRESH);
  if (response === undefined) return <Loading failure={failure} subject="the last hour" />;
  const { minutes, since } = response;
  const marks = marksOf(rollout?.changes ?? [], minutes);
  return (
    <div class="view hour">
      <h2>Last hour</h2>
      {whose !== undefined && <p class="lead">{visibleText(whose)}</p>}
      {minutes.length < HOUR_SLOTS && (
        <p class="lead">{`The figures begin at ${dayTime(since)}, when this gateway started.`}</p>
      )}
      {tiles(minutes, go)}
      <Card heading="Exchanges per minute, by outcome">
        <VerdictChart minutes={minutes} marks={marks} />
        {marks.length > 0 && (
          <SentenceList
            class="plain changes-marked"
            aria-label="Changes, marked in the charts"
            sentences={marks.map(({ words }) => words)}
            shown={visibleText}
          />
        )}
      </Card>
      <div class="pair">
        <Card heading="Response time for clients" note="logarithmic">
          <DurationChart minutes={minutes} marks={marks} of="total" />
        </Card>
        <Card heading="Response time of V2" note="to its response headers">
          <DurationChart minutes={minutes} marks={marks} of="v2" />
        </Card>
        {minutes.some(({ v1 }) => v1 !== undefined) && (
          <Card heading="Response time of V1" note="to its response headers">
            <DurationChart minutes={minutes} marks={marks} of="v1" />
          </Card>
        )}
      </div>
      {figures(minutes, go)}
    </div>
  );
}

type Marks = NonNullable<ChartFrameProps['marks']>;

/** The changes of modes and rule book that fall into the minutes of the charts, oldest first. */
function marksOf(changes: readonly ChangeRecord[], minutes: readonly HistoryMinute[]): Marks {
  const last = Date.parse(minutes.at(-1)?.time ?? '');
  return changes
    .toReversed()
    .map(({ at, what }) => ({
      slot: Math.min(HOUR_SLOTS - 1, HOUR_SLOTS - 1 + Math.floor((Date.parse(at) - last) / MINUTE_MS)),
      words: `${minuteTime(at)} ${what}`,
    }))
    .filter(({ slot }) => slot >= 0);
}

/** A count for each outcome, linked to its exchanges. */
function tiles(minutes: readonly HistoryMinute[], go: Go): VNode {
  const all = minutes.reduce((sum, minute) => sum + allOf(minute), 0);
  const failed = minutes.reduce((sum, minute) => sum + minute.failed, 0);
  const ofV2 = minutes.reduce((sum, { faults }) => sum + faults.v2, 0);
  const ofV1 = minutes.reduce((sum, { faults }) => sum + faults.v1, 0);
  return (
    <ul class="tiles">
      {HOUR_OUTCOMES.filter(({ outcome }) => outcome !== 'v1' || totalOf(minutes, 'v1') > 0).map(
        ({ outcome, name, meaning, filter }) => {
          const total = totalOf(minutes, outcome);
          const shareWords = all === 0 ? '–' : percentWords(total / all);
          return tile({ tone: outcome, name, total, words: shareWords, filter, meaning }, go);
        },
      )}
      {tile(
        {
          tone: 'faults',
          name: '4xx',
          total: ofV2 + ofV1,
          words: ofV1 === 0 ? 'responses of V2' : `${count(ofV2)} of V2, ${count(ofV1)} of V1`,
          filter: 'status:4xx -verdict:refused',
          meaning: "not counting the gateway's own refusals",
        },
        go,
      )}
      {tile(
        {
          tone: 'failed',
          name: 'failed',
          total: failed,
          words: '5xx, or no whole response to the client',
          filter: 'status:5xx,0,incomplete',
          meaning: '',
        },
        go,
      )}
    </ul>
  );
}

/** Every exchange of a minute. */
function allOf({ outcomes }: HistoryMinute): number {
  return HOUR_OUTCOMES.reduce((sum, { outcome }) => sum + outcomes[outcome], 0);
}

/** The outcomes in the order in which charts and tiles show them, with name, meaning and filter. */
const HOUR_OUTCOMES: readonly {
  readonly outcome: HourOutcome;
  readonly name: string;
  readonly meaning: string;
  readonly filter: string;
}[] = [
  {
    outcome: 'rewritten',
    name: 'rewritten',
    meaning: OUTCOME_MEANINGS.rewritten,
    filter: 'verdict:rewritten',
  },
  {
    outcome: 'unchanged',
    name: 'unchanged',
    meaning: OUTCOME_MEANINGS.unchanged,
    filter: 'verdict:unchanged',
  },
  { outcome: 'refused', name: 'refused', meaning: OUTCOME_MEANINGS.refused, filter: 'verdict:refused' },
  { outcome: 'passed', name: 'passed', meaning: OUTCOME_MEANINGS.passed, filter: 'route:v2 verdict:passed' },
  {
    outcome: 'v1',
    name: 'to V1',
    meaning: 'V1 request that went to V1 as it came',
    filter: 'route:v1 verdict:passed',
  },
];

/** Exchanges of an outcome over all of `minutes`. */
function totalOf(minutes: readonly HistoryMinute[], outcome: HourOutcome): number {
  return minutes.reduce((sum, { outcomes }) => sum + outcomes[outcome], 0);
}

interface Tile {
  readonly tone: string;
  readonly name: string;
  readonly total: number;
  readonly words: string;
  readonly filter: string;
  readonly meaning: string;
}

function tile({ tone, name, total, words, filter, meaning }: Tile, go: Go): VNode {
  return (
    <li key={name} class={`tile tile-${tone}`}>
      <button type="button" onClick={toExchanges(go, filter)}>
        <span class="tile-name">{name}</span>
        <strong>{count(total)}</strong>
        <span class="tile-share">{words}</span>
        {meaning !== '' && <span class="sr-only">{meaning}</span>}
      </button>
    </li>
  );
}

/** Exchanges by minute and outcome, as stacked bars. */
function VerdictChart({
  minutes,
  marks,
}: {
  readonly minutes: readonly HistoryMinute[];
  readonly marks: Marks;
}): VNode {
  const ticks = linearTicks(Math.max(...minutes.map(allOf), 1), 4);
  const max = ticks.at(-1) ?? 1;
  const hour = hourSlots(minutes);
  return (
    <ChartFrame
      summary={summaryOf(minutes)}
      marks={marks}
      height={240}
      ticks={ticks.map((tick) => ({ label: count(tick), share: tick / max }))}
      {...hour}
      readout={(slot) => readout(slot === undefined ? undefined : minutes[slot - hour.unknown])}
      draw={(plot) => minutes.map((minute, index) => bar(minute, hour.unknown + index, plot, max))}
    />
  );
}

/** The slots of a chart of the last hour; those before the first of `minutes` are not known. */
function hourSlots(
  minutes: readonly HistoryMinute[],
): Required<Pick<ChartFrameProps, 'slots' | 'labelEvery' | 'unknown'>> {
  const last = Date.parse(minutes.at(-1)?.time ?? '');
  const slots = Array.from({ length: HOUR_SLOTS }, (_, slot) =>
    Number.isNaN(last) ? '' : minuteTime(new Date(last - (HOUR_SLOTS - 1 - slot) * MINUTE_MS).toISOString()),
  );
  return { slots, labelEvery: 10, unknown: HOUR_SLOTS - minutes.length };
}

function summaryOf(minutes: readonly HistoryMinute[]): string {
  const parts = HOUR_OUTCOMES.map(({ outcome, name }) => `${count(totalOf(minutes, outcome))} ${name}`);
  return `Exchanges of ${hourWords(minutes)} by outcome: ${parts.join(', ')}.`;
}

/** The time that is known, in words: `the last hour`, or `the last 5 minutes`. */
function hourWords({ length }: readonly HistoryMinute[]): string {
  if (length >= HOUR_SLOTS) return 'the last hour';
  return length === 1 ? 'the last minute' : `the last ${counted(length, 'minute')}`;
}

function readout(minute: HistoryMinute | undefined): (VNode | string)[] {
  if (minute === undefined) {
    return HOUR_OUTCOMES.map(({ outcome, name }) => (
      <Legend key={name} look={`swatch fill-${outcome}`} text={name} />
    ));
  }
  const { faults, failed } = minute;
  const extra = [
    ...(faults.v2 > 0 ? [`${count(faults.v2)} with 4xx of V2`] : []),
    ...(faults.v1 > 0 ? [`${count(faults.v1)} with 4xx of V1`] : []),
    ...(failed > 0 ? [`${count(failed)} failed`] : []),
  ];
  return [
    <strong>{minuteTime(minute.time)}</strong>,
    ...HOUR_OUTCOMES.map(({ outcome, name }) => (
      <Legend
        key={`${count(minute.outcomes[outcome])} ${name}`}
        look={`swatch fill-${outcome}`}
        text={`${count(minute.outcomes[outcome])} ${name}`}
      />
    )),
    ...extra.map((words) => (
      <span key={words} class="legend">
        {words}
      </span>
    )),
  ];
}

function bar(minute: HistoryMinute, slot: number, plot: Plot, max: number): VNode {
  const width = plot.width / HOUR_SLOTS;
  let y = plot.top + plot.height;
  return (
    <g key={minute.time}>
      {HOUR_OUTCOMES.map(({ outcome }) => {
        const height = (minute.outcomes[outcome] / max) * plot.height;
        y -= height;
        return (
          height > 0 && (
            <rect
              key={outcome}
              class={`fill-${outcome}`}
              x={plot.left + width * slot + width * 0.12}
              y={y}
              width={width * 0.76}
              height={Math.max(height - 0.5, 0.5)}
            />
          )
        );
      })}
    </g>
  );
}

/** Properties of a chart of durations. */
interface DurationChartProps {
  readonly marks: Marks;
  readonly minutes: readonly HistoryMinute[];
  /** `total` is the client's waiting time; `v1` and `v2` are the times until that service began to respond. */
  readonly of: Measured;
}

type Measured = 'total' | 'v1' | 'v2';

/** Quantiles of durations by minute, as lines on a logarithmic scale. */
function DurationChart({ minutes, marks, of }: DurationChartProps): VNode {
  const known = quantilesOf(minutes, of);
  const hour = hourSlots(minutes);
  const ticks = logTicks(
    Math.min(...known.map(({ p50 }) => p50), 1),
    Math.max(...known.map(({ p99 }) => p99), 10),
  );
  return (
    <ChartFrame
      summary={durationSummary(minutes, of)}
      marks={marks}
      height={220}
      ticks={ticks.map((tick) => ({ label: tickLabel(tick), share: logShare(tick, ticks) }))}
      {...hour}
      readout={(slot) => durationReadout(slot === undefined ? undefined : minutes[slot - hour.unknown], of)}
      draw={(plot) =>
        QUANTILES.map((quantile) => (
          <path key={quantile} class={`line-${quantile}`} d={linePath(minutes, of, quantile, plot, ticks)} />
        ))
      }
    />
  );
}

function quantilesOf(minutes: readonly HistoryMinute[], of: Measured): readonly Quantiles[] {
  return minutes.flatMap((minute) => minute[of] ?? []);
}

function durationSummary(minutes: readonly HistoryMinute[], of: Measured): string {
  const whose = of === 'total' ? 'Response times for clients' : `Response times of ${of.toUpperCase()}`;
  const last = quantilesOf(minutes, of).at(-1);
  if (last === undefined) return `${whose}: no requests in ${hourWords(minutes)}.`;
  const words = QUANTILES.map((quantile) => `${quantile} ${milliseconds(last[quantile])} ms`);
  return `${whose}, by minute; the latest: ${words.join(', ')}.`;
}

function tickLabel(tick: number): string {
  return tick >= 1000 ? `${tick / 1000} s` : `${Number(tick.toFixed(1))} ms`;
}

function durationReadout(minute: HistoryMinute | undefined, of: Measured): (VNode | string)[] {
  const quantiles = minute?.[of];
  return [
    ...(minute === undefined ? [] : [<strong>{minuteTime(minute.time)}</strong>]),
    ...QUANTILES.map((quantile) => (
      <Legend
        key={quantiles === undefined ? quantile : `${quantile} ${milliseconds(quantiles[quantile])} ms`}
        look={`stroke line-${quantile}`}
        text={quantiles === undefined ? quantile : `${quantile} ${milliseconds(quantiles[quantile])} ms`}
      />
    )),
  ];
}

/** A line with gaps for minutes without requests; an isolated minute is a short stroke. */
function linePath(
  minutes: readonly HistoryMinute[],
  of: Measured,
  quantile: keyof Quantiles,
  plot: Plot,
  ticks: readonly number[],
): string {
  const width = plot.width / HOUR_SLOTS;
  const unknown = HOUR_SLOTS - minutes.length;
  let isDrawing = false;
  return minutes
    .map((minute, index) => {
      const quantiles = minute[of];
      const isJoined = isDrawing;
      isDrawing = quantiles !== undefined;
      if (quantiles === undefined) return '';
      const x = plot.left + width * (unknown + index + 0.5);
      const y = plot.top + plot.height * (1 - logShare(quantiles[quantile], ticks));
      return isJoined ? `L ${x.toFixed(1)} ${y.toFixed(1)}` : `M ${(x - 1).toFixed(1)} ${y.toFixed(1)} h 2`;
    })
    .join(' ');
}

/** The data of the charts as a table. */
function figures(minutes: readonly HistoryMinute[], go: Go): VNode {
  const busy = minutes.filter((minute) => allOf(minute) > 0).reverse();
  return (
    <details class="figures">
      <summary>Data as a table</summary>
      <ScrollTable
        label="Data of the last hour"
        columns={[
          {
            name: 'Minute',
            kind: 'head',
            cell: ({ time }) => (
              <LinkButton onClick={toExchanges(go, `time:${time.slice(0, 16)}`)}>
                {minuteTime(time)}
              </LinkButton>
            ),
          },
          ...FIGURES,
        ]}
        rows={busy}
        keyOf={({ time }) => time}
      />
    </details>
  );
}

const FIGURES: readonly Column<HistoryMinute>[] = [
  ...HOUR_OUTCOMES.map(({ name, outcome }) => countColumn(name, ({ outcomes }) => outcomes[outcome])),
  countColumn('4xx of V2', ({ faults }) => faults.v2),
  countColumn('4xx of V1', ({ faults }) => faults.v1),
  countColumn('failed', ({ failed }) => failed),
  quantileColumn('p50 ms', ({ total }) => total?.p50),
  quantileColumn('p90 ms', ({ total }) => total?.p90),
  quantileColumn('p99 ms', ({ total }) => total?.p99),
  quantileColumn('V2 p50 ms', ({ v2 }) => v2?.p50),
  quantileColumn('V2 p99 ms', ({ v2 }) => v2?.p99),
  quantileColumn('V1 p50 ms', ({ v1 }) => v1?.p50),
  quantileColumn('V1 p99 ms', ({ v1 }) => v1?.p99),
];

function countColumn(name: string, of: (minute: HistoryMinute) => number): Column<HistoryMinute> {
  return { name, kind: 'number', cell: (minute) => count(of(minute)) };
}

function quantileColumn(
  name: string,
  of: (minute: HistoryMinute) => number | undefined,
): Column<HistoryMinute> {
  return {
    name,
    kind: 'number',
    cell: (minute) => {
      const value = of(minute);
      return value === undefined ? '–' : milliseconds(value);
    },
  };
}
