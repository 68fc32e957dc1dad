import { expect, onTestFinished, test } from 'vitest';
import { entryRow } from '../../src/cli/entry-row.ts';
import { PLAIN } from '../../src/cli/terminal.ts';
import { entrySentence } from '../../src/inspector/entry-words.ts';
import { type Browser, startBrowser } from '../support/browser.ts';
import { rawClient } from '../support/raw-client.ts';
import { watchedServices } from '../support/watched-services.ts';

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
