/** @module-tag chromium */
import { copyFile, readFile, writeFile } from 'node:fs/promises';
import type { Socket } from 'node:net';
import { join } from 'node:path';
import type { Locator } from 'playwright-core';
import { expect, test } from 'vitest';
import type { EndPlan, Report, State } from '../../../src/inspector/api.ts';
import { clientWouldFail } from '../../../src/report/client-report.ts';
import type { Plan } from '../../../src/report/plan/plan.ts';
import { createClientHash } from '../../../src/node/runtime.ts';
import { shareOf } from '../../../src/rollout/modes-in-force.ts';
import { VIEWS } from '../../../src/inspector/page/page-state.ts';
import { Zone } from '../../../src/report/plan/zone.ts';
import { entryAt, simulatedFleet } from '../../report/plan/fleet.ts';
import type { RolloutView } from '../../../src/rollout/rollout-tally.ts';
import { ok, rawServer } from '../../support/raw-server.ts';
import { command } from '../../support/command.ts';
import { until } from '../../support/until.ts';
import { commandRun, commandRuns } from '../../support/command-runs.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';
import { barriers, browserOfFile, gatewayOfTest } from '../../support/page-tests.ts';

const DAY_MS = 86_400_000;
const SECRET = { 'client-secret': 'the secret of this test' };

const browser = browserOfFile();

/** What a command prints. */
async function run(...args: readonly string[]): Promise<string> {
  const { out, err } = await commandRun(args);
  return (out + err).replaceAll(/\s+/g, ' ');
}

/** The path of the shipped rule book with more lines, and one text in the place of another. */
async function bookWith(
  lines: string,
  [before, after]: readonly [string, string] = ['', ''],
): Promise<string> {
  const path = join(temporaryFolder('jobs'), 'rules.yaml');
  await writeFile(
    path,
    `${(await readFile('config/rules.yaml', 'utf8')).replace(before, after)}\n${lines}\n`,
  );
  return path;
}

/** The command in a checkout. */
const PROGRAM = 'npm run -s gateway -- ';

test('first look: the state in a sentence, and what is wrong first, each with its exchanges', async () => {
  const gateway = await gatewayOfTest({ capture: 'bodies' });
  for (let n = 0; n < 3; n += 1)
    await gateway.send('POST', '/api/v1/clients', `{"data":{"name":"client ${n}"}}`, `key-${n}`);
  for (const key of ['key-1', 'key-2', 'key-2'])
    await gateway.send('POST', '/api/v1/clients', '{"data":{"name":"x","colour":"red"}}', key);
  await gateway.send('POST', '/api/v1/clients', '{"data":[]}', 'key-0');
  await gateway.send('GET', '/api/v2/heartbeat', undefined, 'key-of-V2');
  const { page, complaints } = await browser.open(`${gateway.adminOrigin}/`);
  await page
    .getByText(
      /^8 requests since the start at \S+: 6 sent to V2, 1 not sent, 1 of V2's own clients\. 4 failed\.$/,
    )
    .waitFor();
  await expect.poll(() => page.locator('.conditions summary').innerText()).toBe('V2 refuses some requests');
  await expect
    .poll(() => page.locator('.overview .state').innerText())
    .toBe('3 of 7 requests to V2 failed in the last two minutes, all of them refusals.');
  const failing = page.getByRole('region', { name: 'Failed requests' }).locator('tbody tr');
  const worst = failing.filter({ hasText: 'create_client: 422 from V2 at /colour' });
  await worst.filter({ hasText: 'new' }).waitFor();
  const items = page.locator('.overview .facts-list li');
  await expect
    .poll(() => items.allInnerTexts())
    .toEqual([
      expect.stringContaining('V1 requests are migrated and go to V2.'),
      expect.stringMatching(/V1 is still needed\. 3 clients called V1 in the last 14 days: /),
      expect.stringMatching(/The rule book [0-9a-f]{16} with \d+ changes/),
    ]);
  await worst.getByRole('button').click();
  await expect.poll(() => page.locator('.entry').count()).toBe(3);
  await expect
    .poll(() => page.locator('.entry .reason').first().innerText())
    .toMatch(/^V2 422 at \/colour: \S+/);
  expect(complaints).toEqual([]);
});

