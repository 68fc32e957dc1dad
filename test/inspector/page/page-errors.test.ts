/** @module-tag chromium */
import { expect, onTestFinished, test } from 'vitest';
import type { EntriesPage, ProblemsScreen } from '../../../src/inspector/api.ts';
import { exchange } from '../../support/raw-client.ts';
import { watchedServices } from '../../support/watched-services.ts';
import { appendFile, copyFile } from 'node:fs/promises';
import { join } from 'node:path';
import { VIEWS } from '../../../src/inspector/page/page-state.ts';
import { freePort } from '../../support/free-port.ts';
import { ok, rawServer } from '../../support/raw-server.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';
import { FLOOR_PLAN_ORDER, inspectGateway } from '../../support/inspected-gateway.ts';
import { barriers, browserOfFile, gatewayOfTest } from '../../support/page-tests.ts';

const browser = browserOfFile();

test('the errors of kept exchanges are grouped by code and place, each with its exchanges', async () => {
  const gateway = await gatewayOfTest();
  const { page, complaints } = await browser.open(`${gateway.adminOrigin}/?view=traffic&part=problems`);
  await page.getByText('No exchange is kept yet.').waitFor();
  await gateway.send('POST', '/api/v1/clients', '{"data":{"name":"Ada"}}');
  for (const key of ['one', 'other']) await gateway.send('POST', '/api/v1/clients', '{"data":[]}', key);
  await gateway.send('POST', '/api/v1/clients', '{"data":{"colour":1}}');
  await gateway.send('GET', '/api/v2/clients/4711');
  const { groups, exchanges } = (await gateway.readJson<ProblemsScreen>('/problems')).errorGroups;
  expect(exchanges).toBe(5);
  const table = page.getByRole('region', { name: 'Problems' });
  const rows = table.locator('tbody tr');
  await rows.nth(groups.length - 1).waitFor();
  const shown: readonly (readonly string[])[] = await page.evaluate(
    `[...document.querySelectorAll('[aria-label=Problems] tbody tr')].map((row) =>
      [...row.children].slice(0, 6).map((cell) => cell.textContent))`,
  );
  expect(shown[0]).toEqual(['wrapper-not-object', 'the gateway', '/data', 'create_client', '2', '2']);
  expect(shown.map(([code, , at, , times]) => [code, at, times])).toEqual(
    groups.map(({ error, count }) => [error.code, error.pointer ?? '–', String(count)]),
  );
  await page
    .getByRole('button', { name: 'Show the exchanges with gateway-wrapper-not-object /data' })
    .click();
  await expect.poll(() => page.locator('.entry').count()).toBe(2);
  // What failed stands above, with its state and its exchanges.
  await page.goBack();
  const failed = page.getByRole('region', { name: 'Failed requests' }).locator('tbody tr');
  await failed
    .filter({ hasText: 'create_client: 422 from V2' })
    .filter({ hasText: 'new' })
    .getByRole('button')
    .click();
  await expect.poll(() => page.locator('.entry').count()).toBe(1);
  expect(complaints).toEqual([]);
});

test('who calls an address that the rule book does not know stands among the problems and the clients', async () => {
  const gateway = await gatewayOfTest();
  for (const id of [7, 8]) await gateway.send('GET', `/api/v1/bill/${id}`, undefined, 'one');
  for (const place of ['view=traffic&part=problems', 'view=clients']) {
    const { page, complaints } = await browser.open(`${gateway.adminOrigin}/?${place}`);
    const card = page.getByRole('region', { name: 'Requests that fit no operation' });
    await expect.poll(() => card.locator('tbody tr').allInnerTexts()).toHaveLength(1);
    expect((await card.locator('tbody tr').innerText()).replaceAll(/\s+/g, ' ')).toMatch(
      /^GET \/bill\/\* node 2 \d\d:\d\d just now$/,
    );
    await card.getByRole('button').click();
    await expect.poll(() => page.locator('.entry').count()).toBe(2);
    expect(complaints).toEqual([]);
  }
});

