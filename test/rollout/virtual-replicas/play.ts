import type { RolloutControl } from '../../../src/rollout/rollout-control.ts';
import { rolloutText } from '../../../src/rollout/stored-rollout.ts';
import { readRuleBook } from '../../../src/rules/read-rule-book.ts';
import { EventQueue } from './event-queue.ts';
import { type FleetOptions, SimulatedFleet, type SimulatedReplica } from './simulated-fleet.ts';

/** Calls and bytes of all replicas together, a second. */
export interface TrafficRate {
  readonly reads: number;
  readonly writes: number;
  readonly bytes: number;
}

/** What a run showed; times are virtual milliseconds. */
export interface PlayOutcome {
  /** Time until a choice held everywhere. */
  readonly choiceMs: number;
  /** Time from the fault of V2 until no replica migrated any more. */
  readonly rollbackMs: number;
  /** Rollbacks that were stored for one fault. */
  readonly rollbacks: number;
  /** Time from the end of a partition until all had the same state. */
  readonly healedMs: number;
  /** Replicas of the partition that told, at its end, since when they are alone. */
  readonly alone: number;
  /** Time until two choices at once were both in force everywhere. */
  readonly bothMs: number;
  /** Time from the end of an outage of the store until all replicas shared again. */
  readonly togetherMs: number;
  /** Clients that went to V2 and back while a choice spread, for they asked a replica that knew it and one that did not. */
  readonly backWhileSpreading: number;
  /** Clients that went back to V1 once a canary held everywhere, and once a larger share did. */
  readonly backWhileHeld: number;
  readonly atRest: TrafficRate;
  readonly inCanary: TrafficRate;
}

/** Seconds over which traffic is measured, and for which the store and some replicas are cut off. */
const MEASURED_S = 5;
const CUT_MS = 20_000;
const OUTAGE_MS = 10_000;
const SPREAD_MS = 5000;

const BOOK = `
version: 2025-01-01
operations: {}
changes: []
modes: { default: observe, rollback: { window: 1m, margin: 5, requests: 20 } }
`;

/** Plays a migration on simulated replicas: choices, a fault of V2, a partition, two operators at once, an outage of the store. */
export async function playReplicas(options: FleetOptions, seed: number): Promise<PlayOutcome> {
  const queue = new EventQueue(seed);
  const reading = await readRuleBook(BOOK, 'rules.yaml');
  if (!reading.ok) throw new Error(JSON.stringify(reading.faults));
  const fleet = new SimulatedFleet(queue, reading.ruleBook, options);
  const canary = (share: number) => ({ mode: { mode: 'canary', share } }) as const;
  const last = options.replicas - 1;
  await fleet.start();
  const atRest = await rateOf(fleet, queue);

  fleet.mark();
  fleet.choose(0, canary(10));
  const choiceMs = await fleet.until(hasShare(10));
  const first = fleet.mark();
  const inCanary = await rateOf(fleet, queue);
  const held = fleet.mark();

  fleet.choose(last, canary(20));
  await fleet.until(hasShare(20));
  const second = fleet.mark();
  await queue.pass(2000);
  const backWhileHeld = held + fleet.mark();

  fleet.failing = 0.5;
  const rollbackMs = await fleet.until(({ state }) => state.default?.mode === 'observe');
  fleet.failing = 0.01;
  await queue.pass(3000);
  const rollbacks = fleet.players[0]?.control.state.rollbacks.length ?? 0;

  fleet.choose(0, canary(20));
  await fleet.until(hasShare(20));
  const island = fleet.players.slice(0, Math.ceil(options.replicas * 0.3));
  cut(island, true);
  await queue.pass(CUT_MS / 2);
  fleet.choose(0, { mode: { mode: 'observe' } });
  fleet.choose(last, canary(50));
  await queue.pass(CUT_MS / 2);
  const alone = island.filter(({ replica }) => replica.status.aloneSince !== undefined).length;
  cut(island, false);
  const healedMs = await fleet.until(hasShare(50));

  fleet.choose(0, { mode: { mode: 'observe' }, client: '0123456789abcdef' });
  fleet.choose(last, { mode: { mode: 'migrate' }, client: 'fedcba9876543210' });
  const bothMs = await fleet.until(({ state }) => Object.keys(state.clients).length === 2);

  cut(fleet.players, true);
  await queue.pass(OUTAGE_MS);
  cut(fleet.players, false);
  let left = fleet.players;
  const togetherMs = await queue.pass(60_000, () => {
    left = left.filter(({ replica }) => !replica.isTogether);
    return left.length === 0;
  });
  // A replica may have rolled back while it was alone: its state spreads, as every other.
  await queue.pass(SPREAD_MS, () => statesOf(fleet.players).size === 1);
  assertSame(fleet.players);
  return {
    choiceMs,
    rollbackMs,
    rollbacks,
    healedMs,
    alone,
    bothMs,
    togetherMs,
    backWhileSpreading: first + second,
    backWhileHeld,
    atRest,
    inCanary,
  };
}

function hasShare(share: number): (control: RolloutControl) => boolean {
  return ({ state }) => state.default?.share === share;
}

function cut(players: readonly SimulatedReplica[], isCut: boolean): void {
  for (const { link } of players) link.isCut = isCut;
}

async function rateOf({ traffic }: SimulatedFleet, queue: EventQueue): Promise<TrafficRate> {
  const before = { ...traffic };
  await queue.pass(MEASURED_S * 1000);
  return {
    reads: (traffic.reads - before.reads) / MEASURED_S,
    writes: (traffic.writes - before.writes) / MEASURED_S,
    bytes: (traffic.bytes - before.bytes) / MEASURED_S,
  };
}

function assertSame(players: readonly SimulatedReplica[]): void {
  const { size } = statesOf(players);
  if (size !== 1) throw new Error(`the replicas end in ${size} states`);
}

function statesOf(players: readonly SimulatedReplica[]): ReadonlySet<string> {
  return new Set(players.map(({ control }) => rolloutText(control.state)));
}