test("an owner's complaint: the order is found by what the owner says, and the reason stands first", async () => {
  const folder = temporaryFolder('jobs');
  const gateway = await gatewayOfTest({ capture: 'bodies', 'client-names': join(folder, 'names.yaml') });
  await gateway.send('POST', '/api/v1/clients', '{"data":{"name":"Acme","external_id":"FP-1001"}}');
  expect(await gateway.send('POST', '/api/v1/clients', '{"data":{"colour":"FP-1003"}}')).toBe(422);
  const { page } = await browser.open(`${gateway.adminOrigin}/?view=traffic`);
  const filter = page.getByRole('combobox', { name: 'Filter' });
  const rows = page.locator('.entry');
  await expect.poll(() => rows.count()).toBe(2);

  // As people ask: a value, a name in quotes, a time of the day; the command finds the same.
  const hash = (await (await fetch(`${gateway.adminOrigin}/entries`)).text()).match(/"client":"(\w+)"/)?.[1];
  const named = await gateway.postJson('/clients', { client: hash, name: 'Acme Media' });
  expect(named.status).toBe(200);
  // At 1440 px a name of 20 letters has room.
  await expect
    .poll(() =>
      rows
        .first()
        .locator('.client')
        .evaluate((one) => one.clientWidth),
    )
    .toBeGreaterThan(150);
  const minute = new Date().toISOString().slice(11, 15);
  for (const [asked, found] of [
    ['client:"Acme Media"', 2],
    ['"Acme Media" FP-1001', 1],
    ['client:"Other Media"', 0],
    ['create_client /colour', 1],
    ['error:v2-422', 1],
    [`time:${minute.slice(0, 2)}:00..${minute.slice(0, 2)}:59`, 2],
  ] as const) {
    await filter.fill(asked);
    await expect.poll(() => rows.count()).toBe(found);
  }
  const tail = command(['tail', '--admin', gateway.adminOrigin, '--filter', 'client:"Acme Media" FP-1003']);
  await tail.until(/V2 422 at \/\w+.*: \S+.* {2}create_client/);
  await tail.stop();

  await filter.fill('FP-9999');
  await page
    .getByText(
      /A word is searched for in paths, operations, errors, .*captured bodies, which 2 exchanges have\./,
    )
    .waitFor();
  await filter.fill('FP-1003');
  await expect.poll(() => rows.count()).toBe(1);
  await expect.poll(() => rows.locator('.reason').innerText()).toMatch(/^V2 422 at \/\w+.*: \S+/);
  const words = await rows.locator('.reason').innerText();
  await rows.click();
  const account = page.getByRole('list', { name: 'Account' }).getByRole('listitem');
  const [, place = '', sentence = ''] = /^V2 422 at (.*?): (.*?)\.?$/.exec(words) ?? [];
  await expect.poll(() => account.first().innerText()).toContain(`at ${place}: ${sentence}`);
  expect(await account.first().innerText()).toMatch(/^V2 responded with 422 /);
});

test('observe to migrate and back: one step each, and what would be refused or empty is said before the button', async () => {
  const v1 = await rawServer((socket) => socket.write(ok('{"data":{}}')));
  const book = join(temporaryFolder('jobs'), 'rules.yaml');
  await copyFile('config/rules.yaml', book);
  const gateway = await gatewayOfTest({
    'v1-upstream': v1.origin,
    ...SECRET,
    rules: book,
  });
  const state = (): Promise<RolloutView> => gateway.readJson('/rollout');
  await gateway.postJson('/rollout', { mode: 'observe' });
  await gateway.postJson('/rollout', { mode: 'observe', operation: 'create_client' });
  await gateway.send('GET', '/api/v1/heartbeat');
  const { page, complaints } = await browser.open(`${gateway.adminOrigin}/?view=rollout`);
  const dialog = page.getByRole('dialog');
  const step = async (words: string, title: string): Promise<void> => {
    const button = page.getByRole('button', { name: words, exact: true });
    await button.click();
    // The browser remembers the name from the first time on.
    const who = dialog.getByLabel('Your name, for the list of changes');
    if (words.startsWith('Shadow')) await who.fill('Ada');
    await expect.poll(() => who.inputValue()).toBe('Ada');
    await dialog.getByLabel('Why').fill(`why ${title}`);
    await dialog.getByRole('button', { name: title, exact: true }).click();
    await dialog.waitFor({ state: 'detached' });
  };
  // Nobody is chosen by the first share: the dialog says so, and closed it gives the focus back.
  const forward = page.getByRole('button', { name: 'Shadow → for everything but create_client' });
  await forward.click();
  await dialog.getByText('Only reads are compared').waitFor();
  expect(await barriers(page)).toEqual([]);
  await page.keyboard.press('Escape');
  await dialog.waitFor({ state: 'detached' });
  await expect.poll(() => forward.evaluate((one) => one === document.activeElement)).toBe(true);
  await step('Shadow → for everything but create_client', 'Shadow everything but create_client');
  const share = page.getByLabel('Share of the clients, in percent');
  await page.getByLabel('Mode', { exact: true }).selectOption('canary');
  await share.fill('150');
  await page.getByText('The share must be above 0 and at most 100 %, not 150.').waitFor();
  await page.getByRole('button', { name: 'Check the change' }).click();
  await expect
    .poll(() =>
      share.evaluate((one: HTMLInputElement) => [one.validity.valid, one === document.activeElement]),
    )
    .toEqual([false, true]);
  expect(await barriers(page)).toEqual([]);
  await share.fill('0.001');
  await page.getByRole('button', { name: 'Check the change' }).click();
  await dialog.getByText('include none of those seen (1 client), so there is nothing to watch.').waitFor();
  await dialog.getByRole('button', { name: 'Cancel' }).click();
  // A write is not compared, whoever chooses it.
  await page.getByLabel('For', { exact: true }).selectOption('create_client');
  await page.getByLabel('Mode', { exact: true }).selectOption('shadow');
  await page.getByRole('button', { name: 'Check the change' }).click();
  await dialog.getByText('Nothing is compared: create_client is a POST').waitFor();
  await dialog.getByRole('button', { name: 'Cancel' }).click();
  // What would be refused is told with the check, not after the confirmation.
  await page.getByLabel('For', { exact: true }).selectOption('(client)');
  await page.getByLabel('Client, by name or hash').fill('Nobody');
  await page.getByLabel('Mode', { exact: true }).selectOption('migrate');
  const before = await state();
  await page.getByRole('button', { name: 'Check the change' }).click();
  await dialog.getByText('No client is called Nobody').waitFor();
  await expect.poll(() => dialog.getByRole('button', { name: /^Migrate/ }).isDisabled()).toBe(true);
  await dialog.getByRole('button', { name: 'Cancel' }).click();
  expect((await state()).revision).toBe(before.revision);

  for (const share of [5, 25, 50])
    await step(
      `Canary ${share} % → for create_client`,
      `Migrate ${share} % of the clients for create_client`,
    );
  // A canary has its row before the first request.
  await page
    .getByRole('listitem')
    .filter({
      has: page.getByRole('heading', { name: 'create_client' }),
      hasText: 'nothing to watch: no request',
    })
    .waitFor();
  await step('Migrate → for create_client', 'Migrate create_client');
  expect((await state()).operations['create_client']?.mode).toBe('migrate');
  await page.getByRole('heading', { name: 'Shadow: V1 responds, reads are compared', exact: true }).waitFor();
  await page
    .getByRole('row', { name: /^create_client\s+Migrate: requests go to V2\s+an operator/ })
    .waitFor();
  expect(await page.locator('.response.yes').count()).toBe(0);
  await step('← Observe for create_client', 'Send create_client to V1');
  await page.getByRole('button', { name: 'Back to migrate for create_client' }).waitFor();
  await step('← Observe for everything but create_client', 'Send everything but create_client to V1');
  const after = await state();
  expect([after.default.mode, after.operations['create_client']?.mode]).toEqual(['observe', 'observe']);
  await page.getByRole('heading', { name: 'Observe: V1 responds', exact: true }).waitFor();
  // The list of changes has who, when and why, also of a rule book that was read again; the charts mark them.
  await writeFile(book, `${await readFile(book, 'utf8')}\nnonsense: 1\n`);
  await until(async () => (await state()).changes?.[0]?.kind === 'rule-book');
  const told = (words: RegExp): Promise<void> => page.getByRole('row', { name: words }).first().waitFor();
  await told(/Migrate create_client Ada why Migrate create_client$/);
  await told(/Send everything to V1 not named –$/);
  await told(/Rule book refused the gateway .*nonsense/);
  await page.getByRole('link', { name: 'Overview' }).click();
  const marked = page.getByRole('list', { name: 'Changes, marked in the charts' });
  await marked.getByText(/^\d+\d\d:\d\d Migrate create_client, by Ada: why Migrate create_client$/).waitFor();
  // Marks of one moment share their number: `1–9`.
  const numbers = page.locator('.chart').first().locator('.change-mark');
  await expect
    .poll(async () => Number((await numbers.allInnerTexts()).at(-1)?.split('–').at(-1)))
    .toBe(await marked.getByRole('listitem').count());
  expect(complaints.filter((one) => !one.includes('422'))).toEqual([]);
});

