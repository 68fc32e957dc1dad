import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { type Browser, startBrowser } from '../support/browser.ts';
import { FLOOR_PLAN_ORDER, inspectGateway } from '../support/inspected-gateway.ts';
import { watchedServices } from '../support/watched-services.ts';

let browser: Browser;

beforeAll(async () => {
  browser = await startBrowser();
}, 60_000);

afterAll(() => browser.close());

test('a link to an exchange leads to it after a restart, from the log, and never to another one', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'page-links-'));
  const flags = { 'log-file': join(folder, 'rewrite.log'), 'rewrite-log-level': 'info' };
  const first = await inspectGateway(flags);
  await first.send('POST', '/api/v1/orders/floor_plans', FLOOR_PLAN_ORDER, undefined, 'the-order');
  const { page } = await browser.open(first.adminOrigin);
  await page.locator('.entry').first().click();
  await page.locator('.detail h2').filter({ hasText: 'order_floor_plan' }).waitFor();
  const link = new URL(page.url()).search;
  expect(link).toBe('?entry=the-order&n=1');
  await browser.closePages();
  await first.stop();
  const [second, withoutLog] = await Promise.all([inspectGateway(flags), inspectGateway()]);
  onTestFinished(async () => {
    await Promise.all([second.stop(), withoutLog.stop()]);
    rmSync(folder, { recursive: true });
  });
  for (const gateway of [second, withoutLog]) await gateway.send('GET', '/api/v1/heartbeat');
  const { page: later } = await browser.open(`${second.adminOrigin}/${link}`);
  await later.locator('.detail h2').filter({ hasText: 'order_floor_plan' }).waitFor();
  expect(await later.locator('.from-log').textContent()).toBe(
    'The gateway no longer keeps this exchange; its entry is from the log.',
  );
  expect(await later.locator('.account li').first().textContent()).toBe('Sent to V2 with 5 edits.');
  const { page: gone } = await browser.open(`${withoutLog.adminOrigin}/${link}`);
  await gone.getByText('The gateway no longer keeps the exchange the-order.').waitFor();
  await browser.closePages();
});

test('a refused rule book stands on the page until a good one is read', async () => {
  const faults = Array.from({ length: 23 }, (_, at) => `config/rules.yaml:${at + 1}:1: fault ${at + 1}`);
  let isFaulty = true;
  const { gateway, ruleBooks } = await watchedServices(
    {},
    {},
    { load: (first) => (isFaulty ? { faults } : first) },
  );
  await ruleBooks.reload();
  const { page, complaints } = await browser.open(`${gateway.adminOrigin}/?view=rules`);
  const banner = page.getByRole('alert').filter({ hasText: 'The new rule book was refused' });
  await banner.waitFor();
  expect(await banner.textContent()).toContain('The one before it, 0123456789abcdef, stays in force');
  expect(await banner.locator('summary').textContent()).toBe('23 faults');
  await banner.locator('summary').click();
  expect(await banner.locator('li').allTextContents()).toEqual([
    ...faults.slice(0, 20),
    'and 3 more faults, not listed',
  ]);
  await page.keyboard.press('1');
  await banner.waitFor();
  isFaulty = false;
  await ruleBooks.reload();
  await banner.waitFor({ state: 'detached' });
  expect(complaints).toEqual([]);
  expect(ruleBooks.refusal).toBeUndefined();
});
