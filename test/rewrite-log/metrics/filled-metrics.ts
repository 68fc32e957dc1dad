import { exchangeFamilies, statFamilies } from '../../../src/rewrite-log/metric-families.ts';
import { Metrics, printMetrics } from '../../../src/rewrite-log/metrics.ts';
import { sampleEntry } from '../../support/sample-entries.ts';

const FIGURES = {
  version: '0.1.0',
  inFlight: 2,
  bufferedBytes: 10,
  droppedLogLines: 0,
  droppedSpans: 3,
  earlyEnds: { handshakes: { closed: 2, timeout: 0 }, proxyHeaders: { malformed: 4 } },
  certificates: [{ use: 'clients', notAfter: 1_800_000_000_000 }],
  missingInternals: ['readStop'],
  breaker: 'open',
  ruleBook: {
    hash: 'a"b\\c\nd',
    version: '2025-01-01',
    since: 1_700_000_000_000,
    reloads: 1,
    refusedReloads: 0,
  },
  process: {
    cpuSeconds: 1.5,
    residentBytes: 1e8,
    heapBytes: 1e7,
    startSeconds: 1.7e9,
    openFiles: 20,
    maxFiles: 1024,
  },
} as const;

/** The text of the metrics, with figures of a process. */
export function printed(metrics: Metrics): string {
  return printMetrics([
    ...exchangeFamilies(metrics, { from: '/api/v1', to: '/api/v2', templateOf: () => '/clients' }),
    ...statFamilies(FIGURES, { bytes: 5 }),
  ]);
}

/** Metrics of so many rewritten exchanges, and of one that was refused and one without a route. */
export function filled(count: number): Metrics {
  const metrics = new Metrics();
  for (let n = 0; n < count; n += 1) metrics.add({ ...sampleEntry(n, 0), rewriteMs: 0.02 });
  metrics.add({
    ...sampleEntry(1, 0),
    verdict: 'refused',
    failure: 'duplicate-member',
    status: 400,
    edits: [],
  });
  metrics.add({ ...sampleEntry(1, 0), route: 'none', method: 'BREW', status: 0, edits: [] });
  return metrics;
}