test('V2 failing: of twenty clients the roll-back names the one that V2 alone refuses, on every view, and leads to its exchanges', async () => {
  const secret = 'the secret of this test';
  const hashOf = createClientHash(secret);
  const isIn = (key: string): boolean => shareOf(hashOf(key)) < 50;
  const named = (name: string): string =>
    Array.from({ length: 99 }, (_, n) => `${name}-${n}`).find(isIn) ?? '';
  // V1 and V2 refuse the one, V2 alone the other, a brownout the third, and nobody the rest.
  const [both, harmed, warned] = [named('both'), named('harmed'), named('warned')];
  const keys = [both, harmed, warned, ...Array.from({ length: 17 }, (_, n) => `key-${n}`)];
  const refusing =
    (who: readonly string[], pointer: string) =>
    (socket: Socket, request: string): void => {
      const body = JSON.stringify({ errors: [{ source: { pointer }, detail: 'is taken' }] });
      socket.write(
        who.some((key) => request.includes(`Bearer ${key}\r\n`))
          ? `HTTP/1.1 422 No\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`
          : ok('{"data":{}}'),
      );
    };
  const [v1, v2] = [
    await rawServer(refusing([both], '/data/name')),
    await rawServer(refusing([both, harmed], '/name')),
  ];
  const gateway = await gatewayOfTest({
    upstream: v2.origin,
    'v1-upstream': v1.origin,
    'client-secret': secret,
    capture: 'bodies',
    rules: await bookWith(
      `modes: { default: observe, rollback: { requests: 10 } }
clients: { Harmed: ${hashOf(harmed)}, Warned: ${hashOf(warned)} }
brownouts: [{ id: first, from: 2020-01-01, clients: [Warned], share: 100 }]`,
    ),
  });
  const rolloutOf = (): Promise<RolloutView> => gateway.readJson('/rollout');
  const round = async (): Promise<void> => {
    for (const key of keys) await gateway.send('POST', '/api/v1/clients', '{"data":{"name":"A"}}', key);
  };
  for (let n = 0; n < 3; n += 1) await round();
  await gateway.postJson('/rollout', { mode: 'canary', share: 50 });
  let [rollback] = (await rolloutOf()).rollbacks;
  for (let n = 0; n < 60 && rollback === undefined; n += 1) {
    await round();
    [rollback] = (await rolloutOf()).rollbacks;
  }
  const { requests, failures } = rollback?.migrated ?? { requests: 0, failures: 0 };
  const responses = v2.received.join('').split('POST ').slice(1);
  const sentBy = (key: string): number => responses.filter((one) => one.includes(`Bearer ${key}\r\n`)).length;
  // Who is refused by V1 as well is its own reason, and rolls nothing back.
  expect(sentBy(both)).toBeGreaterThan(2);
  expect([failures, requests]).toEqual([sentBy(harmed), responses.length - sentBy(both)]);
  const why = `${failures} of ${requests} compared requests failed on V2, 0 of ${rollback?.v1.requests} on V1. All ${failures} failures: 422 at /name, from client Harmed, in create_client.`;
  const { page, complaints } = await browser.open(`${gateway.adminOrigin}/`);
  const banner = page
    .getByRole('alert')
    .filter({ hasText: /was rolled back at \d+:\d+: / })
    .filter({ hasText: why });
  for (const view of VIEWS) {
    await page.goto(`${gateway.adminOrigin}/?view=${view}`);
    // Rollout says it itself.
    await (view === 'rollout' ? page.getByRole('alert').filter({ hasText: why }) : banner).waitFor();
    await expect
      .poll(() => page.locator('.conditions summary').innerText())
      .toMatch(/^Brownout\s*; Rolled back/);
  }
  await page.goto(`${gateway.adminOrigin}/?view=traffic`);
  await banner.getByRole('button', { name: 'Show the exchanges' }).click();
  await expect.poll(() => page.locator('.entry').count()).toBe(failures);
  // In a busy second, V2's sentence is kept with a sample of the bodies only.
  for (const reason of await page.locator('.entry .reason').allInnerTexts())
    expect(reason).toMatch(/^V2 422 at \/name(?:: is taken)?$/);
  await page.getByRole('navigation').getByRole('link', { name: 'Rollout' }).click();
  await page.getByText(`${why} It stays until you choose a mode`).waitFor();
  await page
    .getByRole('button', { name: /^Show the exchanges that rolled back everything/ })
    .first()
    .click();
  await expect.poll(() => page.locator('.entry').count()).toBe(failures);
  // The dialog of the way forward warns with short times, and a chosen mode is no sign that V2 is well.
  await page.goto(`${gateway.adminOrigin}/?view=rollout`);
  await page.getByLabel('Mode', { exact: true }).selectOption('migrate');
  await page.getByRole('button', { name: 'Check the change' }).click();
  const dialog = page.getByRole('dialog');
  await dialog
    .getByRole('alert')
    .filter({ hasText: /was rolled back at \d+:\d+/ })
    .first()
    .waitFor();
  expect(await dialog.innerText()).not.toMatch(/\d{4}-\d\d-\d\dT/);
  await dialog.getByRole('button', { name: 'Cancel' }).click();
  const told = await run('rollout', '--admin', gateway.adminOrigin);
  expect(told).toContain(why);
  expect(told).toContain(`tail --filter 'error:"v2-422 /name" client:${hashOf(harmed)} op:create_client'`);
  // The brownout is told where the end of V1 is, with whom it met.
  await page.getByRole('navigation').getByRole('link', { name: 'Clients' }).click();
  await page
    .getByText(/^Brownout first refused \d+ requests from 1 client, the last one at .*: Warned\.$/)
    .waitFor();
  expect(complaints).toEqual([]);
});

