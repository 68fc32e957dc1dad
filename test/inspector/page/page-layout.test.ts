/** @module-tag chromium */
import type { Page } from 'playwright-core';
import { beforeAll, expect, onTestFinished, test } from 'vitest';
import { browserOfFile } from '../../support/page-tests.ts';
import { FLOOR_PLAN_ORDER, inspectGateway, type InspectedGateway } from '../../support/inspected-gateway.ts';

const browser = browserOfFile();
let gateway: InspectedGateway;

beforeAll(async () => {
  gateway = await inspectGateway();
  await gateway.send('POST', '/api/v1/orders/floor_plans', FLOOR_PLAN_ORDER, undefined, 'order');
  return () => gateway.stop();
});

async function widthOf(page: Page, selector: string): Promise<number> {
  return (await page.locator(selector).first().boundingBox())?.width ?? 0;
}

test('the panes are resized by keyboard and pointer, and stay so', async () => {
  const { page } = await browser.open(`${gateway.adminOrigin}/?entry=order`);
  const splitter = page.getByRole('separator', { name: 'Width of the list' });
  await splitter.waitFor();
  const before = await widthOf(page, '.list-box');
  await splitter.focus();
  for (let step = 0; step < 5; step += 1) await page.keyboard.press('ArrowRight');
  await expect.poll(() => splitter.getAttribute('aria-valuenow')).toBe('42');
  await expect.poll(() => widthOf(page, '.list-box')).toBeGreaterThan(before * 1.2);
  const { x = 0, y = 0 } = (await splitter.boundingBox()) ?? {};
  await page.mouse.move(x + 3, y + 200);
  await page.mouse.down();
  await page.mouse.move(1440 * 0.6, y + 220, { steps: 4 });
  await page.mouse.up();
  await expect.poll(() => splitter.getAttribute('aria-valuenow')).toBe('60');
  await page.reload();
  await splitter.waitFor();
  await expect.poll(async () => Math.round((await widthOf(page, '.list-box')) / 14.4)).toBe(60);
  await splitter.dblclick();
  await expect.poll(() => splitter.getAttribute('aria-valuenow')).toBe('32');
});

test('rows are as dense as the operator wants them', async () => {
  const { page } = await browser.open(`${gateway.adminOrigin}/?view=traffic`);
  const row = page.locator('.entry').first();
  await row.waitFor();
  const { height: comfortable = 0 } = (await row.boundingBox()) ?? {};
  await page.keyboard.press('d');
  await expect.poll(async () => (await row.boundingBox())?.height ?? 0).toBeLessThan(comfortable * 0.8);
  await page.reload();
  await row.waitFor();
  await expect.poll(async () => (await row.boundingBox())?.height).toBeLessThan(comfortable * 0.8);
  await page.keyboard.press('?');
  await page.getByRole('checkbox', { name: 'Compact rows' }).uncheck();
  await page.keyboard.press('Escape');
  await expect.poll(async () => (await row.boundingBox())?.height ?? 0).toBe(comfortable);
});

test('header fields are explained on hover and on focus', async () => {
  const { page } = await browser.open(`${gateway.adminOrigin}/?entry=order&show=v2-request`);
  const term = page.locator('.header-term', { hasText: 'x-api-version' });
  const meaning = page.getByRole('tooltip').filter({ hasText: 'Dated release of V2' });
  await term.waitFor();
  expect(await meaning.isVisible()).toBe(false);
  await term.hover();
  await meaning.waitFor();
  await page.mouse.move(0, 0);
  await meaning.waitFor({ state: 'hidden' });
  await page.getByRole('tabpanel').focus();
  for (let step = 0; step < 40 && !(await meaning.isVisible()); step += 1) await page.keyboard.press('Tab');
  await meaning.waitFor();
});

test('the states of the header have their own row if they do not fit beside the views', async () => {
  for (const [width, rows] of [
    [1440, 1],
    [760, 2],
  ] as const) {
    const { page } = await browser.open(`${gateway.adminOrigin}/?view=traffic&part=problems`, { width });
    await page.getByText('Connected', { exact: true }).waitFor();
    const tops = await page.locator('.views a, .states > *').evaluateAll((all) =>
      all
        .map((one) => one.getBoundingClientRect())
        .filter(({ height }) => height > 0)
        .map(({ top, height }) => top + height / 2),
    );
    const apart = tops.filter((top, at) => tops.slice(0, at).every((other) => Math.abs(top - other) > 8));
    expect([width, apart.length]).toEqual([width, rows]);
  }
});

