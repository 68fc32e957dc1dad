import type { VNode } from 'preact';
import { useMemo } from 'preact/hooks';
import type { ChangeRecord } from '../../../rollout/rollout-tally.ts';
import type { Overview, ReportDay } from '../../api.ts';
import { count, counted, dayText } from '../format.ts';
import { Card } from '../parts.tsx';
import { type ChartSeries, TimeChart } from './time-chart.tsx';
import { marksOf } from './traffic-charts.tsx';

/** Properties of the burn-down. */
interface BurnDownProps extends Pick<Overview, 'days' | 'isKeyless'> {
  readonly changes: readonly ChangeRecord[];
}

const DAY = 86_400;

/** Minimum number of days, since the bars of two days alone would be too wide. */
const MIN_DAYS = 14;

/** Clients that called V1, by day: those whose requests or responses were edited, or would have been, and those without an edit seen. */
export function BurnDown({ days, isKeyless, changes }: BurnDownProps): VNode {
  const shown = useMemo(() => slotsOf(days), [days]);
  const marks = useMemo(() => marksOf(changes.toReversed()), [changes]);
  return (
    <Card
      heading="Clients that called V1, by day"
      note={
        isKeyless === true ? 'UTC, without requests that have no key, whose clients cannot be counted' : 'UTC'
      }
    >
      {days.length === 0 ? (
        <p class="empty">No V1 request has been seen yet.</p>
      ) : (
        <TimeChart
          label={summaryOf(days)}
          {...shown}
          step={DAY}
          marks={marks}
          height={14}
          valueText={(value) => (Number.isInteger(value) ? count(value) : '')}
          tickText={dayText}
        />
      )}
    </Card>
  );
}

function slotsOf(days: readonly ReportDay[]): {
  readonly times: readonly number[];
  readonly series: readonly ChartSeries[];
  readonly from: number;
  readonly until: number;
  readonly knownSince: number;
} {
  const today = Math.floor(Date.now() / 1000 / DAY) * DAY;
  const byDay = new Map(days.map((one) => [Date.parse(one.day) / 1000, one]));
  const first = Math.min(today, ...byDay.keys());
  const from = Math.min(first, today - (MIN_DAYS - 1) * DAY);
  const times = Array.from({ length: (today - from) / DAY + 1 }, (_, index) => from + index * DAY);
  const of = (value: (day: ReportDay) => number): (number | null)[] =>
    times.map((time) => {
      const day = byDay.get(time);
      return day === undefined ? (time < first ? null : 0) : value(day);
    });
  return {
    times,
    from,
    until: today + DAY,
    knownSince: days.length === 0 ? today : first,
    series: [
      {
        name: 'with edits',
        kind: 'bar',
        color: '--fill-rewritten',
        look: 'plain',
        values: of(({ rewritten }) => rewritten),
      },
      {
        name: 'without an edit seen',
        kind: 'bar',
        color: '--fill-unchanged',
        look: 'striped',
        values: of((day) => day.clients - day.rewritten),
      },
    ],
  };
}

function summaryOf(days: readonly ReportDay[]): string {
  const first = days[0];
  const last = days.at(-1);
  if (first === undefined || last === undefined) return 'Clients that called V1, by day: none yet.';
  const later = last === first ? '' : `, ${count(last.clients)} on ${last.day}`;
  return `Clients that called V1, by day: ${counted(first.clients, 'client')} on ${first.day}${later}.`;
}
