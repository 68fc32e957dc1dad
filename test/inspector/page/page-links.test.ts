/** @module-tag chromium */
import { join } from 'node:path';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { type Browser, startBrowser } from '../../support/browser.ts';
import { FLOOR_PLAN_ORDER, inspectGateway } from '../../support/inspected-gateway.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';
import { watchedServices } from '../../support/watched-services.ts';

let browser: Browser;

beforeAll(async () => {
  browser = await startBrowser();
});

afterAll(() => browser.close());

test('a link to an exchange leads to it after a restart, from the log, and never to another one', async () => {
  const folder = temporaryFolder('page-links');
  const flags = { 'log-file': join(folder, 'rewrite.log') };
  const first = await inspectGateway(flags);
  await first.send('POST', '/api/v1/orders/floor_plans', FLOOR_PLAN_ORDER, undefined, 'the-order');
  const { page } = await browser.open(`${first.adminOrigin}/?view=traffic`);
  await page.locator('.entry').first().click();
  await page.locator('.detail h2').filter({ hasText: 'order_floor_plan' }).waitFor();
  const link = new URL(page.url()).search;
  expect(link).toBe('?entry=the-order&n=1');
  await browser.closePages();
  await first.stop();
  const [second, withoutLog] = await Promise.all([inspectGateway(flags), inspectGateway()]);
  onTestFinished(async () => {
    await Promise.all([second.stop(), withoutLog.stop()]);
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
  expect((await banner.locator('p').textContent())?.replace(/\d\d:\d\d:\d\d\.\d+/, 'TIME')).toBe(
    'The new rule book was refused at TIME. The one before it, 0123456789abcdef, stays in force until the file is corrected.',
  );
  expect(ruleBooks.current.ruleBook.hash).toBe('0123456789abcdef');
  expect(await banner.locator('summary').textContent()).toBe('23 faults');
  await banner.locator('summary').click();
  expect(await banner.locator('li').allTextContents()).toEqual([
    ...faults.slice(0, 20),
    'and 3 more faults, not listed',
  ]);
  await page.keyboard.press('2');
  await banner.waitFor();
  isFaulty = false;
  await ruleBooks.reload();
  await banner.waitFor({ state: 'detached' });
  expect(complaints).toEqual([]);
  expect(ruleBooks.refusal).toBeUndefined();
});

test('what is kept is searched by text and time, and an exchange is explained again', async () => {
  const { gateway } = await watchedServices(
    { default: { mode: 'observe' } },
    {},
    { flags: { capture: 'bodies' } },
  );
  for (const suburb of ['Enmore', 'Newtown']) {
    await fetch(`${gateway.origin}/api/v1/orders/floor_plans`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-request-id': suburb },
      body: JSON.stringify({ data: { property: { suburb } } }),
    });
  }
  const { time } = await gateway.entry(2);
  const count = async (filter: string): Promise<number> => {
    const response = await fetch(`${gateway.adminOrigin}/entries?filter=${encodeURIComponent(filter)}`);
    return ((await response.json()) as { readonly entries: readonly unknown[] }).entries.length;
  };
  expect(await Promise.all(['has:newtown', '-has:newtown', 'has:nowhere', 'has:suburb'].map(count))).toEqual([
    1, 1, 0, 2,
  ]);
  expect(await Promise.all([`time:${time.slice(0, 13)}`, `time:>${time.slice(0, 13)}`].map(count))).toEqual([
    2, 0,
  ]);
  const { page, complaints } = await browser.open(`${gateway.adminOrigin}/?entry=Newtown`);
  await page.getByRole('button', { name: 'Explain', exact: true }).click();
  await page.getByText('The request Newtown, as it was kept').waitFor();
  await page.getByRole('button', { name: 'Explain', exact: true }).click();
  const explanation = page.getByRole('region', { name: 'Explanation' });
  await explanation.waitFor();
  expect(await explanation.getByRole('group', { name: 'V2 body' }).innerText()).toContain('"Newtown"');
  expect(await explanation.getByRole('region', { name: 'Edits' }).locator('h3').textContent()).toBe(
    '2 edits',
  );
  expect(complaints).toEqual([]);
  await browser.closePages();
});
