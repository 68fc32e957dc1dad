/**
 * `npm run attack [-- A F-abrupt …]`: each known attack against a gateway as it ships, in a process of its own, and the experience of an innocent
 * client meanwhile. A letter or number stands for all attacks of that finding; `list` describes each. Exit code 1 when an
 * attack passes a limit. An attack that takes minutes is only carried out when its full name is given.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { type Attack, MEASURES, USUAL_LIMITS } from './attack/attack.ts';
import { attacks } from './attack/attacks.ts';
import { type Outcome, runAttack } from './attack/run-attack.ts';
import { startV2 } from './attack/v2.ts';
import { printTable } from './statistics.ts';

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
  limits: { worst: Infinity, loop: Infinity },
  play: () => delay(3000, []),
};
const v2 = await startV2();
console.log(`${CALM.id}: ${CALM.sentence}`);
const calm = await runAttack(CALM, v2);
const limits = { ...USUAL_LIMITS };
for (const name of ['median', 'worst', 'loop'] as const) limits[name] += calm.figures[name] || 0;
const outcomes: Outcome[] = [];
for (const attack of chosen) {
  console.log(`${attack.id}: ${attack.sentence}`);
  const outcome = await runAttack(attack, v2, { limits });
  outcomes.push(outcome);
  for (const fault of outcome.faults) console.log(`  FAILED ${fault}`);
}
await v2.stop();
const columns = Object.entries(MEASURES) as [keyof typeof MEASURES, readonly string[]][];
console.log('');
printTable(
  ['attack', 'requests', ...columns.map(([, [title = '', unit = '']]) => title + unit), 'verdict'],
  [calm, ...outcomes].map(({ attack, requests, figures, faults }) => [
    attack.id,
    String(requests),
    ...columns.map(([name]) => (Number.isNaN(figures[name]) ? '–' : figures[name].toFixed(0))),
    faults.length === 0 ? 'held' : 'FAILED',
  ]),
);
const held = outcomes.filter(({ faults }) => faults.length === 0).length;
console.log(`\n${held} of ${outcomes.length} attacks came to nothing.`);
process.exitCode = chosen.length > 0 && held === outcomes.length ? 0 : 1;
