/** @module-tag chromium */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { nameClient, readClientNames } from '../../../src/node/admin/names.ts';
import { endedCommand } from '../../support/command.ts';
import { commandRun } from '../../support/command-runs.ts';
import { type Inspected, inspected } from '../../support/inspected.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';
import type { ClientsView } from '../../../src/inspector/api.ts';
import { barriers, browserOfFile } from '../../support/page-tests.ts';

const folder = temporaryFolder('clients');
const HASH = '3fa94c1d0e5b7a21';
const browser = browserOfFile();

async function send(gateway: Inspected, key: string, agent: string): Promise<void> {
  await gateway.post('/clients', '{"data":{}}', { authorization: `Bearer ${key}`, 'user-agent': agent });
}

describe('the names file', () => {
  test('keeps its comments and its other names, and takes a name away', () => {
    const path = join(folder, 'names.yaml');
    writeFileSync(path, `# our clients\n3FA94C1D0E5B7A21: Old # the first\n1234567890123456: Numbers\n`);
    expect(nameClient(path, HASH, ' Acme: "Ltd" ')).toBeUndefined();
    expect(readFileSync(path, 'utf8')).toContain('# our clients');
    expect(readClientNames(path)).toEqual(
      new Map([
        [HASH, 'Acme: "Ltd"'],
        ['1234567890123456', 'Numbers'],
      ]),
    );
    nameClient(path, '1234567890123456', undefined);
    expect(readClientNames(path)).toEqual(new Map([[HASH, 'Acme: "Ltd"']]));
  });

  test.each(['new.yaml', 'new.json'])('is created if it is missing: %s', (name) => {
    const path = join(folder, name);
    for (const client of [HASH, '12345678901234e5', '0000000000000000'])
      expect(nameClient(path, client, `Client ${client}`)).toBeUndefined();
    const names = readClientNames(path);
    expect(names).toHaveProperty('size', 3);
    expect('get' in names && names.get('12345678901234e5')).toBe('Client 12345678901234e5');
  });

  test.each([
    ['xyz', 'Acme', 'not a client hash'],
    [HASH, '', 'visible'],
    [HASH, '\u202Eemca', 'visible'],
    [HASH, 'x'.repeat(101), 'visible'],
  ])('refuses %s: %j', (client, name, fault) => {
    expect(nameClient(join(folder, 'none.yaml'), client, name)?.fault).toContain(fault);
  });

  test('stays as it is when it is faulty', () => {
    const path = join(folder, 'faulty.yaml');
    writeFileSync(path, '- a list\n');
    expect(nameClient(path, HASH, 'Acme')?.fault).toContain('must map hashes to names');
    expect(readFileSync(path, 'utf8')).toBe('- a list\n');
  });
});

describe('the command clients', () => {
  test('prints the hash that the gateway logs, and names it in a file', async () => {
    const gateway = await inspected();
    await send(gateway, 'key-\u00c3\u00a9-1', 'a');
    const { client } = await gateway.entry();
    // The client sent the UTF-8 bytes of é, each of which fetch wants as a character.
    const { out, code } = await endedCommand(
      ['clients', 'hash'],
      { GATEWAY_CLIENT_SECRET: 'a secret of the tests' },
      'Bearer key-é-1\n',
    );
    expect([code, out]).toEqual([0, `${client}\n`]);
    const path = join(folder, 'by-command.yaml');
    const named = await commandRun(['clients', 'name', out.trim(), 'Acme', '--names', path]);
    expect(named).toMatchObject({ code: 0, out: `${client} is called Acme.\n` });
    expect(readFileSync(path, 'utf8')).toBe(`${client}: Acme\n`);
  });

  test('needs a secret, a key and a file', async () => {
    expect(await endedCommand(['clients', 'hash'], {}, 'key')).toMatchObject({ code: 2 });
    expect(
      await commandRun(['clients', 'hash'], { environment: { GATEWAY_CLIENT_SECRET: 's' } }),
    ).toMatchObject({ code: 2 });
    expect(await commandRun(['clients', 'name', HASH, 'Acme'])).toMatchObject({ code: 2 });
    expect(
      await commandRun(['clients', 'name', HASH, 'Acme'], { environment: { GATEWAY_CLIENT_NAMES: '' } }),
    ).toEqual({
      code: 2,
      out: '',
      err: 'Say where to keep the name: --admin for a running gateway, or --names for a file (GATEWAY_CLIENT_NAMES).\n',
    });
  });
});

