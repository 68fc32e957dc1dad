/** @module-tag chromium */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, expect, onTestFinished, test } from 'vitest';
import type { EntryDetail, Report } from '../../../src/inspector/api.ts';
import { ok, rawServer } from '../../support/raw-server.ts';
import { until } from '../../support/until.ts';
import { type Browser, startBrowser } from '../../support/browser.ts';
import {
  API_KEY,
  FLOOR_PLAN_ORDER,
  inspectGateway,
  type InspectedGateway,
} from '../../support/inspected-gateway.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

let browser: Browser;

/** A machine that stalls is waited for. */
const PATIENT = { timeout: 10_000 };

beforeAll(async () => {
  browser = await startBrowser();
}, 60_000);

afterEach(() => browser.closePages());

afterAll(() => browser.close());

async function started(flags: Readonly<Record<string, string>> = {}): Promise<InspectedGateway> {
  const gateway = await inspectGateway(flags);
  onTestFinished(() => gateway.stop());
  return gateway;
}

/** Everything that a view tells: its text, the names of its pictures and the titles of its signs. */
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

/** What a view tells of a gateway that has seen nothing, and what it tells in its place after an exchange. */
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
  { view: 'Errors', before: ['No exchange is kept yet.'], after: ['None of them has an error.'] },
  {
    view: 'Retirement',
    before: [
      'No V1 request was seen yet.',
      '0 V2 requests in this time: what V1 clients need is not known. The command report reads the logs of earlier times.',
      'No V1 request has been seen yet.',
      'Clients on V1 by day: none yet.',
    ],
    after: [
      /Clients on V1 by day: 1 client on \d{4}-\d\d-\d\d\./,
      'clients with edits',
      'gone after 14 days without V1, unless a row says otherwise',
      'gone after 42 days',
      'without an edit that was seen',
      'No rule to propose: nothing shows for certain that V2 does not take an attribute.',
    ],
  },
  {
    view: 'Last hour',
    before: [
      'Response times for clients: no requests in the last ',
      'Response times of V2: no requests in the last ',
    ],
    after: [/Response times for clients, by minute; the latest: p99 [\d,.]+ ms/],
  },
];

test('a view that has nothing to tell says so, and only then', async () => {
  const gateway = await started();
  // One page whose views are changed: each asks for its data when it is opened.
  const { page, text } = await toldBy(gateway, '');
  const open = async (view: string): Promise<void> => {
    await page.getByRole('navigation').getByRole('link', { name: view }).click();
    await page.locator('.traffic, .view:not(.empty)').waitFor();
  };
  for (const { view, before } of STATES) {
    await open(view);
    for (const sentence of before) await expect.poll(text, PATIENT).toContain(sentence);
  }
  expect(await gateway.send('POST', '/api/v1/orders/floor_plans', FLOOR_PLAN_ORDER, undefined, 'order')).toBe(
    201,
  );
  for (const { view, before, after } of STATES) {
    await open(view);
    for (const sentence of after) await expect.poll(text, PATIENT).toMatch(sentence);
    for (const sentence of before) await expect.poll(text, PATIENT).not.toContain(sentence);
  }
  await open('Traffic');
  await page.getByRole('combobox', { name: 'Filter' }).fill('status:5xx');
  await expect.poll(text, PATIENT).toContain('No recent exchange matches this filter. New ones appear here.');
}, 120_000);

test('an exchange without two bodies says why', async () => {
  const gateway = await started();
  await gateway.send('GET', '/api/v1/heartbeat', undefined, undefined, 'read');
  await gateway.send('POST', '/api/v2/clients', '{"name":"native"}', undefined, 'native');
  await gateway.send('POST', '/api/v1/clients', '{"data":"no object"}', undefined, 'refused');
  for (const [id, sentence] of [
    ['read', 'The request has no body.'],
    ['native', 'The body was not read, so there is nothing to compare.'],
    ['refused', 'There is no V2 body: the gateway refused the request (wrapper-not-object).'],
    [
      'gone',
      'The gateway no longer keeps the exchange gone. If the rewrite log of its day is kept, it has the entry: gateway tail <log> --filter id:gone',
    ],
  ] as const) {
    const { text } = await toldBy(gateway, `?entry=${id}`);
    await expect.poll(text, PATIENT).toContain(sentence);
    await browser.closePages();
  }
});

