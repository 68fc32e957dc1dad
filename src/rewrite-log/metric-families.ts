import type { ModeView, ReplicaView, RolloutView } from '../rollout/rollout-tally.ts';
import {
  type MetricFamily,
  MetricHistogram,
  type Metrics,
  type MetricSample,
  REQUEST_BUCKETS,
  type Series,
} from './metrics.ts';

const BREAKER_STATES = ['closed', 'open', 'probing'] as const;

/** The labels of all metrics: names that users write in queries and alerts. */
type Label =
  | 'change'
  | 'code'
  | 'error_type'
  | 'failed'
  | 'hash'
  | 'http_request_method'
  | 'http_response_status_code'
  | 'http_route'
  | 'mode'
  | 'note'
  | 'operation'
  | 'origin'
  | 'part'
  | 'reason'
  | 'route'
  | 'rule'
  | 'stage'
  | 'state'
  | 'status'
  | 'status_class'
  | 'use'
  | 'v2'
  | 'verdict'
  | 'version'
  | 'why';

type Labels = Readonly<Partial<Record<Label, string>>>;

/** The paths of a rule book, as labels of routes. */
export interface RoutePaths {
  /** V1's prefix and V2's. */
  readonly from: string;
  readonly to: string;
  /** The path of an operation, such as `/clients`. */
  readonly templateOf: (operation: string) => string | undefined;
}

/** Returns the metric families of the counted exchanges; `paths` are those of the rule book in force. */
export function exchangeFamilies(
  { series, edits, rewriting, dryRuns, responseNotes, lookups, slowClients, v1Requests, lastV1Time }: Metrics,
  paths: RoutePaths,
): MetricFamily[] {
  const sent = series.filter((one) => one.upstreamSeen);
  return [
    // Both exist from the start: an alert on an absent series never fires, and a series that starts at 1 never increases.
    counter('gateway_v1_requests_total', 'Finished requests of V1 clients.', v1Requests),
    gauge(
      'gateway_v1_last_request_timestamp_seconds',
      'Start time of the last request of a V1 client; 0 without one since the gateway started.',
      lastV1Time === '' ? 0 : Date.parse(lastV1Time) / 1000,
    ),
    family(
      'gateway_exchanges_total',
      'counter',
      'Finished exchanges, by route, operation, verdict and status.',
      exchanges(series),
    ),
    family(
      'gateway_edits_total',
      'counter',
      'Edits of V1 queries and bodies that the log lists, including those of dry runs, by change, rule and note.',
      edits.map(({ edit: { change, rule, note = '' }, value }) => sample({ change, rule, note }, value)),
    ),
    family(
      'gateway_failures_total',
      'counter',
      'Exchanges with a failure, by code: error responses of the gateway itself, and upstream-broken for a response that broke off.',
      failures(series),
    ),
    family(
      'gateway_response_notes_total',
      'counter',
      'Responses that were not rewritten, or only in part, although a response rule applies, by reason.',
      [...responseNotes].map(([note, value]) => sample({ note }, value)),
    ),
    family(
      'gateway_lookups_total',
      'counter',
      'Requests to V2 for what response rules look up, by address and status; a missing or invalid response has its fault in `error_type`.',
      [...lookups.values()].map(({ lookup: { address, status, cause }, value }) =>
        sample(
          {
            http_route: address,
            ...(status === undefined ? {} : { http_response_status_code: String(status) }),
            ...(cause === undefined ? {} : { error_type: cause }),
          },
          value,
        ),
      ),
    ),
    family(
      'gateway_slow_clients_ended_total',
      'counter',
      'Exchanges that only waited for a slow client, and ended because others needed their resources, by the scarce resource.',
      [...slowClients].map(([shortage, value]) => sample({ reason: shortage }, value)),
    ),
    family(
      'gateway_dry_runs_total',
      'counter',
      "Dry runs of requests that went to V1, by operation, the gateway's verdict and that of V2's schema; `why` it is unknown.",
      [...dryRuns.values()].map(({ operation, verdict, v2, why, value }) =>
        sample({ operation, verdict, v2, ...(why !== '' && { why }) }, value),
      ),
    ),
    family(
      'http_server_request_duration_seconds',
      'histogram',
      'Time from the head of a request to the end of its response.',
      durations(series, (one) => one.duration, paths),
    ),
    family(
      'http_client_request_duration_seconds',
      'histogram',
      'Time from the last attempt to send a request to the head of its response, with the wait for a connection and the time of a body that streams.',
      durations(sent, (one) => one.upstream, paths),
    ),
    family(
      'gateway_rewrite_duration_seconds',
      'histogram',
      'Time to scan and edit a V1 body.',
      rewriting.samples([]),
    ),
  ];
}

