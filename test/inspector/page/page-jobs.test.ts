/** @module-tag chromium */
import axe from 'axe-core';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, expect, onTestFinished, test } from 'vitest';
import { type Browser, startBrowser } from '../../support/browser.ts';
import { command } from '../../support/command.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';
import { inspectGateway, type InspectedGateway } from '../../support/inspected-gateway.ts';

let browser: Browser;

beforeAll(async () => {
  browser = await startBrowser();
}, 60_000);

afterEach(() => browser.closePages());

afterAll(() => browser.close());

async function started(
  flags: Readonly<Record<string, string>>,
  environment: Readonly<Record<string, string>> = {},
): Promise<InspectedGateway> {
  const gateway = await inspectGateway(flags, environment);
  onTestFinished(() => gateway.stop());
  return gateway;
}

/** What axe finds wrong with a page. */
async function barriers(page: Page): Promise<readonly unknown[]> {
  await page.evaluate(axe.source);
  const { violations } = await page.evaluate<{ readonly violations: readonly unknown[] }>('axe.run()');
  return violations;
}

test("an owner's complaint: the order is found by what the owner says, and the reason stands first", async () => {
  const folder = temporaryFolder('jobs');
  const gateway = await started({ capture: 'bodies', 'client-names': join(folder, 'names.yaml') });
  await gateway.send('POST', '/api/v1/clients', '{"data":{"name":"Acme","external_id":"FP-1001"}}');
  expect(await gateway.send('POST', '/api/v1/clients', '{"data":{"colour":"FP-1003"}}')).toBe(422);
  const { page } = await browser.open(`${gateway.adminOrigin}/?view=traffic`);
  const filter = page.getByRole('combobox', { name: 'Filter' });
  const rows = page.locator('.entry');
  await expect.poll(() => rows.count()).toBe(2);

  // As people ask: a value, a name in quotes, a time of the day; the command finds the same.
  const hash = (await (await fetch(`${gateway.adminOrigin}/entries`)).text()).match(/"client":"(\w+)"/)?.[1];
  const named = await fetch(`${gateway.adminOrigin}/clients`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ client: hash, name: 'Acme Media' }),
  });
  expect(named.status).toBe(200);
  const minute = new Date().toISOString().slice(11, 15);
  for (const [asked, found] of [
    ['client:"Acme Media"', 2],
    ['"Acme Media" FP-1001', 1],
    ['client:"Other Media"', 0],
    [`time:${minute.slice(0, 2)}:00..${minute.slice(0, 2)}:59`, 2],
  ] as const) {
    await filter.fill(asked);
    await expect.poll(() => rows.count()).toBe(found);
  }
  const tail = command(['tail', '--admin', gateway.adminOrigin, '--filter', 'client:"Acme Media" FP-1003']);
  await tail.until(/V2 422 at \/\w+.*: \S+.* {2}create_client/);
  await tail.stop();

  await filter.fill('FP-9999');
  await page.getByText('A word is searched for in paths').waitFor();
  await filter.fill('FP-1003');
  await expect.poll(() => rows.count()).toBe(1);
  const words = await rows.locator('.reason').innerText();
  expect(words).toMatch(/^V2 422 at \/\w+.*: \S+/);
  await rows.click();
  const account = page.getByRole('list', { name: 'Account' }).getByRole('listitem');
  const [, place = '', sentence = ''] = /^V2 422 at (.*?): (.*?)\.?$/.exec(words) ?? [];
  const first = await account.first().innerText();
  expect(first).toContain(`at ${place}: ${sentence}`);
  expect(first).toMatch(/^V2 responded with 422 /);
  expect(await barriers(page)).toEqual([]);
});