test('the filter of a link holds for the problems, for exchanges opened from them, and on the way back', async () => {
  const gateway = await gatewayOfTest();
  await gateway.send('POST', '/api/v1/clients', '{"data":{"colour":1}}');
  for (const key of ['one', 'other']) await gateway.send('POST', '/api/v1/clients', '{"data":[]}', key);
  const [first] = (await gateway.readJson<EntriesPage>('/entries')).entries;
  const since = `time:>=${first?.time.slice(0, 13)}`;
  const filter = `${since} error:422`;
  const query = `view=traffic&part=problems&filter=${encodeURIComponent(filter)}`;
  const { page, complaints } = await browser.open(`${gateway.adminOrigin}/?${query}`);
  const field = page.getByLabel('Filter', { exact: true });
  const failed = page.getByRole('region', { name: 'Failed requests' }).locator('tbody tr');
  const errors = page.getByRole('region', { name: 'Problems' }).locator('tbody tr');
  await expect.poll(() => failed.count()).toBe(1);
  await expect.poll(() => errors.count()).toBe(2);
  expect(await field.inputValue()).toBe(filter);
  await failed.getByRole('button').click();
  await expect.poll(() => page.locator('.entry').count()).toBe(1);
  expect(await field.inputValue()).toBe(`error:"v2-422 /name" op:create_client ${filter}`);
  const parts = page.getByRole('navigation', { name: 'Traffic' });
  expect(
    new URLSearchParams((await parts.getByText('Problems').getAttribute('href')) ?? '').get('filter'),
  ).toContain(since);
  await page.goBack();
  await errors.first().getByRole('button').click();
  await expect.poll(() => field.inputValue()).toContain(filter);
  await page.goBack();
  await field.fill('client:none');
  await page.getByText('No kept exchange matches the filter.').waitFor();
  await page.getByRole('button', { name: 'Clear the filter' }).click();
  await expect.poll(() => errors.count()).toBe(3);
  await parts.getByText('Exchanges').click();
  await expect.poll(() => page.locator('.entry').count()).toBe(3);
  expect(complaints).toEqual([]);
});

test('the cause of a failure is named, and leads to the exchanges with it', async () => {
  const { gateway } = await watchedServices({}, { v2: (socket) => socket.destroy() });
  await exchange(gateway.port, 'DELETE /api/v1/clients/1 HTTP/1.1\r\nHost: g\r\n\r\n');
  const { cause = '' } = await gateway.entry();
  expect(cause).toBe('other side closed');
  const { page, complaints } = await browser.open(`${gateway.adminOrigin}/?view=traffic`);
  await page.locator('.entry').first().click();
  await page.getByRole('button', { name: cause, exact: true }).click();
  await expect
    .poll(() => page.getByLabel('Filter', { exact: true }).inputValue())
    .toBe('cause:"other side closed"');
  await expect.poll(() => page.locator('.entry').count()).toBe(1);
  expect(complaints).toEqual([]);
});

