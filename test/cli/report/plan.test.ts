import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import { warningsOfLogs, writePlan } from '../../../src/cli/report/plan.ts';
import { loadRuleBook } from '../../../src/node/rule-books.ts';
import type { Plan } from '../../../src/report/plan/plan.ts';
import type { RehearsedWindow } from '../../../src/report/plan/rehearse.ts';
import { entryAt } from '../../report/plan/fleet.ts';
import { commandRun } from '../../support/command-runs.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

const SHIPPED = readFileSync('config/rules.yaml', 'utf8');
const at = (text: string): number => Date.parse(text);
const COUNTS = { weeks: 4, least: 3, reaches: 3, first: 1, because: '' };
const PLAN: Plan = {
  at: at('2026-11-25T00:00Z'),
  zone: 'Australia/Sydney',
  leadDays: 90,
  deprecation: at('2026-11-25T13:00Z'),
  sunset: at('2027-03-01T13:00Z'),
  log: { since: at('2026-10-25T00:00Z'), until: at('2026-11-24T23:59Z') },
  sunsetBecause: '',
  gone: {},
  announcements: [],
  brownouts: [
    {
      id: 'plan-1',
      from: at('2027-01-11T22:00Z'),
      until: at('2027-01-11T22:15Z'),
      ...COUNTS,
      except: ['1234567890123456'],
    },
    {
      id: 'plan-2',
      from: at('2027-01-20T22:00Z'),
      until: at('2027-01-20T23:00Z'),
      ...COUNTS,
      clients: ['aaaaaaaaaaaaaaaa'],
    },
  ],
  declared: [],
  met: [],
  hours: [],
  clients: [],
  spared: [],
  endings: [],
  unknown: [],
};
const LINES = [
  "- { id: plan-1, from: 2027-01-12T09:00:00+11:00, until: 2027-01-12T09:15:00+11:00, except: ['1234567890123456'] } # Tue 12 Jan 2027 09:00 Australia/Sydney",
  "- { id: plan-2, from: 2027-01-21T09:00:00+11:00, until: 2027-01-21T10:00:00+11:00, clients: ['aaaaaaaaaaaaaaaa'] } # Thu 21 Jan 2027 09:00 Australia/Sydney",
];

let path = '';
beforeEach(() => {
  path = join(temporaryFolder('plan'), 'rules.yaml');
});

async function written(text: string, plan = PLAN): Promise<string> {
  writeFileSync(path, text);
  expect(await writePlan(path, plan)).toEqual({ kept: expect.any(String) });
  const book = await loadRuleBook(path);
  if ('faults' in book) throw new Error(book.faults.join('\n'));
  const { signals, brownouts = [], leadDays } = book.rules.ruleBook.rollout ?? {};
  expect(signals?.sunset).toBe(plan.sunset);
  expect(leadDays ?? 90).toBe(plan.leadDays);
  for (const { id, from, until, clients, except } of plan.brownouts)
    expect(brownouts).toContainEqual(
      expect.objectContaining({ id, from, until, ...(clients && { clients }), ...(except && { except }) }),
    );
  expect(readdirSync(join(path, '..'))).toEqual(['rules.yaml']);
  return readFileSync(path, 'utf8');
}

