/** @module-tag chromium */
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { evidenceSentence } from '../../../src/rollout/rollout-state.ts';
import type { RolloutView } from '../../../src/rollout/rollout-tally.ts';
import { startReference } from '../../../src/node/reference.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';
import type { Report } from '../../../src/inspector/api.ts';
import { ok, rawServer } from '../../support/raw-server.ts';
import { until } from '../../support/until.ts';
import { barriers, browserOfFile, gatewayOfTest } from '../../support/page-tests.ts';

const browser = browserOfFile();

/** The shipped rule book without its inverse: reads of V2 differ from those of V1. */
const FORWARD = readFileSync('config/rules.yaml', 'utf8').replaceAll(/^ +response: inverse$/gm, '');
const ORDER = '{"data":{"transition_type":"slide","property":{"display_name":"Loft","suburb":"Enmore"}}}';

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
  writeFileSync(rules, `${FORWARD}\nclients: { acme: 0123456789abcdef }\n`);
  writeFileSync(file, JSON.stringify(STATE));
  const reference = await startReference({ dialects: ['v1', 'v2'] });
  // Unlike one at an address, a file is read before the first request.
  const description = join(folder, 'v2.json');
  writeFileSync(description, await (await fetch(`${reference.origin}/api/v2/openapi.json`)).text());
  const gateway = await gatewayOfTest({
    upstream: reference.origin,
    'v1-upstream': reference.origin,
    'v2-openapi': description,
    'client-secret': 'the secret of this test',
    store: `file:${file}`,
    rules,
  });
  onTestFinished(() => reference.close());
  const { page: early } = await browser.open(`${gateway.adminOrigin}/?view=rollout`);
  await early.getByText('None yet under this rule book.').waitFor();
  await browser.closePages();
  await gateway.send('POST', '/api/v1/orders/post_productions', ORDER);
  await gateway.send('POST', '/api/v1/orders/floor_plans', ORDER);
  await gateway.send('GET', '/api/v1/orders/post_productions');
  for (const scheme of ['light', 'dark'] as const) {
    const { page, complaints } = await browser.open(`${gateway.adminOrigin}/?view=rollout`, { scheme });
    await page.locator('main').getByRole('alert').waitFor();
    await expect
      .poll(() => page.locator('main').textContent())
      .toMatch(
        /compared in shadow.*None of 3 checked requests would fail after the migration, apart from 1 that V1 refuses as well\./s,
      );
    const text = await page.locator('main').innerText();
    expect(text).toContain('The canary of create_client of 50 % went back to observe');
    expect(text).toContain(
      '12 of 40 compared requests failed on V2, 1 of 38 on V1. 9 of 12 failures: 422 at /name, from client acme, in create_client. It stays until you choose a mode, here or with the command rollout.',
    );
    expect(text).not.toContain('None yet under this rule book.');
    expect(text).toMatch(/create_client\s+Observe: V1 responds\s+a roll-back/);
    expect(text).toMatch(/order_floor_plan\s+Canary: 10 % of the clients are migrated\s+an operator/);
    expect(text).toMatch(/acme\s+Migrate/);
    expect(text).toContain('/data/*/transition_type missing');
    expect(await barriers(page)).toEqual([]);
    expect(complaints).toEqual([]);
  }
  const { page } = await browser.open(`${gateway.adminOrigin}/?view=rollout`, { width: 320, height: 640 });
  await page.locator('main').getByRole('alert').waitFor();
  await expect.poll(() => page.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true);
  await page.setViewportSize({ width: 1440, height: 900 });
  await page.keyboard.press('2');
  await page.keyboard.press('5');
  await page.getByRole('heading', { name: 'Rollout', exact: true }).waitFor();
  // Hundreds of pairs are listed: here the gateway's own response leaves two out.
  const leftOut =
    '2 more pairs of client and operation are not counted here: no request of theirs would fail.';
  expect(await page.locator('main').innerText()).not.toContain(leftOut);
  await page.route('**/rollout', async (route) => {
    const response = await route.fetch();
    await route.fulfill({
      response,
      body: (await response.text())
        .replace('"omitted":0', '"omitted":2')
        .replace(/"startedAt":"[^"]*"/, '"startedAt":"2026-01-01T00:00:00.000Z"'),
    });
  });
  await page.getByText(leftOut).waitFor();
  // The counts beside the modes are of the moment of the modes.
  // They are of whole minutes, so the page says when they begin.
  await page.getByText(/V1 requests? since (?!the start)[^(]+\(/).waitFor();
  await page.unroute('**/rollout');
  await page
    .getByText(
      /^\d+ V1 requests? since the start at \S+ \(.+\): sent to V1 \S+ % \d+(?: sent to V2 \S+ % \d+)?/,
    )
    .waitFor();
  // Without its store, the replica says since when it is alone.
  rmSync(store, { recursive: true });
  const alone = page.getByText(
    /^Alone since \d+:\d+: .+ does not reach the store \(.*(?:ENOENT|was removed or replaced)/,
  );
  await alone.waitFor();
  await expect
    .poll(() => alone.textContent())
    .toContain('). Revision 4 applies, and the counts are those of this replica.');
  expect(await page.locator('main').innerText()).not.toContain('made here');
  const chosen = await gateway.postJson('/rollout', { mode: 'observe', operation: 'create_client' });
  expect(chosen.status).toBe(200);
  await page.getByText('1 choice made here waits for the store.').waitFor();
  await page.getByText('It stays until you choose a mode').waitFor({ state: 'detached' });
});

test('the page says how sure a canary is, what verify found, and who is new to V1', async () => {
  const rules = join(temporaryFolder('sure-page'), 'rules.yaml');
  writeFileSync(
    rules,
    `${FORWARD}
newcomers: { from: 2099-01-01 }
modes:
  default: { canary: 50 }
  operations: { list_post_production_orders: { verify: 100 } }
  rollback: { requests: 5, window: 10m }
`,
  );
  const reference = await startReference({ dialects: ['v1', 'v2'] });
  const gateway = await gatewayOfTest({
    upstream: reference.origin,
    'v1-upstream': reference.origin,
    'client-secret': 'the secret of this test',
    rules,
  });
  onTestFinished(() => reference.close());
  for (let n = 0; n < 40; n += 1)
    expect(await gateway.send('POST', '/api/v1/orders/post_productions', ORDER, `client-${n}`)).toBe(201);
  const view = (): Promise<RolloutView> => gateway.readJson('/rollout');
  // On a busy machine one comparison may use up the time of its second, so that the next is unknown: it is sent again.
  const reads = { different: 0, unknown: 0 };
  while (reads.different < 3) {
    expect(await gateway.send('GET', '/api/v1/orders/post_productions', undefined, 'client-1')).toBe(200);
    const compared = reads.different + reads.unknown;
    await expect
      .poll(async () => {
        const [found] = (await view()).shadows;
        reads.different = found?.different ?? 0;
        reads.unknown = found?.unknown ?? 0;
        return reads.different + reads.unknown;
      })
      .toBe(compared + 1);
  }

  const { page, complaints } = await browser.open(`${gateway.adminOrigin}/?view=rollout`);
  const text = (): Promise<string> => page.locator('main').innerText();
  const { canaries } = await view();
  const needs = canaries[0]?.evidence?.forMargin ?? 0;
  expect(needs).toBeGreaterThan(100);
  await expect
    .poll(text)
    .toMatch(
      /On watch\. Needs about [\d,]+ more requests to see a difference of \d+ percentage points\. Upper bounds: the median is \S+ ms when migrated/,
    );
  await expect
    .poll(() => text())
    .toContain(evidenceSentence(canaries[0]?.evidence ?? expect.fail('a canary')));
  // The shares are those of the whole stage.
  await expect
    .poll(() => text())
    .toMatch(
      /Migrated\s+0 of 20 failed\s+0 % to \S+ %\s+V1\s+0 of 20 failed\s+0 % to \S+ %\s+0 %\s+\S+ %\s+share\s+its bounds\s+2\.5 percentage points more\s+On watch/,
    );
  // The column says whose response the client got.
  await expect
    .poll(text)
    .toMatch(
      new RegExp(
        `Response of\\s+Same\\s+Different.*list_post_production_orders\\s+V2: verify\\s+0\\s+3\\s+${reads.unknown}`,
        's',
      ),
    );
  const metrics = await (await fetch(`${gateway.adminOrigin}/metrics`)).text();
  const series = (verdict: string): string =>
    `\ngateway_verify_comparisons_total{operation="list_post_production_orders",verdict="${verdict}"}`;
  for (const [verdict, value] of [
    ['same', 0],
    ['different', 3],
    ['unknown', reads.unknown],
  ] as const)
    expect(metrics).toContain(`${series(verdict)} ${value}\n`);
  expect(metrics).not.toContain('\ngateway_shadow_comparisons_total{');

  await page.getByRole('navigation').getByRole('link', { name: 'Clients' }).click();
  const card = page.locator('section', { has: page.getByRole('heading', { name: 'New to V1' }) });
  await card.last().waitFor();
  await expect
    .poll(() => card.last().locator('li').allInnerTexts())
    .toEqual(
      expect.arrayContaining([
        expect.stringMatching(
          /^[0-9a-f]{16} first came at \d\d:\d\d: 1 request served before V1 closed to new clients\.$/,
        ),
      ]),
    );
  expect(complaints).toEqual([]);
});

const TOKEN = 'a token of the tests';

test('a rollout is steered from the page: with the token, after the clients were named, and not on old news', async () => {
  const v1 = await rawServer((socket) => socket.write(ok('{"data":{}}')));
  const gateway = await gatewayOfTest({
    'v1-upstream': v1.origin,
    'client-secret': 'the secret of this test',
    'admin-token': TOKEN,
  });
  const headers = { authorization: `Bearer ${TOKEN}` };
  const command = async (body: object): Promise<RolloutView> =>
    (await (await gateway.postJson('/rollout', body, headers)).json()) as RolloutView;
  const entries = async (): Promise<readonly { readonly client: string; readonly origin?: string }[]> =>
    ((await (await fetch(`${gateway.adminOrigin}/entries`, { headers })).json()) as { entries: [] }).entries;
  await command({ mode: 'observe' });
  const keys = Array.from({ length: 8 }, (_, index) => `key ${index}`);
  for (const key of keys) await gateway.send('GET', '/api/v1/heartbeat', undefined, key);

  const { page, complaints } = await browser.open(`${gateway.adminOrigin}/?view=rollout`);
  await page.getByLabel('Token').fill(TOKEN);
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'Change a mode' }).waitFor();
  await page.getByLabel('Mode', { exact: true }).selectOption('canary');
  await page.getByLabel('Share of the clients, in percent').fill('50');
  const check = page.getByRole('button', { name: 'Check the change' });
  await check.click();
  const dialog = page.getByRole('dialog');
  await dialog.waitFor();
  await dialog
    .getByText(/From V1 to V2: /)
    .first()
    .waitFor();
  // Only some of several hashes are in sight; with three, there is nothing to open.
  for (const more of await dialog.getByText('All of them').all()) await more.click();
  // Clients with one User-Agent are told apart by the first digits of their hashes.
  const named = [...(await dialog.innerText()).matchAll(/node \(([0-9a-f]{6})\)/g)].map(
    ([, digits = '']) => digits,
  );
  await expect
    .poll(() => dialog.innerText())
    .toMatch(new RegExp(`From V1 to V2: .* \\(${named.length} of 8 clients seen, `));
  expect(await barriers(page)).toEqual([]);

  // Somebody else changes the rollout while this operator reads.
  await command({ mode: 'shadow' });
  await dialog.getByRole('button', { name: /^Migrate 50 %/ }).click();
  await dialog
    .getByText('The rollout was changed meanwhile, so this preview is out of date. Cancel, and check again.')
    .waitFor();
  await page.keyboard.press('Escape');
  await dialog.waitFor({ state: 'detached' });
  expect((await command({ mode: 'observe' })).default.mode).toBe('observe');

  await check.click();
  await dialog.getByRole('button', { name: /^Migrate 50 %/ }).click();
  await page.getByRole('heading', { name: 'Canary: 50 % of the clients are migrated' }).waitFor();
  for (const key of keys) await gateway.send('GET', '/api/v1/heartbeat', undefined, key);
  await expect
    .poll(async () =>
      (await entries())
        .slice(0, 8)
        .flatMap(({ client, origin }) => (origin === 'v1' ? [] : [client.slice(0, 6)]))
        .sort(),
    )
    .toEqual(named.toSorted((one, other) => (one < other ? -1 : 1)));
  expect(complaints.filter((one) => !one.includes('401'))).toEqual([]);

  // The gateway goes away before the operator confirms.
  await check.click();
  await dialog.waitFor();
  await gateway.stop();
  await dialog.getByRole('button', { name: /^Migrate 50 %/ }).click();
  await dialog
    .getByRole('alert')
    .filter({ hasText: /^The gateway does not respond\.$/ })
    .waitFor();
});