test('a V2 that is down is named in the header of every view, in a banner, and among all conditions', async () => {
  const rules = join(temporaryFolder('conditions'), 'rules.yaml');
  await copyFile('config/rules.yaml', rules);
  const gateway = await gatewayOfTest({
    rules,
    upstream: `http://127.0.0.1:${await freePort()}`,
    'upstream-connect-timeout': '200',
  });
  for (let sent = 0; sent < 12; sent += 1)
    expect(await gateway.send('POST', '/api/v1/clients', '{"data":{}}')).toBeGreaterThan(500);
  const { page, complaints } = await browser.open(`${gateway.adminOrigin}/?view=traffic`);
  const summary = page.locator('.conditions summary');
  const banner = page.getByRole('alert').filter({ hasText: 'V2 has failed since' });
  for (const view of VIEWS) {
    await page.goto(`${gateway.adminOrigin}/?view=${view}`);
    await expect.poll(() => summary.textContent()).toMatch(/^V2 (?:does not respond|did not respond)/);
    await expect.poll(() => banner.textContent()).toContain('V2 has failed since');
    expect(await page.getByText('Live', { exact: true }).count()).toBe(0);
    // No view says in green, or at all, that V2 responds.
    expect(await page.locator('.response.yes').count()).toBe(0);
    const shown = await page.locator('body').innerText();
    expect(shown).not.toMatch(/\bV2 responds/);
    // Each view says it once.
    expect(shown.match(/V2 has failed since/g)).toHaveLength(1);
  }
  await summary.click();
  await expect
    .poll(() => page.locator('.conditions li').allTextContents())
    .toContainEqual(expect.stringMatching(/^Good: Rule book in force/));
  expect(await barriers(page, 'header, [role=alert]')).toEqual([]);
  // What else is bad is counted in the same banner, and leads to Overview, which has all of it in one card.
  await appendFile(rules, '\nnonsense: 1\n');
  await page.getByRole('alert').filter({ hasText: 'And 1 more: Rule book refused' }).waitFor();
  expect(await page.getByRole('alert').count()).toBe(1);
  await page.getByRole('button', { name: 'And 1 more' }).click();
  const also = page.getByRole('list', { name: 'Also bad' }).locator(':scope > li');
  await also.getByText('nonsense').waitFor();
  expect(await also.allInnerTexts()).toEqual([
    expect.stringMatching(/^Rule book refused\. The rule book on disk has 1 fault/),
  ]);
  expect(await page.locator('.verdict-card .state').innerText()).not.toContain('Also:');
  expect(await page.getByRole('alert').count()).toBe(1);
  await page.goto(`${gateway.adminOrigin}/?view=clients`);
  await page.getByRole('alert').getByRole('button', { name: 'Show the problems' }).click();
  // The shown figures are those that were counted, and lead to the exchanges.
  const failed = page.getByRole('region', { name: 'Failed requests' }).locator('tbody tr');
  await failed.first().waitFor();
  const counts = await failed.locator('td[data-label=Failed]').allTextContents();
  expect(counts.reduce((sum, times) => sum + Number(times), 0)).toBe(12);
  // However V2 was found to be unreachable, it is one problem.
  const ways = failed.getByRole('button');
  expect(await ways.allTextContents()).toEqual([
    'V2 unreachable: 1 operation',
    expect.stringMatching(/^circuit-open: \d+$/),
    expect.stringMatching(/^upstream-(?:unreachable|timeout): \d+$/),
  ]);
  expect(await barriers(page, '.problems')).toEqual([]);
  await ways.first().click();
  await expect.poll(() => page.locator('.entry').count()).toBe(12);
  expect(complaints).toEqual([]);
});

