/** @module-tag chromium */
import { expect, onTestFinished, test } from 'vitest';
import { loadInspectorPage } from '../../../src/cli/serve/serving-files.ts';
import { MemoryState, type SharedState } from '../../../src/rollout/shared-state.ts';
import { inspected, type Inspected } from '../../support/inspected.ts';
import { browserOfFile } from '../../support/page-tests.ts';

const browser = browserOfFile();

const page = loadInspectorPage();

/** A gateway with its page, which shares this store. */
async function replicaOn(records?: SharedState): Promise<Inspected> {
  const replica = await inspected({}, undefined, () => page, undefined, 201, records);
  onTestFinished(replica.operators.share());
  return replica;
}

test('page and rule book show the clients of all replicas, and say so', async () => {
  const records = new MemoryState(Date.now);
  const [one, other] = [await replicaOn(records), await replicaOn(records)];
  await other.post('/clients', '{"data":{"name":"x"}}', { authorization: 'Bearer other' });
  await expect.poll(async () => (await one.readJson<{ v1: number }>('/report')).v1).toBe(1);
  const { page: clients, complaints } = await browser.open(`${one.adminOrigin}/?view=clients`);
  const coverage = clients.locator('p.coverage');
  await coverage.waitFor();
  await expect
    .poll(() => coverage.textContent())
    .toMatch(/^2 replicas Counted since \d\d:\d\d \(2 replicas running\)\.$/);
  await expect.poll(() => coverage.locator('.badge').textContent()).toBe('2 replicas');
  await clients.getByRole('heading', { name: '1 client' }).waitFor();
  const { page: rules } = await browser.open(`${one.adminOrigin}/?view=rules`);
  await rules.getByText(/^Counted since .*2 replicas running/).waitFor();
  expect(complaints).toEqual([]);
});

test('without the store the page says since when the replica is alone', async () => {
  const records = new MemoryState(Date.now);
  let isAway = false;
  class Way extends MemoryState {
    override exchange(...args: Parameters<SharedState['exchange']>): ReturnType<SharedState['exchange']> {
      return isAway ? Promise.reject(new Error('gone fishing')) : records.exchange(...args);
    }
  }
  const replica = await replicaOn(new Way(Date.now));
  await expect
    .poll(async () => (await replica.readJson<{ coverage: { kind: string } }>('/report')).coverage.kind)
    .toBe('fleet');
  isAway = true;
  await expect
    .poll(async () => (await replica.readJson<{ coverage: { kind: string } }>('/report')).coverage.kind)
    .toBe('alone');
  const { page: clients } = await browser.open(`${replica.adminOrigin}/?view=clients`);
  const coverage = clients.locator('p.coverage');
  await coverage.waitFor();
  await expect
    .poll(() => coverage.textContent())
    .toMatch(
      /^alone This replica has been alone since \d\d:\d\d \(gone fishing\); it knows no other replicas\.$/,
    );
});

test('without a store the page says that it shows one gateway', async () => {
  const only = await replicaOn();
  const { page: clients } = await browser.open(`${only.adminOrigin}/?view=clients`);
  const coverage = clients.locator('p.coverage');
  await coverage.waitFor();
  await expect
    .poll(() => coverage.textContent())
    .toMatch(/^one gateway Counts of this gateway alone, since \d\d:\d\d: no store is set\.$/);
});
