/** @module-tag chromium */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { EntriesPage, EntryDetail } from '../../../src/inspector/api.ts';
import { accountOf, editsTitle } from '../../../src/inspector/entries/entry-words.ts';
import type { Modes, Rollout } from '../../../src/rules/rollout.ts';
import { bookIn } from '../../rules/reading.ts';
import { freePort } from '../../support/free-port.ts';
import { exchange } from '../../support/raw-client.ts';
import { watchedServices } from '../../support/watched-services.ts';
import { ok, rawServer } from '../../support/raw-server.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';
import { barriers, browserOfFile, gatewayOfTest } from '../../support/page-tests.ts';

const ORDER = '{"data":{"property":{"display_name":"Loft","suburb":"Enmore","postcode":"2042"}}}';
const CREATED =
  'HTTP/1.1 201 Created\r\nContent-Type: application/json\r\nContent-Length: 11\r\n\r\n{"data":{}}';
const WRITE = `POST /api/v1/orders/floor_plans HTTP/1.1\r\nHost: g\r\nAuthorization: Bearer one\r\nContent-Type: application/json\r\nContent-Length: ${ORDER.length}\r\n\r\n${ORDER}`;
const READ = 'GET /api/v1/clients HTTP/1.1\r\nHost: g\r\nAuthorization: Bearer one\r\n\r\n';
const MALFORMED = WRITE.replace('{"data"', '["data"');

const browser = browserOfFile();

interface Play {
  readonly name: string;
  readonly modes: Partial<Modes>;
  readonly request: string;
  readonly rollout?: Partial<Rollout>;
  readonly isDown?: true;
  /** True to look for barriers with axe, which takes seconds. */
  readonly isChecked?: true;
  /** Sentences that must not be on the page. */
  readonly never: readonly string[];
}

const PLAYS: readonly Play[] = [
  {
    name: 'observed',
    modes: { default: { mode: 'observe' } },
    request: WRITE,
    never: ['as V2 received it', 'Refused', 'V2 response'],
  },
  {
    name: 'shadowed',
    modes: { default: { mode: 'shadow' } },
    request: READ,
    isChecked: true,
    never: ['as V2 received it', 'Nothing was sent'],
  },
  {
    name: 'canaried',
    modes: { default: { mode: 'canary', share: 100 } },
    request: WRITE,
    never: ['ry run', 'Sent to V1'],
  },
  {
    name: 'canaried to V1',
    modes: { default: { mode: 'canary', share: 0 } },
    request: WRITE,
    never: ['as V2 received it', 'V2 response'],
  },
  { name: 'refused', modes: {}, request: MALFORMED, never: ['forwarded unchanged', 'as V2 received it'] },
  { name: 'failed', modes: {}, request: WRITE, isDown: true, never: ['times', 'as V2 received it'] },
  {
    name: 'brownout',
    modes: { default: { mode: 'observe' } },
    request: WRITE,
    rollout: { brownouts: [{ id: 'first', share: 100, status: 503 }] },
    never: ['Sent to V1 as', 'as V2 received it', 'sends this request to V1'],
  },
];

test.each(PLAYS)('the page tells the truth about an exchange that was $name', async (play) => {
  const { gateway } = await watchedServices(
    play.modes,
    { v1: (socket) => socket.write(CREATED), v2: (socket) => socket.write(CREATED) },
    {
      flags: {
        capture: 'bodies',
        ...(play.isDown === undefined
          ? {}
          : { upstream: `http://127.0.0.1:${await freePort()}`, 'upstream-connect-timeout': '100' }),
      },
      ...(play.rollout === undefined ? {} : { rollout: play.rollout }),
    },
  );
  await exchange(gateway.port, play.request);
  const entry = await gateway.entry();
  const { page, complaints } = await browser.open(`${gateway.adminOrigin}/?view=traffic`);
  await page.locator('.entry').first().click();
  await page.locator('.account li').first().waitFor();
  await expect.poll(() => page.locator('.account li').allTextContents()).toEqual(accountOf(entry));
  await expect
    .poll(() => page.getByRole('region', { name: 'Edits' }).locator('h3').textContent())
    .toBe(editsTitle(entry));
  const text = await page.locator('.detail').innerText();
  for (const sentence of play.never) expect(text).not.toContain(sentence);
  for (const colorScheme of play.isChecked === true ? (['light', 'dark'] as const) : []) {
    await page.emulateMedia({ colorScheme });
    expect(await barriers(page, '.detail-body, .list')).toEqual([]);
  }
  expect(complaints).toEqual([]);
});