test('an operation that fails since it is migrated is shown with its failures before and since, and the way to end them', async () => {
  const v1 = await rawServer((socket) => socket.write(ok('{"from":"v1"}')));
  const v2 = await rawServer((socket) => socket.write(`HTTP/1.1 500 Oops\r\nContent-Length: 0\r\n\r\n`));
  const gateway = await gatewayOfTest({ 'v1-upstream': v1.origin, upstream: v2.origin, breaker: 'off' });
  const order = (): Promise<number> => gateway.send('POST', '/api/v1/clients', '{"data":{"name":"A"}}');
  await gateway.postJson('/rollout', { mode: 'observe', force: true });
  for (let sent = 0; sent < 25; sent += 1) expect(await order()).toBe(200);
  await gateway.postJson('/rollout', { mode: 'migrate', force: true });
  for (let sent = 0; sent < 9; sent += 1) expect(await order()).toBe(500);
  const { page, complaints } = await browser.open(`${gateway.adminOrigin}/`);
  for (const view of VIEWS) {
    await page.goto(`${gateway.adminOrigin}/?view=${view}`);
    const banner = page
      .getByRole('alert')
      .filter({ hasText: /create_client fails for \S+: 9 of 9 requests since/ });
    await banner.getByRole('button', { name: 'Send create_client to V1' }).waitFor();
    // Its picture is on Overview alone: on the other views a banner is a line.
    const bars = view === 'overview' ? 1 : 0;
    await expect.poll(() => page.locator('.share-bars').count()).toBe(bars);
    if (bars > 0)
      await expect
        .poll(() => banner.locator('.share-bars > div').allInnerTexts())
        .toEqual([
          expect.stringMatching(/^Since it began\s+9 of 9 failed\s+\d[\d.]* % to 100 %$/),
          expect.stringMatching(/^Before\s+0 of 25 failed\s+0 % to \d[\d.]* %$/),
          expect.stringMatching(/^0 %\s+100 %\s+share\s+its bounds\s+2\.5 percentage points more$/),
        ]);
    expect(await page.locator('main .facts-list').getByText('create_client fails').count()).toBe(0);
  }
  expect(await barriers(page, '[role=alert]')).toEqual([]);
  await page.goto(`${gateway.adminOrigin}/`);
  await page.getByRole('heading', { name: /^What fails/ }).waitFor();
  expect(await page.getByRole('heading', { name: /^What failed/ }).count()).toBe(0);
  const rail = page.getByRole('region', { name: 'Stage of the migration' });
  const answered = async (): Promise<string> => (await rail.innerText()).replaceAll(/\s+/g, ' ');
  await expect
    .poll(answered)
    .toMatch(/34 V1 requests since \S.*: sent to V1 73\.5 % 25 sent to V2 26\.5 % 9/);
  await page.getByRole('button', { name: 'Send create_client to V1' }).first().click();
  await page.getByRole('dialog').getByText('Send create_client to V1').first().waitFor();
  // Once V1 serves it, nothing on the page says that it fails, and the numbers stay.
  await gateway.postJson('/rollout', { mode: 'observe', operation: 'create_client', force: true });
  expect(await order()).toBe(200);
  await page.goto(`${gateway.adminOrigin}/`);
  await page.getByRole('heading', { name: /^What failed/ }).waitFor();
  expect(await page.getByRole('heading', { name: /^What fails/ }).count()).toBe(0);
  const problem = page.getByRole('region', { name: 'Failed requests' }).locator('tbody tr');
  await expect.poll(() => problem.locator('.problem-state').allTextContents()).toEqual(['moved off V2']);
  expect(await problem.locator('td.number').first().textContent()).toBe('9');
  await expect
    .poll(answered)
    .toMatch(
      /35 V1 requests since \S.*, until \S.* in other modes: sent to V1 74\.3 % 26 sent to V2 25\.7 % 9/,
    );
  const changes = page.getByRole('list', { name: 'Changes, marked in the charts' }).locator('li');
  expect(await changes.last().innerText()).toMatch(/^\d\s*\d\d:\d\d Send create_client to V1$/);
  await page
    .getByText(
      /^All well for .*create_client failed for \S+: 9 of 9 requests (?:from|at) .* V1 serves it now\.$/,
    )
    .waitFor();
  // Back at V2 it fails again: the count and the first time are those of both.
  await gateway.postJson('/rollout', { mode: 'migrate', operation: 'create_client', force: true });
  expect(await order()).toBe(500);
  await expect.poll(() => problem.locator('.problem-state').allTextContents()).toEqual(['again']);
  expect(await problem.locator('td.number').first().textContent()).toBe('10');
  expect(await problem.locator('td[data-label=Since]').innerText()).toMatch(/^\d\d:\d\d, again \d\d:\d\d$/);
  expect(complaints).toEqual([]);
});

