/**
 * `npm run bench -- scale`: whether what a request costs stays the same with more workers, rules, connections and hours.
 * Every figure is a median, with the least and the most in brackets.
 */
import { cpus } from 'node:os';
import { scaleConnections } from './scale-connections.ts';
import { scaleDay } from './scale-day.ts';
import { scaleRules } from './scale-rules.ts';
import { scaleWorkers } from './scale-workers.ts';

/** Measures and prints. About five minutes, or one. */
export async function benchScale(isQuick: boolean): Promise<void> {
  const processors = cpus();
  console.log(
    `\nscale: npm run bench -- scale${isQuick ? ' --quick' : ''}\n\n` +
      `Medians (least–most). Node ${process.versions.node}, ${processors.length} × ${processors[0]?.model ?? 'processors'}.`,
  );
  await scaleWorkers(isQuick);
  await scaleRules(isQuick);
  await scaleConnections(isQuick);
  await scaleDay(isQuick);
}
