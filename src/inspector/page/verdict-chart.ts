import type { VNode } from 'preact';
import type { HistoryMinute } from '../api.ts';
import type { Verdict } from '../../rewrite-log/entry.ts';
import { ChartFrame, type Plot } from './chart-frame.ts';
import { el, part } from './element.ts';
import { count, counted, minuteTime } from './format.ts';
import { linearTicks } from './scale.ts';
import { VERDICT_NAMES } from './verdict-badge.ts';

/** Exchanges by minute and verdict, as stacked bars. */
export function VerdictChart({ minutes }: { readonly minutes: readonly HistoryMinute[] }): VNode {
  const ticks = linearTicks(Math.max(...minutes.map(allOf), 1), 4);
  const max = ticks.at(-1) ?? 1;
  return part(ChartFrame, {
    summary: summaryOf(minutes),
    height: 240,
    ticks: ticks.map((tick) => ({ label: count(tick), share: tick / max })),
    slots: minutes.map(({ time }) => minuteTime(time)),
    labelEvery: 10,
    readout: (slot) => readout(slot === undefined ? undefined : minutes[slot]),
    draw: (plot) => minutes.map((minute, index) => bar(minute, index, plot, minutes.length, max)),
  });
}

/** Every exchange of a minute. */
export function allOf({ verdicts }: HistoryMinute): number {
  return VERDICT_NAMES.reduce((sum, verdict) => sum + verdicts[verdict], 0);
}

/** Exchanges of a verdict over all of `minutes`. */
export function totalOf(minutes: readonly HistoryMinute[], verdict: Verdict): number {
  return minutes.reduce((sum, { verdicts }) => sum + verdicts[verdict], 0);
}

function bar(minute: HistoryMinute, index: number, plot: Plot, slots: number, max: number): VNode {
  const width = plot.width / slots;
  let y = plot.top + plot.height;
  return el(
    'g',
    { key: minute.time },
    VERDICT_NAMES.map((verdict) => {
      const height = (minute.verdicts[verdict] / max) * plot.height;
      y -= height;
      return (
        height > 0 &&
        el('rect', {
          key: verdict,
          class: `fill-${verdict}`,
          x: plot.left + width * index + width * 0.12,
          y,
          width: width * 0.76,
          height: Math.max(height - 0.5, 0.5),
        })
      );
    }),
  );
}

function readout(minute: HistoryMinute | undefined): (VNode | string)[] {
  if (minute === undefined) {
    return VERDICT_NAMES.map((verdict) =>
      el('span', { key: verdict, class: 'legend' }, el('i', { class: `swatch fill-${verdict}` }), verdict),
    );
  }
  return [
    el('strong', null, minuteTime(minute.time)),
    ...VERDICT_NAMES.map((verdict) =>
      el(
        'span',
        { key: verdict, class: 'legend' },
        el('i', { class: `swatch fill-${verdict}` }),
        `${count(minute.verdicts[verdict])} ${verdict}`,
      ),
    ),
    ...(minute.failed > 0 ? [el('span', { class: 'legend' }, `${count(minute.failed)} failed`)] : []),
  ];
}

function summaryOf(minutes: readonly HistoryMinute[]): string {
  const parts = VERDICT_NAMES.map((verdict) => `${count(totalOf(minutes, verdict))} ${verdict}`);
  return `Exchanges of the last ${counted(minutes.length, 'minute')} by verdict: ${parts.join(', ')}.`;
}
