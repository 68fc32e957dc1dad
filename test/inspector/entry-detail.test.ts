import { expect, test } from 'vitest';
import { entryDetail } from '../../src/inspector/entries/entry-detail.ts';
import type { KeptExchange } from '../../src/rewrite-log/capture.ts';
import type { Entry } from '../../src/rewrite-log/entry.ts';
import { CompiledRuleBook } from '../../src/rewrite/compiled-rule-book.ts';
import { readRuleBook } from '../../src/rules/read-rule-book.ts';
import { sampleEntry } from '../support/sample-entries.ts';

const BOOK = `format: 1
operations:
  pay: { match: POST /payments }
changes:
  - id: cents
    summary: Amounts are in cents.
    on: [pay]
    request: [{ rename: amount, to: amount_cents }, { scale: amount_cents, by: 100 }]
`;

test.each<[what: string, shown: string]>([
  ['structure', '"‹number›"'],
  ['masked value', '"…"'],
])('a conversion does not refuse the %s of a value that the gateway converted', async (_, shown) => {
  const reading = await readRuleBook(BOOK, 'rules.yaml');
  if (!reading.ok) throw new Error(JSON.stringify(reading.faults));
  const entry: Entry = {
    ...sampleEntry(1, Date.parse('2026-11-30T12:00:00Z')),
    route: 'migrate',
    mode: 'observe',
    origin: 'v1',
    operation: 'pay',
    verdict: 'passed',
    would: { verdict: 'rewritten', v2: 'valid' },
  };
  const kept: KeptExchange = {
    v1Request: {
      method: 'POST',
      target: '/api/v1/payments',
      headers: [{ name: 'content-type', value: 'application/json', masked: false }],
      body: { state: 'structure', bytes: new TextEncoder().encode(`{"amount":${shown}}`) },
    },
  };
  const rules = new CompiledRuleBook(reading.ruleBook);
  const parts = { run: 'r', seq: 1, entry, kept, rules, origin: 'http://v2' };
  const { diff } = await entryDetail(parts, async () => {});
  expect(diff?.after).toContain(`"amount_cents": ${shown}`);
});
