/** @module-tag chromium */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import type { EntryDetail, RulesView, TrialOutcome } from '../../../src/inspector/api.ts';
import { FLOOR_PLAN_ORDER } from '../../support/inspected-gateway.ts';
import { startReference } from '../../../src/node/reference.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';
import { until } from '../../support/until.ts';
import type { Browser } from '../../support/browser.ts';
import { watchedServices } from '../../support/watched-services.ts';
import { barriers, browserOfFile, gatewayOfTest } from '../../support/page-tests.ts';

const browser = browserOfFile();

test('a trial judges bodies by V2’s description, also of a gateway without V1', async () => {
  const reference = await startReference({ dialects: ['v2'] });
  onTestFinished(() => reference.close());
  const file = join(temporaryFolder('trial'), 'v2.json');
  writeFileSync(file, await (await fetch(`${reference.origin}/api/v2/openapi.json`)).text());
  const gateway = await gatewayOfTest({ upstream: reference.origin, 'v2-openapi': file, capture: 'bodies' });
  await gateway.send('POST', '/api/v1/orders/floor_plans', FLOOR_PLAN_ORDER);
  const { text } = await gateway.readJson<RulesView>('/rules');
  const body = text.replace('under: address', 'under: place');
  const schemaOf = async (): Promise<unknown> => {
    const tried = await fetch(`${gateway.adminOrigin}/rules/try`, { method: 'POST', body });
    return ((await tried.json()) as TrialOutcome).result?.schema;
  };
  await expect.poll(schemaOf).toEqual({ judged: 1, accepted: 0, acceptedBefore: 1 });
});

test('the rule book is edited in the page as a trial, and exported as a patch', async () => {
  const gateway = await gatewayOfTest();
  const isKept = async (seq: number): Promise<boolean> => {
    const detail = await gateway.readJson<EntryDetail>(`/entries/${seq}`);
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
  const rules = (): Promise<RulesView> => gateway.readJson('/rules');
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
  await expect
    .poll(() => difference.innerText())
    .toMatch(/^1 exchange of order_floor_plan: request \/property\/address, \/property\/place/);
  await difference.click();
  await expect
    .poll(() => page.locator('.difference mark').allInnerTexts())
    .toEqual([expect.stringContaining('"address": {'), expect.stringContaining('"place": {')]);
  await page.getByText('The change as a patch').click();
  await expect
    .poll(() => page.locator('.patch pre').innerText())
    .toMatch(/^-.*under: address\n\+.*under: place$/m);
  await page.getByRole('button', { name: 'Copy the patch' }).click();
  await page.getByRole('status').filter({ hasText: 'Copied: the patch.' }).waitFor();
  await expect
    .poll(() => page.evaluate('navigator.clipboard.readText()'))
    .toBe(await page.locator('.patch pre').textContent());
  expect(await barriers(page)).toEqual([]);
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('link', { name: 'Download', exact: true }).click(),
  ]);
  expect(download.suggestedFilename()).toBe('rules.patch');
  // The whole of it is copied as well, and loaded.
  await page.getByRole('button', { name: 'Copy the rule book' }).click();
  await expect
    .poll(() => page.evaluate('navigator.clipboard.readText()'))
    .toBe(before.text.replace('under: address', 'under: place'));
  const [book] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('link', { name: 'Download the rule book' }).click(),
  ]);
  expect(book.suggestedFilename()).toBe('rules.yaml');
  await page.getByText(/^Put it into \/.*rules.*: each gateway checks the file when it changes/).waitFor();
  const find = page.getByLabel('Find in it');
  await find.fill('UNDER: place');
  await page.getByText('1 place', { exact: true }).waitFor();
  await find.press('Enter');
  expect(
    await draft.evaluate((one: HTMLTextAreaElement) => one.value.slice(one.selectionStart, one.selectionEnd)),
  ).toBe('under: place');
  // Long lines are wrapped, and the last line's number stands beside it.
  expect(
    await draft.evaluate((one: HTMLTextAreaElement) => [
      one.scrollWidth - one.clientWidth,
      one.scrollHeight - one.clientHeight,
    ]),
  ).toEqual([0, 0]);
  // The request beside it is explained by the edited text.
  const explain = page.getByRole('button', { name: 'Explain', exact: true });
  await explain.click();
  await page
    .getByText(
      'By the edited rule book, this differs from the one in force: /property/address, /property/place.',
    )
    .waitFor();
  await expect.poll(() => page.getByRole('group', { name: 'V2 body' }).innerText()).toContain('"place": {');
  expect(await barriers(page)).toEqual([]);
  await draft.fill(before.text.replace('nest:', 'nset:'));
  await page.getByRole('region', { name: 'Explanation' }).waitFor({ state: 'detached' });
  await explain.click();
  await page
    .getByRole('listitem')
    .filter({ hasText: /^Line \d+, column \d+: .*did you mean "nest"/ })
    .first()
    .getByRole('button')
    .click();
  // The cursor is where the fault is, and the number of its line is marked.
  await expect
    .poll(() => draft.evaluate((one: HTMLTextAreaElement) => one.value.slice(one.selectionStart).slice(0, 4)))
    .toBe('nset');
  const line = before.text.slice(0, before.text.indexOf('nest:')).split('\n').length;
  await expect.poll(() => page.locator('.line-numbers .faulty b').allInnerTexts()).toContain(String(line));
  // Nothing was put into force.
  expect(await rules()).toMatchObject({ hash: before.hash, loadedAt: before.loadedAt });
  expect(complaints).toEqual([]);
});

