/** @module-tag chromium */
import type { Page } from 'playwright-core';
import { beforeAll, describe, expect, test } from 'vitest';
import { browserOfFile } from '../../support/page-tests.ts';
import { type Look } from '../../support/browser.ts';
import { FLOOR_PLAN_ORDER, inspectGateway, type InspectedGateway } from '../../support/inspected-gateway.ts';
import { textFaults } from '../../support/text-faults.ts';

const browser = browserOfFile();
let gateway: InspectedGateway;

beforeAll(async () => {
  gateway = await inspectGateway({ capture: 'bodies' });
  await gateway.send('POST', '/api/v1/clients', '{"data":"no object"}', undefined, 'refused');
  await gateway.send('GET', '/api/v1/heartbeat');
  await gateway.send('POST', '/api/v1/orders/floor_plans', FLOOR_PLAN_ORDER, undefined, 'order');
  return () => gateway.stop();
});

const PLACES = [
  '',
  '?view=traffic',
  '?entry=order',
  '?entry=order&show=v2-request',
  '?entry=refused',
  '?view=hour',
  '?view=errors',
  '?view=rules',
  '?view=retirement',
  '?view=end',
  '?view=rollout',
  '?view=explain',
] as const;

async function settled(page: Page, place: string): Promise<void> {
  await page.getByText(/^(?:Connected|Paused)$/).waitFor();
  await page.locator(place.includes('entry') ? '.detail-body' : '.traffic, .view:not(.empty)').waitFor();
  await page.getByText('Loading ').waitFor({ state: 'detached' });
}

/** The ways to enlarge; text alone, which moves the most, for every place, and each of the others for the two fullest. */
const LOOKS: readonly (readonly [name: string, look: Look, places: readonly string[]])[] = [
  ['at 200 % by the size of text alone', { width: 1280, height: 900, textSize: 32 }, PLACES],
  ['as it is', { width: 1280, height: 900 }, ['?entry=order', '?view=rollout']],
  [
    'at 200 % by the zoom of the browser',
    { width: 1280, height: 900, zoom: 2 },
    ['?entry=order', '?view=rollout'],
  ],
  ['on a phone', { width: 360, height: 740 }, ['?entry=order', '?view=rollout']],
];

// WCAG 1.4.4: text can be twice as large without loss of content or function.
describe.each(LOOKS)('a page of 1280 pixels, %s', (_name, look, places) => {
  test.each(places)('cuts no text of %j, and none lies on other text', async (place) => {
    const { page } = await browser.open(`${gateway.adminOrigin}/${place}`, look);
    await settled(page, place);
    // Lines and charts are drawn once their size is known.
    await expect.poll(() => page.evaluate(textFaults), { timeout: 10_000 }).toEqual([]);
    expect(await page.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true);
  });
});

test('text alone is twice as large where its user chose so', async () => {
  const sizeOf = async (look: Look): Promise<number> => {
    const { page } = await browser.open(`${gateway.adminOrigin}/?view=traffic`, look);
    await page.locator('.entry').first().waitFor();
    return page.evaluate<number>(
      'parseFloat(getComputedStyle(document.querySelector(".entry .name")).fontSize)',
    );
  };
  expect(await sizeOf({ textSize: 32 })).toBeCloseTo(2 * (await sizeOf({})));
});

test('the measure finds text that is cut, and text on text', async () => {
  const { page } = await browser.open(`${gateway.adminOrigin}/?view=traffic`);
  await settled(page, '');
  await page.evaluate(
    `document.querySelector('.brand span').style.cssText = 'width:2rem;overflow:hidden;white-space:nowrap'`,
  );
  expect(await page.evaluate(textFaults)).toEqual(['cut: capture-gateway']);
  await page.evaluate(`document.querySelector('.brand span').style.cssText = 'margin-right:-6rem'`);
  expect(await page.evaluate(textFaults)).toEqual(['on each other: capture-gateway, Overview']);
});
