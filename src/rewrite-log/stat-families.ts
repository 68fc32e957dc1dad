import type { MetricFamily } from './metric-text.ts';

/** Current state of the gateway, provided by the runtime; values that a platform does not have are omitted. */
export interface GatewayStats {
  readonly version: string;
  readonly inFlight: number;
  readonly bufferedBytes: number;
  readonly droppedLogLines: number;
  readonly breaker: 'closed' | 'open' | 'probing';
  readonly ruleBook: {
    readonly hash: string;
    readonly version: string;
    /** Milliseconds since 1970 when it took effect. */
    readonly since: number;
    readonly reloads?: number | undefined;
    readonly refusedReloads?: number | undefined;
    /** Duration of the last reload, in seconds. */
    readonly reloadSeconds?: number | undefined;
  };
  readonly process?: ProcessStats | undefined;
}

/** State of the process. */
export interface ProcessStats {
  readonly cpuSeconds: number;
  readonly residentBytes: number;
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
    gauge('http_server_active_requests', 'Exchanges that are under way.', stats.inFlight),
    gauge('gateway_buffered_bytes', 'Bytes of bodies held for rewriting.', stats.bufferedBytes),
    gauge('gateway_captured_bytes', 'Bytes held for the inspector.', captured.bytes),
    counter(
      'gateway_log_lines_dropped_total',
      'Lines of the rewrite log that were lost.',
      stats.droppedLogLines,
    ),
    {
      ...gauge('gateway_circuit_state', 'One for the state the circuit to V2 is in.', 1),
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
      'When the rule book came into force.',
      ruleBook.since / 1000,
    ),
    counter(
      'gateway_rule_book_reloads_total',
      'Rule books that came into force after the first.',
      ruleBook.reloads,
    ),
    gauge(
      'gateway_rule_book_reload_duration_seconds',
      'How long the last reading of the rule book took.',
      ruleBook.reloadSeconds,
    ),
    counter('gateway_rule_book_refused_total', 'Rule books that were not taken.', ruleBook.refusedReloads),
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
    gauge('process_heap_bytes', 'Heap in use.', stats.heapBytes),
    gauge('process_start_time_seconds', 'When the process started.', stats.startSeconds),
    gauge('process_open_fds', 'Open files and sockets.', stats.openFiles),
    gauge('process_max_fds', 'Files and sockets that may be open.', stats.maxFiles),
    gauge(
      'gateway_event_loop_delay_seconds',
      'The longest delay of the event loop in the last minute.',
      stats.loopDelaySeconds,
    ),
  ];
}

function gauge(name: string, help: string, value: number | undefined): MetricFamily {
  return { name, help, type: 'gauge', samples: value === undefined ? [] : [{ labels: [], value }] };
}

function counter(name: string, help: string, value: number | undefined): MetricFamily {
  return { name, help, type: 'counter', samples: value === undefined ? [] : [{ labels: [], value }] };
}
