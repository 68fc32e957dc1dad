/** @module-tag chromium */
import type { Page } from 'playwright-core';
import { beforeAll, describe, expect, test } from 'vitest';
import { barriers, browserOfFile } from '../../support/page-tests.ts';
import { type Look } from '../../support/browser.ts';
import { FLOOR_PLAN_ORDER, inspectGateway, type InspectedGateway } from '../../support/inspected-gateway.ts';

const browser = browserOfFile();
let gateway: InspectedGateway;

beforeAll(async () => {
  gateway = await inspectGateway();
  await gateway.send('POST', '/api/v1/clients', '{"data":"no object"}', undefined, 'refused');
  await gateway.send('POST', '/api/v1/clients', '{"name":"flat"}');
  await gateway.send('POST', '/api/v2/clients', '{"name":"native"}');
  await gateway.send('GET', '/api/v1/heartbeat');
  await gateway.send('POST', '/api/v1/bookings', '{"data":{"no_such_name":1}}');
  await gateway.send('POST', '/api/v1/orders/floor_plans', FLOOR_PLAN_ORDER, undefined, 'order');
  return () => gateway.stop();
});

/** States that stand for all: every place of the page in one scheme, and the fullest ones on a phone. The newest exchange is the floor plan order. */
const STATES = [
  ['the overview', '../', { scheme: 'dark' }],
  ['the list', '../?view=traffic', { scheme: 'light' }],
  ['the comparison', '../?entry=order', { scheme: 'dark' }],
  ['a V2 response', '../?entry=order&show=v2-response', { scheme: 'light' }],
  ['a refused exchange', '../?entry=refused', { scheme: 'dark' }],
  ['the problems', '../?view=traffic&part=problems', { scheme: 'dark' }],
  ['the clients', '../?view=clients', { scheme: 'dark' }],
  ['the rules', '../?view=rules', { scheme: 'light' }],
  ['the rollout', '../?view=rollout', { scheme: 'light' }],
  ['the comparison on a phone', '../?entry=order', { width: 360, height: 740 }],
] as const satisfies readonly (readonly [string, string, Look])[];

/** A phone, a laptop at 200 % and a low window. */
const SIZES = [
  [360, 740],
  [720, 450],
  [640, 360],
] as const;

test.each(STATES)(
  '%s: axe finds nothing, Tab reaches every control, and it fits small windows',
  async (_, place, look) => {
    const { page } = await browser.open(new URL(place, `${gateway.adminOrigin}/`).href, look);
    await settled(page);
    expect(await barriers(page)).toEqual([]);
    expect(await missedByTab(page)).toEqual([]);
    for (const [width, height] of SIZES) {
      await page.setViewportSize({ width, height });
      const fits =
        'document.documentElement.scrollWidth <= innerWidth && document.querySelector("main").scrollWidth <= innerWidth';
      await expect.poll(() => page.evaluate(fits), { message: `${width} pixels` }).toBe(true);
    }
  },
);

test('axe finds nothing wrong with the help, completions and an explanation', async () => {
  const { page } = await browser.open(`${gateway.adminOrigin}/?view=traffic`, { scheme: 'dark' });
  await settled(page);
  await page.keyboard.press('?');
  await page.getByRole('dialog').waitFor();
  expect(await barriers(page)).toEqual([]);
  await page.keyboard.press('Escape');
  await page.keyboard.press('/');
  await page.getByRole('option').first().waitFor();
  expect(await barriers(page)).toEqual([]);
  await page.goto(`${gateway.adminOrigin}/?view=rules`);
  await page.getByLabel('V1 query').fill('page=1');
  await page.getByRole('button', { name: 'Explain' }).click();
  await page.getByRole('region', { name: 'Explanation' }).waitFor();
  await page.getByText('/api/v2/orders/floor_plans?page=1').first().waitFor();
  expect(await barriers(page)).toEqual([]);
});

