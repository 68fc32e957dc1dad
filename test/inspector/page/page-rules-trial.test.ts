/** @module-tag chromium */
import axe from 'axe-core';
import { expect, onTestFinished, test } from 'vitest';
import type { EntryDetail, RulesView } from '../../../src/inspector/api.ts';
import { startBrowser } from '../../support/browser.ts';
import { FLOOR_PLAN_ORDER, inspectGateway } from '../../support/inspected-gateway.ts';
import { until } from '../../support/until.ts';

test('the rule book is edited in the page as a trial, and exported as a patch', async () => {
  const [gateway, browser] = await Promise.all([inspectGateway(), startBrowser()]);
  onTestFinished(async () => {
    await Promise.all([gateway.stop(), browser.close()]);
  });
  const isKept = async (seq: number): Promise<boolean> => {
    const detail = (await (await fetch(`${gateway.adminOrigin}/entries/${seq}`)).json()) as EntryDetail;
    return detail.kept !== 'nothing';
  };
  // A machine without time to spare keeps some exchanges without their content.
  let sent = 0;
  await until(async () => {
    await gateway.send('POST', '/api/v1/orders/floor_plans', FLOOR_PLAN_ORDER);
    sent += 1;
    return isKept(sent);
  });
  await gateway.send('POST', '/api/v1/clients', '{"data":{"name":"Ada"}}');
  const all = `the ${(await isKept(sent + 1)) ? '2 exchanges' : '1 exchange'} that could be tried would differ.`;
  const rules = async (): Promise<RulesView> =>
    (await (await fetch(`${gateway.adminOrigin}/rules`)).json()) as RulesView;
  const before = await rules();
  const { page, complaints } = await browser.open(`${gateway.adminOrigin}/?view=rules`);
  const draft = page.getByLabel('Rule book', { exact: true });
  const tryIt = page.getByRole('button', { name: 'Try it' });
  await tryIt.click();
  await page.locator('.trial-outcome').waitFor();
  await page.getByText(`None of ${all}`).waitFor();
  await draft.fill(before.text.replace('under: address', 'under: place'));
  await tryIt.click();
  await page.getByText(`1 of ${all}`).waitFor();
  const difference = page.locator('.difference summary');
  expect(await difference.innerText()).toMatch(
    /^order_floor_plan at [\d:.]+: request \/property\/address, \/property\/place/,
  );
  await page.getByText('The change as a patch').click();
  expect(await page.locator('.patch pre').innerText()).toMatch(/^-.*under: address\n\+.*under: place$/m);
  await page.getByRole('button', { name: 'Copy the patch' }).click();
  await page.getByRole('status').filter({ hasText: 'Copied: the patch.' }).waitFor();
  expect(await page.evaluate('navigator.clipboard.readText()')).toBe(
    await page.locator('.patch pre').textContent(),
  );
  await page.evaluate(axe.source);
  const { violations } = (await page.evaluate('axe.run()')) as { readonly violations: readonly unknown[] };
  expect(violations).toEqual([]);
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('link', { name: 'Download' }).click(),
  ]);
  expect(download.suggestedFilename()).toBe('rules.patch');
  await draft.fill(before.text.replace('nest:', 'nset:'));
  await tryIt.click();
  await page
    .getByText(/^Line \d+, column \d+: .*did you mean "nest"/)
    .first()
    .waitFor();
  // Nothing was put into force.
  expect(await rules()).toMatchObject({ hash: before.hash, loadedAt: before.loadedAt });
  expect(complaints).toEqual([]);
});