/** A sample with these labels, in their order. */
function sample(labels: Labels, value: number): MetricSample {
  return { labels: Object.entries(labels), value };
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
  return summed(all, ({ route, operation, verdict, status }) => ({
    route,
    operation,
    verdict,
    status_class: status === 0 ? 'none' : `${Math.floor(status / 100)}xx`,
    status: statusLabel(status),
  }));
}

function failures(all: readonly Series[]): MetricSample[] {
  return summed(
    all.filter((series) => series.failure !== ''),
    ({ failure }) => ({ code: failure }),
  );
}

function summed(all: readonly Series[], labelsOf: (series: Series) => Labels): MetricSample[] {
  return grouped(all, labelsOf).map(([labels, series]) =>
    sample(
      labels,
      series.reduce((sum, { exchanges }) => sum + exchanges, 0),
    ),
  );
}

/** The series with the same labels, together. */
function grouped(
  all: readonly Series[],
  labelsOf: (series: Series) => Labels,
): (readonly [labels: Labels, series: readonly Series[]])[] {
  const groups = Map.groupBy(all, (series) => Object.values(labelsOf(series)).join('\n'));
  return [...groups.values()].flatMap((series) =>
    series.slice(0, 1).map((one) => [labelsOf(one), series] as const),
  );
}

function durations(
  all: readonly Series[],
  histogramOf: (series: Series) => MetricHistogram,
  paths: RoutePaths,
): MetricSample[] {
  const labelsOf = (series: Series): Labels => ({
    http_request_method: series.method,
    http_route: routeOf(series, paths),
    http_response_status_code: statusLabel(series.status),
    error_type: series.failure,
  });
  return grouped(all, labelsOf).flatMap(([labels, same]) => {
    const histogram = new MetricHistogram(REQUEST_BUCKETS);
    for (const series of same) histogram.merge(histogramOf(series));
    return histogram.samples(Object.entries(labels));
  });
}

function statusLabel(status: number): string {
  return status === 0 ? '' : String(status);
}

function routeOf({ route, operation }: Series, paths: RoutePaths): string {
  if (route === 'none') return '';
  if (route === 'pass') return `${paths.to}/*`;
  if (route === 'other') return '/*';
  if (route === 'webhook') return '/webhooks/*';
  return `${paths.from}${paths.templateOf(operation) ?? '/*'}`;
}

export type CountsByReason = Record<string, number>;

/** Client connections that ended before a request. */
export interface EarlyEnds {
  /** Failed TLS handshakes. */
  readonly handshakes: Readonly<CountsByReason>;
  /** Connections of trusted proxies without a valid PROXY header. */
  readonly proxyHeaders: Readonly<CountsByReason>;
}

/** The gateway's current state, which the runtime provides; without values that a platform does not have. */
export interface GatewayStats {
  readonly version: string;
  readonly inFlight: number;
  readonly bufferedBytes: number;
  readonly droppedLogLines: number;
  /** The last of them, in milliseconds since 1970; undefined without any. */
  readonly lastDroppedLine?: number | undefined;
  /** Exchanges whose spans were lost on the way to the collector. */
  readonly droppedSpans?: number | undefined;
  readonly earlyEnds?: EarlyEnds | undefined;
  /** Certificates in use; `notAfter` is milliseconds since 1970. */
  readonly certificates?: readonly { readonly use: string; readonly notAfter: number }[] | undefined;
  /** Private parts of the runtime that the gateway uses and that are missing. */
  readonly missingInternals?: readonly string[] | undefined;
  readonly breaker: 'closed' | 'open' | 'probing';
  /** The circuit to V1; absent without a V1 service. */
  readonly v1Breaker?: 'closed' | 'open' | 'probing' | undefined;
  /** What the gateway's own connections show since an outage; absent without one. */
  readonly v2Contact?: ServiceContact | undefined;
  readonly v1Contact?: ServiceContact | undefined;
  readonly ruleBook: {
    readonly hash: string;
    readonly version: string;
    /** Milliseconds since 1970 when it took effect. */
    readonly since: number;
    readonly reloads?: number | undefined;
    readonly refusedReloads?: number | undefined;
    /** True while an earlier one is in force, because the latest one was refused. */
    readonly isStale?: boolean | undefined;
    /** Duration of the last reload, in seconds. */
    readonly reloadSeconds?: number | undefined;
  };
  readonly process?: ProcessStats | undefined;
}

/** Whether a service accepts connections, and since when: milliseconds since 1970. */
export interface ServiceContact {
  readonly isAway: boolean;
  readonly since: number;
}

/** What several processes know of a service: it is away while it is for one of them. */
export function sharedContact(all: readonly (ServiceContact | undefined)[]): ServiceContact | undefined {
  const known = all.filter((one) => one !== undefined);
  if (known.length === 0) return undefined;
  const away = known.filter(({ isAway }) => isAway).map(({ since }) => since);
  return away.length === 0
    ? { isAway: false, since: Math.max(...known.map(({ since }) => since)) }
    : { isAway: true, since: Math.min(...away) };
}