test('who still uses V1: the clients that do, what each has to change, and who would fail', async () => {
  const v1 = await rawServer((socket) => socket.write(ok('{"data":{}}')));
  const folder = temporaryFolder('jobs');
  const log = join(folder, 'rewrite.log');
  const rules = await bookWith('modes: { default: observe, operations: { heartbeat: migrate } }');
  const gateway = await gatewayOfTest({
    'v1-upstream': v1.origin,
    ...SECRET,
    'client-names': join(folder, 'names.yaml'),
    'log-file': log,
    rules,
  });
  const { page: early } = await browser.open(`${gateway.adminOrigin}/?view=clients`);
  await early.getByText(/ has no entry of the rewrite log, so it does not show who uses V1\.$/).waitFor();
  const order = '{"data":{"property":{"display_name":"Loft","suburb":"Enmore"}}}';
  for (let n = 0; n < 4; n += 1) {
    await gateway.send('POST', '/api/v1/orders/floor_plans', order, 'edits');
    await gateway.send('GET', '/api/v1/heartbeat', undefined, 'address-alone');
    await gateway.send(
      'POST',
      '/api/v1/clients',
      n % 2 === 0 ? '{"data":[]}' : '{"data":{"name":"x"}}',
      'fails',
    );
    await gateway.send('GET', '/api/v2/heartbeat', undefined, 'moved');
  }
  // Right after the first requests a plan knows them.
  await early.getByText(/^Made from 16 exchanges in /).waitFor();
  const { page } = await browser.open(`${gateway.adminOrigin}/?view=clients`);
  await page.getByRole('heading', { name: 'V1 is still needed.' }).waitFor();
  await page.getByText(/^3 clients called V1 in the last 14 days: /).waitFor();
  // Conditions that are met are no reasons.
  expect(await page.getByText('Every client is counted.').count()).toBe(0);
  const row = (words: RegExp): Promise<void> => page.getByRole('row', { name: words }).first().waitFor();
  await expect.poll(() => page.locator('.scroll:has(.client-name) tbody tr').count()).toBe(3);
  await row(/fields to change/);
  await row(/2 of 4/);
  // A word narrows the table, a heading sorts it, and a row opens to what its client does.
  await page.getByLabel('Search').fill('heartbeat');
  await page.getByText('1 of 3 rows').waitFor();
  await row(/URL only/);
  await page.getByLabel('Search').fill('');
  await page.getByRole('button', { name: 'Would fail' }).click();
  await page
    .getByRole('columnheader', { name: 'Would fail' })
    .and(page.locator('[aria-sort=descending]'))
    .waitFor();
  await page
    .getByRole('row', { name: /2 of 4/ })
    .and(page.locator('tbody tr:first-child'))
    .waitFor();
  for (const opener of await page.getByRole('button', { name: /^Operations of / }).all())
    await opener.click();
  await row(/order_floor_plan\s+4 requests.*property-address/);
  await row(/heartbeat\s+4 requests/);
  await row(/2 of 4 checked requests would fail after the migration/);
  expect(await barriers(page)).toEqual([]);
  await page
    .getByRole('row', { name: /fields to change/ })
    .getByRole('button', { name: /^Show the exchanges/ })
    .click();
  await expect.poll(() => page.locator('.entry').count()).toBe(4);

  // Wherever one looks, the sentence on the client that would fail is the same, and so is the reason of each exchange.
  const { clients } = await gateway.readJson<Report>('/report');
  const { client = '' } = clients.find((one) => clientWouldFail(one).startsWith('2 of 4')) ?? {};
  const told = async (view: string): Promise<string> => {
    await page.getByRole('navigation').getByRole('link', { name: view }).click();
    if (view === 'Clients') await page.getByRole('button', { name: /^Operations of Array Agents/ }).click();
    const words = page.getByText(/\b2 of 4 checked requests would fail after the migration/).first();
    return words.innerText();
  };
  const guide = await fetch(`${gateway.adminOrigin}/report?client=${client}&format=md`);
  const named = await gateway.postJson('/clients', { client, name: 'Array Agents' });
  expect(named.status).toBe(200);
  const places = [
    await told('Clients'),
    await told('Rollout'),
    await guide.text(),
    await run('report', log),
    await run('report', log, '--guide', '--client', client),
    await run('rollout', '--admin', gateway.adminOrigin),
  ];
  for (const place of places)
    expect(place).toContain('2 of 4 checked requests would fail after the migration');
  // The rollout says what that holds up, in the page's words, and names the client.
  await page
    .getByText(
      /^A migration of everything but heartbeat, and a canary that moves these clients, would be refused now: /,
    )
    .waitFor();
  expect(await page.locator('main').innerText()).not.toContain('--force');
  expect(await run('rollout', '--admin', gateway.adminOrigin)).toContain(
    'Array Agents create_client: 2 of 4 checked requests would fail after the migration',
  );
  await row(/Array Agents.*create_client.*2 of 4 checked requests would fail after the migration/);
  await page.getByRole('button', { name: /^Show the exchanges of Array Agents/ }).click();
  await expect.poll(() => page.locator('.entry').count()).toBe(4);
  // The guide has its style where it is opened from the page.
  await page.goto(`${gateway.adminOrigin}/report?client=${client}&format=html`);
  await expect
    .poll(() => page.locator('body').evaluate((body) => getComputedStyle(body).maxWidth))
    .toBe('672px');
  const reason = 'wrapper-not-object at /data';
  await page.goto(`${gateway.adminOrigin}/?view=traffic&filter=client:${client}%20would:refused`);
  await expect
    .poll(() => page.locator('.entry .reason').allInnerTexts())
    .toEqual([`would: ${reason}`, `would: ${reason}`]);
  const tail = command(['tail', log, '--filter', `client:${client} would:refused`]);
  await tail.until(new RegExp(`would: ${reason}`));
  await tail.stop();
  expect(
    await run(
      'explain',
      '--curl',
      `curl https://v1.test/api/v1/clients -H 'content-type: application/json' -d '{"data":[]}'`,
    ),
  ).toContain(reason);

  // Under another rule book everybody is judged anew, everywhere: what came to light under the last one says nothing about it.
  await writeFile(
    rules,
    (await readFile(rules, 'utf8')).replace(/^operations:\n/m, 'operations:\n  unused: GET /unused\n'),
  );
  await until(async () =>
    (await (await fetch(`${gateway.adminOrigin}/rollout`)).text()).includes('"kind":"rule-book"'),
  );
  const figures = async (): Promise<readonly (string | undefined)[]> => {
    const { clients: now } = await gateway.readJson<Report>('/report');
    return [
      ...now.map((one) => clientWouldFail(one)).filter((words) => words !== ''),
      ...((await run('rollout', '--admin', gateway.adminOrigin)).match(
        /\S+ of \d+ checked requests would fail/g,
      ) ?? []),
      ...((await run('report', log)).match(/\S+ of \d+ checked requests would fail/g) ?? []),
      (await (await fetch(`${gateway.adminOrigin}/report?client=${client}&format=md`)).text()).match(
        /\S+ of \d+ checked requests would fail/,
      )?.[0],
      (await (await fetch(`${gateway.adminOrigin}/overview`)).text()).match(
        /would fail|would have refused \d+ request/,
      )?.[0],
    ];
  };
  await expect
    .poll(figures)
    .toEqual([
      'none of 4 checked requests would fail',
      '2 of 4 checked requests would fail',
      undefined,
      undefined,
    ]);
  for (let n = 0; n < 3; n += 1) await gateway.send('POST', '/api/v1/clients', '{"data":[]}', 'fails');
  const [figure, sentence] = [
    '3 of 3 checked requests would fail',
    '3 of 3 checked requests would fail after the migration',
  ];
  await expect
    .poll(figures)
    .toEqual([sentence, figure, figure, figure, figure, 'would have refused 3 request']);
});

