import type { InForce } from '../../src/gateway/in-force.ts';
import { loadRuleBook } from '../../src/node/rule-book-file.ts';

/** The rule book that ships, in force. */
export async function shippedInForce(): Promise<InForce> {
  const outcome = await loadRuleBook(new URL('../../config/rules.yaml', import.meta.url).pathname);
  if ('faults' in outcome) throw new Error(outcome.faults.join('\n'));
  return outcome.inForce;
}