describe('the keyboard', () => {
  test('moves through the list, opens, changes perspective, closes and pauses', async () => {
    const { page } = await browser.open(`${gateway.adminOrigin}/?view=traffic`);
    await settled(page);
    await page.keyboard.press('j');
    await expect.poll(() => active(page)).toBe('entry-6');
    await page.keyboard.press('ArrowDown');
    await expect.poll(() => active(page)).toBe('entry-5');
    await page.keyboard.press('k');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'order_floor_plan' }).waitFor();
    await page.keyboard.press(']');
    await page.getByRole('tab', { name: 'V1 request', selected: true }).waitFor();
    await page.keyboard.press('[');
    await page.getByRole('tab', { name: 'What changed', selected: true }).waitFor();
    await page.getByRole('button', { name: 'Copy curl for V1' }).first().waitFor();
    await page.keyboard.press('c');
    await page.getByRole('status').filter({ hasText: 'Copied' }).waitFor();
    await page.keyboard.press('Escape');
    await page.locator('.detail').waitFor({ state: 'detached' });
    await page.getByRole('button', { name: 'Go live' }).waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('button', { name: 'Pause' }).waitFor();
    for (const [key, name] of [
      ['4', 'Rules'],
      ['3', 'Clients'],
    ] as const) {
      await page.keyboard.press(key);
      await page.getByRole('heading', { name, exact: true }).waitFor();
    }
  });

  test('an announcement goes with its view, and covers no edits', async () => {
    const { page } = await browser.open(`${gateway.adminOrigin}/?view=traffic`);
    await settled(page);
    const status = page.getByRole('status');
    await page.locator('.entry').first().click();
    const spoken = page.locator('[role=status].sr-only').filter({ hasText: 'status' });
    await spoken.waitFor({ state: 'attached' });
    expect((await spoken.boundingBox())?.width).toBeLessThanOrEqual(1);
    await page.getByRole('button', { name: 'Copy curl for V1' }).first().waitFor();
    await page.keyboard.press('c');
    await status.filter({ hasText: 'Copied' }).waitFor();
    await page.keyboard.press('4');
    await page.getByRole('heading', { name: 'Rules', exact: true }).waitFor();
    // It would go by itself some seconds later: the page has the time of its next frames, however slow the machine is.
    await page.evaluate('new Promise((done) => requestAnimationFrame(() => setTimeout(done, 100)))');
    expect(await status.filter({ hasText: 'Copied' }).count()).toBe(0);
  });

  test('can do without single letters', async () => {
    const { page } = await browser.open(`${gateway.adminOrigin}/?view=traffic`);
    await settled(page);
    await page.keyboard.press('?');
    await page.getByRole('checkbox', { name: 'Single-letter keys' }).uncheck();
    await page.keyboard.press('Escape');
    await page.keyboard.press('4');
    await page.keyboard.press('ArrowDown');
    await expect.poll(() => active(page)).toBe('entry-6');
    expect(page.url()).not.toContain('rules');
    await page.evaluate('localStorage.clear()');
  });
});

/** Numbers every control that can be seen; arrows move within tabs, so only one of those counts. */
const MARK_CONTROLS = `(() => {
  const controls = [...document.querySelectorAll('a[href], button, input, select, textarea, summary, [tabindex="0"]')]
    .filter((element) => element.checkVisibility() && element.closest('dialog') === null)
    .filter((element) => element.getAttribute('role') !== 'tab' || element.ariaSelected === 'true');
  controls.forEach((element, index) => { element.dataset.control = String(index); });
  return controls.length;
})()`;

/** Controls that the Tab key does not come to. */
async function missedByTab(page: Page): Promise<readonly string[]> {
  const wanted: number = await page.evaluate(MARK_CONTROLS);
  expect(wanted).toBeGreaterThan(6);
  const reached = new Set<string>();
  for (let step = 0; step < wanted + 5; step += 1) {
    await page.keyboard.press('Tab');
    const control: string | null = await page.evaluate('document.activeElement.dataset.control ?? null');
    if (control !== null) reached.add(control);
  }
  return page.evaluate(
    `[...document.querySelectorAll('[data-control]')]
      .filter((element) => !${JSON.stringify([...reached])}.includes(element.dataset.control))
      .map((element) => element.outerHTML.slice(0, 120))`,
  );
}

async function active(page: Page): Promise<string | null> {
  return page.getByRole('grid').getAttribute('aria-activedescendant');
}

/** Waits until the page shows the data it requested. */
async function settled(page: Page): Promise<void> {
  await page.getByText(/^(Connected|Paused)$/).waitFor();
  await expect.poll(() => page.getByText('Loading ').count()).toBe(0);
  await expect.poll(() => page.locator('.detail-head h2:not(:empty)').count()).toBeGreaterThanOrEqual(0);
  await page.waitForLoadState('load');
  await expect
    .poll(() =>
      page
        .locator('.detail')
        .count()
        .then(
          async (count) => count === 0 || (await page.locator('.detail-body, .detail > .empty').count()) > 0,
        ),
    )
    .toBe(true);
}
