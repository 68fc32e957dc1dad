/** @module-tag chromium */
import type { Socket } from 'node:net';
import { expect, test } from 'vitest';
import { entryRow } from '../../../src/cli/entry-row.ts';
import { PLAIN } from '../../../src/cli/terminal.ts';
import { entrySentence } from '../../../src/inspector/entries/entry-words.ts';
import { rawClient } from '../../support/raw-client.ts';
import { watchedServices } from '../../support/watched-services.ts';
import { setTimeout as wait } from 'node:timers/promises';
import type { EntriesPage } from '../../../src/inspector/api.ts';
import {
  ago,
  clockTime,
  dayTime,
  endingOf,
  rowTime,
  failedHeading,
  shortTime,
} from '../../../src/inspector/page/format.ts';
import { browserOfFile, gatewayOfTest } from '../../support/page-tests.ts';

const browser = browserOfFile();

test('a response that V2 broke off is among the failed of the last hour, and marked in the list', async () => {
  const v2 = (socket: Socket): void => {
    socket.write('HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf');
    setTimeout(() => socket.destroy(), 20);
  };
  const { gateway } = await watchedServices({}, { v2 });
  const client = rawClient(gateway.port);
  client.write('GET /api/v1/clients HTTP/1.1\r\nHost: g\r\n\r\n');
  const entry = await gateway.entry();
  expect(entry).toMatchObject({ status: 200, incomplete: true, failure: 'upstream-broken' });
  const { page, complaints } = await browser.open(`${gateway.adminOrigin}/?view=overview`);
  const chart = page.getByRole('img', { name: /^Requests of the last .* by who answered: / });
  await chart.waitFor();
  await expect.poll(() => chart.getAttribute('aria-label')).toMatch(/: 1 V2, 0 V1, 0 the gateway\.$/);
  await page
    .getByRole('img', { name: /^Failures of the last .*: 1 failed, 0 refused on purpose\.$/ })
    .waitFor();
  await page.getByText(/^The last .* as a table$/).click();
  await page.getByRole('region', { name: 'Data of the charts' }).getByRole('button').first().click();
  await expect.poll(() => page.locator('.entry').count()).toBe(1);
  const status = page.locator('.entry .status');
  await expect.poll(() => status.innerText()).toBe('200…');
  await expect.poll(() => status.getAttribute('class')).toContain('status-failure');
  await expect
    .poll(() => status.getAttribute('title'))
    .toMatch(/^incomplete: the client did not get the end of its response; upstream-broken/);
  expect(entrySentence(entry)).toContain('status 200, incomplete');
  expect(entryRow(entry, PLAIN)).toContain(' 200… ');
  expect(complaints).toEqual([]);
});

test('the time before the start of the gateway is shown as unknown, not as without requests', async () => {
  const { gateway } = await watchedServices({});
  const { page, complaints } = await browser.open(`${gateway.adminOrigin}/?view=overview`);
  await page.getByText(/^Send a request to /).waitFor();
  // Without a request there is nothing to draw.
  await page.getByText('No request in this time.').waitFor();
  await fetch(`${gateway.origin}/api/v1/heartbeat`);
  const charts = page.locator('.chart');
  await expect
    .poll(() => charts.first().getByRole('img').getAttribute('aria-label'))
    .toMatch(/^Requests of the last (?:minute|2 minutes) by who answered: 1 V2, /);
  const { x, y, width, height } = (await charts.first().boundingBox()) ?? { x: 0, y: 0, width: 0, height: 0 };
  await page.mouse.move(x + width / 2, y + height / 2);
  await page.mouse.move(x + width - 40, y + height / 2);
  await expect.poll(() => charts.first().locator('.readout').innerText()).toMatch(/^\d\d:\d\d\s+V2\s*[01]\s/);
  // A click on a bar shows the exchanges of its minute.
  const plot = (await charts.first().locator('.u-over').boundingBox()) ?? expect.fail('it has a chart');
  await page.mouse.click(plot.x + plot.width - 5, plot.y + plot.height / 2);
  await expect.poll(() => page.url()).toMatch(/time:\S+:00\.\.\S+:59$/);
  expect(complaints).toEqual([]);
});