test('the signs of a row tell what was edited, and nothing of a request without edits', async () => {
  const gateway = await started();
  await gateway.send('GET', '/api/v1/orders/post_productions?transition_type=slide');
  await gateway.send('POST', '/api/v1/clients', '{"data":"no object"}');
  const { page } = await toldBy(gateway, '?view=traffic');
  const titles = (row: string): Promise<readonly string[]> =>
    page
      .locator(`.row.entry${row} [title]`)
      .evaluateAll((all) => all.map((one) => one.getAttribute('title') ?? ''));
  await expect.poll(() => titles('.refused'), PATIENT).not.toEqual([]);
  expect((await titles('.refused')).filter((title) => /^\d+ edit/.test(title))).toEqual([]);
  const edited = await titles(':not(.refused)');
  expect(edited).toContain('1 edit: highlight-type-filter');
  expect(edited).toContain(
    'V1 request with an edited body or query, or with an edited response; an edited webhook of V2',
  );
});

test('a body that is not kept or not read is told apart', async () => {
  const gateway = await started({ capture: 'bodies', 'capture-memory': '25600' });
  await gateway.send('POST', '/api/v1/orders/floor_plans', FLOOR_PLAN_ORDER, undefined, 'large');
  const unread = await fetch(`${gateway.origin}/api/v1/clients`, {
    method: 'POST',
    headers: { 'content-type': 'text/plain', 'x-request-id': 'plain' },
    body: 'no JSON',
  });
  await unread.arrayBuffer();
  const large = 'The body of this exchange was not captured, so there is nothing to compare.';
  const plain = 'The body was not read, so there is nothing to compare.';
  for (const [id, sentence, other] of [
    ['large', large, plain],
    ['plain', plain, large],
  ] as const) {
    const { text } = await toldBy(gateway, `?entry=${id}`);
    await expect.poll(text, PATIENT).toContain(sentence);
    expect(await text()).not.toContain(other);
    await browser.closePages();
  }
});

test('a message without header fields says so', async () => {
  const v2 = await rawServer((socket) => socket.write('HTTP/1.1 204 No Content\r\n\r\n'));
  const gateway = await started({ upstream: v2.origin });
  expect(await gateway.send('GET', '/api/v2/clients', undefined, undefined, 'bare')).toBe(204);
  const { page, text } = await toldBy(gateway, '?entry=bare&show=v2-response');
  await expect.poll(text, PATIENT).toContain('No headers.');
  await page.getByRole('tab', { name: 'V1 request' }).click();
  await page.getByText('x-customer').waitFor();
  expect(await text()).not.toContain('No headers.');
});

test('rules that the census proposes are copied as they stand', async () => {
  const v1 = await rawServer((socket) => socket.write(ok('{"data":{}}')));
  const gateway = await started({ 'v1-upstream': v1.origin });
  await until(async () => {
    // V1 accepts the name, and V2 refuses it, but not the rest.
    for (const mode of ['observe', 'migrate']) {
      await fetch(`${gateway.adminOrigin}/rollout`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ mode, force: true }),
      });
      await gateway.send('POST', '/api/v1/clients', '{"data":{"name":"Ada"}}');
      for (let sent = 0; sent < 5; sent += 1)
        await gateway.send('POST', '/api/v1/clients', '{"data":{"name":"Ada","colour":"red"}}');
    }
    const report = (await (await fetch(`${gateway.adminOrigin}/report`)).json()) as Report;
    return report.census.proposal !== '';
  });
  const { page } = await toldBy(gateway, '?view=retirement');
  await page.getByText('V2 did not accept the last create_client: 422 at /colour.').waitFor();
  await page.getByRole('button', { name: 'Copy the YAML' }).click();
  await page.getByRole('status').filter({ hasText: 'Copied: the proposed rules.' }).waitFor();
  const copied = await page.evaluate<string>('navigator.clipboard.readText()');
  expect(copied).toContain('- strip: [colour]');
  expect(copied).toBe(await page.locator('.proposal pre').textContent());
});

