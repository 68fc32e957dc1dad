import { quantile } from '../statistics.ts';
import type { RunningPeer } from '../running-peer.ts';
import type { Work, WorkName } from '../work.ts';
import { openH2 } from './h2-lanes.ts';
import { type Lanes, openH1, paceLanes, saturateLanes } from './lanes.ts';
import type { Row } from './rows.ts';

/** Milliseconds after which a response counts as timed out. */
const TIMEOUT_MS = 2000;

/** One round of one peer at one row. */
export interface Measured {
  /** Microseconds of processor time a request. */
  readonly cpu: number;
  /** The share of the time in which the proxy ran, or had work and waited for its processor. */
  readonly busy: number;
  /** Milliseconds from the request to the whole response. */
  readonly p50: number;
  readonly p99: number;
  readonly timeouts: number;
}

/** Measures a peer for so many milliseconds, after a warm-up on the same connections. */
export async function measure(
  row: Row,
  work: WorkName,
  peer: RunningPeer,
  responseBytes: number,
  milliseconds: number,
  warmUp: number,
): Promise<Measured> {
  const lanes = await open(row, row.works[work], peer.port, responseBytes);
  try {
    await saturateLanes(lanes, warmUp);
    const cpu = peer.processorTime();
    const wait = peer.waitTime();
    const began = performance.now();
    const took = await run(row, lanes, milliseconds * row.length);
    const elapsed = performance.now() - began;
    const used = peer.processorTime() - cpu;
    return {
      cpu: (used * 1000) / took.length,
      busy: (used + peer.waitTime() - wait) / elapsed,
      ...latency(took),
      timeouts: took.filter((each) => each > TIMEOUT_MS).length,
    };
  } finally {
    lanes.close();
  }
}

/** Measures how long V2 itself takes, at the rate of a row. */
export async function measureBare(
  row: Row,
  work: Work,
  port: number,
  milliseconds: number,
): Promise<Pick<Measured, 'p50' | 'p99'>> {
  const lanes = await openH1(port, work.request, row.lanes, false);
  try {
    return latency(await run(row, lanes, milliseconds * row.length));
  } finally {
    lanes.close();
  }
}

function open(row: Row, work: Work, port: number, responseBytes: number): Promise<Lanes> {
  if (row.form !== 'clients-h2') return openH1(port, work.request, row.lanes, row.form === 'clients-tls');
  return openH2(port, { fields: h2Fields(work), body: work.body, responseBytes }, row.lanes);
}

/** The fields of a request over HTTP/2. */
export function h2Fields(work: Work): readonly (readonly [name: string, value: string])[] {
  return [
    [':method', 'POST'],
    [':scheme', 'https'],
    [':authority', 'gateway.test'],
    [':path', work.path],
    ...work.fields.map(([name, value]): [string, string] => [name.toLowerCase(), value]),
  ];
}

function run(row: Row, lanes: Lanes, milliseconds: number): Promise<readonly number[]> {
  return row.rate === undefined
    ? saturateLanes(lanes, milliseconds)
    : paceLanes(lanes, row.rate, milliseconds);
}

function latency(took: readonly number[]): { readonly p50: number; readonly p99: number } {
  return { p50: quantile(took, 0.5), p99: quantile(took, 0.99) };
}