/** A log of office, batch and other clients, of 80 days until now. */
async function logOfFleet(zone: Zone): Promise<string> {
  const now = Date.now();
  const fleet = simulatedFleet(4, zone, { since: now - 80 * DAY_MS, now, end: now });
  const some = [...Map.groupBy(fleet, ({ kind }) => kind)].flatMap(([kind, all]) =>
    all.slice(0, kind === 'office' ? 5 : 1),
  );
  const played = [
    ...new Set([...some, ...fleet.filter(({ hash }) => some.some((one) => one.rotatedFrom === hash))]),
  ];
  const lines = played.flatMap(({ times, hash, operation }) =>
    times.map((time) => JSON.stringify({ ...entryAt(time, hash, operation), level: 'info', requestId: 'r' })),
  );
  const logFile = join(temporaryFolder('jobs'), 'rewrite.log');
  await writeFile(logFile, `${lines.sort().join('\n')}\n`);
  return logFile;
}

test('the end of V1: the dates, whom a brownout reaches and why, in the zone that the reader chooses', async () => {
  const zone = new Zone('Australia/Sydney');
  const logFile = await logOfFleet(zone);
  const rules = await bookWith(
    'zone: Australia/Sydney\nsunset:\n  at: 2099-06-30\n  after: gone\nbrownouts:\n  - id: first\n    from: 2099-01-01',
    ['heartbeat: GET /heartbeat', 'heartbeat: { match: GET /heartbeat, sunset: 2098-01-01 }'],
  );
  const gateway = await gatewayOfTest({ 'log-file': logFile, rules });
  const { page } = await browser.open('about:blank');
  const session = await page.context().newCDPSession(page);
  // Dates of the rule book and the plan are in the rule book's zone, whatever the reader's is.
  await session.send('Emulation.setTimezoneOverride', { timezoneId: 'Australia/Brisbane' });
  await page.goto(`${gateway.adminOrigin}/?view=clients`);
  await page
    .getByText(/^V1 ends on 30 Jun 2099 00:00 GMT\+10, .*: V1 requests get 410 from then on\.$/)
    .waitFor();
  await page.getByText(/^Brownout first is to come: 100 % get 410, from 1 Jan 2099 00:00 GMT\+11/).waitFor();
  // The picture says the same in few words, each date on a line of its own.
  const dates = page.locator('.timeline li');
  await dates.filter({ hasText: 'Sunset of heartbeat' }).waitFor();
  expect(await dates.filter({ hasText: /^Brownout first/ }).innerText()).toMatch(
    /1 Jan 2099 00:00 GMT\+11, 100 %, to come, would reach \d+ clients$/,
  );
  expect(await dates.filter({ hasText: /^Sunset of heartbeat/ }).innerText()).toMatch(
    /1 Jan 2098 00:00 GMT\+11$/,
  );
  expect(await dates.filter({ hasText: /^Last V1 request/ }).innerText()).toMatch(/\d+ clients/);
  // Its axis names the days in the rule book's zone where there is room.
  const labels = await page.locator('.timeline-axis small').allTextContents();
  expect(labels).toContain('now');
  expect(labels).toContain('30 Jun 2099');
  for (const line of await dates.filter({ hasText: /^Brownout plan-\d+, proposed/ }).allInnerTexts())
    expect(line).toMatch(/, would reach \d+ clients?$/);
  // The plan: what the command prints from the same log.
  const told = await commandRun(['plan', logFile, '--zone', zone.name, '--rules', rules, '--format', 'json']);
  const plan = JSON.parse(told.out) as Plan;
  const parts = await gateway.readJson<EndPlan>('/plan?own=America/New_York');
  expect(parts.zone).toBe(zone.name);
  expect(parts.clients.map(({ client }) => client)).toEqual(plan.clients.map(({ client }) => client));
  const reached = plan.clients.filter(
    ({ notice }) => notice !== undefined && 'weeks' in notice && !notice.isDeclared,
  ).length;
  expect(reached).toBeGreaterThan(2);
  const figure = (name: string): Locator =>
    page
      .locator('.fact')
      .filter({ has: page.getByText(name, { exact: true }) })
      .locator('dd');
  await expect
    .poll(() => figure('First notice by a planned brownout').textContent())
    .toBe(`${reached} of ${plan.clients.length}`);
  expect(await figure('Time zone').textContent()).toBe(zone.name);
  // The clients stand in one table, with the notice that the plan has for each, and why.
  expect(await page.locator('.scroll:has(.client-name)').count()).toBe(1);
  expect(await page.getByRole('region', { name: 'Clients', exact: true }).count()).toBe(0);
  const shown: readonly string[] = await page.evaluate(
    `[...document.querySelectorAll('tr')].map((row) =>
      [row.textContent, ...[...row.querySelectorAll('[title]')].map(({ title }) => title)].join(' '))`,
  );
  for (const { client, because } of plan.clients)
    expect(shown.find((row) => row.includes(client))).toContain(because);
  const hours = page.getByRole('region', { name: 'Hours of the week' });
  expect(await hours.isVisible()).toBe(false);
  await page.locator('summary', { hasText: 'Hours of the week' }).click();
  await hours.waitFor();
  // It is said once.
  await page.getByText(/^Operation heartbeat ends on 1 Jan 2098 00:00 GMT\+11/).waitFor();
  expect(await barriers(page)).toEqual([]);
  // The reader's choice of a zone counts the same log by another clock.
  await page.getByLabel('Time zone of the plan').fill('America/New_York');
  await page.getByLabel('Time zone of the plan').press('Enter');
  await expect.poll(() => figure('Time zone').textContent()).toBe('America/New_York');
  // Every command that stands there runs as it is, with the files of this gateway.
  const commands = (await page.locator('pre, code').allTextContents()).filter((text) =>
    text.startsWith(PROGRAM),
  );
  expect(commands).toHaveLength(1);
  expect(commands[0]).toContain(` --into ${rules}`);
  for (const { code, err } of await commandRuns(
    commands.map((text) => text.slice(PROGRAM.length).split(' ')),
  ))
    expect([code, err]).toEqual([0, expect.any(String)]);
  expect(await readFile(rules, 'utf8')).toContain('plan-1');
  // At 360 px only the tables scroll to the side.
  await page.setViewportSize({ width: 360, height: 740 });
  await expect.poll(() => page.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true);
});