test('curl is copied with a place for the key, and the page says what it copied', async () => {
  const gateway = await started({ capture: 'bodies' });
  await gateway.send('POST', '/api/v1/orders/floor_plans', FLOOR_PLAN_ORDER, undefined, 'order');
  const { page, text } = await toldBy(gateway, '?entry=order');
  await page.getByText('curl has $API_KEY in the place of the key').waitFor();
  for (const version of ['V1', 'V2'] as const) {
    await page.getByRole('button', { name: `Copy curl for ${version}` }).click();
    await expect
      .poll(text, PATIENT)
      .toContain(version === 'V1' ? 'Copied: the V1 request as curl.' : 'Copied: the V2 request as curl.');
    const copied = await page.evaluate<string>('navigator.clipboard.readText()');
    expect(copied).toContain('Bearer $API_KEY');
    expect(copied).not.toContain(API_KEY);
    expect(copied).toContain(`/api/${version.toLowerCase()}/orders/floor_plans`);
  }
  // A browser that allows neither way of copying.
  await page.evaluate(
    'navigator.clipboard.writeText = () => Promise.reject(new Error("no")); document.execCommand = () => false',
  );
  await page.getByRole('button', { name: 'Copy curl for V1' }).click();
  await expect.poll(text, PATIENT).toContain('The browser did not allow copying.');
  expect(await text()).not.toContain('Copied');
});

test('an explanation is sent to nobody', async () => {
  const gateway = await started();
  const { page, text } = await toldBy(gateway, '?view=explain');
  expect(await text()).toContain(
    'Shows what the gateway would do with a request, by the same plan as live traffic. Nothing is sent.',
  );
  await page.getByRole('button', { name: 'Explain' }).click();
  await expect.poll(text, PATIENT).toContain('dry run: nothing is sent');
  const { latest } = (await (await fetch(`${gateway.adminOrigin}/entries`)).json()) as {
    readonly latest: number;
  };
  expect(latest).toBe(0);
});

