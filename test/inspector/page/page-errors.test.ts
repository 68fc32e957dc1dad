/** @module-tag chromium */
import { expect, onTestFinished, test } from 'vitest';
import type { ErrorGroups } from '../../../src/inspector/api.ts';
import { startBrowser } from '../../support/browser.ts';
import { inspectGateway } from '../../support/inspected-gateway.ts';
import { exchange } from '../../support/raw-client.ts';
import { watchedServices } from '../../support/watched-services.ts';

test('the errors of what is kept stand by code and place, each with its exchanges', async () => {
  const [gateway, browser] = await Promise.all([inspectGateway(), startBrowser()]);
  onTestFinished(async () => {
    await Promise.all([gateway.stop(), browser.close()]);
  });
  const { page, complaints } = await browser.open(`${gateway.adminOrigin}/?view=errors`);
  await page.getByText('No exchange is kept yet.').waitFor();
  await gateway.send('POST', '/api/v1/clients', '{"data":{"name":"Ada"}}');
  for (const key of ['one', 'other']) await gateway.send('POST', '/api/v1/clients', '{"data":[]}', key);
  await gateway.send('POST', '/api/v1/clients', '{"data":{"colour":1}}');
  await gateway.send('GET', '/api/v2/clients/4711');
  const { groups, exchanges } = (await (await fetch(`${gateway.adminOrigin}/errors`)).json()) as ErrorGroups;
  expect(exchanges).toBe(5);
  const rows = page.locator('tbody tr');
  await rows.nth(groups.length - 1).waitFor();
  const shown: readonly (readonly string[])[] = await page.evaluate(
    `[...document.querySelectorAll('tbody tr')].map((row) =>
      [...row.children].slice(0, 6).map((cell) => cell.textContent))`,
  );
  expect(shown[0]).toEqual(['wrapper-not-object', 'the gateway', '/data', 'create_client', '2', '2']);
  expect(shown.map(([code, , at, , times]) => [code, at, times])).toEqual(
    groups.map(({ error, count }) => [error.code, error.pointer ?? '–', String(count)]),
  );
  await page
    .getByRole('button', { name: 'Show the exchanges with gateway-wrapper-not-object /data' })
    .click();
  await expect.poll(() => page.locator('.entry').count()).toBe(2);
  expect(complaints).toEqual([]);
});

test('the cause of a failure is named, and leads to the exchanges with it', async () => {
  const [{ gateway }, browser] = await Promise.all([
    watchedServices({}, { v2: (socket) => socket.destroy() }),
    startBrowser(),
  ]);
  onTestFinished(() => browser.close());
  await exchange(gateway.port, 'DELETE /api/v1/clients/1 HTTP/1.1\r\nHost: g\r\n\r\n');
  const { cause = '' } = await gateway.entry();
  expect(cause).toBe('other side closed');
  const { page, complaints } = await browser.open(`${gateway.adminOrigin}/?view=traffic`);
  await page.locator('.entry').first().click();
  await page.getByRole('button', { name: cause, exact: true }).click();
  await expect
    .poll(() => page.getByLabel('Filter', { exact: true }).inputValue())
    .toBe('cause:"other side closed"');
  await expect.poll(() => page.locator('.entry').count()).toBe(1);
  expect(complaints).toEqual([]);
});
