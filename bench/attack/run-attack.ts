import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { type Attack, type Check, check, type Limits, type Target, USUAL_LIMITS } from './attack.ts';
import { type GatewayProcess, startGateway } from '../gateway-process.ts';
import { type Felt, Innocent, type InnocentKind } from './innocent.ts';
import { sample, watchLoop } from './metric.ts';
import type { V2 } from './v2.ts';

/** The outcome of an attack. */
export interface Outcome {
  readonly attack: Attack;
  readonly limits: Limits;
  readonly felt: Felt;
  /** Resident MiB at the peak. */
  readonly memory: number;
  /** Milliseconds that the event loop was late at most; undefined where nothing tells. */
  readonly loop: number | undefined;
  /** Milliseconds of processor time of the longest turn of the event loop. */
  readonly turn: number;
  /** Exchanges in flight when everybody has left; undefined where nothing tells. */
  readonly left: number | undefined;
  readonly isAlive: boolean;
  /** Lines on stderr that speak of a bug, or are of a stack trace. */
  readonly bugs: number;
  /** The limits that were passed, and the checks that do not hold, as sentences. Empty when the attack came to nothing. */
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
}

/** Starts a gateway, carries the attack out while an innocent client sends requests, and judges the outcome. */
export async function runAttack(attack: Attack, v2: V2, options: RunOptions = {}): Promise<Outcome> {
  const folder = mkdtempSync(join(tmpdir(), 'attack-'));
  const gateway = await startGateway(flagsOf(attack, v2), folder, attack.isTls === true);
  try {
    return await judge(attack, gateway, folder, options);
  } finally {
    await gateway.stop(0);
    rmSync(folder, { recursive: true, force: true });
  }
}

function flagsOf({ isV2Silent, flags }: Attack, v2: V2): Readonly<Record<string, string>> {
  const origins =
    isV2Silent === true ? { upstream: v2.silentOrigin, 'v1-upstream': v2.origin } : { upstream: v2.origin };
  return { ...origins, ...flags };
}

async function judge(
  attack: Attack,
  gateway: GatewayProcess,
  folder: string,
  { scale = 1, limits = USUAL_LIMITS }: RunOptions,
): Promise<Outcome> {
  const kinds = attack.innocents ?? ALL_KINDS;
  const { port, adminPort } = gateway;
  const innocent = await Innocent.start({ port, isTls: attack.isTls === true, kinds });
  const loop = watchLoop(adminPort);
  const longestTurn = gateway.watchTurns();
  await delay(500);
  const target: Target = {
    port,
    adminPort,
    folder,
    signal: AbortSignal.timeout(attack.milliseconds ?? ATTACK_MS),
    memory: () => gateway.memory(),
    metric: (name) => sample(adminPort, name),
    stderr: () => gateway.stderr(),
  };
  const checks = await attack.play(target, scale).catch(brokenOff);
  await delay(300);
  const felt = await innocent.stop();
  const delayed = await loop.stop();
  const outcome = {
    attack,
    limits: { ...limits, ...attack.limits },
    felt,
    left: await leftInFlight(adminPort, attack.milliseconds === undefined ? SETTLE_MS : LONG_SETTLE_MS),
    memory: gateway.peak() / 2 ** 20,
    loop: delayed,
    turn: longestTurn(),
    isAlive: gateway.isAlive,
    bugs: bugLines(gateway.stderr()),
  };
  return { ...outcome, faults: faultsOf(outcome, checks) };
}

/** The attack could not be carried out to its end, for the gateway was gone or did not respond. */
function brokenOff(error: unknown): readonly Check[] {
  return [check(`the attack broke off: ${String(error)}`, false)];
}

async function leftInFlight(adminPort: number, milliseconds: number): Promise<number | undefined> {
  const end = performance.now() + milliseconds;
  for (;;) {
    const left = await sample(adminPort, 'http_server_active_requests');
    if (left === undefined || left === 0 || performance.now() > end) return left;
    await delay(50);
  }
}

function bugLines(text: string): number {
  return text.split('\n').filter((line) => /\bbug\b|"stack"|^\s+at .+:\d+:\d+\)?$/.test(line)).length;
}

function faultsOf(outcome: Omit<Outcome, 'faults'>, checks: readonly Check[]): readonly string[] {
  const { limits, felt, memory, loop = 0, turn, left = 0, isAlive, bugs } = outcome;
  const failed = Object.values(felt.failures).reduce((sum, count) => sum + count, 0);
  return [
    check(`${failed} innocent requests failed (${reasons(felt)})`, failed <= limits.failed),
    check(`an innocent request took ${felt.worst.toFixed(0)} ms`, felt.worst <= limits.worst),
    check(
      `half of the innocent requests took over ${felt.median.toFixed(0)} ms`,
      felt.median <= limits.median,
    ),
    check(`the gateway took ${memory.toFixed(0)} MiB`, memory <= limits.memory),
    check(`the event loop was ${loop.toFixed(0)} ms late`, loop <= limits.loop),
    check(`one turn of the event loop took ${turn.toFixed(0)} ms of processor time`, turn <= limits.turn),
    check(`${left} exchanges are in flight for nobody`, left <= limits.left),
    check('the process ended', isAlive),
    check(`stderr has ${bugs} lines of bugs`, bugs === 0),
  ]
    .concat(checks)
    .filter(({ holds }) => !holds)
    .map(({ sentence }) => sentence);
}

function reasons({ failures }: Felt): string {
  return Object.entries(failures)
    .map(([reason, count]) => `${count} × ${reason}`)
    .join(', ');
}