test('an explanation of an exchange says how much of it is known', async () => {
  const gateway = await started({ 'capture-memory': '100KiB' });
  // A machine without time to spare keeps some exchanges without their content: those are sent again.
  const keep = async (id: string, send: (id: string) => Promise<number>): Promise<string> => {
    for (let tried = 1; ; tried += 1) {
      await send(`${id}-${tried}`);
      const found = await fetch(`${gateway.adminOrigin}/entries/find?id=${id}-${tried}`);
      const { kept } = (await found.json()) as EntryDetail;
      if (kept !== 'nothing') return `${id}-${tried}`;
    }
  };
  const order = async (id: string): Promise<number> =>
    gateway.send('POST', '/api/v1/orders/floor_plans', FLOOR_PLAN_ORDER, undefined, id);
  const gone = await keep('gone', order);
  const isKept = async (id: string): Promise<boolean> => {
    const found = await fetch(`${gateway.adminOrigin}/entries/find?id=${id}`);
    return ((await found.json()) as EntryDetail).kept !== 'nothing';
  };
  for (let count = 0; await isKept(gone); count += 1) await keep(`newer-${count}`, order);
  const read = await keep('read', (id) => gateway.send('GET', '/api/v1/heartbeat', undefined, undefined, id));
  const junk = await keep('junk', (id) =>
    gateway.send('POST', '/api/v1/orders/floor_plans', '{"data":', undefined, id),
  );
  const whole = await keep('whole', order);
  const inForce = ', as it was kept, by the rule book that is in force now.';
  const { page, text } = await toldBy(gateway, `?view=explain&entry=${whole}`);
  await expect
    .poll(text, PATIENT)
    .toContain(
      `The request ${whole}${inForce} Its values were not kept; types stand in their place, which changes nothing for the rules.`,
    );
  const { page: other, text: of } = await toldBy(gateway, `?view=explain&entry=${junk}`);
  await expect
    .poll(of, PATIENT)
    .toContain(
      'The request ' +
        junk +
        ', as it was kept, by the rule book that is in force now. Its body was not kept: what is explained below has none.',
    );
  expect(await other.getByLabel('V1 body').inputValue()).toBe('');
  await other.getByLabel('V1 body').fill('{"data":1}');
  await other.getByRole('button', { name: 'Explain' }).click();
  await expect.poll(of, PATIENT).toContain('Nothing would be sent to V2.');
  expect(await of()).not.toContain('There is nothing to compare.');
  const { text: lost } = await toldBy(gateway, `?view=explain&entry=${gone}`);
  await expect.poll(lost, PATIENT).toContain(`The request ${gone} was not kept; only its entry is known.`);
  const { page: unread, text: ofRead } = await toldBy(gateway, `?view=explain&entry=${read}`);
  await expect.poll(ofRead, PATIENT).toContain(`The request ${read}${inForce}`);
  expect(await ofRead()).not.toMatch(/Its (?:values|body)/);
  await unread.getByRole('button', { name: 'Explain' }).click();
  await expect.poll(ofRead, PATIENT).toContain('There is nothing to compare.');
  expect(await ofRead()).not.toContain('Nothing would be sent to V2.');
  // Without the gateway, nothing is explained.
  await gateway.stop();
  await page.getByRole('button', { name: 'Explain' }).click();
  await page.getByRole('alert').filter({ hasText: 'The gateway does not respond.' }).waitFor();
});

test('the help says how the terms of a filter combine, as they do', async () => {
  const gateway = await started();
  await gateway.send('POST', '/api/v1/clients', '{"data":{"name":"Ada"}}');
  await gateway.send('POST', '/api/v1/clients', '{"data":[]}');
  await gateway.send('POST', '/api/v1/orders/floor_plans', FLOOR_PLAN_ORDER);
  const { page, text } = await toldBy(gateway, '?filter=op:create_client status:201');
  await expect.poll(() => page.locator('.entry').count(), PATIENT).toBe(1);
  await page.locator('.entry').filter({ hasText: 'create_client' }).waitFor();
  await page.getByRole('grid').focus();
  await page.keyboard.press('?');
  await page.getByRole('dialog').waitFor();
  expect(await text()).toContain('An exchange must match every term; spaces separate terms.');
});

test('what a view leaves out is counted', async () => {
  const gateway = await started({ 'v1-upstream': 'http://127.0.0.1:9' });
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
    for (const sentence of sentences) await expect.poll(text, PATIENT).toContain(sentence);
    await browser.closePages();
  };
  const omitting = (name: string, count: number) => (told: string) =>
    told.replaceAll(`"${name}":0`, `"${name}":${count}`);
  await leftOut(
    '/report',
    '?view=retirement',
    ['1,200 requests of further clients, not listed.'],
    omitting('omittedClients', 1200),
  );
  await leftOut(
    '/report',
    '?view=retirement',
    ['Other names occurred 1 time and are not listed.'],
    omitting('omitted', 1),
  );
  await leftOut(
    '/errors',
    '?view=errors',
    ['3 errors of further kinds, not listed.'],
    omitting('omitted', 3),
  );
});

