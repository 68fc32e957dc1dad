/** @module-tag chromium */
import { expect, onTestFinished, test } from 'vitest';
import { entryRow } from '../../../src/cli/entry-row.ts';
import { PLAIN } from '../../../src/cli/terminal.ts';
import { entrySentence } from '../../../src/inspector/entries/entry-words.ts';
import { type Browser, startBrowser } from '../../support/browser.ts';
import { rawClient } from '../../support/raw-client.ts';
import { watchedServices } from '../../support/watched-services.ts';

async function opened(): Promise<Browser> {
  const browser = await startBrowser();
  onTestFinished(() => browser.close());
  return browser;
}

test('a response that V2 broke off is among the failed of the last hour, and marked in the list', async () => {
  const [browser, { gateway }] = await Promise.all([
    opened(),
    watchedServices(
      {},
      {
        v2: (socket) => {
          socket.write('HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf');
          setTimeout(() => socket.destroy(), 20);
        },
      },
    ),
  ]);
  const client = rawClient(gateway.port);
  client.write('GET /api/v1/clients HTTP/1.1\r\nHost: g\r\n\r\n');
  const entry = await gateway.entry();
  expect(entry).toMatchObject({ status: 200, incomplete: true, failure: 'upstream-broken' });
  const { page, complaints } = await browser.open(`${gateway.adminOrigin}/?view=hour`);
  const tile = page.getByRole('button', { name: /^failed/ });
  await tile.waitFor();
  expect(await tile.innerText()).toMatch(/^failed\s+1\s+5xx, or no whole response to the client$/);
  await tile.click();
  await expect.poll(() => page.locator('.entry').count()).toBe(1);
  const status = page.locator('.entry .status');
  expect(await status.innerText()).toBe('200…');
  expect(await status.getAttribute('class')).toContain('status-failure');
  expect(await status.getAttribute('title')).toMatch(
    /^incomplete: the client did not get the end of its response; upstream-broken/,
  );
  expect(entrySentence(entry)).toContain('status 200, incomplete');
  expect(entryRow(entry, PLAIN)).toContain(' 200… ');
  expect(complaints).toEqual([]);
});

test('what was before the start of the gateway is not known, rather than none', async () => {
  const [browser, { gateway }] = await Promise.all([opened(), watchedServices({})]);
  const { page, complaints } = await browser.open(`${gateway.adminOrigin}/?view=hour`);
  const lead = page.locator('.lead');
  await lead.waitFor();
  expect(await lead.innerText()).toMatch(/^The figures begin at \d\d:\d\d:\d\d, when/);
  expect(await lead.innerText()).toContain(', when this gateway started.');
  const charts = page.locator('.chart');
  expect(await charts.locator('svg text').getByText('not known', { exact: true }).count()).toBe(3);
  expect(await charts.first().locator('svg').getAttribute('aria-label')).toMatch(
    /^Exchanges of the last (?:minute|2 minutes) by outcome: 0 rewritten, /,
  );
  const { x, y, width, height } = (await charts.first().boundingBox()) ?? { x: 0, y: 0, width: 0, height: 0 };
  await page.mouse.move(x + width / 2, y + height / 2);
  expect(await charts.first().locator('.readout').innerText()).toMatch(/^\d\d:\d\d\s+not known$/);
  await page.mouse.move(x + width - 25, y + height / 2);
  await expect.poll(() => charts.first().locator('.readout').innerText()).toMatch(/^\d\d:\d\d\s+0 rewritten/);
  expect(complaints).toEqual([]);
});
