/**
 * `npm run bench -- scale`: whether the cost of a request stays the same with more workers, rules, connections and hours.
 * Every figure is a median, with minimum and maximum in brackets.
 */
import { cpus } from 'node:os';
import { scaleConnections } from './scale-connections.ts';
import { scaleDay } from './scale-day.ts';
import { scaleRules } from './scale-rules.ts';
import { scaleWorkers } from './scale-workers.ts';

/** Measures and prints. Takes about five minutes, or one. */
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
