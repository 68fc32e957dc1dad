import { startBrowser } from '../test/support/browser.ts';
import { inspectGateway } from '../test/support/inspected-gateway.ts';
import { quantile } from './statistics.ts';

/** `node bench/open-body.ts`: time from the click on an exchange with a body of 1 MB to its drawn comparison, in Chromium. */
const ROUNDS = 15;

/** Until the four lines between the bodies are drawn: in the frame after the one that has them. */
const OPEN = `new Promise((resolve) => {
  const began = performance.now();
  const look = () =>
    document.querySelectorAll('.joins .join').length === 4
      ? requestAnimationFrame(() => resolve(performance.now() - began))
      : requestAnimationFrame(look);
  document.querySelector('.entry').click();
  look();
})`;
const photos = Array.from({ length: 9000 }, (_, at) => ({
  id: at,
  url: `https://photos.test/${'x'.repeat(80)}`,
}));
const body = JSON.stringify({
  data: { photos, property: { suburb: 'Enmore', postcode: '2042' }, note: 'z' },
});

/** Milliseconds between the sight of the list and the first click: none, and those of somebody who looks at it. */
const READING_MS = [0, 2000];

for (const reading of READING_MS) {
  const [gateway, browser] = await Promise.all([
    inspectGateway({ capture: 'bodies', 'capture-memory': '512MiB' }),
    startBrowser(),
  ]);
  try {
    await gateway.send('POST', '/api/v1/orders/floor_plans', body);
    const { page } = await browser.open(gateway.adminOrigin);
    await page.locator('.entry').first().waitFor();
    await page.waitForTimeout(reading);
    const times: number[] = [];
    for (let round = 0; round < ROUNDS; round += 1) {
      times.push(await page.evaluate<number>(OPEN));
      await page.keyboard.press('Escape');
      await page.locator('.detail').waitFor({ state: 'detached' });
    }
    const [first = 0, ...later] = times;
    const at = (share: number): string => quantile(later, share).toFixed(0);
    process.stdout.write(
      `${body.length} bytes, clicked ${reading} ms after the list: first ${first.toFixed(0)} ms, then ${at(0.5)} ms (${at(0)}–${at(1)}), of ${ROUNDS} rounds\n`,
    );
  } finally {
    await browser.close();
    await gateway.stop();
  }
}