async function opened(body: string): Promise<Awaited<ReturnType<Browser['open']>>> {
  const { gateway } = await watchedServices(
    {},
    {},
    { flags: { capture: 'bodies', 'capture-memory': '512MiB' } },
  );
  await fetch(`${gateway.origin}/api/v1/orders/floor_plans`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body,
  });
  const open = await browser.open(`${gateway.adminOrigin}/?view=traffic`);
  await open.page.locator('.entry').first().waitFor();
  return open;
}

test('a body of 1 MB opens folded, with its edits in sight on both sides', async () => {
  const photos = Array.from({ length: 9000 }, (_, at) => ({
    id: at,
    url: `https://photos.test/${'x'.repeat(80)}`,
  }));
  const body = JSON.stringify({
    data: { photos, property: { suburb: 'Enmore', postcode: '2042' }, note: 'z' },
  });
  expect(body.length).toBeGreaterThan(1_000_000);
  const { page, complaints } = await opened(body);
  await page.evaluate('document.querySelector(".entry").click()');
  // A stub for each bracket of the wrapper, a line for each of the two members.
  await until(() => page.evaluate<boolean>('document.querySelectorAll(".joins .join").length === 4'));
  for (const [side, pointer] of [
    ['V1 body', '"suburb": "Enmore"'],
    ['V2 body', '"address": {'],
  ] as const) {
    const text = await page.getByRole('group', { name: side }).innerText();
    expect(text).toContain(pointer);
    expect(text).toMatch(/"photos": \[ … 1\d{6} bytes … \]/);
  }
  expect(complaints).toEqual([]);
  await browser.closePages();
});

// Attack: characters that reverse the text after them show an operator something else than what was sent.
test('invisible characters are shown by their code points', async () => {
  const { page } = await opened(
    '{"data":{"property":{"suburb":"\u202Eevil\u2066\u200B\u0085"},"\u202Ekey":1}}',
  );
  await page.locator('.entry').first().click();
  await page.getByRole('group', { name: 'V2 body' }).waitFor();
  const shown = await page.getByRole('group', { name: 'V2 body' }).innerText();
  expect(shown).toContain('"U+202EevilU+2066U+200BU+0085"');
  expect(shown).toContain('"U+202Ekey"');
  expect(await page.evaluate<string>('document.body.innerText')).not.toMatch(/[\u202E\u2066\u200B\u0085]/);
  await browser.closePages();
});
