import { existsSync, truncateSync } from 'node:fs';
import { logFile } from '../peers/node-peers.ts';
import type { Peer } from '../peers/peer.ts';
import { quantile } from '../statistics.ts';
import type { Work, WorkName } from '../work.ts';
import { checkPeer, type Started, withBench } from './bench.ts';
import { Figures, type Latency, type Measured } from './figures.ts';
import { openH2 } from './h2-lanes.ts';
import { type Lanes, openH1, paceLanes, saturateLanes } from './lanes.ts';
import type { Row } from './rows.ts';

/** What to measure, and for how long. */
export interface RoundsPlan {
  readonly peers: readonly Peer[];
  readonly rows: readonly Row[];
  /** Whether a peer is measured at a row, beside the works and forms that it has. */
  readonly takes: (peer: Peer, row: Row) => boolean;
  readonly rounds: number;
  /** Milliseconds of a measurement. */
  readonly roundMs: number;
  /** Holds a peer to what V2 and the client must get; without it, `checkPeer` does. */
  readonly check?: typeof checkPeer;
}

const WARM_UP_MS = 300;
/** Code reaches its speed only after some thousands of requests. */
const FIRST_WARM_UP_MS = 2000;
/** Milliseconds that a measurement takes beside its warm-up and its rounds: connections, the tails of long requests. */
const AROUND_MS = 400;
/** Milliseconds after which a response counts as timed out. */
const TIMEOUT_MS = 2000;

/**
 * Measures all peers in interleaved rounds, each in a process that has processor 0 for itself; load and V2 share processor 1. Each
 * peer is first held to what V2 and the client must get.
 */
export function playRounds(plan: RoundsPlan): Promise<Figures> {
  return withBench(async (bench) => {
    const started: Started[] = [];
    for (const form of new Set(plan.rows.map((row) => row.form)))
      for (const peer of plan.peers)
        if (plan.rows.some((row) => row.form === form && isMeasured(plan, peer, row)))
          started.push(await bench.start(peer, form));
    const { check = checkPeer } = plan;
    for (const { row, work, one } of turns(plan, started)) await check(one, row.works[work], bench);
    const figures = new Figures();
    sayLength(plan, turns(plan, started));
    for (let round = 0; round < plan.rounds; round += 1) {
      for (const row of plan.rows.filter(({ rate }) => rate !== undefined))
        figures.addBare(row, await measureBare(row, bench.upstream.port, plan.roundMs));
      const warmUp = round === 0 ? FIRST_WARM_UP_MS : WARM_UP_MS;
      for (const { row, work, one } of turns(plan, round % 2 === 0 ? started : started.toReversed())) {
        figures.add(row, work, one.peer.name, await measure(row, row.works[work], one, plan.roundMs, warmUp));
        if (existsSync(logFile(one.folder))) truncateSync(logFile(one.folder));
      }
    }
    return figures;
  });
}

function isMeasured({ takes }: RoundsPlan, peer: Peer, row: Row): boolean {
  return (row.form === 'plain' || peer.hasTls) && takes(peer, row);
}

/** One measurement of a round. */
interface Turn {
  readonly row: Row;
  readonly work: WorkName;
  readonly one: Started;
}

function turns(plan: RoundsPlan, started: readonly Started[]): readonly Turn[] {
  return plan.rows.flatMap((row) => {
    const here = started.filter(({ peer, form }) => form === row.form && isMeasured(plan, peer, row));
    return (['pass', 'migrate'] as const).flatMap((work) =>
      here.filter(({ peer }) => peer.works.includes(work)).map((one) => ({ row, work, one })),
    );
  });
}

function sayLength({ rounds, roundMs }: RoundsPlan, all: readonly Turn[]): void {
  const oneRound = all.reduce((sum, { row }) => sum + row.length * roundMs + WARM_UP_MS + AROUND_MS, 0);
  const milliseconds = rounds * oneRound + all.length * FIRST_WARM_UP_MS;
  console.log(
    `${rounds} rounds of ${all.length} measurements, about ${Math.ceil(milliseconds / 60_000)} minutes on a quiet machine\n`,
  );
}

/** Measures a peer for so many milliseconds, after a warm-up on the same connections. */
async function measure(
  row: Row,
  work: Work,
  { running }: Started,
  milliseconds: number,
  warmUp: number,
): Promise<Measured> {
  const lanes =
    row.form === 'clients-h2'
      ? await openH2(running.port, work, row.lanes)
      : await openH1(running.port, work.request, row.lanes, row.form === 'clients-tls');
  try {
    await saturateLanes(lanes, warmUp);
    const before = running.processorTime();
    const took = await run(row, lanes, milliseconds);
    return { cpu: (running.processorTime() - before) / took.length, ...latencyOf(took) };
  } finally {
    lanes.close();
  }
}

/** Measures how long V2 itself takes, at the rate of a row. */
async function measureBare(row: Row, port: number, milliseconds: number): Promise<Latency> {
  const lanes = await openH1(port, row.works.pass.request, row.lanes, false);
  try {
    return latencyOf(await run(row, lanes, milliseconds));
  } finally {
    lanes.close();
  }
}

function run({ rate, length }: Row, lanes: Lanes, milliseconds: number): Promise<readonly number[]> {
  return rate === undefined
    ? saturateLanes(lanes, milliseconds * length)
    : paceLanes(lanes, rate, milliseconds * length);
}

function latencyOf(took: readonly number[]): Latency {
  const late = took.filter((each) => each > TIMEOUT_MS).length;
  return { p50: quantile(took, 0.5), p99: quantile(took, 0.99), late };
}
