/**
 * `npm run attack [-- A F-abrupt …]`: each known attack against a gateway as it ships, in a process of its own, and the experience of an innocent
 * client meanwhile. A letter or number stands for all attacks of that finding; `list` describes each. Exit code 1 when an
 * attack passes a limit. An attack that takes minutes is only carried out when its full name is given.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { type Attack, type Limits, USUAL_LIMITS } from './attack/attack.ts';
import { attacks } from './attack/attacks.ts';
import { type Outcome, runAttack } from './attack/run-attack.ts';
import { startV2 } from './attack/v2.ts';

const names = process.argv.slice(2);
if (names.includes('list')) {
  for (const { id, sentence } of attacks) console.log(`${id.padEnd(16)}${sentence}`);
  process.exit(0);
}
const chosen = attacks.filter(
  ({ id, milliseconds }) =>
    names.includes(id) ||
    (milliseconds === undefined && (names.length === 0 || names.includes(id.split('-')[0] ?? ''))),
);
const CALM: Attack = {
  id: 'calm',
  sentence:
    'Nobody attacks. The delays of the innocent client now are added to the time limits: the machine may be busy.',
  limits: { worst: Number.POSITIVE_INFINITY, loop: Number.POSITIVE_INFINITY },
  play: () => delay(3000, []),
};
const v2 = await startV2();
console.log(`${CALM.id}: ${CALM.sentence}`);
const calm = await runAttack(CALM, v2);
const outcomes: Outcome[] = [calm];
const limits = limitsAbove(calm);
for (const attack of chosen) {
  console.log(`${attack.id}: ${attack.sentence}`);
  const outcome = await runAttack(attack, v2, { limits });
  outcomes.push(outcome);
  for (const fault of outcome.faults) console.log(`  FAILED ${fault}`);
}
await v2.stop();
printTable(outcomes);
process.exitCode = chosen.length > 0 && outcomes.every(({ faults }) => faults.length === 0) ? 0 : 1;

function limitsAbove({ felt, loop = 0 }: Outcome): Limits {
  return {
    ...USUAL_LIMITS,
    median: USUAL_LIMITS.median + felt.median,
    worst: USUAL_LIMITS.worst + felt.worst,
    loop: USUAL_LIMITS.loop + loop,
  };
}

function printTable(all: readonly Outcome[]): void {
  console.log(
    '\n| attack | requests | failed | median | worst | peak memory | loop late | longest turn | left in flight | lived | bug lines | verdict |',
  );
  console.log('|---|---|---|---|---|---|---|---|---|---|---|---|');
  for (const one of all) console.log(`| ${row(one).join(' | ')} |`);
  console.log(
    `\n${all.slice(1).filter(({ faults }) => faults.length === 0).length} of ${all.length - 1} attacks came to nothing.`,
  );
}

function row({ attack, felt, memory, loop, turn, left, isAlive, bugs, faults }: Outcome): readonly string[] {
  const failed = Object.values(felt.failures).reduce((sum, count) => sum + count, 0);
  return [
    attack.id,
    String(felt.requests),
    String(failed),
    `${felt.median.toFixed(1)} ms`,
    `${felt.worst.toFixed(0)} ms`,
    `${memory.toFixed(0)} MiB`,
    loop === undefined ? '–' : `${loop.toFixed(0)} ms`,
    `${turn.toFixed(0)} ms`,
    left === undefined ? '–' : String(left),
    isAlive ? 'yes' : 'no',
    String(bugs),
    faults.length === 0 ? 'held' : 'FAILED',
  ];
}
