/** @module-tag chromium */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import type { EntryDetail, Report } from '../../../src/inspector/api.ts';
import { ok, rawServer } from '../../support/raw-server.ts';
import { until } from '../../support/until.ts';
import { FLOOR_PLAN_ORDER, type InspectedGateway } from '../../support/inspected-gateway.ts';
import { browserOfFile, gatewayOfTest } from '../../support/page-tests.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

const browser = browserOfFile();

/** All words of a view: its text, the names of its pictures and the titles of its signs. */
async function toldBy(
  gateway: InspectedGateway,
  place: string,
): Promise<{ readonly page: Page; readonly text: () => Promise<string> }> {
  const { page } = await browser.open(`${gateway.adminOrigin}/${place}`);
  await page.getByText(/^(?:Connected|Paused)$/).waitFor();
  await page.locator('.traffic, .view:not(.empty)').waitFor();
  const text = (): Promise<string> =>
    page.evaluate<string>(
      `[document.body.innerText, ...[...document.querySelectorAll('[title], [aria-label]')].map((one) => one.title + ' ' + (one.ariaLabel ?? ''))].join('\\n')`,
    );
  return { page, text };
}

/** The words of a view for a gateway that has seen nothing, and those that replace them after an exchange. */
const STATES: readonly {
  readonly view: string;
  readonly before: readonly string[];
  readonly after: readonly (string | RegExp)[];
}[] = [
  {
    view: 'Traffic',
    before: ['No exchanges yet. Send a request to the gateway, and it appears here.', 'nothing is kept yet'],
    after: ['1 matching exchange', 'Only keys and structure of bodies are captured, no values.'],
  },
  { view: 'Problems', before: ['No exchange is kept yet.'], after: ['None of them has an error.'] },
  {
    view: 'Clients',
    before: [
      'No V1 request was seen yet.',
      '0 V2 requests in this time. The needs of V1 clients are not known; the command report reads earlier logs.',
      'Each client that calls V1 will have a row here, with what it has to change.',
    ],
    after: [
      /counted since \d\d:\d\d; gone after 14 days without a call to V1, or later if hardly known or after long pauses/,
      'No rule to propose: no attribute is certain to be refused by V2.',
    ],
  },
  {
    view: 'Overview',
    before: ['Send a request to ', 'No request in this time.', 'No V1 request has been seen yet.'],
    after: [
      /Time to answer by minute; the latest: clients median [\d,.]+ ms, p95 [\d,.]+ ms; V2 median/,
      /1 client on \d+ \w+: \d with edits, \d without an edit seen\. A chart begins with the second day\./,
    ],
  },
];

test('a view that has nothing to tell says so, and only then', async () => {
  const gateway = await gatewayOfTest();
  // One page whose views are changed: each asks for its data when it is opened.
  const { page, text } = await toldBy(gateway, '');
  const open = async (view: string): Promise<void> => {
    const link = page.getByRole('navigation').getByRole('link', { name: view });
    if (view === 'Problems') await page.getByRole('link', { name: 'Traffic', exact: true }).click();
    await link.click();
    await page.locator('.traffic, .view:not(.empty)').waitFor();
  };
  for (const { view, before } of STATES) {
    await open(view);
    for (const sentence of before) await expect.poll(text).toContain(sentence);
  }
  expect(await gateway.send('POST', '/api/v1/orders/floor_plans', FLOOR_PLAN_ORDER, undefined, 'order')).toBe(
    201,
  );
  for (const { view, before, after } of STATES) {
    await open(view);
    for (const sentence of after) await expect.poll(text).toMatch(sentence);
    for (const sentence of before) await expect.poll(text).not.toContain(sentence);
  }
  await open('Traffic');
  await page.getByRole('combobox', { name: 'Filter' }).fill('status:5xx');
  await expect.poll(text).toContain('No recent exchange matches this filter. New ones appear here.');
});

test('rules that the census proposes are copied as they stand', async () => {
  const v1 = await rawServer((socket) => socket.write(ok('{"data":{}}')));
  const gateway = await gatewayOfTest({ 'v1-upstream': v1.origin });
  await until(async () => {
    // V1 accepts the name, and V2 refuses it, but not the rest.
    for (const mode of ['observe', 'migrate']) {
      await gateway.postJson('/rollout', { mode, force: true });
      await gateway.send('POST', '/api/v1/clients', '{"data":{"name":"Ada"}}');
      for (let sent = 0; sent < 5; sent += 1)
        await gateway.send('POST', '/api/v1/clients', '{"data":{"name":"Ada","colour":"red"}}');
    }
    const report = await gateway.readJson<Report>('/report');
    return report.census.proposal !== '';
  });
  const { page } = await toldBy(gateway, '?view=clients');
  await page.getByRole('button', { name: /^Operations of / }).click();
  await page.getByText('V2 did not accept the last create_client: 422 at /colour.').waitFor();
  // The name that a rule is proposed for, and no other, has no rule yet.
  const unhandled = page.getByRole('row').filter({ hasText: 'no rule yet' });
  await expect.poll(() => unhandled.allInnerTexts()).toEqual([expect.stringContaining('/colour')]);
  await page.getByRole('button', { name: 'Copy the YAML' }).click();
  await page.getByRole('status').filter({ hasText: 'Copied: the proposed rules.' }).waitFor();
  const copied = await page.evaluate<string>('navigator.clipboard.readText()');
  expect(copied).toContain('- strip: [colour]');
  expect(copied).toBe(await page.locator('.proposal pre').textContent());
});