test('a link to an exchange leads to it after a restart, from the log, and never to another one', async () => {
  const folder = temporaryFolder('page-links');
  const flags = { 'log-file': join(folder, 'rewrite.log') };
  const first = await inspectGateway(flags);
  await first.send('POST', '/api/v1/orders/floor_plans', FLOOR_PLAN_ORDER, undefined, 'the-order');
  const { page } = await browser.open(`${first.adminOrigin}/?view=traffic`);
  await page.locator('.entry').first().click();
  await page.locator('.detail h2').filter({ hasText: 'order_floor_plan' }).waitFor();
  const link = new URL(page.url()).search;
  expect(link).toBe('?entry=the-order&n=1');
  await browser.closePages();
  await first.stop();
  const [second, withoutLog] = await Promise.all([inspectGateway(flags), inspectGateway()]);
  onTestFinished(async () => {
    await Promise.all([second.stop(), withoutLog.stop()]);
  });
  for (const gateway of [second, withoutLog]) await gateway.send('GET', '/api/v1/heartbeat');
  const { page: later } = await browser.open(`${second.adminOrigin}/${link}`);
  await later.locator('.detail h2').filter({ hasText: 'order_floor_plan' }).waitFor();
  await expect
    .poll(() => later.locator('.from-log').textContent())
    .toBe('The gateway no longer keeps this exchange; its entry is from the log.');
  await expect
    .poll(() => later.locator('.account li').first().textContent())
    .toBe('Sent to V2 with 5 edits.');
  const { page: gone } = await browser.open(`${withoutLog.adminOrigin}/${link}`);
  await gone.getByText('The gateway no longer keeps the exchange the-order.').waitFor();
  await browser.closePages();
});

test('the page shows a refused rule book until a valid one is read', async () => {
  const faults = Array.from({ length: 23 }, (_, at) => `config/rules.yaml:${at + 1}:1: fault ${at + 1}`);
  let isFaulty = true;
  const { gateway, ruleBooks } = await watchedServices(
    {},
    {},
    { load: (first) => (isFaulty ? { faults, text: 'form: 1\nrules: 2\n' } : first) },
  );
  await ruleBooks.reload();
  const { page, complaints } = await browser.open(`${gateway.adminOrigin}/?view=rules`);
  const banner = page.getByRole('alert').filter({ hasText: 'Rule book refused' });
  await banner.waitFor();
  expect(await banner.locator('p').first().textContent()).toEqual(
    expect.stringMatching(
      /^Rule book refused\. The rule book on disk has 23 faults and was refused; the one before it, 0123456789abcdef, stays in force\./,
    ),
  );
  expect(ruleBooks.current.ruleBook.hash).toBe('0123456789abcdef');
  await expect.poll(() => banner.locator('summary').textContent()).toMatch(/^23 faults since \d\d:\d\d$/);
  await banner.locator('summary').click();
  await expect
    .poll(() => banner.locator('li').allTextContents())
    .toEqual([...faults.slice(0, 20), 'and 3 more faults, not listed']);
  // The refused file is what is mended: it stands in the editor, its faults at their lines.
  const editor = page.getByLabel('The refused file');
  expect(await editor.inputValue()).toBe('form: 1\nrules: 2\n');
  await page.locator('.line-numbers .faulty').first().waitFor({ state: 'attached' });
  await page.getByRole('button', { name: 'Show the rule book in force' }).click();
  expect(await page.getByLabel('Rule book', { exact: true }).inputValue()).toBe(ruleBooks.text);
  await page.getByRole('button', { name: 'Back to the refused file' }).click();
  await editor.waitFor();
  await page.keyboard.press('2');
  await banner.waitFor();
  isFaulty = false;
  await ruleBooks.reload();
  await banner.waitFor({ state: 'detached' });
  expect(complaints).toEqual([]);
  expect(ruleBooks.refusal).toBeUndefined();
});