test('a bar of the histogram, or two times, narrow the list to the kept exchanges of that time', async () => {
  const gateway = await gatewayOfTest();
  await gateway.send('GET', '/api/v1/heartbeat');
  await gateway.send('POST', '/api/v1/clients', '{"data":[]}');
  await wait(2100);
  for (let sent = 0; sent < 3; sent += 1) await gateway.send('GET', '/api/v2/heartbeat');
  const { entries } = await gateway.readJson<EntriesPage>('/entries');
  /** The exchanges of the same second as this one, newest first. */
  const besides = (index: number): EntriesPage['entries'] =>
    entries.filter(({ time }) => time.slice(0, 19) === entries.at(index)?.time.slice(0, 19));
  const oldest = besides(-1);
  const { page, complaints } = await browser.open(`${gateway.adminOrigin}/?view=traffic`);
  const bars = page.getByRole('listbox', { name: 'Kept exchanges by time' });
  await bars.waitFor();
  await page.getByText(/, 5 matching exchanges$/).waitFor();
  const first = page.getByRole('option').first();
  await expect
    .poll(() => first.getAttribute('aria-label'))
    .toMatch(
      new RegExp(
        `^\\d\\d:\\d\\d:\\d\\d to \\d\\d:\\d\\d:\\d\\d: ${oldest.length} exchanges?, ${oldest.filter(({ status }) => status >= 400).length} failed$`,
      ),
    );
  await first.click();
  await expect.poll(() => page.locator('.entry').count()).toBe(oldest.length);
  await expect.poll(() => new URL(page.url()).searchParams.get('filter')).toMatch(/^time:[\d-]+T[\d:]+$/);
  await page.getByText('Choose times').click();
  const [from, to] = [page.getByLabel('From', { exact: true }), page.getByLabel('To', { exact: true })];
  await expect.poll(() => from.inputValue()).not.toBe('');
  const second = await from.inputValue();
  await expect.poll(() => to.inputValue()).toBe(second);
  // To a later time, by the field: all five again; and by the keyboard back to the newest bar.
  expect(second).toMatch(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/);
  await page.getByText(/^Your time, [A-Z]/).waitFor();
  await to.fill('9:30 PM');
  await to.press('Enter');
  await page.getByText('Write 2026-11-22 09:30, or 09:30 for today.').waitFor();
  await to.fill(second.replace(/^\d{4}/, (year) => String(Number(year) + 1)));
  await to.press('Enter');
  await expect.poll(() => page.locator('.entry').count()).toBe(5);
  await bars.focus();
  await page.keyboard.press('End');
  await page.keyboard.press('Enter');
  await expect.poll(() => page.locator('.entry').count()).toBe(besides(0).length);
  await page.getByRole('button', { name: 'Everything kept' }).click();
  await expect.poll(() => page.locator('.entry').count()).toBe(5);
  // Within the time: the filter counts only matches.
  await page.getByRole('combobox', { name: 'Filter' }).fill('verdict:refused');
  await page.getByText(/, 1 matching exchange$/).waitFor();
  expect(complaints).toEqual([]);
});

test('a change of the modes is marked at its time, and what V1 clients are often refused is no failure', async () => {
  const gateway = await gatewayOfTest();
  await gateway.send('GET', '/api/v1/heartbeat');
  await gateway.postJson('/rollout', { mode: 'migrate', who: 'anna', why: 'all well' });
  await gateway.send('GET', '/api/v1/clients/unknown');
  const { entries } = await gateway.readJson<EntriesPage>('/entries');
  expect(entries.map(({ status }) => status)).toEqual([404, 200]);
  const { page, complaints } = await browser.open(`${gateway.adminOrigin}/?view=traffic`);
  const bar = page.locator('.time-bar');
  await bar.getByText(/, 2 matching exchanges$/).waitFor();
  const changes = bar.getByRole('list', { name: 'Changes, marked in the charts' });
  await expect
    .poll(() => changes.innerText())
    .toMatch(/^1\s+\d\d:\d\d Migrate everything, by anna: all well$/);
  await bar.getByRole('option', { name: /, 0 failed; .* Migrate everything, by anna: all well$/ }).waitFor();
  expect(await bar.getByText(/\d failed$/).count()).toBe(0);
  await page.goto(`${gateway.adminOrigin}/?view=traffic&filter=time:2020`);
  await bar.getByText('nothing is kept for the chosen time').waitFor();
  expect(await changes.count()).toBe(0);
  expect(complaints).toEqual([]);
});

