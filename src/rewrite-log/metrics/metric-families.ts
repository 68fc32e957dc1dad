import { MetricHistogram, REQUEST_BUCKETS } from './metric-histogram.ts';
import type { MetricFamily, MetricSample } from './metric-text.ts';
import type { Metrics, Series } from './metrics.ts';

/** Returns the metric families of the counted exchanges. `templateOf` gives the path of an operation, such as `/clients`. */
export function exchangeFamilies(
  { series, edits, rewriting, dryRuns, v1Requests, lastV1Time }: Metrics,
  templateOf: (operation: string) => string | undefined,
): MetricFamily[] {
  const sent = series.filter((one) => one.upstreamSeen);
  return [
    // Both exist from the start: an alert on an absent series never fires, and a series that starts at 1 never increases.
    family('gateway_v1_requests_total', 'counter', 'Finished requests of V1 clients.', [
      { labels: [], value: v1Requests },
    ]),
    family(
      'gateway_v1_last_request_timestamp_seconds',
      'gauge',
      'Start time of the last request of a V1 client; 0 without one since the gateway started.',
      [{ labels: [], value: lastV1Time === '' ? 0 : Date.parse(lastV1Time) / 1000 }],
    ),
    family('gateway_exchanges_total', 'counter', 'Finished exchanges.', exchanges(series)),
    family(
      'gateway_edits_total',
      'counter',
      'Edits of V1 queries and bodies that the log lists, by change, rule and note; also of dry runs.',
      editSamples(edits),
    ),
    family(
      'gateway_failures_total',
      'counter',
      'Exchanges with a failure, by code: error responses of the gateway itself, and upstream-broken for a response that broke off.',
      failures(series),
    ),
    family(
      'gateway_dry_runs_total',
      'counter',
      "Dry runs of requests that went to V1, by the gateway's verdict and that of V2's schema; `why` one is unknown.",
      [...dryRuns.values()].map(({ operation, verdict, v2, why, value }) => ({
        labels: [
          ['operation', operation],
          ['verdict', verdict],
          ['v2', v2],
          // A label without a value is no label for Prometheus.
          ...(why === '' ? [] : [['why', why] as const]),
        ],
        value,
      })),
    ),
    family(
      'http_server_request_duration_seconds',
      'histogram',
      'Time from the head of a request to the end of its response.',
      durations(series, (one) => one.duration, templateOf),
    ),
    family(
      'http_client_request_duration_seconds',
      'histogram',
      'Time from the last attempt to send a request to the head of its response, with the wait for a connection and the time of a body that streams.',
      durations(sent, (one) => one.upstream, templateOf),
    ),
    family(
      'gateway_rewrite_duration_seconds',
      'histogram',
      'Time to scan and edit a V1 body.',
      rewriting.samples([]),
    ),
  ];
}

function editSamples(edits: Metrics['edits']): MetricSample[] {
  return edits.map(({ edit, value }) => ({
    labels: [
      ['change', edit.change],
      ['rule', edit.rule],
      ['note', edit.note ?? ''],
    ],
    value,
  }));
}

function family(
  name: string,
  type: MetricFamily['type'],
  help: string,
  samples: readonly MetricSample[],
): MetricFamily {
  return { name, type, help, samples };
}

function exchanges(all: readonly Series[]): MetricSample[] {
  return summed(all, ({ route, operation, verdict, status }) => [
    ['route', route],
    ['operation', operation],
    ['verdict', verdict],
    ['status_class', status === 0 ? 'none' : `${Math.floor(status / 100)}xx`],
    ['status', statusLabel(status)],
  ]);
}

function failures(all: readonly Series[]): MetricSample[] {
  return summed(
    all.filter((series) => series.failure !== ''),
    ({ failure }) => [['code', failure]],
  );
}

function summed(
  all: readonly Series[],
  labelsOf: (series: Series) => MetricSample['labels'],
): MetricSample[] {
  const sums = new Map<string, { labels: MetricSample['labels']; value: number }>();
  for (const series of all) {
    const labels = labelsOf(series);
    const key = labels.map(([, value]) => value).join('\n');
    const sum = sums.get(key) ?? { labels, value: 0 };
    sum.value += series.exchanges;
    sums.set(key, sum);
  }
  return [...sums.values()];
}

function durations(
  all: readonly Series[],
  histogramOf: (series: Series) => MetricHistogram,
  templateOf: (operation: string) => string | undefined,
): MetricSample[] {
  const sums = new Map<string, { labels: MetricSample['labels']; histogram: MetricHistogram }>();
  for (const series of all) {
    const labels = durationLabels(series, routeOf(series, templateOf));
    const key = labels.map(([, value]) => value).join('\n');
    const sum = sums.get(key) ?? { labels, histogram: new MetricHistogram(REQUEST_BUCKETS) };
    sum.histogram.merge(histogramOf(series));
    sums.set(key, sum);
  }
  return [...sums.values()].flatMap(({ labels, histogram }) => histogram.samples(labels));
}

function durationLabels({ method, status, failure }: Series, route: string): MetricSample['labels'] {
  return [
    ['http_request_method', method],
    ['http_route', route],
    ['http_response_status_code', statusLabel(status)],
    ['error_type', failure],
  ];
}

function statusLabel(status: number): string {
  return status === 0 ? '' : String(status);
}

function routeOf(
  { route, operation }: Series,
  templateOf: (operation: string) => string | undefined,
): string {
  if (route === 'none') return '';
  if (route === 'pass') return '/api/v2/*';
  return `/api/v1${templateOf(operation) ?? '/*'}`;
}
