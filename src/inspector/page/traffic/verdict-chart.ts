import type { VNode } from 'preact';
import type { HistoryMinute } from '../../api.ts';
import { OUTCOME_MEANINGS } from '../../entries/entry-words.ts';
import type { HourOutcome } from '../../../rewrite-log/history.ts';
import { ChartFrame, type Plot } from './chart-frame.ts';
import { el, part } from '../parts/element.ts';
import { count, minuteTime } from '../parts/format.ts';
import { HOUR_SLOTS, hourSlots, hourWords } from './hour-slots.ts';
import { linearTicks } from './scale.ts';

/** The outcomes in the order in which charts and tiles show them, with name, meaning and filter. */
export const HOUR_OUTCOMES: readonly {
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

/** Exchanges by minute and outcome, as stacked bars. */
export function VerdictChart({ minutes }: { readonly minutes: readonly HistoryMinute[] }): VNode {
  const ticks = linearTicks(Math.max(...minutes.map(allOf), 1), 4);
  const max = ticks.at(-1) ?? 1;
  const hour = hourSlots(minutes);
  return part(ChartFrame, {
    summary: summaryOf(minutes),
    height: 240,
    ticks: ticks.map((tick) => ({ label: count(tick), share: tick / max })),
    ...hour,
    readout: (slot) => readout(slot === undefined ? undefined : minutes[slot - hour.unknown]),
    draw: (plot) => minutes.map((minute, index) => bar(minute, hour.unknown + index, plot, max)),
  });
}

/** Every exchange of a minute. */
export function allOf({ outcomes }: HistoryMinute): number {
  return HOUR_OUTCOMES.reduce((sum, { outcome }) => sum + outcomes[outcome], 0);
}

/** Exchanges of an outcome over all of `minutes`. */
export function totalOf(minutes: readonly HistoryMinute[], outcome: HourOutcome): number {
  return minutes.reduce((sum, { outcomes }) => sum + outcomes[outcome], 0);
}

function bar(minute: HistoryMinute, slot: number, plot: Plot, max: number): VNode {
  const width = plot.width / HOUR_SLOTS;
  let y = plot.top + plot.height;
  return el(
    'g',
    { key: minute.time },
    HOUR_OUTCOMES.map(({ outcome }) => {
      const height = (minute.outcomes[outcome] / max) * plot.height;
      y -= height;
      return (
        height > 0 &&
        el('rect', {
          key: outcome,
          class: `fill-${outcome}`,
          x: plot.left + width * slot + width * 0.12,
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
    return HOUR_OUTCOMES.map(({ outcome, name }) =>
      el('span', { key: outcome, class: 'legend' }, el('i', { class: `swatch fill-${outcome}` }), name),
    );
  }
  const { faults, failed } = minute;
  const extra = [
    ...(faults.v2 > 0 ? [`${count(faults.v2)} with 4xx of V2`] : []),
    ...(faults.v1 > 0 ? [`${count(faults.v1)} with 4xx of V1`] : []),
    ...(failed > 0 ? [`${count(failed)} failed`] : []),
  ];
  return [
    el('strong', null, minuteTime(minute.time)),
    ...HOUR_OUTCOMES.map(({ outcome, name }) =>
      el(
        'span',
        { key: outcome, class: 'legend' },
        el('i', { class: `swatch fill-${outcome}` }),
        `${count(minute.outcomes[outcome])} ${name}`,
      ),
    ),
    ...extra.map((words) => el('span', { key: words, class: 'legend' }, words)),
  ];
}

function summaryOf(minutes: readonly HistoryMinute[]): string {
  const parts = HOUR_OUTCOMES.map(({ outcome, name }) => `${count(totalOf(minutes, outcome))} ${name}`);
  return `Exchanges of ${hourWords(minutes)} by outcome: ${parts.join(', ')}.`;
}
