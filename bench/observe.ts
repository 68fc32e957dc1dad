/** Prints the cost of reporting one exchange to the inspector, in microseconds, as medians of rounds. */
import { OperatorView } from '../src/inspector/operator-view.ts';
import type { CapturedExchange, CaptureLevel } from '../src/rewrite-log/observer.ts';
import { sampleEntry } from '../test/support/sample-entries.ts';
import { median } from './statistics.ts';

const body = new TextEncoder().encode(
  JSON.stringify({
    data: {
      property: Object.fromEntries(
        Array.from({ length: 24 }, (_, n) => [`attribute_${n}`, n % 3 === 0 ? n * 1.5 : `value ${n} of it`]),
      ),
    },
  }),
);
const HEADERS = [
  'Host',
  'gateway',
  'Authorization',
  'Bearer key',
  'Content-Type',
  'application/json',
  'User-Agent',
  'bench',
];
const material: CapturedExchange = {
  v1Request: { method: 'POST', target: '/api/v1/orders/floor_plans', headers: HEADERS, body },
  v2Request: { method: 'POST', target: '/api/v2/orders/floor_plans', headers: HEADERS },
  v2Response: { status: 201, headers: HEADERS, body },
  clientResponse: { status: 201, headers: HEADERS, body },
};
const entries = Array.from({ length: 4096 }, (_, n) => {
  const { attributes: _attributes, ...entry } = sampleEntry(n, Date.UTC(2026, 10, 1) + n);
  return { ...entry, rewriteMs: 0.01 };
});

for (const [name, wanted, mode] of [
  ['nothing but the entry', 'nothing', 'off'],
  ['structure of bodies of 0.8 KiB', 'structure', 'off'],
  ['bodies', 'bodies', 'bodies'],
] as const satisfies readonly (readonly [string, CaptureLevel, 'off' | 'bodies'])[]) {
  const capture = {
    mode,
    masks: [],
    maxEntries: 1000,
    maxBytes: 64 << 20,
    structurePerSecond: 50,
    bodyLimit: 256 << 10,
    now: () => performance.now(),
  };
  const view = new OperatorView({ entries: 10_000, time: Date.now, capture });
  const rounds = Array.from({ length: 30 }, () => round(view, wanted));
  process.stdout.write(`${name.padEnd(34)} ${median(rounds).toFixed(2)} µs\n`);
}

function round(view: OperatorView, wanted: CaptureLevel): number {
  const times = wanted === 'nothing' ? 100_000 : 5000;
  const began = process.cpuUsage();
  for (let n = 0; n < times; n += 1) {
    view.begin();
    const entry = entries[n & 4095];
    if (entry !== undefined) view.observe(entry, wanted === 'nothing' ? undefined : material);
  }
  const { user, system } = process.cpuUsage(began);
  return (user + system) / times;
}
