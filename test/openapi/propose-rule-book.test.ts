import { expect, test } from 'vitest';
import { type FoundRule, PROPOSED_FROM } from '../../src/openapi/finding.ts';
import { proposeRuleBook } from '../../src/openapi/propose-rule-book.ts';
import type { ProposedRuleBook } from '../../src/openapi/print-rule-book.ts';
import { randomPair } from './random-pairs.ts';

/** The proposed rules of each operation, as text that ignores the order of members and values. */
function proposedRules(book: ProposedRuleBook, from = PROPOSED_FROM): ReadonlyMap<string, readonly string[]> {
  return new Map(
    book.operations.map(({ id }) => [
      id,
      book.changes
        .filter(({ on }) => on === 'every' || on.includes(id))
        .flatMap(({ rules }) => rules.filter(({ confidence }) => confidence >= from))
        .map(({ found }) => ruleText(found)),
    ]),
  );
}

function ruleText(rule: FoundRule): string {
  const sorted = rule.rule === 'nest' ? { ...rule, members: rule.members.toSorted() } : rule;
  const values =
    sorted.rule === 'map' ? { values: sorted.values.map((pair) => pair.join('>')).toSorted() } : {};
  const entries = Object.entries({ ...sorted, ...values });
  return JSON.stringify(Object.fromEntries(entries.toSorted(([one], [other]) => (one < other ? -1 : 1))));
}

test('at least 95 % of the changes of 60 random pairs are found, and at most 2 % of the rules are false', () => {
  let [known, found, proposed] = [0, 0, 0];
  const missed: string[] = [];
  const wrong: string[] = [];
  for (let seed = 1; seed <= 60; seed += 1) {
    const pair = randomPair(seed);
    const rules = proposedRules(proposeRuleBook(pair.v1, pair.v2));
    for (const [id, changes] of pair.known) {
      const expected = changes.map((change) => ruleText(change));
      const actual = rules.get(id) ?? [];
      known += expected.length;
      proposed += actual.length;
      found += expected.filter((rule) => actual.includes(rule)).length;
      missed.push(
        ...expected.filter((rule) => !actual.includes(rule)).map((rule) => `${seed} ${id} ${rule}`),
      );
      wrong.push(...actual.filter((rule) => !expected.includes(rule)).map((rule) => `${seed} ${id} ${rule}`));
    }
  }
  const share = (part: number, all: number): string => `${((part / all) * 100).toFixed(1)} %`;
  console.log(
    `found ${found} of ${known} changes (${share(found, known)}); ${wrong.length} of ${proposed} rules false (${share(wrong.length, proposed)})`,
  );
  expect(known).toBeGreaterThan(300);
  expect(found / known).toBeGreaterThanOrEqual(0.95);
  expect(wrong.length / proposed).toBeLessThanOrEqual(0.02);
});
