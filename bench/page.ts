/**
 * `npm run bench -- page`: opens the clients on V1 in Chromium, 300 of them, and prints when something was painted first, when all rows
 * stood there, and how long a frame took after each letter typed into the search.
 */
import { inspectGateway, type InspectedGateway } from '../test/support/inspected-gateway.ts';
import { startBrowser } from '../test/support/browser.ts';
import { CHROMIUM, TOOLS } from '../test/support/tools.ts';
import { until } from '../test/support/until.ts';
import { median, printTable } from './statistics.ts';

const CLIENTS = 300;
/** Requests at a time. */
const AT_ONCE = 20;

/** Notes when all rows are there, on the clock of the page. */
const WATCH = `
addEventListener('DOMContentLoaded', () => {
  const look = () => {
    if (document.querySelectorAll('.rows tbody tr').length < ${CLIENTS}) return requestAnimationFrame(look);
    requestAnimationFrame(() => { globalThis.rowsAt = performance.now(); });
  };
  look();
});
`;

/** Types a letter, and resolves to the milliseconds until the next frame was drawn. */
const TYPE = `(letter) => new Promise((resolve) => {
  const field = document.getElementById('client-search');
  const began = performance.now();
  field.value += letter;
  field.dispatchEvent(new InputEvent('input', { bubbles: true }));
  requestAnimationFrame(() => setTimeout(() => resolve(performance.now() - began)));
})`;

/** Milliseconds of one visit. */
interface Visit {
  readonly painted: number;
  readonly rows: number;
  /** Time of a processor that the page took for all rows: a busy machine does not change it. */
  readonly processor: number;
  /** The slowest letter. */
  readonly letter: number;
}

/** Measures and prints; false where the browser is missing. */
export async function benchPage(rounds: number): Promise<boolean> {
  if (TOOLS['chromium']?.isInstalled() !== true) {
    console.log(`not installed: ${CHROMIUM}`);
    return false;
  }
  const gateway = await inspectGateway();
  const browser = await startBrowser();
  try {
    for (let n = 0; n < CLIENTS; n += AT_ONCE)
      await Promise.all(
        Array.from({ length: AT_ONCE }, (_, one) =>
          gateway.send('POST', '/api/v1/clients', '{"data":{"name":"A"}}', `key-${n + one}`),
        ),
      );
    const visits: Visit[] = [];
    // The first visit fills the caches of the browser and of the engine.
    for (let round = 0; round <= rounds; round += 1) {
      const visit = await visited(browser, gateway);
      if (round > 0) visits.push(visit);
    }
    const row = (name: string, of: (visit: Visit) => number): string[] => {
      const all = visits.map((visit) => of(visit));
      return [name, `${Math.round(median(all))} ms`, `${Math.round(Math.max(...all))} ms`];
    };
    printTable(
      [`${CLIENTS} clients, ${rounds} visits`, 'median', 'slowest'],
      [
        row('first paint', ({ painted }) => painted),
        row('all rows', ({ rows }) => rows),
        row('processor time of all rows', ({ processor }) => processor),
        row('a letter in the search', ({ letter }) => letter),
      ],
    );
    return true;
  } finally {
    await browser.close();
    await gateway.stop();
  }
}

async function visited(
  browser: Awaited<ReturnType<typeof startBrowser>>,
  { adminOrigin }: InspectedGateway,
): Promise<Visit> {
  const { page } = await browser.open('about:blank');
  await page.addInitScript(WATCH);
  const client = await page.context().newCDPSession(page);
  await client.send('Performance.enable', { timeDomain: 'threadTicks' });
  await page.goto(`${adminOrigin}/?view=clients`);
  await until(() => page.evaluate<boolean>('globalThis.rowsAt !== undefined'));
  const painted = await page.evaluate<number>(
    `performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? Number.NaN`,
  );
  const rows = await page.evaluate<number>('globalThis.rowsAt');
  const { metrics } = await client.send('Performance.getMetrics');
  const processor = (metrics.find(({ name }) => name === 'TaskDuration')?.value ?? Number.NaN) * 1000;
  let letter = 0;
  for (const one of 'field wo')
    letter = Math.max(letter, await page.evaluate<number>(`(${TYPE})(${JSON.stringify(one)})`));
  await browser.closePages();
  return { painted, rows, processor, letter };
}