test.each([1440, 1024, 390])(
  'the header of a window of %d pixels is as high with a long verdict',
  async (width) => {
    const { page } = await browser.open(`${gateway.adminOrigin}/?view=rollout`, { width });
    const chip = page.locator('.condition > span');
    await chip.waitFor();
    const heightOf = async (): Promise<number> =>
      (await page.locator('.page-header').boundingBox())?.height ?? 0;
    const before = await heightOf();
    await chip.evaluate((label) =>
      label.replaceChildren('create_reservation fails at times; 2 more '.repeat(5)),
    );
    expect(await heightOf()).toBe(before);
    expect(await page.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true);
    // A part for which there is no room is left out: no name is cut.
    const cut = await chip.evaluate((label) => {
      const parts = ['list_labels fails', ' for lumen-cron/0.3 and nova-dotnet/6', '; get_claim fails'];
      label.replaceChildren(
        ...[...parts, ...parts, ...parts, ...parts].map((text) => {
          const part = document.createElement('span');
          part.textContent = text;
          return part;
        }),
      );
      const { right, bottom } = label.getBoundingClientRect();
      return [...label.children].filter((part) => {
        const box = part.getBoundingClientRect();
        return box.top < bottom && (box.right > right + 1 || part.scrollWidth > part.clientWidth + 1);
      }).length;
    });
    expect(cut).toBe(0);
  },
);

test('on the smallest phone all views and perspectives are in reach', async () => {
  const { page } = await browser.open(`${gateway.adminOrigin}/?entry=order`, { width: 360, height: 740 });
  await page.getByRole('tab').first().waitFor();
  const controls = [...(await page.locator('.views a').all()), ...(await page.getByRole('tab').all())];
  expect(controls.length).toBe(10);
  for (const control of controls) {
    const { x = -1, width = 0 } = (await control.boundingBox()) ?? {};
    expect(x).toBeGreaterThanOrEqual(0);
    expect(x + width).toBeLessThanOrEqual(360);
  }
});

test.each(['', '?entry=order', '?view=traffic&part=problems', '?view=rules', '?view=clients'])(
  'a window of 2560 pixels is used by %j',
  async (query) => {
    const { page } = await browser.open(`${gateway.adminOrigin}/${query}`, { width: 2560, height: 1400 });
    await page.locator('.traffic, .view:not(.empty)').waitFor();
    await expect.poll(() => widthOf(page, 'main > *')).toBeGreaterThan(2560 * 0.9);
    await expect.poll(() => page.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true);
  },
);

const PLACES = [
  '',
  '?view=traffic',
  '?entry=order',
  '?view=traffic&part=problems',
  '?view=clients',
  '?view=rules',
  '?view=rollout',
];

test('all places together have five sizes of text, none below 12 pixels', async () => {
  const { page } = await browser.open('about:blank');
  const sizes = new Set<number>();
  for (const place of PLACES) {
    await page.goto(`${gateway.adminOrigin}/${place}`);
    await page.locator(place.includes('entry') ? '.detail-body' : '.traffic, .view:not(.empty)').waitFor();
    for (const size of await page.evaluate<number[]>(`(() => {
      const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
      const found = new Set();
      for (let node = walker.nextNode(); node !== null; node = walker.nextNode())
        if (node.data.trim() !== '' && node.parentElement.checkVisibility()) found.add(parseFloat(getComputedStyle(node.parentElement).fontSize));
      return [...found];
    })()`))
      sizes.add(size);
  }
  expect(Math.min(...sizes)).toBeGreaterThanOrEqual(12);
  expect([...sizes].toSorted((one, other) => one - other).length).toBeLessThanOrEqual(5);
});

test('three hundred clients are drawn at once, sorted and searched', async () => {
  const busy = await inspectGateway();
  onTestFinished(() => busy.stop());
  for (let n = 0; n < 300; n += 20)
    await Promise.all(
      Array.from({ length: 20 }, (_, one) =>
        busy.send('GET', '/api/v1/heartbeat', undefined, `key-${n + one}`),
      ),
    );
  const { page } = await browser.open(`${busy.adminOrigin}/?view=clients`);
  const rows = page.locator('.rows tbody tr');
  await rows.nth(299).waitFor();
  const first = page.getByRole('button', { name: 'Client', exact: true });
  await first.click();
  const shown = () =>
    page
      .locator('.rows .client-name > .link')
      .evaluateAll((links) => links.map((link) => link.getAttribute('aria-label')?.slice(-16) ?? ''));
  const hashes = (await shown()).toSorted();
  await expect.poll(shown).toEqual(hashes);
  await page.getByLabel('Search').fill(hashes[150] ?? '');
  await expect.poll(() => rows.count()).toBe(1);
  await page.getByText('1 of 300 rows').waitFor();
});
