/** @module-tag chromium */
import type { EntryDetail } from '../../../src/inspector/api.ts';
import { beforeAll, describe, expect, test } from 'vitest';
import {
  API_KEY,
  FLOOR_PLAN_ORDER,
  inspectGateway,
  type InspectedGateway,
  SECRETS,
} from '../../support/inspected-gateway.ts';
import { browserOfFile, gatewayOfTest } from '../../support/page-tests.ts';

const VIEWS = ['overview', 'traffic', 'traffic&part=problems', 'clients', 'rules', 'rollout'];
const PERSPECTIVES = ['diff', 'v1-request', 'v2-request', 'v2-response', 'client-response'];

const browser = browserOfFile();
let gateway: InspectedGateway;
let capturing: InspectedGateway;

beforeAll(async () => {
  [gateway, capturing] = await Promise.all([inspectGateway(), inspectGateway({ capture: 'bodies' })]);
  return async () => {
    await Promise.all([gateway.stop(), capturing.stop()]);
  };
});

describe('the live list', () => {
  test('shows an exchange as it happens', async () => {
    const { page, complaints, foreign } = await browser.open(`${gateway.adminOrigin}/?view=traffic`);
    await page.getByText('Connected', { exact: true }).waitFor();
    expect(await gateway.send('POST', '/api/v1/orders/floor_plans', FLOOR_PLAN_ORDER)).toBe(201);
    const row = page.getByRole('row', { name: /order_floor_plan.*rewritten.*\d.*\d.*201/ }).first();
    await row.waitFor();
    expect(complaints).toEqual([]);
    expect(foreign).toEqual([]);
  });

  test('is narrowed by a filter that the address keeps', async () => {
    await gateway.send('POST', '/api/v1/clients', '{"data":{"name":"Ada"}}');
    await gateway.send('POST', '/api/v1/clients', '{"data":"no object"}');
    const { page } = await browser.open(`${gateway.adminOrigin}/?view=traffic`);
    const rows = page.locator('.entry');
    await rows.filter({ hasText: 'create_client' }).first().waitFor();
    await page.keyboard.press('/');
    await page.keyboard.type('verd');
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('Enter');
    await page.keyboard.type('refu');
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('Enter');
    await page.waitForURL(/filter=verdict:refused/);
    await rows.filter({ hasText: 'rewritten' }).first().waitFor({ state: 'detached' });
    await expect
      .poll(async () => new Set(await page.locator('.entry .verdict').allTextContents()))
      .toEqual(new Set(['refused']));
    await gateway.send('POST', '/api/v1/clients', '{"data":{"name":"Not shown"}}');
    await gateway.send('POST', '/api/v1/clients', '{"data":[]}');
    await expect.poll(() => rows.count()).toBe(2);
    await page.reload();
    await expect.poll(() => rows.count()).toBe(2);
    await expect
      .poll(() => page.getByRole('combobox', { name: 'Filter' }).inputValue())
      .toContain('verdict:refused');
  });

  test('reports the unreadable part of a filter once, and stays connected', async () => {
    const { page } = await browser.open(`${gateway.adminOrigin}/?filter=colour:red`);
    await page.locator('.filter-fault').filter({ hasText: 'There is no field colour' }).waitFor();
    await page.getByText('No exchange is shown, because the filter cannot be read.').waitFor();
    await page.getByText('Connected', { exact: true }).waitFor();
    await gateway.send('POST', '/api/v1/clients', '{"data":{"name":"Not shown"}}');
    await expect.poll(() => page.getByText('There is no field colour').count()).toBe(1);
    await expect.poll(() => page.locator('.entry').count()).toBe(0);
    await expect.poll(() => page.getByRole('combobox').getAttribute('aria-invalid')).toBe('true');
  });
});