test('kept exchanges are searched by text and time, and one is explained again', async () => {
  const { gateway } = await watchedServices(
    { default: { mode: 'observe' } },
    {},
    { flags: { capture: 'bodies' } },
  );
  for (const suburb of ['Enmore', 'Newtown']) {
    await fetch(`${gateway.origin}/api/v1/orders/floor_plans`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-request-id': suburb },
      body: JSON.stringify({ data: { property: { suburb } } }),
    });
  }
  const { time } = await gateway.entry(2);
  const count = async (filter: string): Promise<number> => {
    const response = await fetch(`${gateway.adminOrigin}/entries?filter=${encodeURIComponent(filter)}`);
    return ((await response.json()) as { readonly entries: readonly unknown[] }).entries.length;
  };
  expect(await Promise.all(['has:newtown', '-has:newtown', 'has:nowhere', 'has:suburb'].map(count))).toEqual([
    1, 1, 0, 2,
  ]);
  expect(await Promise.all([`time:${time.slice(0, 13)}`, `time:>${time.slice(0, 13)}`].map(count))).toEqual([
    2, 0,
  ]);
  const { page, complaints } = await browser.open(`${gateway.adminOrigin}/?entry=Newtown`);
  await page.getByRole('button', { name: 'Explain', exact: true }).click();
  await page.getByText('The request Newtown, as it was kept').waitFor();
  const explanation = page.getByRole('region', { name: 'Explanation' });
  await explanation.waitFor();
  await expect
    .poll(() => explanation.getByRole('group', { name: 'V2 body' }).innerText())
    .toContain('"Newtown"');
  await expect
    .poll(() => explanation.getByRole('region', { name: 'Edits' }).locator('h3').textContent())
    .toBe('2 edits');
  expect(complaints).toEqual([]);
  await browser.closePages();
});

/** The numbers on Overview that count the same requests, read at one moment. */
const COUNTS = `(() => {
  const number = (text) => Number(text.replaceAll(',', ''));
  const after = (text, pattern) => number(text.match(pattern)?.[1] ?? '0');
  const line = document.querySelector('.verdict-card p:not(.state)').textContent;
  const rail = document.querySelector('.answered .readout').textContent;
  const chart = ['Requests', 'Failures']
    .map((of) => document.querySelector('[aria-label^="' + of + ' of the last"]').getAttribute('aria-label'))
    .join(' ');
  const rows = [...document.querySelectorAll('[aria-label="Failed requests"] td[data-label=Failed]')];
  const headline = document.querySelector('.verdict-card .state').textContent;
  return {
    requests: [
      after(line, /^([\\d,]+) requests/),
      ['V2', 'V1', 'neither'].reduce((sum, to) => sum + after(line, new RegExp('([\\\\d,]+) sent to ' + to)), 0),
      after(rail, /^([\\d,]+) V1 requests/),
      ['V2', 'V1', 'the gateway'].reduce((sum, by) => sum + after(chart, new RegExp('([\\\\d,]+) ' + by)), 0),
    ],
    toV2: [after(line, /([\\d,]+) sent to V2/), after(rail, /sent to V2 \\S+ %\\s*([\\d,]+)/)],
    failed: [
      after(line, /([\\d,]+) failed/),
      after(chart, /([\\d,]+) failed/),
      rows.reduce((sum, { textContent }) => sum + number(textContent), 0),
      after(headline, /: ([\\d,]+) of/),
    ],
    pill: [document.querySelector('.conditions summary').title, headline],
  };
})()`;

/** The numbers of a client in its row, in its opened row, and among the requests that fit no operation. */
const CLIENT_COUNTS = `(() => {
  const number = (text) => Number(text.replaceAll(',', '').match(/\\d+/)?.[0] ?? '0');
  const uses = [...document.querySelectorAll('.client-use')];
  const sum = (rows) => rows.reduce((all, row) => all + number(row.querySelector('span').textContent), 0);
  const text = (selector) => document.querySelector(selector).textContent;
  return {
    requests: [number(text('.clients tbody td[data-label="To V1\\'s address"]')), sum(uses)],
    unfit: [
      number(text('[aria-label="Requests that fit no operation"] td[data-label=Requests]')),
      sum(uses.filter(({ textContent }) => textContent.startsWith('GET '))),
    ],
  };
})()`;

/** The failures of one operation as a problem, and as a kind of error: equal while every exchange is kept. */
const PROBLEM_COUNTS = `(() => {
  const of = (table, column) =>
    Number(document.querySelector('[aria-label="' + table + '"] td[data-label="' + column + '"]').textContent.replaceAll(',', ''));
  return { failed: [of('Failed requests', 'Failed'), of('Problems', 'Kept')] };
})()`;