test("the filter has times of the reader's clock, and the address has them in UTC", async () => {
  const gateway = await gatewayOfTest();
  await gateway.send('GET', '/api/v1/heartbeat');
  const { entries } = await gateway.readJson<EntriesPage>('/entries');
  const time = Date.parse(entries[0]?.time ?? '');
  const [utc, local] = [0, 330].map((minutes) =>
    new Date(time + minutes * 60_000).toISOString().slice(11, 16),
  );
  const { page, complaints } = await browser.open('about:blank');
  const session = await page.context().newCDPSession(page);
  await session.send('Emulation.setTimezoneOverride', { timezoneId: 'Asia/Kolkata' });
  await page.goto(`${gateway.adminOrigin}/?view=traffic`);
  const filter = page.getByRole('combobox', { name: 'Filter' });
  await filter.fill('tim');
  await page.getByText('time in GMT+5:30, cut as you like').waitFor();
  await filter.fill(`time:${local}`);
  await page.getByText(/ \(GMT\+5:30\), 1 matching exchange$/).waitFor();
  expect(new URL(page.url()).searchParams.get('filter')).toBe(`time:${utc}`);
  await page.reload();
  await expect.poll(() => filter.inputValue()).toBe(`time:${local}`);
  expect(complaints).toEqual([]);
});

test('the time bar never says that nothing is kept beside a row', async () => {
  const gateway = await gatewayOfTest();
  const { page, complaints } = await browser.open(`${gateway.adminOrigin}/?view=traffic`);
  const words = page.locator('.time-bar > summary');
  await expect.poll(() => words.innerText()).toMatch(/nothing is kept yet$/);
  await gateway.send('GET', '/api/v1/heartbeat');
  await page.locator('.entry').waitFor();
  expect(await words.innerText()).not.toContain('nothing');
  await page.getByText(/, 1 matching exchange$/).waitFor();
  await words.click();
  await expect.poll(() => words.innerText()).toBe('Time');
  await page.reload();
  await page.locator('.entry').waitFor();
  await expect.poll(() => words.innerText()).toBe('Time');
  expect(complaints).toEqual([]);
});

const DAY_MS = 86_400_000;

test('a time of another day has its date and its zone', () => {
  const now = new Date();
  const [today, other] = [
    new Date(now.getFullYear(), now.getMonth(), now.getDate(), 9, 30, 1, 20),
    new Date(2025, 10, 22, 9, 30, 1, 20),
  ].map((date) => date.toISOString());
  if (today === undefined || other === undefined) throw new Error('there are two times');
  const zone = new Date(other).toLocaleTimeString('en-GB', { timeZoneName: 'short' }).split(' ').at(-1);
  expect([dayTime, clockTime, rowTime].map((words) => [words(today), words(other)])).toEqual([
    ['09:30:01', `2025-11-22 09:30:01 ${zone}`],
    ['09:30:01.020', `2025-11-22 09:30:01.020 ${zone}`],
    ['09:30:01.020', '11-22 09:30:01'],
  ]);
});

// A zone that is no machine's own.
const CHATHAM = 'Pacific/Chatham';