test('an exchange lists the edits of its response, and is called the same in the list and beside it', async () => {
  const book = await bookIn(`
operations: { read_bill: 'GET /bills/{id}' }
changes: [{ id: due, summary: S., on: [read_bill], response: [{ rename: data.due_date, to: due }] }]`);
  const body = '{"data":{"due_date":"2026-12-01"}}';
  const head = `HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: ${body.length}`;
  const { gateway } = await watchedServices(
    {},
    { v2: (socket) => socket.write(`${head}\r\n\r\n${body}`) },
    { ruleBook: { operations: book.operations, changes: book.changes } },
  );
  await exchange(gateway.port, READ.replace('clients', 'bills/1'));
  const { page, complaints } = await browser.open(`${gateway.adminOrigin}/?view=traffic`);
  await page.locator('.entry').first().click();
  const edits = page.getByRole('region', { name: 'Response', exact: true });
  await edits.getByRole('heading', { name: '1 edit of the response' }).waitFor();
  expect(await edits.locator('.edit').innerText()).toMatch(/rename\s+\/data\/due_date → \/data\/due/);
  const [row, panel] = [page.locator('.entry .verdict'), page.locator('.detail-head .verdict')];
  expect(await panel.innerText()).toBe(await row.first().innerText());
  expect(complaints).toEqual([]);
});

test.each([true, false])(
  'a guide names a member that V2 lacks, also without shadow; after the migration, the exchange does too (described: %s)',
  async (isDescribed) => {
    const [old, now] = ['{"data":[{"id":1,"phone":"1"}]}', '{"data":[{"id":1}]}'];
    const v1 = await rawServer((socket) => socket.write(ok(old)));
    const v2 = await rawServer((socket) => socket.write(ok(now)));
    const item = { type: 'object', properties: { id: {} } };
    const schema = { type: 'object', properties: { data: { type: 'array', items: item } } };
    const response = { description: 'Clients.', content: { 'application/json': { schema } } };
    const description = join(temporaryFolder('lacking'), 'v2.json');
    const paths = { '/api/v2/clients': { get: { responses: { 200: response } } } };
    writeFileSync(description, JSON.stringify({ openapi: '3.1.0', info: {}, paths }));
    const gateway = await gatewayOfTest({
      'v1-upstream': v1.origin,
      upstream: v2.origin,
      capture: 'bodies',
      ...(isDescribed ? { 'v2-openapi': description } : {}),
    });
    const read = async (): Promise<number> => gateway.send('GET', '/api/v1/clients');
    const newest = async (): Promise<EntryDetail> => {
      const { latest } = await gateway.readJson<EntriesPage>('/entries?limit=1');
      return gateway.readJson(`/entries/${latest}`);
    };
    const guide = async (): Promise<string> => {
      const { client } = (await newest()).entry;
      return (await fetch(`${gateway.adminOrigin}/report?client=${client}&format=md`)).text();
    };
    const lost = '- `phone` in `GET /clients`';
    await gateway.postJson('/rollout', { mode: 'observe', force: true });
    for (let sent = 0; sent < 3; sent += 1) expect(await read()).toBe(200);
    await expect.poll(async () => (await guide()).includes(lost)).toBe(isDescribed);
    expect((await newest()).entry.lacks).toBeUndefined();
    await gateway.postJson('/rollout', { mode: 'migrate', force: true });
    for (let sent = 0; sent < 5; sent += 1) expect(await read()).toBe(200);
    await expect.poll(guide).toContain(lost);
    expect((await newest()).entry.lacks).toEqual(['/data/*/phone']);
  },
);
