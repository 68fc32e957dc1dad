/** @module-tag chromium */
import { expect, onTestFinished, test } from 'vitest';
import { ago, clockTime, dayTime, rowTime } from '../../../src/inspector/page/format.ts';
import { startBrowser } from '../../support/browser.ts';
import { inspectGateway } from '../../support/inspected-gateway.ts';

const DAY_MS = 86_400_000;

test('a time of another day has its date and its zone', () => {
  const now = new Date();
  const [today, other] = [
    new Date(now.getFullYear(), now.getMonth(), now.getDate(), 9, 30, 1, 20),
    new Date(2025, 10, 22, 9, 30, 1, 20),
  ].map((date) => date.toISOString());
  if (today === undefined || other === undefined) throw new Error('there are two times');
  const zone = new Date(other).toLocaleTimeString('en-GB', { timeZoneName: 'short' }).split(' ').at(-1);
  expect([dayTime, clockTime, rowTime].map((words) => [words(today), words(other)])).toEqual([
    ['09:30:01', `2025-11-22 09:30:01 ${zone}`],
    ['09:30:01.020', `2025-11-22 09:30:01.020 ${zone}`],
    ['09:30:01.020', '11-22 09:30:01'],
  ]);
});

test('an age counts days of 24 hours', () => {
  const now = Date.UTC(2026, 10, 22, 1);
  const ageOf = (hours: number): string => ago(new Date(now - hours * 3_600_000).toISOString(), now);
  expect([23.9, 24, 47, 48].map(ageOf)).toEqual(['23 h ago', '1 day ago', '1 day ago', '2 days ago']);
});

test('rows, errors and the rule book say of which day their times are', async () => {
  const [gateway, browser] = await Promise.all([inspectGateway(), startBrowser()]);
  onTestFinished(async () => {
    await Promise.all([gateway.stop(), browser.close()]);
  });
  expect(await gateway.send('POST', '/api/v1/clients', '{"data":[]}', undefined, 'refused')).toBe(422);
  const { page, complaints } = await browser.open(`${gateway.adminOrigin}/?view=traffic`);
  await page.locator('.entry').waitFor();
  expect(await page.locator('.entry .time').innerText()).toMatch(/^\d\d:\d\d:\d\d\.\d{3}$/);
  await page.clock.setFixedTime(Date.now() + DAY_MS + 3_600_000);
  const open = async (view: string): Promise<void> =>
    page.getByRole('navigation').getByRole('link', { name: view }).click();
  await open('Errors');
  const times = page.locator('table time');
  await times.first().waitFor();
  expect(await times.nth(0).innerText()).toMatch(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d \S+$/);
  expect(await times.nth(1).innerText()).toBe('1 day ago');
  await open('Rule book');
  await page.getByText(/In force since \d{4}-\d\d-\d\d \d\d:\d\d:\d\d \S+, hash/).waitFor();
  await open('Traffic');
  const row = page.locator('.entry');
  await row.waitFor();
  const time = row.locator('.time');
  expect(await time.innerText()).toMatch(/^\d\d-\d\d \d\d:\d\d:\d\d$/);
  expect(await time.getAttribute('title')).toMatch(/^\d{4}-\d\d-\d\dT.*Z$/);
  expect(await time.evaluate((cell) => cell.scrollWidth <= cell.clientWidth)).toBe(true);
  await row.click();
  await page.locator('.facts time').waitFor();
  expect(await page.locator('.facts time').innerText()).toMatch(
    /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3} \S+$/,
  );
  expect(complaints).toEqual([]);
});
