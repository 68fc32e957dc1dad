import type { VNode } from 'preact';
import type { ReportDay } from '../../api.ts';
import { ChartFrame, type Plot } from './chart-frame.ts';
import { el, part } from '../parts/element.ts';
import { count, counted } from '../parts/format.ts';
import { linearTicks } from './scale.ts';

/** Clients on V1 by day: those whose requests or responses were edited, or would have been, and those of whom no edit was seen. */
export function BurnDown({ days }: { readonly days: readonly ReportDay[] }): VNode {
  const ticks = linearTicks(Math.max(...days.map(({ clients }) => clients), 1), 4);
  const max = ticks.at(-1) ?? 1;
  const width = Math.max(days.length, MIN_SLOTS);
  const empty = width - days.length;
  return part(ChartFrame, {
    summary: summaryOf(days),
    height: 220,
    ticks: ticks.map((tick) => ({ label: count(tick), share: tick / max })),
    slots: Array.from({ length: width }, (_, index) => days[index - empty]?.day.slice(5) ?? ''),
    labelEvery: Math.ceil(days.length / 10),
    readout: (slot) => readout(slot === undefined ? undefined : days[slot - empty]),
    draw: (plot) => days.map((day, index) => bar(day, index + empty, plot, width, max)),
  });
}

/** Minimum number of slots: the bars of a chart of two days would be too wide. */
const MIN_SLOTS = 14;

function bar(day: ReportDay, index: number, plot: Plot, slots: number, max: number): VNode {
  const width = plot.width / slots;
  const { clients, rewritten } = day;
  const x = plot.left + width * (index + 0.2);
  const base = plot.top + plot.height;
  const edited = (rewritten / max) * plot.height;
  const plain = ((clients - rewritten) / max) * plot.height;
  return el(
    'g',
    { key: day.day },
    el('rect', { class: 'fill-rewritten', x, y: base - edited, width: width * 0.6, height: edited }),
    el('rect', { class: 'fill-unchanged', x, y: base - edited - plain, width: width * 0.6, height: plain }),
  );
}

function readout(day: ReportDay | undefined): (VNode | string)[] {
  const plain = day === undefined ? '' : `${count(day.clients - day.rewritten)} `;
  const edited = day === undefined ? 'clients' : counted(day.rewritten, 'client');
  return [
    ...(day === undefined ? [] : [el('strong', null, day.day)]),
    el('span', { class: 'legend' }, el('i', { class: 'swatch fill-rewritten' }), `${edited} with edits`),
    el(
      'span',
      { class: 'legend' },
      el('i', { class: 'swatch fill-unchanged' }),
      `${plain}without an edit that was seen`,
    ),
    ...(day === undefined
      ? []
      : [el('span', { class: 'legend' }, `${counted(day.v1, 'request')} on V1, ${count(day.v2)} on V2`)]),
  ];
}

function summaryOf(days: readonly ReportDay[]): string {
  const first = days[0];
  const last = days.at(-1);
  if (first === undefined || last === undefined) return 'Clients on V1 by day: none yet.';
  const later = last === first ? '' : `, ${count(last.clients)} on ${last.day}`;
  return `Clients on V1 by day: ${counted(first.clients, 'client')} on ${first.day}${later}.`;
}
