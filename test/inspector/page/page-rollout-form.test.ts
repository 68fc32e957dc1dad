/** @module-tag chromium */
import axe from 'axe-core';
import { expect, onTestFinished, test } from 'vitest';
import type { Report } from '../../../src/inspector/api.ts';
import type { RolloutView } from '../../../src/rollout/rollout-tally.ts';
import { startBrowser } from '../../support/browser.ts';
import { inspectGateway } from '../../support/inspected-gateway.ts';
import { ok, rawServer } from '../../support/raw-server.ts';
import { until } from '../../support/until.ts';

const TOKEN = 'a token of the tests';

test('a rollout is steered from the page: with the token, after the clients were named, and not on old news', async () => {
  const v1 = await rawServer((socket) => socket.write(ok('{"data":{}}')));
  const [gateway, browser] = await Promise.all([
    inspectGateway({
      'v1-upstream': v1.origin,
      'client-secret': 'the secret of this test',
      'admin-token': TOKEN,
    }),
    startBrowser(),
  ]);
  onTestFinished(async () => {
    await Promise.all([gateway.stop(), browser.close()]);
  });
  const headers = { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' };
  const command = async (body: object): Promise<RolloutView> =>
    (await (
      await fetch(`${gateway.adminOrigin}/rollout`, { method: 'POST', headers, body: JSON.stringify(body) })
    ).json()) as RolloutView;
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
  const named = (await dialog.innerText()).match(/[0-9a-f]{16}/g) ?? [];
  expect(await dialog.innerText()).toMatch(
    new RegExp(`From V1 to V2: .* \\(${named.length} of 8 clients seen, `),
  );
  await page.evaluate(axe.source);
  const { violations } = (await page.evaluate('axe.run()')) as { readonly violations: readonly unknown[] };
  expect(violations).toEqual([]);

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
        .flatMap(({ client, origin }) => (origin === 'v1' ? [] : [client]))
        .sort(),
    )
    .toEqual([...named].sort());
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

test("what V2's schema speaks against is told, and needs insisting", async () => {
  const v1 = await rawServer((socket) => socket.write(ok('{"data":{}}')));
  const [gateway, browser] = await Promise.all([
    inspectGateway({ 'v1-upstream': v1.origin, 'client-secret': 'the secret of this test' }),
    startBrowser(),
  ]);
  onTestFinished(async () => {
    await Promise.all([gateway.stop(), browser.close()]);
  });
  const state = async (): Promise<RolloutView> =>
    (await (await fetch(`${gateway.adminOrigin}/rollout`)).json()) as RolloutView;
  await fetch(`${gateway.adminOrigin}/rollout`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: '{"mode":"observe"}',
  });
  await until(async () => {
    await gateway.send('POST', '/api/v1/clients', '{"data":{"name":"x","colour":"red"}}');
    return (await state()).bodyChecks?.fault !== undefined;
  });
  const { page } = await browser.open(`${gateway.adminOrigin}/?view=rollout`);
  await page.getByLabel('For', { exact: true }).selectOption('create_client');
  await page.getByLabel('Mode', { exact: true }).selectOption('migrate');
  await page.getByRole('button', { name: 'Check the change' }).click();
  const carryOut = page.getByRole('button', { name: 'Migrate create_client' });
  await page
    .getByText(/V2's schema refuses \d+ of \d+ checked bod.*at \/colour/)
    .first()
    .waitFor();
  await expect.poll(() => carryOut.isDisabled()).toBe(true);
  expect((await state()).operations).toEqual({});
  await page.getByRole('checkbox', { name: 'Insist' }).check();
  await carryOut.click();
  await page.getByRole('dialog').waitFor({ state: 'detached' });
  expect((await state()).operations['create_client']?.mode).toBe('migrate');

  // What the table of clients says of the schema is what the report counted.
  const report = (await (await fetch(`${gateway.adminOrigin}/report`)).json()) as Report;
  const [checks] = report.clients[0]?.bodyChecks ?? [];
  await page.goto(`${gateway.adminOrigin}/?view=retirement`);
  await page
    .getByText(
      `create_client: ${checks?.invalid} of ${checks?.invalid} refused that V1 accepted (/colour ${checks?.invalid}×)`,
    )
    .waitFor();
  await page.getByRole('button', { name: /^Show the requests of .* that a migration would refuse$/ }).click();
  await expect.poll(() => page.locator('.entry').count()).toBe(checks?.invalid);
});