test.each([
  ['Clients', '?view=clients', CLIENT_COUNTS],
  ['Problems', '?view=traffic&part=problems', PROBLEM_COUNTS],
])('each look at %s under traffic shows the same number twice', async (_view, address, counts) => {
  const v1 = await rawServer((socket) => socket.write(ok('{"from":"v1"}')));
  const v2 = await rawServer((socket) => socket.write(`HTTP/1.1 500 Oops\r\nContent-Length: 0\r\n\r\n`));
  const gateway = await gatewayOfTest({ 'v1-upstream': v1.origin, upstream: v2.origin, breaker: 'off' });
  await gateway.postJson('/rollout', { mode: 'observe', force: true });
  await gateway.postJson('/rollout', { mode: 'migrate', operation: 'create_client', force: true });
  const over = new AbortController();
  const traffic = (async () => {
    while (!over.signal.aborted) {
      await gateway.send('POST', '/api/v1/clients', '{"data":{"name":"A"}}');
      await gateway.send('GET', '/api/v1/lots');
      // In all fewer than are kept.
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  })();
  await gateway.send('GET', '/api/v1/lots');
  const { page, complaints } = await browser.open(`${gateway.adminOrigin}/${address}`);
  const opener = page.getByRole('button', { name: /^Operations of/ });
  if (counts === CLIENT_COUNTS) await opener.first().click();
  await page
    .locator(counts === CLIENT_COUNTS ? '.client-use' : '[aria-label=Problems] td')
    .first()
    .waitFor();
  const seen = new Set<number>();
  for (let look = 0; look < 200 && seen.size < 3; look += 1) {
    const shown = await page.evaluate<Record<string, readonly number[]>>(counts);
    expect(shown).toEqual(
      Object.fromEntries(Object.entries(shown).map(([name, [first]]) => [name, [first, first]])),
    );
    seen.add(Object.values(shown)[0]?.[0] ?? 0);
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
  over.abort();
  await traffic;
  expect(seen.size).toBeGreaterThan(2);
  expect(complaints).toEqual([]);
});

test('in each of 20 looks at Overview under traffic, numbers that count the same requests are equal', async () => {
  const v1 = await rawServer((socket) => socket.write(ok('{"from":"v1"}')));
  const v2 = await rawServer((socket) => socket.write(`HTTP/1.1 500 Oops\r\nContent-Length: 0\r\n\r\n`));
  const gateway = await gatewayOfTest({ 'v1-upstream': v1.origin, upstream: v2.origin, breaker: 'off' });
  const send = (path: string): Promise<number> => gateway.send('POST', path, '{"data":{"name":"A"}}');
  await gateway.postJson('/rollout', { mode: 'observe', force: true });
  for (let sent = 0; sent < 25; sent += 1) await send('/api/v1/clients');
  await gateway.postJson('/rollout', { mode: 'migrate', operation: 'create_client', force: true });
  const over = new AbortController();
  const traffic = (async () => {
    while (!over.signal.aborted) {
      await send('/api/v1/clients');
      await send('/api/v1/orders/post_productions');
    }
  })();
  const { page, complaints } = await browser.open(`${gateway.adminOrigin}/`);
  await page.getByRole('region', { name: 'Failed requests' }).waitFor();
  await page.locator('.verdict-card.bad').waitFor();
  const seen = new Set<number>();
  for (let look = 0; look < 20; look += 1) {
    const { requests, toV2, failed, pill } = await page.evaluate<
      Record<'requests' | 'toV2' | 'failed', readonly number[]> & { readonly pill: readonly string[] }
    >(COUNTS);
    const [all = 0] = requests;
    seen.add(all);
    expect({ requests, toV2, failed }).toEqual({
      requests: requests.map(() => all),
      toV2: toV2.map(() => toV2[0]),
      failed: failed.map(() => failed[0]),
    });
    expect(Math.min(...toV2, ...failed)).toBeGreaterThan(0);
    expect(pill[0]).toContain(pill[1]?.slice(0, 20));
    await new Promise((resolve) => setTimeout(resolve, 500));
  }
  over.abort();
  await traffic;
  // The page has gone on counting meanwhile.
  expect(seen.size).toBeGreaterThan(1);
  expect(complaints).toEqual([]);
});
