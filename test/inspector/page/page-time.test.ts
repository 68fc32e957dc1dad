/** @module-tag chromium */
import { expect, onTestFinished, test } from 'vitest';
import { setTimeout as wait } from 'node:timers/promises';
import type { EntriesPage } from '../../../src/inspector/api.ts';
import { startBrowser } from '../../support/browser.ts';
import { inspectGateway } from '../../support/inspected-gateway.ts';

test('a bar of the histogram, or two times, narrow the list to what is kept of that time', async () => {
  const [gateway, browser] = await Promise.all([inspectGateway(), startBrowser()]);
  onTestFinished(async () => {
    await Promise.all([gateway.stop(), browser.close()]);
  });
  await gateway.send('GET', '/api/v1/heartbeat');
  await gateway.send('POST', '/api/v1/clients', '{"data":[]}');
  await wait(2100);
  for (let sent = 0; sent < 3; sent += 1) await gateway.send('GET', '/api/v2/heartbeat');
  const { entries } = (await (await fetch(`${gateway.adminOrigin}/entries`)).json()) as EntriesPage;
  /** The exchanges of the same second as this one, newest first. */
  const besides = (index: number): EntriesPage['entries'] =>
    entries.filter(({ time }) => time.slice(0, 19) === entries.at(index)?.time.slice(0, 19));
  const oldest = besides(-1);
  const { page, complaints } = await browser.open(`${gateway.adminOrigin}/?view=traffic`);
  const bars = page.getByRole('listbox', { name: 'Kept exchanges by time' });
  await bars.waitFor();
  await page.getByText(/, 5 matching exchanges$/).waitFor();
  const first = page.getByRole('option').first();
  expect(await first.getAttribute('aria-label')).toMatch(
    new RegExp(
      `^\\d\\d:\\d\\d:\\d\\d to \\d\\d:\\d\\d:\\d\\d: ${oldest.length} exchanges?, ${oldest.filter(({ status }) => status >= 400).length} of them failed, refused or different$`,
    ),
  );
  await first.click();
  await expect.poll(() => page.locator('.entry').count()).toBe(oldest.length);
  expect(new URL(page.url()).searchParams.get('filter')).toMatch(/^time:[\d-]+T[\d:]+$/);
  await page.getByText('Choose times').click();
  const [from, to] = [page.getByLabel('From', { exact: true }), page.getByLabel('To', { exact: true })];
  const second = await from.inputValue();
  expect(await to.inputValue()).toBe(second);
  // To a later time, by the field: all five again; and by the keyboard back to the newest bar.
  await to.fill(second.replace(/^\d{4}/, (year) => String(Number(year) + 1)));
  await expect.poll(() => page.locator('.entry').count()).toBe(5);
  await bars.focus();
  await page.keyboard.press('End');
  await page.keyboard.press('Enter');
  await expect.poll(() => page.locator('.entry').count()).toBe(besides(0).length);
  await page.getByRole('button', { name: 'Everything kept' }).click();
  await expect.poll(() => page.locator('.entry').count()).toBe(5);
  // Within the time: the filter counts only matches.
  await page.getByRole('combobox', { name: 'Filter' }).fill('verdict:refused');
  await page.getByText(/, 1 matching exchange$/).waitFor();
  expect(complaints).toEqual([]);
});

test('the time bar never says that nothing is kept beside a row', async () => {
  const [gateway, browser] = await Promise.all([inspectGateway(), startBrowser()]);
  onTestFinished(async () => {
    await Promise.all([gateway.stop(), browser.close()]);
  });
  const { page, complaints } = await browser.open(`${gateway.adminOrigin}/?view=traffic`);
  const words = page.locator('.time-bar > summary');
  await expect.poll(() => words.innerText()).toMatch(/nothing is kept yet$/);
  await gateway.send('GET', '/api/v1/heartbeat');
  await page.locator('.entry').waitFor();
  expect(await words.innerText()).not.toContain('nothing');
  await page.getByText(/, 1 matching exchange$/).waitFor();
  await words.click();
  await expect.poll(() => words.innerText()).toBe('Time');
  await page.reload();
  await page.locator('.entry').waitFor();
  expect(await words.innerText()).toBe('Time');
  expect(complaints).toEqual([]);
});
