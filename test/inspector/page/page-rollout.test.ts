/** @module-tag chromium */
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import axe from 'axe-core';
import { expect, onTestFinished, test } from 'vitest';
import { evidenceSentence } from '../../../src/rollout/rollout-state.ts';
import type { RolloutView } from '../../../src/rollout/rollout-tally.ts';
import { startReference } from '../../../src/node/reference.ts';
import { startBrowser } from '../../support/browser.ts';
import { inspectGateway } from '../../support/inspected-gateway.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

const STATE = {
  format: 1,
  revision: 4,
  changed: '2026-11-21T08:00:00.000Z',
  default: { mode: 'shadow' },
  operations: { create_client: { mode: 'observe' }, order_floor_plan: { mode: 'canary', share: 10 } },
  clients: { '0123456789abcdef': { mode: 'migrate' } },
  rollbacks: [
    {
      at: '2026-11-21T08:00:00.000Z',
      operation: 'create_client',
      share: 50,
      migrated: { requests: 40, failures: 12 },
      v1: { requests: 38, failures: 1 },
      cause: {
        status: '422',
        client: '0123456789abcdef',
        operation: 'create_client',
        pointer: '/name',
        count: 9,
      },
    },
  ],
};

test('the rollout view shows modes, canaries, roll-backs and comparisons, and axe finds nothing', async () => {
  const folder = temporaryFolder('rollout-page');
  const store = join(folder, 'store');
  mkdirSync(store);
  const [rules, file] = [join(folder, 'rules.yaml'), join(store, 'rollout.json')];
  const shipped = readFileSync(new URL('../../../config/rules.yaml', import.meta.url), 'utf8');
  // Without the inverse, reads of V2 differ from those of V1.
  const forward = shipped.replaceAll(/^ +response: inverse$/gm, '');
  writeFileSync(rules, `${forward}\nclients: { acme: 0123456789abcdef }\n`);
  writeFileSync(file, JSON.stringify(STATE));
  const reference = await startReference({ dialects: ['v1', 'v2'] });
  const [gateway, browser] = await Promise.all([
    inspectGateway({
      upstream: reference.origin,
      'v1-upstream': reference.origin,
      'v2-openapi': `${reference.origin}/api/v2/openapi.json`,
      'client-secret': 'the secret of this test',
      store: `file:${file}`,
      rules,
    }),
    startBrowser(),
  ]);
  onTestFinished(async () => {
    await Promise.all([gateway.stop(), browser.close(), reference.close()]);
  });
  const { page: early } = await browser.open(`${gateway.adminOrigin}/?view=rollout`);
  await early.getByText('None yet under this rule book.').waitFor();
  await browser.closePages();
  const order = '{"data":{"transition_type":"slide","property":{"display_name":"Loft","suburb":"Enmore"}}}';
  await gateway.send('POST', '/api/v1/orders/post_productions', order);
  await gateway.send('POST', '/api/v1/orders/floor_plans', order);
  await gateway.send('GET', '/api/v1/orders/post_productions');
  for (const scheme of ['light', 'dark'] as const) {
    const { page, complaints } = await browser.open(`${gateway.adminOrigin}/?view=rollout`, { scheme });
    await page.locator('main').getByRole('alert').waitFor();
    expect(await page.locator('main').textContent()).toMatch(
      /not sent.*order_post_productionnone of 1 checked request would fail after the migration00100.*order_floor_planV1 refuses the one checked request as well01000/s,
    );
    const text = await page.locator('main').innerText();
    expect(text).toContain('The canary of create_client of 50 % went back to observe');
    expect(text).toContain(
      '12 of 40 migrated requests failed, 1 of 38 on V1. 9 of 12 failures: 422 at /name, from client acme, in create_client. It stays until you choose a mode, here or with the command rollout.',
    );
    expect(text).not.toContain('None yet under this rule book.');
    expect(text).toMatch(/create_client\s+Observe: V1 responds\s+a roll-back/);
    expect(text).toMatch(/order_floor_plan\s+Canary: 10 % of the clients are migrated\s+an operator/);
    expect(text).toMatch(/acme\s+Migrate/);
    expect(text).toContain('/data/*/transition_type missing');
    await page.evaluate(axe.source);
    const { violations } = (await page.evaluate('axe.run()')) as {
      readonly violations: readonly { readonly id: string }[];
    };
    expect(violations.map(({ id }) => id)).toEqual([]);
    expect(complaints).toEqual([]);
  }
  const { page } = await browser.open(`${gateway.adminOrigin}/?view=rollout`, { width: 320, height: 640 });
  await page.locator('main').getByRole('alert').waitFor();
  expect(await page.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true);
  await page.setViewportSize({ width: 1440, height: 900 });
  await page.keyboard.press('2');
  await page.keyboard.press('8');
  await page.getByRole('heading', { name: 'Rollout', exact: true }).waitFor();
  // Hundreds of pairs are listed: here the gateway's own response leaves two out.
  const leftOut = '2 more pairs of client and operation, not listed.';
  expect(await page.locator('main').innerText()).not.toContain(leftOut);
  await page.route('**/rollout', async (route) => {
    const response = await route.fetch();
    await route.fulfill({
      response,
      body: (await response.text()).replace('"omitted":0', '"omitted":2'),
    });
  });
  await page.getByText(leftOut).waitFor();
  await page.unroute('**/rollout');
  await page.getByText(/^by \S+ since its start: \d+ V1 requests? sent to V2, \d+ to V1$/).waitFor();
  // Without its store, the replica says since when it is alone.
  rmSync(store, { recursive: true });
  const alone = page.getByText(/^Alone since \d+:\d+:\d+.*: .+ does not reach the store \(ENOENT/);
  await alone.waitFor();
  expect(await alone.textContent()).toContain(
    '). Revision 4 applies, and the counts are those of this replica.',
  );
  expect(await page.locator('main').innerText()).not.toContain('made here');
  const chosen = await fetch(`${gateway.adminOrigin}/rollout`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: '{"mode":"observe","operation":"create_client"}',
  });
  expect(chosen.status).toBe(200);
  await page.getByText('1 choice made here waits for the store.').waitFor();
  await page.getByText('It stays until you choose a mode').waitFor({ state: 'detached' });
});

