/** @module-tag chromium */
import type { Page } from 'playwright-core';
import { beforeAll, describe, expect, test } from 'vitest';
import { browserOfFile } from '../../support/page-tests.ts';
import type { Look } from '../../support/browser.ts';
import { FLOOR_PLAN_ORDER, inspectGateway, type InspectedGateway } from '../../support/inspected-gateway.ts';

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
  '?view=traffic&part=problems',
  '?view=rules',
  '?view=clients',
  '?view=rollout',
] as const;

async function settled(page: Page, place: string): Promise<void> {
  await page.getByText(/^(?:Connected|Paused)$/).waitFor();
  await page.locator(place.includes('entry') ? '.detail-body' : '.traffic, .view:not(.empty)').waitFor();
  await expect.poll(() => page.getByText('Loading ').count()).toBe(0);
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
    await expect.poll(() => page.evaluate(textFaults)).toEqual([]);
    await expect.poll(() => page.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true);
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
  await expect.poll(() => page.evaluate(textFaults)).toEqual(['cut: capture-gateway']);
  await page.evaluate(`document.querySelector('.brand span').style.cssText = 'margin-right:-6rem'`);
  await expect.poll(() => page.evaluate(textFaults)).toEqual(['on each other: capture-gateway, Overview']);
});

/**
 * A script for a page: the faults of its visible text. Text is cut where a box clips it, unless an ellipsis shows it and a title
 * has the whole; a box that scrolls has all in reach. Two texts are on each other where their lines overlap.
 */
const textFaults = `(() => {
  const SLACK = 2;
  const faults = new Set();
  const lines = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node !== null; node = walker.nextNode()) {
    const text = node.data.trim();
    const element = node.parentElement;
    if (text === '' || element.closest('.skip, .said, script, noscript, option') !== null) continue;
    if (!element.checkVisibility({ visibilityProperty: true, opacityProperty: true })) continue;
    const range = document.createRange();
    range.selectNodeContents(node);
    for (const rect of range.getClientRects()) {
      if (rect.width < 1 || rect.height < 1) continue;
      const seen = clipped(element, rect, text);
      if (seen !== undefined) lines.push({ text, element, ...seen });
    }
  }
  lines.sort((one, other) => one.top - other.top);
  lines.forEach((one, index) => {
    for (const other of lines.slice(index + 1)) {
      if (other.top >= one.bottom - SLACK) break;
      if (one.element === other.element || one.layer !== other.layer) continue;
      const across = Math.min(one.right, other.right) - Math.max(one.left, other.left);
      const down = Math.min(one.bottom, other.bottom) - Math.max(one.top, other.top);
      // Boxes of lines touch; letters of one reach into another when a third of the lower height is shared.
      if (across > SLACK && down > Math.min(one.bottom - one.top, other.bottom - other.top) / 3)
        faults.add('on each other: ' + [one, other].sort((a, b) => a.left - b.left).map(({ text }) => text.slice(0, 60)).join(', '));
    }
  });
  return [...faults];

  /** The part of a line that can be seen, with its layer; undefined when it is scrolled out of sight. */
  function clipped(element, rect, text) {
    let { left, top, right, bottom } = rect;
    let layer = '';
    for (let box = element; box !== null && box !== document.documentElement; box = box.parentElement) {
      const style = getComputedStyle(box);
      // Text for screen readers alone.
      if (style.clipPath !== 'none') return undefined;
      if (style.display === 'inline') continue;
      if (style.position === 'sticky' || style.position === 'fixed') layer += 'above';
      const own = box.getBoundingClientRect();
      const scrollsX = /auto|scroll/.test(style.overflowX);
      const scrollsY = /auto|scroll/.test(style.overflowY);
      const clipsX = style.overflowX !== 'visible';
      const clipsY = style.overflowY !== 'visible';
      const isCutX = clipsX && !scrollsX && (left < own.left - SLACK || right > own.right + SLACK);
      const isCutY = clipsY && !scrollsY && (top < own.top - SLACK * 2 || bottom > own.bottom + SLACK * 2);
      const isTold = style.textOverflow === 'ellipsis' && (box.title !== '' || element.title !== '');
      if (isCutY || (isCutX && !isTold)) faults.add('cut: ' + text.slice(0, 60));
      if (clipsX) [left, right] = [Math.max(left, own.left), Math.min(right, own.right)];
      if (clipsY) [top, bottom] = [Math.max(top, own.top), Math.min(bottom, own.bottom)];
      if (right - left < 1 || bottom - top < 1) return undefined;
    }
    return { left, top, right, bottom, layer };
  }
})()`;
