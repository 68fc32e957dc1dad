import { expect, test } from 'vitest';
import { rehearse } from '../../src/node/rehearsal.ts';
import { loadRuleBook } from '../../src/node/rule-books.ts';
import type { Entry } from '../../src/rewrite-log/entry.ts';
import { compiledTestRuleBook } from '../support/rule-book.ts';
import { rawServer } from '../support/raw-server.ts';
import { testSettings } from '../support/settings.ts';
import { spawnGateway } from '../support/spawn-gateway.ts';

const SETTINGS = testSettings({ upstream: 'http://127.0.0.1:9' });

async function shippedRules(): ReturnType<typeof rehearse> {
  const loaded = await loadRuleBook('config/rules.yaml');
  if ('faults' in loaded) throw new Error(loaded.faults.join('\n'));
  return rehearse(loaded.rules, SETTINGS);
}

test('an exchange of each kind is played: passed, refused, each operation, rewritten responses and errors', async () => {
  const entries = await shippedRules();
  const count = (holds: (entry: Entry) => boolean): number => entries.filter((entry) => holds(entry)).length;
  expect(count(({ route, status }) => route === 'pass' && status < 300)).toBe(2);
  expect(count(({ verdict, route }) => verdict === 'refused' && route === 'migrate')).toBe(2);
  expect(count(({ status }) => status >= 500)).toBe(0);
  const operations = new Set(entries.map(({ operation }) => operation));
  expect(operations.size).toBeGreaterThan(15);
  const rewritten = entries.filter(({ verdict }) => verdict === 'rewritten');
  expect(new Set(rewritten.map(({ operation }) => operation))).toContain('order_floor_plan');
  const changed = rewritten.filter(({ responseEdits = [] }) => responseEdits.length > 0);
  expect(changed.map(({ status }) => status)).toEqual(expect.arrayContaining([201, 422]));
});

test('operations with a transform are left out, and of many operations only the first of each method are played', async () => {
  const operations = Array.from({ length: 200 }, (_, at) => ({
    id: `read_${at}`,
    method: 'GET',
    template: `/things_${at}/{id}`,
    assumed: false,
  }));
  const transformed = { id: 'run', method: 'POST', template: '/run', assumed: false, transform: './no.js' };
  const rules = compiledTestRuleBook({ operations: [transformed, ...operations] });
  const entries = await rehearse(rules, SETTINGS);
  const played = new Set(entries.flatMap(({ operation }) => operation ?? []));
  expect(played.size).toBe(8);
  expect(played).not.toContain('run');
});

test('the played exchanges are in no log and no metric of the gateway, and V2 gets no request', async () => {
  const v2 = await rawServer(() => {});
  const gateway = await spawnGateway({ upstream: v2.origin });
  expect(gateway.stderr()).not.toContain('not-rehearsed');
  const metrics = await (await fetch(`http://127.0.0.1:${gateway.adminPort}/metrics`)).text();
  expect(metrics.match(/^gateway_exchanges_total.* [1-9]/gm)).toBeNull();
  expect(metrics).toMatch(/^gateway_/m);
  gateway.child.kill('SIGTERM');
  await gateway.exit();
  expect(gateway.stdout()).toBe('');
  expect(v2.received).toEqual([]);
});