test('the page says how sure a canary is, what verify found, and who is new to V1', async () => {
  const rules = join(temporaryFolder('sure-page'), 'rules.yaml');
  const shipped = readFileSync(new URL('../../../config/rules.yaml', import.meta.url), 'utf8');
  // Without the inverse, reads of V2 differ from those of V1.
  const forward = shipped.replaceAll(/^ +response: inverse$/gm, '');
  writeFileSync(
    rules,
    `${forward}
newcomers: { from: 2099-01-01 }
modes:
  default: { canary: 50 }
  operations: { list_post_production_orders: { verify: 100 } }
  rollback: { requests: 5, window: 5s }
`,
  );
  const reference = await startReference({ dialects: ['v1', 'v2'] });
  const [gateway, browser] = await Promise.all([
    inspectGateway({
      upstream: reference.origin,
      'v1-upstream': reference.origin,
      'client-secret': 'the secret of this test',
      rules,
    }),
    startBrowser(),
  ]);
  onTestFinished(async () => {
    await Promise.all([gateway.stop(), browser.close(), reference.close()]);
  });
  const order = '{"data":{"transition_type":"slide","property":{"display_name":"Loft","suburb":"Enmore"}}}';
  for (let n = 0; n < 40; n += 1)
    expect(await gateway.send('POST', '/api/v1/orders/post_productions', order, `client-${n}`)).toBe(201);
  for (let n = 0; n < 3; n += 1)
    expect(await gateway.send('GET', '/api/v1/orders/post_productions', undefined, 'client-1')).toBe(200);
  const view = async (): Promise<RolloutView> =>
    (await (await fetch(`${gateway.adminOrigin}/rollout`)).json()) as RolloutView;
  await expect.poll(async () => (await view()).shadows[0]?.different).toBe(3);

  const { page, complaints } = await browser.open(`${gateway.adminOrigin}/?view=rollout`);
  const text = (): Promise<string> => page.locator('main').innerText();
  const { canaries } = await view();
  const needs = canaries[0]?.evidence?.forMargin ?? 0;
  expect(needs).toBeGreaterThan(100);
  await expect
    .poll(text, { timeout: 15_000 })
    .toMatch(/on watch\. Needs about [\d,]+ more requests to see a difference of \d+ %\. Median/);
  expect(await text()).toContain(evidenceSentence(canaries[0]?.evidence ?? expect.fail('a canary')));
  // Once the window has passed, nothing is said to have failed or not.
  await expect.poll(text, { timeout: 30_000 }).toMatch(/no request lately\s+no request lately\s+on watch/);
  // The column says whose response the client got.
  await expect
    .poll(text)
    .toMatch(/Response of\s+Same\s+Different.*list_post_production_orders\s+V2: verify\s+0\s+3\s+0/s);
  const metrics = await (await fetch(`${gateway.adminOrigin}/metrics`)).text();
  const series = (verdict: string): string =>
    `\ngateway_verify_comparisons_total{operation="list_post_production_orders",verdict="${verdict}"}`;
  for (const [verdict, value] of [
    ['same', 0],
    ['different', 3],
    ['unknown', 0],
  ] as const)
    expect(metrics).toContain(`${series(verdict)} ${value}\n`);
  expect(metrics).not.toContain('\ngateway_shadow_comparisons_total{');

  await page.getByRole('navigation').getByRole('link', { name: 'End of V1' }).click();
  const card = page.locator('section', { has: page.getByRole('heading', { name: 'New to V1' }) });
  await card.last().waitFor();
  expect(await card.last().locator('li').allInnerTexts()).toEqual(
    expect.arrayContaining([
      expect.stringMatching(
        /^[0-9a-f]{16} first came at \d{4}-\d\d-\d\d \d\d:\d\d:\d\d.*: 1 request served before V1 closed to new clients\.$/,
      ),
    ]),
  );
  expect(complaints).toEqual([]);
});
