/** @module-tag chromium */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { command } from '../../support/command.ts';
import { barriers, browserOfFile } from '../../support/page-tests.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

const browser = browserOfFile();

test('the questions of a draft are answered on the page, tried, and saved', async () => {
  const dir = join(temporaryFolder('questions'), 'my-api');
  const descriptions = ['--v1', 'examples/invoicing/v1.yaml', '--v2', 'examples/invoicing/v2.yaml'];
  const addresses = ['--listen', '127.0.0.1:0', '--admin-listen', '127.0.0.1:0'];
  const running = command(['try', ...descriptions, '--dir', dir, ...addresses]);
  const [, address = ''] = await running.until(/on (http:\/\/127\.0\.0\.1:\d+\/\?view=rules)/);
  const { page, complaints } = await browser.open(address);
  await page.getByRole('heading', { name: 'Is "bills" called "invoices" in V2?' }).waitFor();
  const effect = page.locator('.draft-effect');
  await effect.getByText('GET /api/v2/invoices?').waitFor();
  await effect.getByRole('heading', { name: 'What “Yes” does to listBills' }).waitFor();
  await page.getByText('GET /bills → GET /invoices', { exact: true }).waitFor();
  // The example of the shipped rule book says nothing to this one.
  await expect.poll(() => page.getByLabel('V1 body').inputValue()).toBe('');
  // Where an operation goes is for a person to say: nothing is chosen, and there is nothing to confirm.
  await expect.poll(() => page.getByRole('button', { name: 'Answer', exact: true }).isDisabled()).toBe(true);
  await page.getByText('Choose an answer first.', { exact: true }).waitFor();
  await page.getByLabel('No: V2 has none of these').check();
  await effect.getByText('V2 does not describe GET /api/v2/bills.').waitFor();
  await page.getByLabel(/^Yes/).check();
  expect(await barriers(page, '.draft')).toEqual([]);
  await page.getByRole('button', { name: 'Answer', exact: true }).click();
  await page.getByText(/^That answer settled \d+ other questions as well\.$/).waitFor();
  const heading = page.getByRole('heading', { name: 'Does amount become amount_cents' });
  await heading.waitFor();
  await page.waitForFunction("document.activeElement?.tagName === 'H4'");
  await effect.getByText('"amount_cents": 1050').waitFor();
  // V2's name is likely, but another answer is possible: a person chooses.
  await page.getByText('Choose an answer first.', { exact: true }).waitFor();
  await page.getByLabel(/^It is amount_cents/).check();
  await page.getByRole('button', { name: 'Answer', exact: true }).click();
  await page.getByRole('button', { name: /V2 requires currency/ }).click();
  const answer = page.getByRole('button', { name: 'Answer', exact: true });
  await page.getByRole('heading', { name: 'V2 requires currency' }).waitFor();
  await page.getByLabel(/^Send this one/).check();
  await page.getByLabel('Value').waitFor();
  await expect.poll(() => answer.isDisabled()).toBe(true);
  await page.getByText('Fill in “Value” first.', { exact: true }).waitFor();
  const [ground, own] = [answer, page.getByRole('button', { name: /^Save to/ })].map((button) =>
    button.evaluate((element) => getComputedStyle(element).cursor),
  );
  expect([await ground, await own]).toEqual(['not-allowed', 'pointer']);
  const widths = [page.getByLabel('Value'), page.locator('.draft-question')].map((part) =>
    part.boundingBox(),
  );
  const [field, form] = await Promise.all(widths);
  expect((field?.width ?? 0) / (form?.width ?? 1)).toBeGreaterThan(0.7);
  await page.getByLabel('Value').fill('AUD');
  await answer.click();
  await page.getByText(/^3 of \d+ questions answered/).waitFor();
  await page.locator('.difference summary', { hasText: 'createBill' }).click();
  const example = page.locator('.difference', { hasText: 'createBill' });
  await example.getByRole('button', { name: 'Send it' }).click();
  await example.getByText('"status": 422').waitFor();
  await page.getByRole('button', { name: `Save to ${dir}` }).click();
  await page.getByText('npm run -s gateway -- check --config').waitFor();
  await page.getByText(/^Stop try \(Ctrl-C\) before you start serve/).waitFor();
  await page.getByText(/ is https:\/\/api\.invoicing\.example, the first server/).waitFor();
  await page.getByText(/answered; saved; serve starts once all are answered, or with --force$/).waitFor();
  await page.getByRole('button', { name: `Save again to ${dir}` }).waitFor();
  expect(readFileSync(join(dir, 'rules.yaml'), 'utf8')).toContain('- { default: { currency: AUD } }');
  await example.getByRole('button', { name: 'Open the exchange' }).click();
  await page.waitForURL(/entry=/);
  expect(complaints).toEqual([]);
  expect(await running.stop()).toBe(0);
});

