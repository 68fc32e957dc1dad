import type { VNode } from 'preact';
import { useState } from 'preact/hooks';
import type { EntryHistogram } from '../../api.ts';
import { useAsked } from '../admin-client.ts';
import { el } from '../parts/element.ts';
import { count, counted, dayTime } from '../parts/format.ts';
import { type TimeRange, timeRangeOf, withTimeRange } from './time-range.ts';

/** Properties of the time bar. */
export interface TimeBarProps {
  readonly filter: string;
  /** True once the list has a row: what is kept is counted again then. */
  readonly hasRows: boolean;
  readonly onFilter: (filter: string) => void;
}

const REFRESH_MS = 5000;
/** Differs from the other, so that a first row has what is kept counted at once. */
const EMPTY_REFRESH_MS = 2500;
const OPEN_KEY = 'capture-gateway.time';

/** The kept exchanges that match the filter, by time: a bar or a range chosen here becomes a term of the filter. */
export function TimeBar({ filter, hasRows, onFilter }: TimeBarProps): VNode {
  const [isOpen, setIsOpen] = useState(() => localStorage.getItem(OPEN_KEY) !== 'closed');
  const range = timeRangeOf(filter);
  const choose = (chosen: TimeRange): void => onFilter(withTimeRange(filter, chosen));
  const query = new URLSearchParams(filter === '' ? {} : { filter });
  const { response } = useAsked<EntryHistogram>(
    isOpen ? `entries/histogram?${query.toString()}` : undefined,
    hasRows ? REFRESH_MS : EMPTY_REFRESH_MS,
  );
  return el(
    'details',
    {
      class: 'time-bar',
      open: isOpen,
      onToggle: ({ currentTarget }) => {
        setIsOpen(currentTarget.open);
        localStorage.setItem(OPEN_KEY, currentTarget.open ? 'open' : 'closed');
      },
    },
    el(
      'summary',
      null,
      'Time',
      el('small', null, response === undefined ? '' : spanWords(response, range, hasRows)),
    ),
    response !== undefined && histogram(response, choose),
    el(
      'div',
      { class: 'time-range' },
      el(
        'details',
        null,
        el('summary', null, 'Choose times'),
        timeField('From', range?.from, (from) => choose({ ...range, from })),
        timeField('To', range?.to, (to) => choose({ ...range, to })),
      ),
      range !== undefined &&
        el('button', { type: 'button', class: 'button', onClick: () => choose({}) }, 'Everything kept'),
    ),
  );
}

/** The bars are the options of a list, so that arrow keys move among them and one stop of Tab is enough. */
function histogram({ bars, step }: EntryHistogram, choose: (range: TimeRange) => void): VNode {
  const most = Math.max(1, ...bars.map((bar) => bar.count));
  const take = (index: number): void => {
    const start = Date.parse(bars[index]?.time ?? '') / 1000;
    if (!Number.isNaN(start)) choose({ from: start, to: start + step - 1 });
  };
  return el(
    'div',
    {
      class: 'histogram',
      role: 'listbox',
      tabIndex: 0,
      'aria-label': 'Kept exchanges by time',
      'aria-orientation': 'horizontal',
      onFocus: ({ currentTarget }) => mark(currentTarget, markedIn(currentTarget) ?? bars.length - 1),
      onKeyDown: (event) => {
        const { currentTarget, key } = event;
        const at = markedIn(currentTarget) ?? bars.length - 1;
        if (key === 'ArrowLeft') mark(currentTarget, Math.max(0, at - 1));
        else if (key === 'ArrowRight') mark(currentTarget, Math.min(bars.length - 1, at + 1));
        else if (key === 'Home') mark(currentTarget, 0);
        else if (key === 'End') mark(currentTarget, bars.length - 1);
        else if (key === 'Enter' || key === ' ') take(at);
        else return;
        event.preventDefault();
      },
    },
    bars.map((bar, index) => {
      const words = barWords(bar, step);
      return el(
        'span',
        {
          key: bar.time,
          id: `bar-${index}`,
          role: 'option',
          class: 'bar',
          'aria-label': words,
          'aria-selected': false,
          title: words,
          onClick: () => take(index),
        },
        el('i', { class: 'fill-passed', style: { height: `${((bar.count - bar.notable) / most) * 100}%` } }),
        el('i', { class: 'fill-refused', style: { height: `${(bar.notable / most) * 100}%` } }),
      );
    }),
  );
}

/** The mark moves without a redraw: sixty bars are drawn every few seconds at most. */
function mark(list: HTMLElement, index: number): void {
  for (const bar of list.children) bar.setAttribute('aria-selected', String(bar.id === `bar-${index}`));
  list.setAttribute('aria-activedescendant', `bar-${index}`);
}

function markedIn(list: HTMLElement): number | undefined {
  const id = list.getAttribute('aria-activedescendant');
  return id === null ? undefined : Number(id.slice('bar-'.length));
}

function barWords({ time, count: all, notable }: EntryHistogram['bars'][number], step: number): string {
  const end = new Date(Date.parse(time) + step * 1000).toISOString();
  return `${dayTime(time)} to ${dayTime(end)}: ${counted(all, 'exchange')}, ${count(notable)} of them failed, refused or different`;
}

function spanWords(
  { bars, step, wholeSince }: EntryHistogram,
  range: TimeRange | undefined,
  hasRows: boolean,
): string {
  const [first, last] = [bars[0], bars.at(-1)];
  if (first === undefined || last === undefined) {
    if (hasRows) return '';
    return range === undefined ? 'nothing is kept yet' : 'nothing is kept of the chosen time';
  }
  const end = new Date(Date.parse(last.time) + step * 1000).toISOString();
  const all = bars.reduce((sum, bar) => sum + bar.count, 0);
  const only =
    wholeSince !== undefined && first.time < wholeSince.slice(0, 19)
      ? `; failures only before ${dayTime(wholeSince)}`
      : '';
  return `${dayTime(first.time)} to ${dayTime(end)}, ${counted(all, 'matching exchange')}${only}`;
}

function timeField(
  label: string,
  second: number | undefined,
  onTime: (second: number | undefined) => void,
): VNode {
  const id = `time-${label.toLowerCase()}`;
  return el(
    'span',
    { class: 'time-field' },
    el('label', { for: id }, label),
    el('input', {
      id,
      type: 'datetime-local',
      step: 1,
      value: second === undefined ? '' : localText(second),
      onChange: ({ currentTarget }) => {
        const time = Date.parse(currentTarget.value);
        onTime(Number.isNaN(time) ? undefined : Math.floor(time / 1000));
      },
    }),
  );
}

/** The local time as the field has it: `2026-11-22T09:30:00`. */
function localText(second: number): string {
  const zone = new Date(second * 1000).getTimezoneOffset() * 60;
  return new Date((second - zone) * 1000).toISOString().slice(0, 19);
}