/** State of the process. */
export interface ProcessStats {
  readonly cpuSeconds: number;
  readonly residentBytes: number;
  /** Memory limit of the container or service, beyond which the kernel ends the process. */
  readonly limitBytes?: number | undefined;
  readonly heapBytes: number;
  /** Seconds since 1970. */
  readonly startSeconds: number;
  readonly openFiles?: number | undefined;
  readonly maxFiles?: number | undefined;
  /** Maximum delay of the event loop in the last minute, in seconds. */
  readonly loopDelaySeconds?: number | undefined;
}

export function statFamilies(stats: GatewayStats, captured: { readonly bytes: number }): MetricFamily[] {
  const { ruleBook, breaker, process } = stats;
  return [
    gauge('http_server_active_requests', 'Exchanges in flight.', stats.inFlight),
    gauge('gateway_buffered_bytes', 'Bytes of bodies held for rewriting.', stats.bufferedBytes),
    gauge('gateway_captured_bytes', 'Bytes held for the inspector.', captured.bytes),
    counter('gateway_log_lines_dropped_total', 'Lost lines of the rewrite log.', stats.droppedLogLines),
    counter(
      'gateway_spans_dropped_total',
      'Exchanges whose spans were lost on their way to the collector; absent without one.',
      stats.droppedSpans,
    ),
    byReason(
      'gateway_tls_handshake_failures_total',
      'Connections of clients whose TLS handshake failed, by reason.',
      stats.earlyEnds?.handshakes,
    ),
    byReason(
      'gateway_proxy_header_faults_total',
      'Connections of trusted proxies without a valid PROXY header, by reason.',
      stats.earlyEnds?.proxyHeaders,
    ),
    family(
      'gateway_certificate_not_after_timestamp_seconds',
      'gauge',
      'Time at which a certificate in use ends: the one for clients, or the client certificate for V2.',
      (stats.certificates ?? []).map(({ use, notAfter }) => sample({ use }, notAfter / 1000)),
    ),
    family(
      'gateway_node_internals_missing',
      'gauge',
      '1 for each private part of Node that is missing; the gateway works without it, but slower.',
      (stats.missingInternals ?? []).map((part) => sample({ part }, 1)),
    ),
    family(
      'gateway_circuit_state',
      'gauge',
      '1 for the current state of the circuit to V2.',
      BREAKER_STATES.map((state) => sample({ state }, state === breaker ? 1 : 0)),
    ),
    family('gateway_rule_book_info', 'gauge', 'The rule book in force.', [
      sample({ hash: ruleBook.hash, version: ruleBook.version }, 1),
    ]),
    gauge(
      'gateway_rule_book_loaded_timestamp_seconds',
      'Time at which the rule book took effect.',
      ruleBook.since / 1000,
    ),
    counter('gateway_rule_book_reloads_total', 'Number of successful rule book reloads.', ruleBook.reloads),
    gauge(
      'gateway_rule_book_reload_duration_seconds',
      'Duration of the last rule book reload.',
      ruleBook.reloadSeconds,
    ),
    counter(
      'gateway_rule_book_refused_total',
      'Number of refused rule book reloads.',
      ruleBook.refusedReloads,
    ),
    gauge(
      'gateway_rule_book_stale',
      '1 while the previous rule book stays in force, because the latest one was refused.',
      ruleBook.isStale === undefined ? undefined : Number(ruleBook.isStale),
    ),
    family('gateway_build_info', 'gauge', 'The program.', [sample({ version: stats.version }, 1)]),
    ...(process === undefined ? [] : processFamilies(process)),
  ];
}

function processFamilies(stats: ProcessStats): MetricFamily[] {
  return [
    counter('process_cpu_seconds_total', 'User and system CPU time.', stats.cpuSeconds),
    gauge('process_resident_memory_bytes', 'Resident memory.', stats.residentBytes),
    gauge(
      'gateway_memory_limit_bytes',
      'Memory limit of the container or service; absent without one.',
      stats.limitBytes,
    ),
    gauge('process_heap_bytes', 'Heap in use.', stats.heapBytes),
    gauge('process_start_time_seconds', 'Start time of the process.', stats.startSeconds),
    gauge('process_open_fds', 'Open files and sockets.', stats.openFiles),
    gauge('process_max_fds', 'Maximum number of open files and sockets.', stats.maxFiles),
    gauge(
      'gateway_event_loop_delay_seconds',
      'Maximum delay of the event loop in the last minute.',
      stats.loopDelaySeconds,
    ),
  ];
}

