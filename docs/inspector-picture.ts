import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DEMO_REQUESTS } from '../src/cli/demo/demo.ts';
import type { EntriesPage } from '../src/inspector/api.ts';
import { startBrowser } from '../test/support/browser.ts';
import { inspectGateway } from '../test/support/inspected-gateway.ts';
import { asWebp } from './webp.ts';

/** `npm run picture`: takes docs/inspector.webp from the page of a running gateway. Needs Chromium. */
const target = new URL('inspector.webp', import.meta.url);
const CLIENTS = ['Umbrella', 'Initech', 'Globex', 'Acme'];
/** The last one needs a property that an earlier one created. */
const REQUESTS = DEMO_REQUESTS.filter(({ path }) => !path.includes('{'));

const folder = mkdtempSync(join(tmpdir(), 'inspector-picture-'));
const gateway = await inspectGateway({ capture: 'bodies', 'client-names': join(folder, 'names.yaml') });
const browser = await startBrowser();
try {
  for (const client of CLIENTS) {
    for (const { method, path, body } of REQUESTS) await gateway.send(method, `/api/v1${path}`, body, client);
    await gateway.send('GET', '/api/v2/heartbeat', undefined, client);
    const latest = await fetch(`${gateway.adminOrigin}/entries?limit=1`);
    const { entries }: EntriesPage = await latest.json();
    await gateway.postJson('/clients', { client: entries[0]?.client, name: client });
  }
  await gateway.send('POST', '/api/v1/clients', '{"data":"not an object"}', 'Globex');
  // Content is kept within a budget of time a second, which a process that has just started uses up.
  await new Promise((resolve) => {
    setTimeout(resolve, 1100);
  });
  for (const { method, path, body } of REQUESTS.slice(1, 4)) {
    await gateway.send(method, `/api/v1${path}`, body, 'Acme');
  }
  const { page } = await browser.open(`${gateway.adminOrigin}/?view=traffic`, { width: 1360, height: 800 });
  await page.getByText('order_post_production').first().click();
  await page.locator('.detail .joins').waitFor();
  // The status line for screen readers covers part of the page for a moment.
  await page.evaluate(`document.querySelector('.said')?.remove()`);
  writeFileSync(target, await asWebp(browser, await page.screenshot(), 0.9));
  process.stdout.write(`docs/inspector.webp, ${readFileSync(target).length} bytes\n`);
} finally {
  await browser.close();
  await gateway.stop();
  rmSync(folder, { recursive: true });
}
