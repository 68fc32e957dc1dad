import type { VNode } from 'preact';
import type { HistoryMinute, HistoryView } from '../../api.ts';
import { useAsked } from '../admin-client.ts';
import { DurationChart } from './duration-chart.ts';
import { card } from '../parts/card.ts';
import { el, part } from '../parts/element.ts';
import { count, dayTime, milliseconds, minuteTime } from '../parts/format.ts';
import { HOUR_SLOTS } from './hour-slots.ts';
import { Loading } from '../parts/loading.ts';
import type { Go } from '../page-state.ts';
import { allOf, HOUR_OUTCOMES, totalOf, VerdictChart } from './verdict-chart.ts';
import { scrollTable } from '../parts/scroll-table.ts';

const REFRESH = 5000;

const FIGURES = [
  ...HOUR_OUTCOMES.map(({ name }) => name),
  '4xx of V2',
  '4xx of V1',
  'failed',
  'p50 ms',
  'p90 ms',
  'p99 ms',
  'V2 p50 ms',
  'V2 p99 ms',
  'V1 p50 ms',
  'V1 p99 ms',
];

/** The last hour: traffic by verdict, and durations. */
export function HourView({ go }: { readonly go: Go }): VNode {
  const { response, failure } = useAsked<HistoryView>('history', REFRESH);
  if (response === undefined) return part(Loading, { failure, subject: 'the last hour' });
  const { minutes, since } = response;
  return el(
    'div',
    { class: 'view hour' },
    el('h2', null, 'Last hour'),
    minutes.length < HOUR_SLOTS && el('p', { class: 'lead' }, unknownWords(since)),
    tiles(minutes, go),
    card('Exchanges per minute, by outcome', undefined, part(VerdictChart, { minutes })),
    el(
      'div',
      { class: 'pair' },
      card('Response time for clients', 'logarithmic', part(DurationChart, { minutes, of: 'total' })),
      card('Response time of V2', 'to its response headers', part(DurationChart, { minutes, of: 'v2' })),
      minutes.some(({ v1 }) => v1 !== undefined) &&
        card('Response time of V1', 'to its response headers', part(DurationChart, { minutes, of: 'v1' })),
    ),
    figures(minutes, go),
  );
}

function unknownWords(since: string): string {
  return `The figures begin at ${dayTime(since)}, when this gateway started; what was before is not known here.`;
}

/** A count for each outcome, linked to its exchanges. */
function tiles(minutes: readonly HistoryMinute[], go: Go): VNode {
  const all = minutes.reduce((sum, minute) => sum + allOf(minute), 0);
  const [failed, ofV2, ofV1] = [
    minutes.reduce((sum, minute) => sum + minute.failed, 0),
    minutes.reduce((sum, { faults }) => sum + faults.v2, 0),
    minutes.reduce((sum, { faults }) => sum + faults.v1, 0),
  ];
  return el(
    'ul',
    { class: 'tiles' },
    HOUR_OUTCOMES.filter(({ outcome }) => outcome !== 'v1' || totalOf(minutes, 'v1') > 0).map(
      ({ outcome, name, meaning, filter }) => {
        const total = totalOf(minutes, outcome);
        const shareWords = all === 0 ? '–' : share(total / all);
        return tile({ tone: outcome, name, total, words: shareWords, filter, meaning }, go);
      },
    ),
    tile(
      {
        tone: 'faults',
        name: '4xx',
        total: ofV2 + ofV1,
        words: ofV1 === 0 ? 'responses of V2' : `${count(ofV2)} of V2, ${count(ofV1)} of V1`,
        filter: 'status:4xx -verdict:refused',
        meaning: 'not counting what the gateway refused',
      },
      go,
    ),
    tile(
      {
        tone: 'failed',
        name: 'failed',
        total: failed,
        words: '5xx, or no whole response to the client',
        filter: 'status:5xx,0,incomplete',
        meaning: '',
      },
      go,
    ),
  );
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
  return el(
    'li',
    { key: name, class: `tile tile-${tone}` },
    el(
      'button',
      { type: 'button', onClick: () => go({ view: 'traffic', filter, entry: undefined }) },
      el('span', { class: 'tile-name' }, name),
      el('strong', null, count(total)),
      el('span', { class: 'tile-share' }, words),
      meaning !== '' && el('span', { class: 'sr-only' }, meaning),
    ),
  );
}

function share(part: number): string {
  if (part > 0 && part < 0.001) return '< 0.1 %';
  return `${(part * 100).toFixed(1)} %`;
}

/** The data of the charts as a table. */
function figures(minutes: readonly HistoryMinute[], go: Go): VNode {
  const busy = minutes.filter((minute) => allOf(minute) > 0).reverse();
  return el(
    'details',
    { class: 'figures' },
    el('summary', null, 'Data as a table'),
    scrollTable(
      'Data of the last hour',
      { columns: ['Minute', ...FIGURES], numbers: FIGURES },
      busy.map((minute) => figureRow(minute, go)),
    ),
  );
}

function figureRow(minute: HistoryMinute, go: Go): VNode {
  const { total, v1, v2, faults, failed, outcomes } = minute;
  const counts = [...HOUR_OUTCOMES.map(({ outcome }) => outcomes[outcome]), faults.v2, faults.v1, failed];
  const quantiles = [total?.p50, total?.p90, total?.p99, v2?.p50, v2?.p99, v1?.p50, v1?.p99];
  return el(
    'tr',
    { key: minute.time },
    el(
      'th',
      { scope: 'row' },
      el(
        'button',
        {
          type: 'button',
          class: 'link',
          onClick: () =>
            go({ view: 'traffic', filter: `time:${minute.time.slice(0, 16)}`, entry: undefined }),
        },
        minuteTime(minute.time),
      ),
    ),
    counts.map((value, index) => el('td', { key: `count-${index}`, class: 'number' }, count(value))),
    quantiles.map((value, index) =>
      el('td', { key: index, class: 'number' }, value === undefined ? '–' : milliseconds(value)),
    ),
  );
}