test.each([
  ['on the day that it is there', CHATHAM, '2027-03-02T10:15:00Z', '3 Mar 2027 00:00 GMT+13:45'],
  ['with its day within a week', CHATHAM, '2026-11-24T10:15:00Z', '25 Nov 00:00 GMT+13:45'],
  ['with its day where it is today there', CHATHAM, '2026-11-22T10:15:00Z', '23 Nov 00:00 GMT+13:45'],
  ['with its seconds, if it has any', CHATHAM, '2026-11-22T10:15:25Z', '23 Nov 00:00:25 GMT+13:45'],
  ['in the year that it is there', CHATHAM, '2026-12-31T10:15:00Z', '1 Jan 2027 00:00 GMT+13:45'],
])("a declared date of V1's end is %s, with the zone of the rule book", (_, zone, time, words) => {
  const now = Date.parse('2026-11-22T11:00:00Z');
  const ending = endingOf({ zone, times: [time.replace('Z', '.000Z')] });
  expect(shortTime(time, ending, now)).toBe(words);
  // Other times are the reader's, and so is this one without a zone that the browser knows.
  expect(shortTime('2026-11-22T10:16:00Z', ending, now)).not.toContain('GMT+13:45');
  for (const other of [undefined, 'Mars/Olympus']) {
    const own = endingOf({ ...(other === undefined ? {} : { zone: other }), times: [time] });
    // The reader's clock names its zone as well.
    expect(shortTime(time, own, now)).toMatch(/^\d+ [A-Z][a-z]{2}( \d{4})? \d\d:\d\d(:25)? \S+$/);
  }
});

test('problems are headed by whether some of them last, everywhere', () => {
  const [over, lasting] = [{ until: '2026-11-29T08:00:00.000Z' }, {}];
  const headings = [[], [over], [over, lasting], [lasting]].map((some) => failedHeading(some));
  expect(headings).toEqual(['What failed', 'What failed', 'What fails', 'What fails']);
});

test('an age counts days of 24 hours', () => {
  const now = Date.UTC(2026, 10, 22, 1);
  const ageOf = (hours: number): string => ago(new Date(now - hours * 3_600_000).toISOString(), now);
  expect([23.9, 24, 47, 48].map(ageOf)).toEqual(['23 h ago', '1 day ago', '1 day ago', '2 days ago']);
});

test('rows, errors and the rule book say of which day their times are', async () => {
  const gateway = await gatewayOfTest();
  expect(await gateway.send('POST', '/api/v1/clients', '{"data":[]}', undefined, 'refused')).toBe(422);
  const { page, complaints } = await browser.open(`${gateway.adminOrigin}/?view=traffic`);
  await page.locator('.entry').waitFor();
  await expect.poll(() => page.locator('.entry .time').innerText()).toMatch(/^\d\d:\d\d:\d\d\.\d{3}$/);
  await page.clock.setFixedTime(Date.now() + DAY_MS + 3_600_000);
  const open = async (view: string): Promise<void> =>
    page.getByRole('navigation').getByRole('link', { name: view }).click();
  await page.goto(`${gateway.adminOrigin}/?view=errors`);
  await expect.poll(() => page.url()).toContain('view=traffic&part=problems');
  const times = page.getByRole('region', { name: 'Problems' }).locator('time');
  await times.first().waitFor();
  await expect.poll(() => times.nth(0).innerText()).toMatch(/^[A-Z][a-z]{2} \d\d:\d\d$/);
  await expect.poll(() => times.nth(1).innerText()).toBe('1 day ago');
  expect(await times.nth(0).getAttribute('title')).toMatch(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d \S+$/);
  await open('Rules');
  await page.getByText(/In force since [A-Z][a-z]{2} \d\d:\d\d, hash/).waitFor();
  await open('Traffic');
  const row = page.locator('.entry');
  await row.waitFor();
  const time = row.locator('.time');
  await expect.poll(() => time.innerText()).toMatch(/^\d\d-\d\d \d\d:\d\d:\d\d$/);
  await expect.poll(() => time.getAttribute('title')).toMatch(/^\d{4}-\d\d-\d\dT.*Z$/);
  await expect.poll(() => time.evaluate((cell) => cell.scrollWidth <= cell.clientWidth)).toBe(true);
  await row.click();
  await page.locator('.facts time').waitFor();
  await expect
    .poll(() => page.locator('.facts time').innerText())
    .toMatch(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3} \S+$/);
  expect(complaints).toEqual([]);
});