test('a client is named on the page and by the command, and known by its traces until then', async () => {
  const path = join(folder, 'by-page.yaml');
  const gateway = await inspected({ 'client-names': path }, '{"data":{}}', await pageOf());
  await send(gateway, 'one', 'Legacy CRM/1.0');
  await send(gateway, 'two', 'Other/2');
  const [one, two] = [(await gateway.entry(1)).client ?? '', (await gateway.entry(2)).client ?? ''];
  const listed = await commandRun(['clients', 'list', '--admin', gateway.adminOrigin]);
  expect(listed.out).toMatch(new RegExp(`${two} +- +Other/2 +127\\.0\\.0\\.1`));
  const { page, complaints } = await browser.open(`${gateway.adminOrigin}/?view=retirement`);
  const row = page.getByRole('row').filter({ hasText: two });
  await row.getByText('Other/2', { exact: true }).waitFor();
  await row.getByRole('button', { name: `Name ${two}` }).click();
  await row.getByLabel(`Name of ${two}`).fill('Harcourts Richmond');
  await page.keyboard.press('Enter');
  await row.getByText('Harcourts Richmond').waitFor();
  expect(readFileSync(path, 'utf8')).toBe(`${two}: Harcourts Richmond\n`);
  const named = await commandRun(['clients', 'name', one, 'Acme', '--admin', gateway.adminOrigin]);
  expect(named).toMatchObject({ code: 0 });
  const view = await gateway.readJson<ClientsView>('/clients');
  expect(view.canBeNamed).toBe(true);
  expect(new Map(view.clients.map(({ client, name }) => [client, name]))).toEqual(
    new Map([
      [one, 'Acme'],
      [two, 'Harcourts Richmond'],
    ]),
  );
  await row.getByRole('button', { name: `Rename ${two}` }).click();
  await row.getByLabel(`Name of ${two}`).fill('');
  await page.keyboard.press('Enter');
  await page.getByText(`${two} no longer has a name.`).waitFor();
  await row.getByText('Other/2', { exact: true }).waitFor();
  expect(readFileSync(path, 'utf8')).not.toContain(two);
  await row.getByRole('button', { name: `Name ${two}` }).click();
  await row.getByLabel(`Name of ${two}`).fill('Harcourts Richmond');
  await page.keyboard.press('Enter');
  await page.getByText(`${two} is called Harcourts Richmond.`).waitFor();
  await page.reload();
  await row.getByRole('button', { name: /^Show the exchanges of Harcourts Richmond/ }).waitFor();
  // One client has a name, the other has none: each control is called by the text that it shows.
  expect(await barriers(page)).toEqual([]);
  await page.keyboard.press('2');
  const cell = page.locator('.entry .client').filter({ hasText: 'Harcourts Richmond' });
  await cell.waitFor();
  expect(await cell.getAttribute('title')).toBe(`Harcourts Richmond, ${two}`);
  await page.setViewportSize({ width: 360, height: 740 });
  const isWhole =
    '[...document.querySelectorAll(".entry .client")].every((cell) => cell.scrollWidth <= cell.clientWidth)';
  await expect.poll(() => page.evaluate(isWhole)).toBe(true);
  expect(complaints).toEqual([]);
  const nowhere = await inspected();
  const response = await nowhere.postJson('/clients', { client: one, name: 'Acme' });
  expect([response.status, await response.text()]).toEqual([
    422,
    expect.stringContaining('GATEWAY_CLIENT_NAMES'),
  ]);
});

test('a name that is typed stays, with the focus, while traffic reorders the rows and brings new clients', async () => {
  const path = join(folder, 'by-typing.yaml');
  const gateway = await inspected({ 'client-names': path }, '{"data":{}}', await pageOf());
  for (const key of ['first', 'first', 'first', 'named']) await send(gateway, key, 'CRM/1');
  const { client } = await gateway.entry(4);
  const { page, complaints } = await browser.open(`${gateway.adminOrigin}/?view=clients`);
  await page.getByRole('button', { name: "To V1's address", exact: true }).click();
  const rows = page.locator('.scroll:has(.client-name) tbody tr');
  await expect.poll(() => rows.nth(1).textContent()).toContain(client);
  await page.getByRole('button', { name: `Name ${client}` }).click();
  await page.keyboard.type('Ac');
  // Its row would be the first now, and those of new clients stand between.
  for (let sent = 0; sent < 9; sent += 1) await send(gateway, 'named', 'CRM/1');
  for (const key of ['new', 'new', 'newer', 'newer', 'newer', 'newer']) await send(gateway, key, 'CRM/1');
  await expect.poll(() => rows.count()).toBe(4);
  const field = page.getByLabel(`Name of ${client}`);
  expect(await field.evaluate((one) => one === document.activeElement)).toBe(true);
  await page.keyboard.type('me');
  expect(await field.inputValue()).toBe('Acme');
  await page.keyboard.press('Enter');
  await page.getByText(`${client} is called Acme.`).waitFor();
  expect(readFileSync(path, 'utf8')).toBe(`${client}: Acme\n`);
  // Once nothing is typed, the rows are sorted again.
  await expect.poll(() => rows.first().textContent()).toContain(client);
  expect(complaints).toEqual([]);
});

test('failures have one count, by the definition of the page, which sorts and says since when it counts', async () => {
  const gateway = await inspected({}, '{"data":{}}', await pageOf(), undefined, 500);
  for (const key of ['often', 'seldom', 'often', 'often']) await send(gateway, key, `${key}/1`);
  const { client } = await gateway.entry(1);
  const { page, complaints } = await browser.open(`${gateway.adminOrigin}/?view=clients`);
  await page.getByText(/^counted since \d\d:\d\d; gone after 14 days /).waitFor();
  await page.getByRole('button', { name: 'Failed' }).click();
  const first = page.locator('.scroll:has(.client-name) tbody tr').first();
  await expect.poll(() => first.textContent()).toContain(client);
  expect(await first.locator('[data-label=Failed]').textContent()).toBe('3');
  await page.getByLabel('Search').fill('seldom');
  await page.getByText('1 of 2 rows').waitFor();
  expect(await first.locator('[data-label=Failed]').textContent()).toBe('1');
  // V2 serves them, so no check says what would fail; and one day is no trend.
  expect(await page.locator('.scroll:has(.client-name) thead th').allTextContents()).toEqual([
    'Client',
    'Last seen',
    'Class',
    "To V1's address",
    "To V2's address",
    'Failed▼',
    'Notices met',
    'Guide',
  ]);
  expect(complaints).toEqual([]);
});

/** The real page. */
async function pageOf(): Promise<Parameters<typeof inspected>[2]> {
  const { loadInspectorPage } = await import('../../../src/cli/serve/serving-files.ts');
  return loadInspectorPage;
}