test('a trial says how much of what is kept it could try', async () => {
  const gateway = await started();
  const { page, text } = await toldBy(gateway, '?view=rules');
  const tryIt = page.getByRole('button', { name: 'Try it' });
  await tryIt.click();
  await expect.poll(text, PATIENT).toContain('No kept exchange could be tried.');
  expect(await text()).toContain('The text is that of the rule book in force,');
  expect(await text()).toContain(
    'Neither the specification nor the documentation shows these. Confirm them with the service.',
  );
  await gateway.send('POST', '/api/v1/orders/floor_plans', FLOOR_PLAN_ORDER);
  await page.getByLabel('Rule book', { exact: true }).press('End');
  await page.keyboard.type(' ');
  await tryIt.click();
  await expect
    .poll(text, PATIENT)
    .toContain(
      'the values are not kept: placeholders stand for them, so rules that map values have no effect there.',
    );
  const dry = await text();
  // The response is kept where the machine had the time to capture it.
  const { v2Response } = (await (await fetch(`${gateway.adminOrigin}/entries/1`)).json()) as EntryDetail;
  expect(dry).toContain(
    v2Response?.body.state === 'structure'
      ? 'Their responses were compared too.'
      : 'Responses were compared for 0 of them: of the others no response of V2 is kept.',
  );
  expect(dry).toMatch(/Counts of this gateway alone, since \S+: no store is set\./);
  expect(dry).toContain('Neither the specification nor the documentation shows this.');
  expect(dry).toContain('nothing is applied from here');
  expect(dry).not.toContain('could not be tried:');
  await gateway.send('POST', '/api/v1/orders/floor_plans', '{"data":');
  await until(async () => {
    await tryIt.click();
    return (await text()).includes(
      '1 kept exchange could not be tried: the body is not kept, or the time was used up.',
    );
  });
});

test('the rollout says what it lacks, and what V1 responses announce', async () => {
  const v2 = await started();
  const alone = await toldBy(v2, '?view=rollout');
  await expect
    .poll(alone.text, PATIENT)
    .toContain('No V1 service is configured, so V1 requests can only be migrated.');
  expect(await alone.text()).toContain(
    'Client hashes change at each start, so shares are not stable: set GATEWAY_CLIENT_SECRET.',
  );
  expect(await alone.text()).not.toContain('The end of V1');

  const folder = temporaryFolder('sentences');
  const shipped = readFileSync(new URL('../../../config/rules.yaml', import.meta.url), 'utf8');
  const rules = join(folder, 'rules.yaml');
  writeFileSync(rules, `${shipped}\nsunset: 2099-06-30\ndeprecation: 2026-01-01\n`);
  const beside = await started({
    rules,
    upstream: v2.origin,
    'v1-upstream': 'http://127.0.0.1:9',
    'client-secret': 'a secret of the tests',
  });
  const response = await fetch(`${beside.origin}/api/v1/heartbeat`);
  expect(response.headers.get('sunset')).toContain('30 Jun 2099');
  expect(response.headers.get('deprecation')).toMatch(/^@\d+$/);
  const { text } = await toldBy(beside, '?view=rollout');
  await expect
    .poll(text, PATIENT)
    .toContain('It ends on 2099-06-30 00:00:00 UTC, as V1 responses announce: no request gets 410 for it.');
  const told = await text();
  expect(told).toContain('Deprecated since 2026-01-01 00:00:00 UTC, as V1 responses announce.');
  expect(told).toContain('None: GATEWAY_V2_OPENAPI is not set.');
  expect(told).not.toContain('GATEWAY_CLIENT_SECRET');
  expect(told).not.toContain('No V1 service');
});

test('the rollout view warns of a description with which nothing is checked', async () => {
  const folder = temporaryFolder('unchecked-page');
  const file = join(folder, 'v2.json');
  const content = { 'application/json': { schema: {} } };
  writeFileSync(
    file,
    JSON.stringify({ openapi: '3.1.0', paths: { '/customers': { post: { requestBody: { content } } } } }),
  );
  const v2 = await rawServer((socket) => socket.write(ok('{"data":{}}')));
  const unchecked = await started({
    upstream: v2.origin,
    'v1-upstream': 'http://127.0.0.1:9',
    'client-secret': 'a secret of the tests',
    'v2-openapi': file,
  });
  const { text } = await toldBy(unchecked, '?view=rollout');
  await expect
    .poll(text, PATIENT)
    .toContain("Warning: No operation of the rule book is in V2's description with a JSON body");
});
