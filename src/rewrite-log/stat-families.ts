import type { MetricFamily } from './metric-text.ts';

/** What the gateway stands at when somebody asks. Whoever runs it tells; figures that a platform has not are left out. */
export interface GatewayStats {
  readonly version: string;
  readonly inFlight: number;
  readonly bufferedBytes: number;
  readonly droppedLogLines: number;
  readonly breaker: 'closed' | 'open' | 'probing';
  readonly ruleBook: {
    readonly hash: string;
    readonly version: string;
    /** Milliseconds since 1970 when it came into force. */
    readonly since: number;
    readonly reloads?: number | undefined;
    readonly refusedReloads?: number | undefined;
    /** Seconds that the last reading took. */
    readonly reloadSeconds?: number | undefined;
  };
  readonly process?: ProcessStats | undefined;
}

/** Figures of the process. */
export interface ProcessStats {
  readonly cpuSeconds: number;
  readonly residentBytes: number;
  readonly heapBytes: number;
  /** Seconds since 1970. */
  readonly startSeconds: number;
  readonly openFiles?: number | undefined;
  readonly maxFiles?: number | undefined;
  /** Seconds of the event loop's longest delay in the last minute. */
  readonly loopDelaySeconds?: number | undefined;
}

const BREAKER_STATES = ['closed', 'open', 'probing'] as const;

/** The families of what the gateway stands at. */
export function statFamilies(figures: GatewayStats, captured: { readonly bytes: number }): MetricFamily[] {
  const { ruleBook, breaker, process } = figures;
  return [
    gauge('http_server_active_requests', 'Exchanges that are under way.', figures.inFlight),
    gauge('gateway_buffered_bytes', 'Bytes of bodies held for rewriting.', figures.bufferedBytes),
    gauge('gateway_captured_bytes', 'Bytes held for the inspector.', captured.bytes),
    counter(
      'gateway_log_lines_dropped_total',
      'Lines of the rewrite log that were lost.',
      figures.droppedLogLines,
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
      samples: [{ labels: [['version', figures.version]], value: 1 }],
    },
    ...(process === undefined ? [] : processFamilies(process)),
  ];
}

function processFamilies(figures: ProcessStats): MetricFamily[] {
  return [
    counter('process_cpu_seconds_total', 'User and system CPU time.', figures.cpuSeconds),
    gauge('process_resident_memory_bytes', 'Resident memory.', figures.residentBytes),
    gauge('process_heap_bytes', 'Heap in use.', figures.heapBytes),
    gauge('process_start_time_seconds', 'When the process started.', figures.startSeconds),
    gauge('process_open_fds', 'Open files and sockets.', figures.openFiles),
    gauge('process_max_fds', 'Files and sockets that may be open.', figures.maxFiles),
    gauge(
      'gateway_event_loop_delay_seconds',
      'The longest delay of the event loop in the last minute.',
      figures.loopDelaySeconds,
    ),
  ];
}

function gauge(name: string, help: string, value: number | undefined): MetricFamily {
  return { name, help, type: 'gauge', samples: value === undefined ? [] : [{ labels: [], value }] };
}

function counter(name: string, help: string, value: number | undefined): MetricFamily {
  return { name, help, type: 'counter', samples: value === undefined ? [] : [{ labels: [], value }] };
}