test('an objection from V2’s schema is shown, and needs insisting', async () => {
  const v1 = await rawServer((socket) => socket.write(ok('{"data":{}}')));
  const gateway = await gatewayOfTest({
    'v1-upstream': v1.origin,
    'client-secret': 'the secret of this test',
  });
  const state = (): Promise<RolloutView> => gateway.readJson('/rollout');
  await gateway.postJson('/rollout', { mode: 'observe' });
  await until(async () => {
    await gateway.send('POST', '/api/v1/clients', '{"data":{"name":"x","colour":"red"}}');
    return (await state()).bodyChecks?.fault !== undefined;
  });
  const { page } = await browser.open(`${gateway.adminOrigin}/?view=rollout`);
  await page.getByLabel('For', { exact: true }).selectOption('create_client');
  await page.getByLabel('Mode', { exact: true }).selectOption('migrate');
  await page.getByRole('button', { name: 'Check the change' }).click();
  const carryOut = page.getByRole('button', { name: 'Migrate create_client' });
  // The refusal folds what the list above it says by operation.
  const dialog = page.getByRole('dialog');
  const [, refused = ''] =
    /V2 would refuse (\d+) of \d+ checked requests? that would move to V2.* Change the rules or the clients, or insist\.\n/.exec(
      await dialog.getByRole('alert').innerText(),
    ) ?? [];
  await dialog.getByText('Which clients, and where').click();
  await dialog.getByText(/create_client: \d+, at \/colour \d+×\./).waitFor();
  const wouldFail = dialog.getByRole('region', { name: 'What would fail' });
  expect(await wouldFail.innerText()).toMatch(
    new RegExp(`^By operation\\s+create_client\\s+${refused} checked requests?, of 1 client: /colour \\d+×$`),
  );
  expect(await barriers(page)).toEqual([]);
  const opened = page.context().waitForEvent('page');
  await wouldFail.getByRole('link', { name: 'Show what would fail of create_client (in a new tab)' }).click();
  const exchanges = await opened;
  await expect
    .poll(() => exchanges.locator('.entry').count())
    .toBe((await state()).bodyChecks?.counts[0]?.invalid);
  await exchanges.close();
  await expect.poll(() => carryOut.isDisabled()).toBe(true);
  expect((await state()).operations).toEqual({});
  await page.getByRole('checkbox', { name: 'Insist' }).check();
  await carryOut.click();
  await page.getByRole('dialog').waitFor({ state: 'detached' });
  expect((await state()).operations['create_client']?.mode).toBe('migrate');

  // What the table of clients says of the schema is what the report counted.
  const report = await gateway.readJson<Report>('/report');
  const [checks] = report.clients[0]?.bodyChecks ?? [];
  await page.goto(`${gateway.adminOrigin}/?view=clients`);
  await page
    .getByRole('button', { name: /^Operations of / })
    .first()
    .click();
  await page
    .getByText(
      `create_client: ${checks?.invalid} of ${checks?.invalid} refused that V1 accepted (/colour ${checks?.invalid}×)`,
    )
    .waitFor();
  await page.getByRole('button', { name: /^Show the requests of .* that a migration would refuse$/ }).click();
  await expect.poll(() => page.locator('.entry').count()).toBe(checks?.invalid);
});