describe('plan --into', () => {
  test('adds lines at the end of a rule book without dates, and the same plan again changes nothing', async () => {
    const text = await written(SHIPPED);
    expect(text.startsWith(SHIPPED)).toBe(true);
    expect(text.slice(SHIPPED.length).trim()).toBe(
      `zone: Australia/Sydney\ndeprecation: 2026-11-26T00:00:00+11:00 # Thu 26 Nov 2026 00:00 Australia/Sydney\nsunset: { at: 2027-03-02T00:00:00+11:00, after: gone } # Tue 2 Mar 2027 00:00 Australia/Sydney; after: serve only announces it\nbrownouts:\n  ${LINES.join('\n  ')}`,
    );
    expect(await written(text)).toBe(text);
  });

  test('keeps what a person wrote, and replaces an earlier plan', async () => {
    const own = `${SHIPPED}
deprecation: 2026-12-01 # announced by letter
sunset: { at: 2027-01-01, after: gone, except: ['bbbbbbbbbbbbbbbb'] } # by contract
brownouts:
    # of an older plan
    - { id: plan-1, from: 2027-01-01T00:00:00Z, until: 2027-01-01T01:00:00Z } # then
    - id: by-hand # the big one
      from: 2027-02-01T00:00:00Z
      until: 2027-02-01T01:00:00Z
    - id: plan-9
      from: 2027-02-02T00:00:00Z
links: { deprecation: https://x.test/ }
zone: Australia/Sydney
`;
    expect(await written(own, { ...PLAN, leadDays: 60 })).toBe(
      own
        .replace('at: 2027-01-01,', 'at: 2027-03-02T00:00:00+11:00, lead: 60,')
        .replace(/ {4}- \{ id: plan-1.*\n/, '')
        .replace(/ {4}- id: plan-9\n.*\n/, LINES.map((line) => `    ${line}\n`).join('')),
    );
  });

  test.each([
    ['sunset: 2027-01-01', 'sunset: 2027-03-02T00:00:00+11:00'],
    ['sunset:\n  at: 2027-01-01\n  after: serve', 'sunset:\n  at: 2027-03-02T00:00:00+11:00\n  after: serve'],
    ['brownouts: []', `brownouts: \n  ${LINES.join('\n  ')}`],
  ])('%j becomes %j', async (before, after) => {
    expect(await written(`${SHIPPED}\n${before}\nlinks: {}\n`)).toContain(`${after}\nlinks: {}\n`);
  });

  test('names no zone in a book with a day, which would begin at another time in that zone', async () => {
    expect(await written(`${SHIPPED}\nnewcomers: { from: 2027-01-01 }\n`)).not.toContain('zone:');
    expect(await written(`${SHIPPED}\nnewcomers: { from: '2027-01-01T00:00:00Z' }\n`)).toContain('\nzone: ');
  });

  test('keeps the line ends and the byte order mark of the file', async () => {
    const inWindows = (text: string): string => `\uFEFF${text.replaceAll('\n', '\r\n')}`;
    expect(await written(inWindows(SHIPPED))).toBe(inWindows(await written(SHIPPED)));
  });

  test('leaves a file alone that it cannot write into, and says why', async () => {
    const flow = `${SHIPPED}\nbrownouts: [{ id: a, from: 2027-01-01, until: 2027-01-02 }]\n`;
    writeFileSync(path, flow);
    expect(await writePlan(path, PLAN)).toEqual({
      faults: [expect.stringContaining('is not written in block style')],
    });
    expect(readFileSync(path, 'utf8')).toBe(flow);
    // The deprecation that stands there is later than the sunset of the plan.
    const late = `${SHIPPED}\ndeprecation: 2028-01-01\n`;
    writeFileSync(path, late);
    expect(await writePlan(path, PLAN)).toEqual({
      faults: [expect.stringContaining('sunset is before deprecation')],
    });
    expect(readFileSync(path, 'utf8')).toBe(late);
    expect(await writePlan(join(path, 'none'), PLAN)).toEqual({
      faults: [expect.stringContaining('cannot be read')],
    });
    // The name is as long as a file system allows, so the draft beside it has no name left.
    const long = join(path, '..', 'r'.repeat(255));
    writeFileSync(long, SHIPPED);
    expect(await writePlan(long, PLAN)).toEqual({
      faults: [`${long} cannot be written: name too long (ENAMETOOLONG).`],
    });
  });
});

test('check --log warns of a hasty sunset and of clients that no brownout reaches', async () => {
  writeFileSync(path, `${SHIPPED}\nsunset: { at: 2026-12-20, after: serve, lead: 45 }\n`);
  const loaded = await loadRuleBook(path);
  if ('faults' in loaded) throw new Error(loaded.faults.join('\n'));
  const now = at('2026-11-25T12:00Z');
  const log = join(path, '..', 'rewrite.log');
  const lines = Array.from({ length: 40 }, (_, day) => ({
    ...entryAt(now - (day + 0.1) * 86_400_000, 'aaaaaaaaaaaaaaaa', 'create_client'),
    level: 'info',
    method: 'POST',
    path: '/api/v1/clients',
  }));
  writeFileSync(
    log,
    lines
      .reverse()
      .map((line) => `${JSON.stringify(line)}\n`)
      .join(''),
  );
  const when = { zone: 'UTC', now };
  expect(await warningsOfLogs([log], loaded.rules.ruleBook, when)).toEqual([
    expect.stringMatching(
      /^sunset: Sun 20 Dec 2026 00:00 \(UTC\) is in 24 days, nearer than the lead time of 45 days, and 1 client still calls: aaaa/,
    ),
    expect.stringMatching(
      /^brownouts: none for all operations before the sunset is at a time .* 1 client was active .*: aaaa/,
    ),
  ]);
  expect(await warningsOfLogs([join(path, 'none')], loaded.rules.ruleBook, when)).toHaveProperty('fault');
});

/** The newest 480 hours of two clients that call once an hour, in a log. */
function hourlyLog(now: number): string {
  const log = join(path, '..', 'rewrite.log');
  writeFileSync(
    log,
    Array.from({ length: 480 }, (_, hour) =>
      ['a', 'b'].map((letter) => entryAt(now - (480 - hour) * 3_600_000, letter.repeat(16), 'create_client')),
    )
      .flat()
      .map((entry) => `${JSON.stringify({ ...entry, level: 'info', requestId: 'r' })}\n`)
      .join(''),
  );
  return log;
}

/** A log that another rule book handled. */
function foreignLog(): string {
  const log = hourlyLog(at('2026-11-25T12:00Z'));
  const lines = readFileSync(log, 'utf8').trim().split('\n');
  const others = lines.map((line) => `${line.slice(0, -1)},"ruleBook":"66a7f10bb908a1d4"}`);
  writeFileSync(log, `${others.join('\n')}\n`);
  return log;
}

describe('a log of another API', () => {
  const AT = ['--at', '2026-11-25T12:00:00Z', '--zone', 'UTC'];
  const NOTE = /^note: dates of a rule book are left out\. The requests of the log were handled by [^\n]*\n$/;

  // Where the folder has no rule book, the package's own stands in.
  test.each([
    ['plan', ['plan', ...AT], 'Sunset: '],
    [
      'plan rehearse',
      ['plan', 'rehearse', '--zone', 'UTC', '--window', '2026-11-24T09:00/10:00'],
      'would have refused',
    ],
  ])('%s goes on without a time zone, and one note says so', async (_, args, said) => {
    const log = foreignLog();
    const made = await commandRun([...args, log], { cwd: dirname(log) });
    expect([made.code, made.err]).toEqual([0, expect.stringMatching(NOTE)]);
    expect(made.out).toContain(said);
  });

  test('gets no plan by a named rule book that is not its own', async () => {
    const other = 'operations: { list: GET /shipments }\nchanges: []\n';
    writeFileSync(path, other);
    const { code, err } = await commandRun(['plan', foreignLog(), ...AT, '--rules', path, '--into']);
    expect([code, err]).toEqual([2, expect.stringContaining('has none of their operations')]);
    expect(readFileSync(path, 'utf8')).toBe(other);
  });
});

test('a window outside the log is played on the last such weekday of the log, or left out with exit code 1', async () => {
  writeFileSync(path, SHIPPED);
  // Entries each hour from Thursday, 5 November 2026, 12:00 to Wednesday, 25 November, 11:00.
  const log = hourlyLog(at('2026-11-25T12:00Z'));
  const played = (window: string, from = log, input = ''): ReturnType<typeof commandRun> =>
    commandRun(['plan', 'rehearse', from, '--zone', 'UTC', '--rules', path, '--window', window], { input });
  const ahead = await played('2026-12-08T09:00/10:00');
  expect([ahead.code, ahead.out.split('\n')[0]]).toEqual([
    0,
    '2026-12-08T09:00/10:00 (Tue 8 Dec 2026, 09:00 to 10:00) as on Tue 24 Nov 2026, 09:00 to 10:00 would have refused 2 requests of 2 clients.',
  ]);
  const inside = await played('2026-11-24T09:00/10:00');
  expect([inside.code, inside.out]).toEqual([0, expect.stringMatching(/^Tue 24 Nov 2026, .* 2 requests/)]);
  const partly = await played('2026-11-25T10:00/18:00');
  expect([partly.code, partly.out]).toEqual([0, expect.stringContaining('The logs do not cover all of it.')]);
  const left = 'is left out: it has no beginning or end, or the logs cover no such weekday and time.\n';
  const before = await played('2026-11-01T09:00/10:00');
  expect([before.code, before.out]).toEqual([1, `2026-11-01T09:00/10:00 ${left}`]);
  // A log on stdin is read once, so no window is moved.
  const piped = await played('2026-12-08T09:00/10:00', '-', readFileSync(log, 'utf8'));
  expect([piped.code, piped.out]).toEqual([1, `2026-12-08T09:00/10:00 ${left}`]);
});

test.each([
  ['--into', ['--into', 'missing.yaml']],
  ['--rules (GATEWAY_RULES)', ['--rules', 'missing.yaml', '--into']],
])('a missing rule book is blamed on the option that names it: %s', async (option, options) => {
  const { code, err } = await commandRun(['plan', foreignLog(), ...options]);
  expect([code, err]).toEqual([
    2,
    `${option} names a file that cannot be read: missing.yaml: no such file or directory (ENOENT).\n`,
  ]);
});

test('--into without a file writes into the rule book of --rules, with the zone in which its days begin', async () => {
  writeFileSync(path, SHIPPED);
  const log = hourlyLog(at('2026-11-25T12:00Z'));
  const options = ['--at', '2026-11-25T12:00:00Z', '--zone', 'Europe/Berlin', '--rules', path];
  const { code } = await commandRun(['plan', log, ...options, '--into']);
  expect(code).toBe(0);
  const book = await loadRuleBook(path);
  if ('faults' in book) throw new Error(book.faults.join('\n'));
  expect(book.rules.ruleBook.zone).toBe('Europe/Berlin');
  expect(readFileSync(path, 'utf8')).toMatch(
    /^sunset: .*T00:00:00\+01:00, .* # \w{3} .* 00:00 Europe\/Berlin;/m,
  );
});

const A = "'aaaaaaaaaaaaaaaa'";
describe('what plan prints of the sunset is what --into writes', () => {
  const END = 'V1 ends (after: gone): V1 requests get 410. Write after: serve to announce the date only.';
  const NO_END = 'The announced date of the end (after: serve): V1 requests are served as before.';
  test.each<[string, string, string, boolean, ...string[]]>([
    ['no sunset', '', END, true],
    ['a lead time on the command line', '', END, true, '--lead', '30'],
    ['a date', 'sunset: 2026-12-01\n', NO_END, false],
    ['a date, and another lead time', 'sunset: 2026-12-01\n', NO_END, false, '--lead', '30'],
    ['a date beyond the earliest', 'sunset: 2028-12-01\n', NO_END, false],
    ['after: serve', 'sunset: { at: 2026-12-01, after: serve }\n', NO_END, false],
    ['after: gone', 'sunset: { at: 2026-12-01, after: gone }\n', END, true],
    ['after: gone, lead', 'sunset: { at: 2026-12-01, after: gone, lead: 30 }\n', END, true],
    [
      'after: gone except a client with a name',
      `clients: { acme: ${A} }\nsunset: { at: 2026-12-01, after: gone, except: [acme] }\n`,
      'V1 ends (after: gone): V1 requests get 410, except those of acme.',
      true,
    ],
    [
      'after: gone for one client',
      `sunset:\n  at: 2026-12-01\n  after: gone\n  clients: [${A}]\n`,
      'V1 ends (after: gone): V1 requests of aaaaaaaaaaaaaaaa get 410.',
      true,
    ],
  ])('the rule book has %s', async (_, declared, words, isEnd, ...more) => {
    const into = join(path, '..', 'book.yaml');
    writeFileSync(path, SHIPPED);
    writeFileSync(into, `${SHIPPED}\n${declared}`);
    const log = hourlyLog(at('2026-11-25T12:00Z'));
    const at25 = ['--at', '2026-11-25T12:00:00Z', '--zone', 'UTC'];
    // The book of --rules has no sunset: the one that is written counts.
    const made = await commandRun(
      ['plan', log, ...at25, '--rules', path, '--into', into, '--format', 'md', ...more],
      {},
    );
    expect([made.code, made.err]).toEqual([0, '']);
    const [table = '', said = ''] = made.out.split(`${into} now has the plan`);
    const plain = (text: string): string => text.replaceAll('\\', '').replaceAll('`', '');
    expect(plain(table)).toContain(words);
    expect(plain(said)).toContain(words);
    const book = await loadRuleBook(into);
    if ('faults' in book) throw new Error(book.faults.join('\n'));
    expect(book.rules.ruleBook.rollout?.gone !== undefined).toBe(isEnd);
    // The same book without --into says the same, of brownouts that are now declared.
    const shown = await commandRun(['plan', log, ...at25, '--rules', into, '--format', 'md', ...more], {});
    const again = shown.out.replaceAll(' \\(declared\\)', '').replace('A declared', 'A planned');
    expect(again).toBe(
      `${table.trimEnd().replace(' A planned one refuses V1 requests with 410, as the end does.', '')}\n`,
    );
  });
});

test('check finds sound what --into writes, and plan rehearse refuses the clients that the plan counts', async () => {
  writeFileSync(path, `${SHIPPED}\nzone: Europe/Berlin\n`);
  // The clocks change in the log on 25 October, and before the last brownouts on 28 March.
  const now = at('2026-11-12T00:00Z');
  const times: [string, number[]][] = [
    ['a', [0, 24, 48, 72, 96].map((hours) => hours + 9)],
    ['b', [33]],
    ['c', [75, 76]],
    ['d', Array.from({ length: 168 }, (_, hour) => hour)],
  ];
  const monday = at('2026-10-04T22:00Z');
  const entries = times.flatMap(([letter, hours]) =>
    [0, 1, 2, 3, 4, 5].flatMap((week) =>
      hours.map((hour) =>
        entryAt(monday + (week * 168 + hour) * 3_600_000, letter.repeat(16), 'create_client'),
      ),
    ),
  );
  const log = join(path, '..', 'rewrite.log');
  const lines = entries
    .filter(({ time }) => Date.parse(time) < now)
    .toSorted((one, other) => (one.time < other.time ? -1 : 1));
  writeFileSync(
    log,
    lines.map((entry) => `${JSON.stringify({ ...entry, level: 'info', requestId: 'r' })}\n`).join(''),
  );
  const before = readFileSync(path, 'utf8');
  const told = await commandRun(['plan', log, '--at', '2026-11-12', '--rules', path, '--lead', '160'], {});
  const made = await commandRun(
    ['plan', log, '--at', '2026-11-12', '--rules', path, '--into', path, '--format', 'json', '--lead', '160'],
    {},
  );
  expect([made.code, made.err]).toEqual([0, '']);
  const plan = JSON.parse(made.out) as Plan;
  // Without --into, the same lines are printed with their place.
  expect(told.out.split('(--into does so):\n').at(-1)).toBe(
    `\nat the end of the file:\n\n${readFileSync(path, 'utf8').slice(before.length).trimStart()}`,
  );
  expect(plan.clients.filter(({ notice }) => notice === undefined)).toEqual([]);
  const loaded = await loadRuleBook(path);
  if ('faults' in loaded) throw new Error(loaded.faults.join('\n'));
  expect(await warningsOfLogs([log], loaded.rules.ruleBook, { zone: undefined, now })).toEqual([]);
  const played = await commandRun(['plan', 'rehearse', log, '--rules', path, '--format', 'json'], {});
  const { zone, windows } = JSON.parse(played.out) as { zone: string; windows: RehearsedWindow[] };
  expect(zone).toBe('Europe/Berlin');
  expect(windows.map(({ id }) => id)).toEqual([...plan.brownouts.map(({ id }) => id), 'sunset']);
  // A client that was active in each week was active in the one that is played.
  const always = plan.clients.filter(
    ({ notice }) => notice !== undefined && 'weeks' in notice && notice.active === notice.weeks,
  );
  expect(always.length).toBeGreaterThan(1);
  for (const { client, notice } of always) {
    const refused = windows.find(({ id }) => id === notice?.by)?.clients;
    expect(refused?.map((one) => one.client)).toContain(client);
  }
});

describe('plan --avoid', () => {
  test.each([
    ['2026-12-24..', 'the range has no last day'],
    ['..2026-12-24', 'the range has no first day'],
    ['..', 'it is empty'],
    ['', 'it is empty'],
    [' ', 'it is empty'],
    ['2026-12-24...2026-12-26', '.2026-12-26 is not a day'],
    ['2026-12-24..2026-12-25..2026-12-26', 'a range has two days'],
    ['2027-01-02..2026-12-24', 'the range ends before it begins'],
    ['2026-12-24..2028-01-02', 'the range has 375 days, and 366 at most can be avoided'],
    ['2026-02-30', '2026-02-30 is not a day'],
    ['2026-12-24..2026-12-32', '2026-12-32 is not a day'],
    ['2026-12-24T00:00Z', '2026-12-24T00:00Z is not a day'],
    ['2026-12-24,2026-12-25', '2026-12-24,2026-12-25 is not a day'],
    ['2026-12-24/2026-12-25', '2026-12-24/2026-12-25 is not a day'],
    ['24.12.2026', '24.12.2026 is not a day'],
    ['Christmas', 'Christmas is not a day'],
    ['Fri', 'Fri is not a day'],
    ['Friday..Sunday', 'Friday is not a day'],
  ])('%j is refused before the log is read: %s', async (days, why) => {
    const { code, err, out } = await commandRun(['plan', '/no/such.log', '--avoid', days], {});
    expect([code, err, out]).toEqual([
      2,
      `--avoid ${days}: ${why}; write 2026-12-25, 2026-12-24..2027-01-02 or a weekday such as Friday.\n`,
      '',
    ]);
  });

  test('a list of holidays is kept, and a line that is not a day is refused', async () => {
    const list = join(path, '..', 'holidays.txt');
    writeFileSync(path, SHIPPED);
    const log = hourlyLog(at('2026-11-25T12:00Z'));
    const run = async (text: string) => {
      writeFileSync(list, text);
      const options = ['--at', '2026-11-25T12:00:00Z', '--zone', 'UTC', '--rules', path, '--format', 'json'];
      return commandRun(['plan', log, ...options, '--holidays', list], {});
    };
    const days = (out: string): string[] =>
      (JSON.parse(out).brownouts as { from: string }[]).map(({ from }) => from.slice(0, 10));
    const free = days((await run('\uFEFF# None\r\n\r\n')).out);
    const kept = days(
      (
        await run(
          `${free.map((day) => `${day} Some day`).join('\n')}\n2026-12-24..2027-01-02, the holidays\n`,
        )
      ).out,
    );
    expect([free.length, kept.length]).toEqual([5, 5]);
    expect(kept.filter((day) => free.includes(day) || (day >= '2026-12-24' && day <= '2027-01-02'))).toEqual(
      [],
    );
    const { code, err } = await run('2026-12-25\nChristmas 2026-12-25\n');
    expect([code, err]).toEqual([
      1,
      `${list}:2: Christmas: Christmas is not a day; write 2026-12-25, 2026-12-24..2027-01-02 or a weekday such as Friday.\n`,
    ]);
    const none = await commandRun(['plan', log, '--rules', path, '--holidays', join(path, '..', 'none')], {});
    expect([none.code, none.err]).toEqual([
      2,
      expect.stringMatching(/^The list of holidays cannot be read: .*none/),
    ]);
  });

  test.each([
    ['weekdays', ['monday', 'Tuesday', ' Wednesday '], ['Mon', 'Tue', 'Wed']],
    [
      'all weekdays but one',
      ['Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Sunday'],
      ['Mon', 'Tue', 'Fri'],
    ],
    ['a day', ['2027-01-13'], ['13 Jan']],
    ['a range of one day', ['2027-01-13..2027-01-13'], ['13 Jan']],
    ['a range', ['2027-01-12..2027-01-14'], ['12 Jan', '13 Jan', '14 Jan']],
    ['spaces', [' 2027-01-12 .. 2027-01-14 '], ['12 Jan', '13 Jan', '14 Jan']],
    ['two', ['2027-01-12', '2027-01-14..2027-02-10'], ['12 Jan', '14 Jan', '10 Feb']],
    ['a year', ['2026-11-25..2027-11-25'], ['2026', 'Jan 2027', 'Sep 2027']],
  ])('%s: no brownout is on those days', async (_, ranges, days) => {
    writeFileSync(path, SHIPPED);
    const log = hourlyLog(at('2026-11-25T12:00Z'));
    const { code, out } = await commandRun(
      [
        'plan',
        log,
        '--at',
        '2026-11-25T12:00:00Z',
        '--zone',
        'UTC',
        '--rules',
        path,
        '--format',
        'md',
      ].concat(ranges.flatMap((range) => ['--avoid', range])),
      {},
    );
    expect(code).toBe(0);
    const brownouts = out.split('\n').filter((line) => line.includes('plan-'));
    for (const day of days) expect(brownouts.filter((line) => line.includes(` ${day} `))).toEqual([]);
  });
});

describe('a machine without a time zone', () => {
  // V8 reports some of them as a name that it then refuses, and others as undefined.
  test.each([
    '',
    'Etc/Unknown',
    ':/etc/localtime',
    '/usr/share/zoneinfo/Europe/Berlin',
    'Nonsense',
    'AEST-10',
  ])('TZ=%j: plan, plan rehearse and the rule book say UTC, and a note says why', async (TZ) => {
    writeFileSync(path, SHIPPED);
    const log = hourlyLog(at('2026-11-25T12:00Z'));
    const environment = { TZ };
    const note =
      'note: The machine names no time zone, so times are in UTC; set zone in the rule book, or --zone.\n';
    const made = await commandRun(
      ['plan', log, '--at', '2026-11-25T12:00:00Z', '--rules', path, '--into', path],
      { environment },
    );
    expect([made.code, made.err]).toEqual([0, note]);
    expect(made.out).toMatch(/All\s+times\s+are\s+those\s+of\s+UTC\./);
    const book = readFileSync(path, 'utf8');
    expect(book).toMatch(/ # \w{3} .* UTC\n/);
    expect(book).not.toMatch(/undefined|Unknown/);
    const window = ['--window', '2026-11-24T09:00/10:00'];
    const played = await commandRun(['plan', 'rehearse', log, ...window, '--rules', path], { environment });
    expect([played.code, played.err]).toEqual([0, note]);
    const named = await commandRun(
      ['plan', 'rehearse', log, ...window, '--rules', path, '--zone', 'Australia/Sydney'],
      { environment },
    );
    expect([named.code, named.err]).toEqual([0, '']);
  });

  test.each([
    ['the machine', '', [], 'Europe/Berlin'],
    ['the rule book before the machine', 'zone: Australia/Sydney\n', [], 'Australia/Sydney'],
    ['--zone before both', 'zone: Australia/Sydney\n', ['--zone', 'America/New_York'], 'America/New_York'],
    [
      'a zone in small letters',
      'zone: Australia/Sydney\n',
      ['--zone', 'america/new_york'],
      'America/New_York',
    ],
    ['a zone by its new name', 'zone: Australia/Sydney\n', ['--zone', 'Asia/Kolkata'], 'Asia/Kolkata'],
  ])('the zone is that of %s', async (_, line, more, zone) => {
    writeFileSync(path, `${SHIPPED}\n${line}`);
    const log = hourlyLog(at('2026-11-25T12:00Z'));
    const environment = { TZ: 'Europe/Berlin' };
    const rules = ['--rules', path, '--format', 'json', ...more];
    const made = await commandRun(['plan', log, '--at', '2026-11-25T12:00:00Z', ...rules], { environment });
    expect([made.code, made.err, JSON.parse(made.out).zone]).toEqual([0, '', zone]);
    const window = ['--window', '2026-11-24T09:00/10:00'];
    const played = await commandRun(['plan', 'rehearse', log, ...window, ...rules], { environment });
    expect([played.code, played.err, JSON.parse(played.out).zone]).toEqual([0, '', zone]);
    const none = await commandRun(['plan', log, '--at', '2026-11-25T12:00:00Z', ...rules], {
      environment: { TZ: 'Etc/Unknown' },
    });
    expect(none.err === '').toBe(line !== '');
  });

  test('a machine that names one gets no note', async () => {
    const none = await commandRun(['plan', '/dev/null', '--rules', path], {
      environment: { TZ: 'Europe/Berlin' },
    });
    expect(none.err).not.toContain('note: The machine');
  });
});
