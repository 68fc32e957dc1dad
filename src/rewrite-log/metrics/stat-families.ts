import type { MetricFamily } from './metric-text.ts';

/** Numbers by reason. */
export type CountsByReason = Record<string, number>;

/** Connections of clients that ended before they had sent a request. */
export interface EarlyEnds {
  /** Failed TLS handshakes. */
  readonly handshakes: Readonly<CountsByReason>;
  /** Connections of trusted proxies without a valid PROXY header. */
  readonly proxyHeaders: Readonly<CountsByReason>;
}

/** Current state of the gateway, provided by the runtime; values that a platform does not have are omitted. */
export interface GatewayStats {
  readonly version: string;
  readonly inFlight: number;
  readonly bufferedBytes: number;
  readonly droppedLogLines: number;
  /** Exchanges whose spans were lost on their way to the collector. */
  readonly droppedSpans?: number | undefined;
  readonly earlyEnds?: EarlyEnds | undefined;
  /** Certificates in use; `notAfter` is milliseconds since 1970. */
  readonly certificates?: readonly { readonly use: string; readonly notAfter: number }[] | undefined;
  readonly breaker: 'closed' | 'open' | 'probing';
  readonly ruleBook: {
    readonly hash: string;
    readonly version: string;
    /** Milliseconds since 1970 when it took effect. */
    readonly since: number;
    readonly reloads?: number | undefined;
    readonly refusedReloads?: number | undefined;
    /** True while the one to be read was refused, and an earlier one is in force. */
    readonly isStale?: boolean | undefined;
    /** Duration of the last reload, in seconds. */
    readonly reloadSeconds?: number | undefined;
  };
  readonly process?: ProcessStats | undefined;
}

/** State of the process. */
export interface ProcessStats {
  readonly cpuSeconds: number;
  readonly residentBytes: number;
  /** Memory limit of the container or service, beyond which the system ends the process. */
  readonly limitBytes?: number | undefined;
  readonly heapBytes: number;
  /** Seconds since 1970. */
  readonly startSeconds: number;
  readonly openFiles?: number | undefined;
  readonly maxFiles?: number | undefined;
  /** Maximum delay of the event loop in the last minute, in seconds. */
  readonly loopDelaySeconds?: number | undefined;
}

const BREAKER_STATES = ['closed', 'open', 'probing'] as const;

/** Returns the metric families of the state of the gateway. */
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
    {
      ...gauge(
        'gateway_certificate_not_after_timestamp_seconds',
        'Time at which a certificate in use ends: the one for clients, or the client certificate for V2.',
        undefined,
      ),
      samples: (stats.certificates ?? []).map(({ use, notAfter }) => ({
        labels: [['use', use]],
        value: notAfter / 1000,
      })),
    },
    {
      ...gauge('gateway_circuit_state', '1 for the current state of the circuit to V2.', 1),
      samples: BREAKER_STATES.map((state) => ({
        labels: [['state', state]],
        value: state === breaker ? 1 : 0,
      })),
    },
    {
      ...gauge('gateway_rule_book_info', 'The rule book in force.', 1),
      samples: [
        {
          labels: [
            ['hash', ruleBook.hash],
            ['version', ruleBook.version],
          ],
          value: 1,
        },
      ],
    },
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
      '1 while the rule book was refused when it was last read, and the one before stays in force.',
      ruleBook.isStale === undefined ? undefined : Number(ruleBook.isStale),
    ),
    {
      ...gauge('gateway_build_info', 'The program.', 1),
      samples: [{ labels: [['version', stats.version]], value: 1 }],
    },
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
  return {
    name,
    help,
    type: 'counter',
    samples: Object.entries(counts).map(([reason, value]) => ({ labels: [['reason', reason]], value })),
  };
}

/** Sums counts of several processes. */
export function summedEarlyEnds(all: readonly (EarlyEnds | undefined)[]): EarlyEnds {
  return {
    handshakes: summed(all.map((ends) => ends?.handshakes)),
    proxyHeaders: summed(all.map((ends) => ends?.proxyHeaders)),
  };
}

function summed(all: readonly (Readonly<CountsByReason> | undefined)[]): CountsByReason {
  const sums: CountsByReason = {};
  for (const counts of all)
    for (const [reason, count] of Object.entries(counts ?? {})) sums[reason] = (sums[reason] ?? 0) + count;
  return sums;
}

function gauge(name: string, help: string, value: number | undefined): MetricFamily {
  return { name, help, type: 'gauge', samples: value === undefined ? [] : [{ labels: [], value }] };
}

function counter(name: string, help: string, value: number | undefined): MetricFamily {
  return { name, help, type: 'counter', samples: value === undefined ? [] : [{ labels: [], value }] };
}
