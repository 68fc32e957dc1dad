/** 10 → 10,000 rules and operations: whether a request costs the same with a larger rule book, and how long loading it takes. */
import { apart } from './scale-apart.ts';
import { printTable, spread, whole } from './scale-figures.ts';
import type { RulesFigures } from './scale-rules-run.ts';

/** Measures in a process of its own, and prints. */
export async function scaleRules(isQuick: boolean): Promise<void> {
  const all = await apart<readonly RulesFigures[]>('./scale-rules-run.ts', isQuick ? ['quick'] : []);
  console.log('\n### 10 → 10,000 rules and operations\n');
  printTable(
    [
      'operations and rules',
      'match, one operation, ns',
      'match, all in random order, ns',
      'rewrite an order of 1 KB, µs',
      'read and check, ms',
      'compile, ms',
      'compile for responses, ms',
      'memory, KiB',
    ],
    all.map((one) => [
      whole(one.count),
      spread(one.matchOne, 0),
      spread(one.matchAll, 0),
      spread(one.rewrite, 2),
      spread(one.read, 1),
      spread(one.compile, 1),
      spread(one.compileResponses, 1),
      whole(one.held / 1024),
    ]),
  );
  console.log(
    '\nFour rules are for the order; each other one is for an operation of its own. In random order a match takes the same steps, but a large\n' +
      'table is not in the nearest caches of the processor. Loading is done when the gateway starts and when the file\n' +
      'changes, but for the rules for responses, which are compiled with the first request that meets them. Memory: heap and array buffers.',
  );
}
