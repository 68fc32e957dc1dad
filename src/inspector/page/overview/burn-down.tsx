import type { VNode } from 'preact';
import { useMemo } from 'preact/hooks';
import type { Overview, ReportDay } from '../../api.ts';
import { count, counted, dayText } from '../format.ts';
import { Card } from '../parts.tsx';
import { type ChartSeries, TimeChart } from './time-chart.tsx';

/** Properties of the burn-down. */
type BurnDownProps = Pick<Overview, 'days' | 'isKeyless'>;

const DAY = 86_400;

/** Minimum number of days, since the bars of two days alone would be too wide. */
const MIN_DAYS = 7;

/** Clients that called V1, by day: those whose requests or responses were edited, or would have been, and those without an edit seen. */
export function BurnDown({ days, isKeyless }: BurnDownProps): VNode {
  const shown = useMemo(() => slotsOf(days), [days]);
  const [first, second] = days;
  return (
    <Card
      heading="Clients that called V1, by day"
      note={
        isKeyless === true ? 'UTC, without requests that have no key: their clients cannot be counted' : 'UTC'
      }
    >
      {first === undefined ? (
        <p class="empty">No V1 request has been seen yet.</p>
      ) : second === undefined ? (
        <p>{oneDay(first)}</p>
      ) : (
        <TimeChart
          label={summaryOf(days)}
          {...shown}
          step={DAY}
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

/** The first day, of which a chart would be one bar. */
function oneDay({ day, clients, rewritten }: ReportDay): string {
  return `${counted(clients, 'client')} on ${dayText(Date.parse(day) / 1000)}: ${count(rewritten)} with edits, ${count(clients - rewritten)} without an edit seen. A chart begins with the second day.`;
}

function summaryOf(days: readonly ReportDay[]): string {
  const first = days[0];
  const last = days.at(-1);
  if (first === undefined || last === undefined) return 'Clients that called V1, by day: none yet.';
  const later = last === first ? '' : `, ${count(last.clients)} on ${last.day}`;
  return `Clients that called V1, by day: ${counted(first.clients, 'client')} on ${first.day}${later}.`;
}