test('rows that a view leaves out are counted', async () => {
  const gateway = await gatewayOfTest({ 'v1-upstream': 'http://127.0.0.1:9' });
  await gateway.send('POST', '/api/v1/orders/floor_plans', FLOOR_PLAN_ORDER);
  await gateway.send('POST', '/api/v1/clients', '{"data":{"colour":1}}');
  // The bounds are thousands of clients, names and kinds: here the gateway's own response has more of them left out.
  const leftOut = async (
    path: string,
    place: string,
    sentences: readonly string[],
    change: (told: string) => string,
  ): Promise<void> => {
    const { page, text } = await toldBy(gateway, place);
    await page.getByRole('heading', { level: 2 }).first().waitFor();
    for (const sentence of sentences) expect(await text()).not.toContain(sentence);
    await page.route(`**${path}*`, async (route) => {
      const response = await route.fetch();
      await route.fulfill({ response, body: change(await response.text()) });
    });
    await page.reload();
    for (const sentence of sentences) await expect.poll(text).toContain(sentence);
    await browser.closePages();
  };
  const omitting = (name: string, count: number) => (told: string) =>
    told.replaceAll(`"${name}":0`, `"${name}":${count}`);
  await leftOut(
    '/clients/table',
    '?view=clients',
    ['1,200 requests of further clients, not listed.'],
    omitting('omittedClients', 1200),
  );
  await leftOut(
    '/clients/table',
    '?view=clients',
    ['Other names occurred 1 time and are not listed.'],
    omitting('omitted', 1),
  );
  await leftOut(
    '/problems',
    '?view=traffic&part=problems',
    ['3 errors of further kinds, not listed.'],
    omitting('omitted', 3),
  );
});

test('a trial says how many of the kept exchanges it could try', async () => {
  const gateway = await gatewayOfTest();
  const { page, text } = await toldBy(gateway, '?view=rules');
  const tryIt = page.getByRole('button', { name: 'Try it' });
  await tryIt.click();
  await expect.poll(text).toContain('No kept exchange could be tried.');
  await expect.poll(() => text()).toContain('The text is unchanged from the rule book in force,');
  await expect
    .poll(() => text())
    .toContain(
      'operations and changes that neither the specification nor the documentation shows. Confirm them with the owners of the service.',
    );
  await gateway.send('POST', '/api/v1/orders/floor_plans', FLOOR_PLAN_ORDER);
  await page.getByLabel('Rule book', { exact: true }).press('End');
  await page.keyboard.type(' ');
  await tryIt.click();
  await expect
    .poll(text)
    .toContain('are not kept: placeholders replace them, and rules that map values have no effect on those.');
  const dry = await text();
  // The response is kept where the machine had the time to capture it.
  const { v2Response } = await gateway.readJson<EntryDetail>('/entries/1');
  expect(dry).toContain(
    v2Response?.body.state === 'structure'
      ? 'The responses of all tried exchanges were compared as well.'
      : 'No responses were compared: what V2 responded is not kept.',
  );
  expect(dry).toMatch(/Counts of this gateway alone, since \d\d:\d\d: no store is set\./);
  expect(dry).toContain('Neither the specification nor the documentation shows this.');
  expect(dry).toContain('nothing is applied from here');
  expect(dry).not.toContain('not tried:');
  await gateway.send('POST', '/api/v1/orders/floor_plans', '{"data":');
  await until(async () => {
    await tryIt.click();
    return (await text()).includes('1 kept exchange not tried: the body is not kept.');
  });
});

test('the rollout says what it lacks, and what V1 responses announce', async () => {
  const v2 = await gatewayOfTest();
  const alone = await toldBy(v2, '?view=rollout');
  await expect
    .poll(alone.text)
    .toContain('No V1 service is configured, so V1 requests can only be migrated.');
  await expect
    .poll(() => alone.text())
    .toContain('Client hashes change at each start, so shares are not stable: set GATEWAY_CLIENT_SECRET.');

  const folder = temporaryFolder('sentences');
  const shipped = readFileSync(new URL('../../../config/rules.yaml', import.meta.url), 'utf8');
  const rules = join(folder, 'rules.yaml');
  writeFileSync(
    rules,
    `${shipped}\nsunset: 2099-06-30\ndeprecation: 2026-01-01\nmodes: { operations: { create_client: observe } }\n`,
  );
  const beside = await gatewayOfTest({
    rules,
    upstream: v2.origin,
    'v1-upstream': 'http://127.0.0.1:9',
    'client-secret': 'a secret of the tests',
  });
  const response = await fetch(`${beside.origin}/api/v1/heartbeat`);
  expect(response.headers.get('sunset')).toContain('30 Jun 2099');
  expect(response.headers.get('deprecation')).toMatch(/^@\d+$/);
  const { page, text } = await toldBy(beside, '?view=rollout');
  await expect.poll(text).toContain('None: GATEWAY_V2_OPENAPI is not set.');
  expect(await text()).not.toContain('GATEWAY_CLIENT_SECRET');
  expect(await text()).not.toContain('No V1 service');
  await page.getByRole('navigation').getByRole('link', { name: 'Clients' }).click();
  await expect
    .poll(text)
    .toContain('V1 ends on 30 Jun 2099 00:00 UTC, as its responses announce: no request gets 410 for it.');
  await expect
    .poll(() => text())
    .toContain('V1 has been deprecated since 1 Jan 00:00 UTC, as its responses announce.');
  // The log of this gateway is off: it has no plan, and says so.
  await expect.poll(text).toContain('No plan: this gateway writes no log file.');
});
