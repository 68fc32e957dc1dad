import { parseArgs } from 'node:util';
import { runFleet } from './fleet/run-fleet.ts';

/**
 * Simulates a fleet of clients through a whole migration, and compares the report with what each client really did: the table of
 * statements. Exit code 1 when one is wrong.
 */
const { values } = parseArgs({
  options: {
    clients: { type: 'string', default: '300' },
    seed: { type: 'string', default: '1' },
  },
});
let isWrong = false;
for (const unknown of ['refuse', 'strip'] as const) {
  const outcome = await runFleet({ clients: Number(values.clients), seed: Number(values.seed), unknown });
  const { table, requests, rollbacks, restarts, logs, verdicts } = outcome;
  process.stdout.write(
    `V2 ${unknown === 'refuse' ? 'refuses' : 'ignores'} attributes that it does not have: ${values.clients} clients, ${requests} requests, ${rollbacks} rollbacks, ${restarts} restarts, ${logs} logs.\n\n${table.print()}\n\nSwitching off, every tenth day: ${verdicts.join(', ')}.\n\n`,
  );
  for (const fault of table.faults) process.stdout.write(`${fault}\n`);
  isWrong ||= table.wrong > 0;
}
process.exitCode = isWrong ? 1 : 0;