test('the list follows the current question, and a person writes rules and tries an example with them', async () => {
  const dir = join(temporaryFolder('own-rules'), 'my-api');
  const descriptions = ['--v1', 'examples/invoicing/v1.yaml', '--v2', 'examples/invoicing/v2.yaml'];
  const addresses = ['--listen', '127.0.0.1:0', '--admin-listen', '127.0.0.1:0'];
  const running = command(['try', ...descriptions, '--dir', dir, ...addresses]);
  const [, address = ''] = await running.until(/on (http:\/\/127\.0\.0\.1:\d+\/\?view=rules)/);
  const { page, complaints } = await browser.open(address);
  // A list of a few lines, as on a phone.
  await page.setViewportSize({ width: 390, height: 844 });
  const isCurrentVisible = (): Promise<boolean> =>
    page.evaluate<boolean>(`(() => {
      const list = document.querySelector('.draft-list').getBoundingClientRect();
      const item = document.querySelector('.draft-list [aria-current]').getBoundingClientRect();
      return item.top >= list.top && item.bottom <= list.bottom;
    })()`);
  for (const text of ['Is "bills" called', 'Does total_pages become', 'V2 requires currency']) {
    await page.getByRole('button', { name: new RegExp(`open: ${text}`) }).dispatchEvent('click');
    await page.getByRole('heading', { name: new RegExp(`^${text}`) }).waitFor();
    await expect.poll(isCurrentVisible).toBe(true);
  }
  // A question that is not there yet cannot be answered, and neither can the one before it.
  const held = Promise.withResolvers<void>();
  await page.route('**/draft?question=*', async (route) => {
    await held.promise;
    await route.continue();
  });
  await page.getByRole('button', { name: /open: Does total_pages become/ }).dispatchEvent('click');
  await page.getByText('Loading the question…').waitFor();
  expect(await page.getByRole('button', { name: 'Answer', exact: true }).count()).toBe(0);
  expect(await page.locator('.draft-list [aria-current]').textContent()).toContain('Does total_pages become');
  await page.getByRole('button', { name: /open: V2 requires currency/ }).dispatchEvent('click');
  held.resolve();
  await page.getByRole('heading', { name: /^V2 requires currency/ }).waitFor();
  await page.getByLabel('Rules of my own').check();
  await page.getByText('Write a rule first.', { exact: true }).waitFor();
  await page.getByLabel('Rules for requests').fill('{ lift: currency }');
  await page.getByRole('button', { name: 'Show the effect' }).click();
  await page.getByText('The rule book cannot have this answer:').waitFor();
  await page.getByText('“{ lift: currency }” is not a rule').waitFor();
  expect(await page.locator('.draft-effect').getByText('V2 gets').count()).toBe(0);
  await page.getByLabel('Rules for requests').fill('{ default: { currency: NZD } }');
  await page.getByRole('button', { name: 'Show the effect' }).click();
  await page.locator('.draft-effect').getByText('"currency": "NZD"').waitFor();
  expect(await barriers(page, '.draft')).toEqual([]);
  await page.getByRole('button', { name: 'Answer', exact: true }).click();
  await page.getByText(/^1 of \d+ questions answered/).waitFor();
  // The example, in the form that explains: the outcome is in sight, and V2's description objects.
  const example = page.locator('.difference', { hasText: 'createBill' });
  await example.locator('summary').click();
  await example.getByRole('button', { name: 'Edit and explain it' }).click();
  await expect.poll(() => page.getByLabel('V1 body').inputValue()).toContain('"customer_name"');
  await page.getByRole('button', { name: 'Explain', exact: true }).click();
  const explanation = page.locator('.explanation');
  await explanation.getByText('V2 does not describe POST /api/v2/bills.').waitFor();
  await expect.poll(async () => ((await explanation.boundingBox())?.y ?? Infinity) < 844).toBe(true);
  expect(complaints).toEqual([]);
  expect(await running.stop()).toBe(0);
});

test('members whose values are converted alike have one answer, and a line that is left out is asked by itself', async () => {
  const folder = temporaryFolder('lists');
  const ids = (version: string, schema: object, names: readonly string[]): string => {
    const properties = Object.fromEntries(names.map((name) => [name, schema]));
    const body = { content: { 'application/json': { schema: { type: 'object', properties } } } };
    const put = { operationId: 'putRoom', requestBody: body, responses: { 204: {} } };
    const path = join(folder, `${version}.json`);
    const info = { title: 'Rooms', version: '1' };
    writeFileSync(path, JSON.stringify({ openapi: '3.1.0', info, paths: { [`/${version}/room`]: { put } } }));
    return path;
  };
  const running = command([
    'try',
    '--v1',
    ids('v1', { type: 'integer' }, ['room_id', 'hall_id', 'gate_id']),
    '--v2',
    ids('v2', { type: 'string' }, ['roomId', 'hallId', 'gateId']),
    '--dir',
    join(folder, 'my-api'),
    '--listen',
    '127.0.0.1:0',
    '--admin-listen',
    '127.0.0.1:0',
  ]);
  const [, address = ''] = await running.until(/on (http:\/\/127\.0\.0\.1:\d+\/\?view=rules)/);
  const { page, complaints } = await browser.open(address);
  await page
    .getByRole('heading', { name: 'Convert room_id, hall_id and gate_id from number to string?' })
    .waitFor();
  await page.getByLabel('hall_id → hallId').uncheck();
  expect(await page.getByLabel('gate_id → gateId').isChecked()).toBe(true);
  expect(await barriers(page, '.draft')).toEqual([]);
  await page.getByRole('button', { name: 'Answer', exact: true }).click();
  await page
    .getByRole('heading', { name: 'Does hall_id become hallId, converted from number to string?' })
    .waitFor();
  await page.getByText(/^1 of 2 questions answered/).waitFor();
  expect(complaints).toEqual([]);
  expect(await running.stop()).toBe(0);
});
