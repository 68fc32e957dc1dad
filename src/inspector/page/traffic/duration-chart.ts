import type { VNode } from 'preact';
import type { HistoryMinute, Quantiles } from '../../api.ts';
import { ChartFrame, type Plot } from './chart-frame.ts';
import { el, part } from '../parts/element.ts';
import { milliseconds, minuteTime } from '../parts/format.ts';
import { HOUR_SLOTS, hourSlots, hourWords } from './hour-slots.ts';
import { logShare, logTicks } from './scale.ts';

const QUANTILES = ['p99', 'p90', 'p50'] as const;

/** Properties of a chart of durations. */
export interface DurationChartProps {
  readonly minutes: readonly HistoryMinute[];
  /** `total`: the client's waiting time; `v1`, `v2`: until that service began to respond. */
  readonly of: Measured;
}

type Measured = 'total' | 'v1' | 'v2';

/** Quantiles of durations by minute, as lines on a logarithmic scale. */
export function DurationChart({ minutes, of }: DurationChartProps): VNode {
  const known = quantilesOf(minutes, of);
  const hour = hourSlots(minutes);
  const ticks = logTicks(
    Math.min(...known.map(({ p50 }) => p50), 1),
    Math.max(...known.map(({ p99 }) => p99), 10),
  );
  return part(ChartFrame, {
    summary: summaryOf(minutes, of),
    height: 220,
    ticks: ticks.map((tick) => ({ label: tickLabel(tick), share: logShare(tick, ticks) })),
    ...hour,
    readout: (slot) => readout(slot === undefined ? undefined : minutes[slot - hour.unknown], of),
    draw: (plot) =>
      QUANTILES.map((quantile) =>
        el('path', {
          key: quantile,
          class: `line-${quantile}`,
          d: linePath(minutes, of, quantile, plot, ticks),
        }),
      ),
  });
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

function readout(minute: HistoryMinute | undefined, of: Measured): (VNode | string)[] {
  const quantiles = minute?.[of];
  return [
    ...(minute === undefined ? [] : [el('strong', null, minuteTime(minute.time))]),
    ...QUANTILES.map((quantile) =>
      el(
        'span',
        { key: quantile, class: 'legend' },
        el('i', { class: `stroke line-${quantile}` }),
        quantiles === undefined ? quantile : `${quantile} ${milliseconds(quantiles[quantile])} ms`,
      ),
    ),
  ];
}

function tickLabel(tick: number): string {
  return tick >= 1000 ? `${tick / 1000} s` : `${Number(tick.toFixed(1))} ms`;
}

function quantilesOf(minutes: readonly HistoryMinute[], of: Measured): readonly Quantiles[] {
  return minutes.flatMap((minute) => minute[of] ?? []);
}

function summaryOf(minutes: readonly HistoryMinute[], of: Measured): string {
  const whose = of === 'total' ? 'Response times for clients' : `Response times of ${of.toUpperCase()}`;
  const last = quantilesOf(minutes, of).at(-1);
  if (last === undefined) return `${whose}: no requests in ${hourWords(minutes)}.`;
  const words = QUANTILES.map((quantile) => `${quantile} ${milliseconds(last[quantile])} ms`);
  return `${whose}, by minute; the latest: ${words.join(', ')}.`;
}