function byReason(name: string, help: string, counts: Readonly<CountsByReason> = {}): MetricFamily {
  const samples = Object.entries(counts).map(([reason, value]) => sample({ reason }, value));
  return family(name, 'counter', help, samples);
}

/** Sums counts of several processes. */
export function summedEarlyEnds(all: readonly (EarlyEnds | undefined)[]): EarlyEnds {
  return {
    handshakes: workerSum(all.map((ends) => ends?.handshakes)),
    proxyHeaders: workerSum(all.map((ends) => ends?.proxyHeaders)),
  };
}

function workerSum(all: readonly (Readonly<CountsByReason> | undefined)[]): CountsByReason {
  const sums: CountsByReason = {};
  for (const counts of all)
    for (const [reason, count] of Object.entries(counts ?? {})) sums[reason] = (sums[reason] ?? 0) + count;
  return sums;
}

function gauge(name: string, help: string, value: number | undefined): MetricFamily {
  return family(name, 'gauge', help, value === undefined ? [] : [{ labels: [], value }]);
}

function counter(name: string, help: string, value: number | undefined): MetricFamily {
  return family(name, 'counter', help, value === undefined ? [] : [{ labels: [], value }]);
}

export function rolloutFamilies(view: RolloutView): MetricFamily[] {
  const stages = [['(default)', view.default] as const, ...Object.entries(view.operations)];
  const unresolved = view.rollbacks.filter(({ resolved }) => resolved === undefined);
  return [
    family(
      'gateway_rollout_mode',
      'gauge',
      '1 for the mode of the default and of each operation that has its own.',
      stages.map(([stage, { mode }]) => sample({ stage, mode }, 1)),
    ),
    family(
      'gateway_rollout_migrated_share',
      'gauge',
      'Share of clients that are migrated, 0 to 1.',
      stages.map(([stage, mode]) => sample({ stage }, shareOf(mode))),
    ),
    family(
      'gateway_rollout_requests_total',
      'counter',
      'V1 requests by the origin that they were sent to.',
      (['v1', 'v2'] as const).map((origin) => sample({ origin }, view.requests?.[origin] ?? 0)),
    ),
    family(
      'gateway_canary_window_requests',
      'gauge',
      'Requests in the window of a canary, by origin and outcome; with a store, of all replicas together.',
      view.canaries.flatMap(({ operation, migrated, v1 }) =>
        (
          [
            ['v2', 'false', migrated.requests - migrated.failures],
            ['v2', 'true', migrated.failures],
            ['v1', 'false', v1.requests - v1.failures],
            ['v1', 'true', v1.failures],
          ] as const
        ).map(([origin, failed, value]) =>
          sample({ stage: operation ?? '(default)', origin, failed }, value),
        ),
      ),
    ),
    gauge(
      'gateway_rollbacks_standing',
      'Canaries that were rolled back and wait for an operator.',
      unresolved.length,
    ),
    ...(view.replica === undefined ? [] : replicaFamilies(view.replica)),
    family(
      'gateway_shadow_comparisons_total',
      'counter',
      'Reads compared between both origins, by operation and outcome.',
      comparisonSamples(view.shadows.filter(({ verified }) => verified !== true)),
    ),
    family(
      'gateway_verify_comparisons_total',
      'counter',
      'Reads that V2 served, compared with V1 afterwards, by operation and outcome.',
      comparisonSamples(view.shadows.filter(({ verified }) => verified === true)),
    ),
  ];
}

function comparisonSamples(shadows: RolloutView['shadows']): MetricFamily['samples'] {
  return shadows.flatMap(({ operation = '', same, different, unknown }) =>
    Object.entries({ same, different, unknown }).map(([verdict, value]) =>
      sample({ operation, verdict }, value),
    ),
  );
}

function shareOf({ mode, share = 0 }: ModeView): number {
  if (mode === 'migrate' || mode === 'verify') return 1;
  return mode === 'canary' ? share / 100 : 0;
}

/** Returns the metric families of a replica among those that share a store. */
export function replicaFamilies({ aloneSince, replicas, waiting }: ReplicaView): MetricFamily[] {
  return [
    gauge(
      'gateway_store_reachable',
      '1 while the store that replicas share is reachable, 0 while this replica is alone.',
      aloneSince === undefined ? 1 : 0,
    ),
    gauge(
      'gateway_store_alone_since_seconds',
      'Time since which the store has been unreachable, in seconds since 1970; absent while it is reachable.',
      aloneSince === undefined ? undefined : Date.parse(aloneSince) / 1000,
    ),
    gauge(
      'gateway_replicas',
      'Gateways that share the store, each with all its workers, when they were last counted.',
      replicas,
    ),
    gauge(
      'gateway_store_waiting_changes',
      'Choices and rollbacks that apply on this replica only, until the store is reachable.',
      waiting,
    ),
  ];
}
