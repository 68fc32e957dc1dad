import type { VNode } from 'preact';
import type { HistoryMinute, HistoryView } from '../api.ts';
import { useAsked } from './admin-client.ts';
import { DurationChart } from './duration-chart.ts';
import { card } from './card.ts';
import { el, part } from './element.ts';
import { count, milliseconds, minuteTime } from './format.ts';
import { Loading } from './loading.ts';
import type { Go } from './page-state.ts';
import { allOf, totalOf, VerdictChart } from './verdict-chart.ts';
import { VERDICT_NAMES, VERDICTS } from './verdict-badge.ts';
import { scrollTable } from './scroll-table.ts';

const REFRESH = 5000;

const FIGURES = [...VERDICT_NAMES, 'failed', 'p50 ms', 'p90 ms', 'p99 ms', 'V2 p50 ms', 'V2 p99 ms'];

/** The last hour: traffic by verdict, and durations. */
export function HourView({ go }: { readonly go: Go }): VNode {
  const { response, failure } = useAsked<HistoryView>('history', REFRESH);
  if (response === undefined) return part(Loading, { failure, subject: 'the last hour' });
  const { minutes } = response;
  return el(
    'div',
    { class: 'view hour' },
    el('h2', null, 'Last hour'),
    tiles(minutes, go),
    card('Exchanges per minute, by verdict', undefined, part(VerdictChart, { minutes })),
    el(
      'div',
      { class: 'pair' },
      card('Response time for clients', 'logarithmic', part(DurationChart, { minutes, of: 'total' })),
      card(
        'Response time of V2',
        'to its response headers',
        part(DurationChart, { minutes, of: 'upstream' }),
      ),
    ),
    figures(minutes),
  );
}

/** A count for each verdict, linked to its exchanges. */
function tiles(minutes: readonly HistoryMinute[], go: Go): VNode {
  const all = minutes.reduce((sum, minute) => sum + allOf(minute), 0);
  const failed = minutes.reduce((sum, minute) => sum + minute.failed, 0);
  return el(
    'ul',
    { class: 'tiles' },
    VERDICT_NAMES.map((verdict) => {
      const total = totalOf(minutes, verdict);
      return el(
        'li',
        { key: verdict, class: `tile tile-${verdict}` },
        el(
          'button',
          {
            type: 'button',
            onClick: () => go({ view: 'traffic', filter: `verdict:${verdict}`, entry: undefined }),
          },
          el('span', { class: 'tile-name' }, verdict),
          el('strong', null, count(total)),
          el('span', { class: 'tile-share' }, all === 0 ? '–' : share(total / all)),
          el('span', { class: 'sr-only' }, VERDICTS[verdict]),
        ),
      );
    }),
    el(
      'li',
      { class: 'tile tile-failed' },
      el(
        'button',
        { type: 'button', onClick: () => go({ view: 'traffic', filter: 'status:5xx', entry: undefined }) },
        el('span', { class: 'tile-name' }, 'failed'),
        el('strong', null, count(failed)),
        el('span', { class: 'tile-share' }, '5xx, or the client went away'),
      ),
    ),
  );
}

function share(part: number): string {
  if (part > 0 && part < 0.001) return '< 0.1 %';
  return `${(part * 100).toFixed(1)} %`;
}

/** The data of the charts as a table. */
function figures(minutes: readonly HistoryMinute[]): VNode {
  const busy = minutes.filter((minute) => allOf(minute) > 0).reverse();
  return el(
    'details',
    { class: 'figures' },
    el('summary', null, 'Data as a table'),
    scrollTable(
      'Data of the last hour',
      { columns: ['Minute', ...FIGURES], numbers: FIGURES },
      busy.map(figureRow),
    ),
  );
}

function figureRow(minute: HistoryMinute): VNode {
  const { total, upstream } = minute;
  const quantiles = [total?.p50, total?.p90, total?.p99, upstream?.p50, upstream?.p99];
  return el(
    'tr',
    { key: minute.time },
    el('th', { scope: 'row' }, minuteTime(minute.time)),
    VERDICT_NAMES.map((verdict) =>
      el('td', { key: verdict, class: 'number' }, count(minute.verdicts[verdict])),
    ),
    el('td', { class: 'number' }, count(minute.failed)),
    quantiles.map((value, index) =>
      el('td', { key: index, class: 'number' }, value === undefined ? '–' : milliseconds(value)),
    ),
  );
}