describe('an exchange', () => {
  test('shows a floor plan order with the address moved, joined by lines', async () => {
    await gateway.send('POST', '/api/v1/orders/floor_plans', FLOOR_PLAN_ORDER);
    const { page, complaints } = await browser.open(`${gateway.adminOrigin}/?filter=op:order_floor_plan`);
    await page.locator('.entry').first().click();
    const before = page.getByRole('group', { name: 'V1 body' });
    const after = page.getByRole('group', { name: 'V2 body' });
    await before.waitFor();
    await expect
      .poll(() => before.locator('mark').allTextContents())
      .toContain('2"street_address": "‹string›"');
    await expect
      .poll(() => after.locator('mark').allTextContents())
      .toContain('2"street_address": "‹string›"');
    const printed = (await after.locator('code').allTextContents())
      .map((line) => line.replaceAll(/^(\s*)\d/gm, '$1'))
      .join('\n');
    expect(JSON.parse(printed)).toEqual({
      property: {
        display_name: '‹string›',
        address: {
          street_address: '‹string›',
          suburb: '‹string›',
          postcode: '‹string›',
          latitude: '‹number›',
        },
      },
      external_id: '‹string›',
    });
    // A stub for each of the wrapper's two brackets, a line for each of the four members.
    await expect.poll(() => page.locator('.joins .join').count()).toBe(6);
    const moved = page.getByRole('button', {
      name: /nest \/data\/property\/street_address → \/property\/address\/street_address/,
    });
    await moved.waitFor();
    const edits = page.getByRole('region', { name: 'Edits' });
    await expect
      .poll(() => edits.textContent())
      .toContain('The address attributes of a new property are nested under address.');
    await moved.hover();
    await page.locator('.joins .join.active').waitFor({ state: 'attached' });
    expect(complaints).toEqual([]);
  });

  test('shows why a request was refused, and where', async () => {
    await gateway.send('POST', '/api/v1/orders/floor_plans', '{"data":{"property":{"suburb":1,"suburb":2}}}');
    const { page } = await browser.open(
      `${gateway.adminOrigin}/?filter=op:order_floor_plan%20verdict:refused`,
    );
    await page.locator('.entry').first().click();
    await page.getByText('A member that the migration reads occurs twice').first().waitFor();
    await expect
      .poll(() => page.locator('mark.hue-refused').allTextContents())
      .toEqual(['!"suburb": "‹number›"']);
  });

  test('is copied as the commands that the gateway gives for it', async () => {
    await capturing.send('POST', '/api/v1/orders/floor_plans', FLOOR_PLAN_ORDER);
    const { page } = await browser.open(`${capturing.adminOrigin}/?filter=op:order_floor_plan`);
    await page.locator('.entry').first().click();
    const { curl } = await capturing.readJson<EntryDetail>('/entries/1');
    for (const [version, command] of [
      ['V1', curl?.v1],
      ['V2', curl?.v2],
    ]) {
      await page.getByRole('button', { name: `Copy curl for ${version}` }).click();
      await page
        .getByRole('status')
        .filter({ hasText: `the ${version} request as curl` })
        .waitFor();
      await expect.poll(() => page.evaluate('navigator.clipboard.readText()')).toBe(command);
    }
  });
});

describe('visible values', () => {
  /** Everything that is in the page, shown or not. */
  const everything =
    'document.documentElement.outerHTML + [...document.querySelectorAll("input")].map((input) => input.value)';

  async function whole(of: InspectedGateway): Promise<string> {
    await of.send('POST', '/api/v1/orders/floor_plans', FLOOR_PLAN_ORDER);
    await of.send('GET', '/api/v1/clients?token=query-value-of-the-tests');
    const { page } = await browser.open(`${of.adminOrigin}/?view=traffic`);
    await page.locator('.entry').first().waitFor();
    let text = '';
    for (const row of [0, 1]) {
      await page.locator('.entry').nth(row).click();
      for (const perspective of PERSPECTIVES) {
        await page.locator(`#tab-${perspective}`).click();
        await page.locator(`#perspective[aria-labelledby="tab-${perspective}"]`).waitFor();
        text += await page.evaluate<string>(everything);
      }
      await page.keyboard.press('Escape');
    }
    for (const view of VIEWS) {
      await page.goto(`${of.adminOrigin}/?view=${view}`);
      await page.locator('main h2').first().waitFor({ state: 'attached' });
      text += await page.evaluate<string>(everything);
    }
    return text;
  }

  test('holds no key and no value with capture off', async () => {
    const text = await whole(gateway);
    expect(SECRETS.filter((secret) => text.includes(secret))).toEqual([]);
    expect(text).toContain('Capture off');
  });

  test('holds values, but never the key, with capture on, and says so in the header', async () => {
    const text = await whole(capturing);
    expect(text).toContain('77 Secret Street');
    expect(text).not.toContain(API_KEY);
    expect(text).toMatch(/Capturing(?:<[^>]*>)? bodies/);
  });
});

test('a gateway that goes away is said to be gone, and the rows stay', async () => {
  const passing = await gatewayOfTest();
  await passing.send('GET', '/api/v1/heartbeat');
  const { page } = await browser.open(`${passing.adminOrigin}/?view=traffic`);
  await page.locator('.entry').first().waitFor();
  await passing.stop();
  await page.getByText('No response', { exact: true }).waitFor();
  await expect.poll(() => page.locator('.entry').count()).toBe(1);
});

test('a gateway with a token shows nothing until it is given, and keeps it out of the page', async () => {
  const token = 'a-token-of-the-tests';
  const guarded = await gatewayOfTest({}, { GATEWAY_ADMIN_TOKEN: token });
  await guarded.send('GET', '/api/v1/heartbeat');
  const { page } = await browser.open(`${guarded.adminOrigin}/?view=traffic`);
  await page.getByText('Enter the token of the admin listener.').waitFor();
  const field = page.getByLabel('Admin token');
  await field.fill('a-wrong-token-of-the-tests');
  await page.keyboard.press('Enter');
  await page.getByRole('alert').filter({ hasText: 'This is not the token.' }).waitFor();
  expect(await page.locator('.entry').count()).toBe(0);
  await field.fill(token);
  await page.keyboard.press('Enter');
  await page.locator('.entry').first().waitFor();
  expect(await page.content()).not.toContain(token);
  expect(await page.evaluate('document.cookie + JSON.stringify(localStorage)')).not.toContain(token);
});