test('a plan is proposed until the rule book declares it, and its dates are one day on every view, in the zone of the book', async () => {
  const zone = new Zone('Australia/Sydney');
  const settings = {
    'log-file': await logOfFleet(zone),
    rules: await bookWith(`zone: ${zone.name}`),
  };
  const before = await gatewayOfTest(settings);
  const { page } = await browser.open('about:blank');
  const session = await page.context().newCDPSession(page);
  await session.send('Emulation.setTimezoneOverride', { timezoneId: 'America/New_York' });
  const notices = page.locator('td[data-label="Notices met"] small');
  await page.goto(`${before.adminOrigin}/?view=clients`);
  await page.getByText('To declare this plan, add these lines').waitFor();
  await expect.poll(() => notices.count()).toBeGreaterThan(2);
  for (const words of await notices.allTextContents()) expect(words).toMatch(/^(?:noneto come|proposed)/);
  // Another lead time and days to avoid, by keyboard: the dates follow, in the lines and on the timeline.
  const lines = page.locator('pre', { hasText: 'brownouts:' });
  const proposed = await lines.innerText();
  const lead = page.getByLabel('Days from deprecation to sunset');
  expect(await lead.inputValue()).toBe('90');
  await lead.fill('200');
  await lead.press('Enter');
  await expect.poll(() => lines.innerText()).toContain('lead: 200');
  await expect.poll(() => page.evaluate('document.activeElement.inputMode')).toBe('numeric');
  const avoid = page.getByLabel('Days without a brownout');
  await avoid.fill('someday');
  await avoid.press('Enter');
  await page.getByText('The query parameter avoid takes days without a brownout').waitFor();
  await avoid.fill('Monday, Tuesday');
  await avoid.press('Enter');
  await expect.poll(() => lines.innerText()).not.toMatch(/# (?:Mon|Tue) .*\n.*plan-/);
  await avoid.fill('');
  await avoid.press('Enter');
  await lead.fill('90');
  await lead.press('Enter');
  await expect.poll(() => lines.innerText()).toBe(proposed);
  const written = page.locator('pre', { hasText: PROGRAM });
  const words = (await written.innerText()).slice(PROGRAM.length).split(' ');
  expect((await commandRun(words)).code).toBe(0);
  // The command writes what the page shows.
  expect(await readFile(settings.rules, 'utf8')).toContain(proposed.trim());

  const after = await gatewayOfTest(settings);
  const { sunset = '' } = await after.readJson<RolloutView>('/rollout');
  const [, dayThere = ''] = /^\w+ (.*) \d{4} /.exec(zone.text(Date.parse(sunset))) ?? [];
  await page.goto(`${after.adminOrigin}/?view=clients`);
  await page.getByText(/^The rule book declares (?:this|a) plan\./).waitFor();
  await page.getByText(new RegExp(`^V1 ends on ${dayThere} .*00:00 GMT\\+1[01], as its`)).waitFor();
  await notices
    .filter({ hasText: /^to come/ })
    .first()
    .waitFor();
  await expect.poll(() => notices.filter({ hasText: 'proposed' }).count()).toBe(0);
  for (const view of ['overview', 'rollout']) {
    await page.goto(`${after.adminOrigin}/?view=${view}`);
    await page
      .getByText(new RegExp(`on ${dayThere} .*00:00 GMT\\+1[01]`))
      .first()
      .waitFor();
  }
});

test('after the end of V1 no view says that it is needed, migrated or planned to end, but who calls it still', async () => {
  const rules = await bookWith('sunset:\n  at: 2026-01-01\n  after: gone');
  const gateway = await gatewayOfTest({ rules, 'log-file': join(temporaryFolder('jobs'), 'rewrite.log') });
  const { page } = await browser.open(`${gateway.adminOrigin}/?view=clients`);
  await page.getByRole('heading', { name: 'V1 has ended, and no client has called it since.' }).waitFor();
  expect(await gateway.send('GET', '/api/v1/heartbeat')).toBe(410);
  for (const view of ['clients', 'overview']) {
    await page.goto(`${gateway.adminOrigin}/?view=${view}`);
    await page
      .getByText(/^1 client has called V1 after its end and got 410, the last at \d\d:\d\d: /)
      .waitFor();
    expect(await page.locator('main').innerText()).not.toMatch(
      /still needed|are migrated|A plan from the log|can be switched off|proposed/,
    );
  }
});

test('a draft of rules survives another view, and a field that opens takes the typing', async () => {
  const folder = temporaryFolder('jobs');
  const gateway = await gatewayOfTest({ 'client-names': join(folder, 'names.yaml') });
  for (let n = 0; n < 12; n += 1)
    await gateway.send('POST', '/api/v1/clients', `{"data":{"name":"client ${n}"}}`, `key-${n}`);
  const { page } = await browser.open(`${gateway.adminOrigin}/?view=rules`);
  const draft = page.getByRole('textbox', { name: 'Rule book' });
  await draft.fill('# a draft\n');
  await page.getByRole('link', { name: 'Clients' }).click();
  // At 1440 px the table of clients needs no scrolling to the side.
  const name = page.getByRole('button', { name: /^Name [0-9a-f]{16}$/ }).first();
  await name.waitFor();
  const tables = page.locator('.scroll:has(.client-name)');
  await expect
    .poll(() =>
      tables.evaluateAll((all) => all.map(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth)),
    )
    .toEqual([0]);
  // No column moves while a name is typed, but for a part of a pixel by numbers that go on.
  const columns = (): Promise<readonly number[]> =>
    tables.locator('thead th').evaluateAll((all) => all.map((one) => one.getBoundingClientRect().left));
  const before = await columns();
  await name.click();
  await page.keyboard.type('Acme');
  const moved = (await columns()).map((left, at) => Math.abs(left - (before[at] ?? Number.NaN)));
  expect(Math.max(...moved)).toBeLessThan(1);
  await page.keyboard.press('Enter');
  const renamed = page.getByRole('button', { name: /^Rename [0-9a-f]{16}$/ });
  await renamed.waitFor();
  await expect.poll(() => renamed.evaluate((one) => one === document.activeElement)).toBe(true);
  await page.getByText('Acme').first().waitFor();
  await page.getByRole('link', { name: 'Rules' }).click();
  await expect.poll(() => draft.inputValue()).toBe('# a draft\n');
});

test('the command line alone, with three replicas: one list of changes, and each exchange at the one that keeps it', async () => {
  const v1 = await rawServer((socket) => socket.write(ok('{"data":{}}')));
  const shared = {
    'v1-upstream': v1.origin,
    ...SECRET,
    store: `file:${join(temporaryFolder('jobs'), 'rollout.json')}`,
    'client-names': join(temporaryFolder('jobs'), 'names.yaml'),
  };
  const [a, b, c] = await Promise.all([gatewayOfTest(shared), gatewayOfTest(shared), gatewayOfTest(shared)]);
  await run('rollout', 'observe', '--why', 'a quiet night', '--admin', a.adminOrigin);
  for (const { adminOrigin } of [b, c])
    await until(async () =>
      /change \S+ Send everything to V1, by .+, at .+: a quiet night/.test(
        await run('rollout', '--admin', adminOrigin),
      ),
    );
  await b.send('POST', '/api/v1/clients', '{"data":[]}', undefined, 'kept-by-b');
  const tail = command(['tail', '--admin', b.adminOrigin, '--filter', 'id:kept-by-b']);
  await tail.until(/would: .* {2}create_client|create_client/);
  await tail.stop();
  const stateOf = (): Promise<State> => c.readJson('/state');
  await until(async () => (await stateOf()).replica?.replicas === 3);
  const name = (await stateOf()).replica?.name ?? '';
  const found = async (id: string): Promise<unknown> => {
    const response = await fetch(`${c.adminOrigin}/entries/find?id=${id}`);
    return [response.status, await response.text()];
  };
  expect(await found('kept-by-nobody')).toEqual([
    404,
    expect.stringContaining(
      `The replica ${name} keeps no exchange with this request id. Each replica keeps its own: ask the 2 other replicas`,
    ),
  ]);
  const nameOfB = (await b.readJson<State>('/state')).replica?.name ?? '';
  expect(await found('kept-by-b')).toEqual([404, expect.stringContaining(nameOfB)]);
  const { page } = await browser.open(`${c.adminOrigin}/?view=traffic&entry=kept-by-b`);
  await page.getByText(`The replica ${name} keeps no exchange with this request id.`).waitFor();
  await page.goto(`${b.adminOrigin}/?view=traffic&entry=kept-by-b`);
  await page.getByRole('heading', { name: /create_client$/ }).waitFor();
  await page.goto(`${c.adminOrigin}/?view=traffic`);
  for (const view of ['Traffic', 'Problems', 'Overview']) {
    await page.getByRole('navigation').getByRole('link', { name: view, exact: true }).click();
    await page.getByText(`Exchanges of the replica ${name}; the other 2 keep their own.`).waitFor();
  }
  await page.goto(`${b.adminOrigin}/?view=rollout`);
  await page.getByText(`of ${nameOfB} alone, by the rule book in force`).waitFor();
  // A sentence on what each replica counts for itself says whose it is, and so does the field for a name.
  await page.getByRole('navigation').getByRole('link', { name: 'Overview' }).click();
  await page
    .getByText(
      new RegExp(
        `^Counted by 3 replicas; problems, charts and what is to know are those of ${nameOfB} alone. For clients and the end of V1: Counted since .*3 replicas running`,
      ),
    )
    .waitFor();
  await page.getByRole('navigation').getByRole('link', { name: 'Clients' }).click();
  await page.getByRole('button', { name: /^Name [0-9a-f]{16}$/ }).click();
  await page
    .getByText(`Saved in the names file of ${nameOfB}; replicas that read another file do not know it.`)
    .waitFor();
  // The instant in the sentence on the counts is a time of the reader's zone.
  await page.getByRole('navigation').getByRole('link', { name: 'Rules' }).click();
  await page
    .getByText(/^Counted since .*\d replicas? running/)
    .locator('time')
    .waitFor();
}, 180_000);
