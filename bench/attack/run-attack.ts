import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { type GatewayProcess, startGateway } from '../gateway-process.ts';
import { metric, watchLoop } from './admin.ts';
import { type Attack, type Limits, MEASURES, USUAL_LIMITS } from './attack.ts';
import { type InnocentKind, startInnocent } from './innocent.ts';
import type { V2 } from './v2.ts';

/** The outcome of an attack. */
export interface Outcome {
  readonly attack: Attack;
  /** Requests of the innocent client. */
  readonly requests: number;
  /** What was measured; NaN where nothing tells. */
  readonly figures: Limits;
  /** The limits that were passed, and what else is wrong, as sentences. Empty when the attack came to nothing. */
  readonly faults: readonly string[];
}

const ALL_KINDS: readonly InnocentKind[] = ['v1-write', 'v2-read', 'v1-read', 'v2-write'];
const ATTACK_MS = 15_000;
/** For exchanges to come to their end when everybody has left: bytes of theirs may still be in the buffers of the system. */
const SETTLE_MS = 10_000;
/** The same after an attack that keeps the gateway busy for minutes; shorter than any limit that would end an exchange. */
const LONG_SETTLE_MS = 50_000;

/** Options of a partial attack. */
export interface RunOptions {
  /** How much of it, from 0 to 1. */
  readonly scale?: number;
  /** Limits in place of the usual ones; those that the attack states itself stand above them. */
  readonly limits?: Limits;
  /** Milliseconds for what is under way at the end, in place of some seconds: on a machine that does other things as well. */
  readonly patience?: number;
}

/** Starts a gateway, carries the attack out while an innocent client sends requests, and judges the outcome. */
export async function runAttack(attack: Attack, v2: V2, options: RunOptions = {}): Promise<Outcome> {
  const folder = mkdtempSync(join(tmpdir(), 'attack-'));
  const origins =
    attack.isV2Silent === true
      ? { upstream: v2.silentOrigin, 'v1-upstream': v2.origin }
      : { upstream: v2.origin };
  const gateway = await startGateway({ ...origins, ...attack.flags }, folder, attack.isTls === true);
  try {
    return await judge(attack, gateway, folder, options);
  } finally {
    await gateway.stop(0);
    rmSync(folder, { recursive: true, force: true });
  }
}

async function judge(
  attack: Attack,
  gateway: GatewayProcess,
  folder: string,
  { scale = 1, limits = USUAL_LIMITS, patience }: RunOptions,
): Promise<Outcome> {
  const { origin, adminPort } = gateway;
  const stopInnocent = await startInnocent({ origin, kinds: attack.innocents ?? ALL_KINDS, patience });
  const settleMs = patience ?? (attack.milliseconds === undefined ? SETTLE_MS : LONG_SETTLE_MS);
  const loop = watchLoop(adminPort);
  const longestTurn = gateway.watchTurns();
  await delay(500);
  const signal = AbortSignal.timeout(attack.milliseconds ?? ATTACK_MS);
  const faults = await attack
    .play(Object.assign(gateway, { folder, signal }), scale)
    // The gateway was gone or did not respond.
    .catch((error: unknown) => [`the attack broke off: ${String(error)}`]);
  await delay(300);
  const { requests, failures, median, worst } = await stopInnocent();
  const figures: Limits = {
    failed: Object.values(failures).reduce((sum, count) => sum + count, 0),
    median,
    worst,
    loop: await loop.stop(),
    left: await leftInFlight(adminPort, settleMs),
    memory: gateway.peak() / 2 ** 20,
    turn: longestTurn(),
    ended: gateway.isAlive ? 0 : 1,
    bugs: bugLines(gateway.stderr()),
  };
  const allowed = { ...limits, ...attack.limits };
  const passed = (Object.keys(MEASURES) as (keyof Limits)[])
    .filter((name) => figures[name] > allowed[name])
    .map((name) => `${figures[name].toFixed(0)}${MEASURES[name][1]} ${MEASURES[name][2]}`);
  const reasons = Object.entries(failures).map(
    ([reason, count]) => `innocent requests: ${count} × ${reason}`,
  );
  return {
    attack,
    requests,
    figures,
    faults: [...passed, ...(figures.failed > allowed.failed ? reasons : []), ...faults],
  };
}

async function leftInFlight(adminPort: number, milliseconds: number): Promise<number> {
  const end = performance.now() + milliseconds;
  for (;;) {
    const left = await metric(adminPort, 'http_server_active_requests');
    if (!(left > 0) || performance.now() > end) return left;
    await delay(50);
  }
}

function bugLines(text: string): number {
  return text.split('\n').filter((line) => /\bbug\b|"stack"|^\s+at .+:\d+:\d+\)?$/.test(line)).length;
}
