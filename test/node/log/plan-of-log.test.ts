import { readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import { beforeAll, expect, test } from 'vitest';
import type { EndPlan } from '../../../src/inspector/api.ts';
import type { PlanWork } from '../../../src/inspector/operator-work.ts';
import { planOfLog } from '../../../src/node/log/plan-of-log.ts';
import { PlanTally } from '../../../src/report/plan/activity.ts';
import type { avoidedDays } from '../../../src/report/plan/avoided-days.ts';
import { makePlan, type Plan } from '../../../src/report/plan/plan.ts';
import { planLines, withPlan } from '../../../src/node/log/plan-lines.ts';
import { planParts } from '../../../src/report/plan/plan-text.ts';
import { Zone } from '../../../src/report/plan/zone.ts';
import { bookIn } from '../../rules/reading.ts';
import { entryAt, simulatedFleet } from '../../report/plan/fleet.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

const DAY_MS = 86_400_000;
const NOW = Date.parse('2026-11-25T12:00:00Z');
const ZONE = new Zone('Europe/Berlin');

const fleet = simulatedFleet(7, ZONE, { since: NOW - 60 * DAY_MS, now: NOW, end: NOW }).filter(
  ({ kind }) => kind === 'nightly' || kind === 'weekly',
);
const entries = fleet
  .flatMap(({ times, hash, operation }) => times.map((time) => entryAt(time, hash, operation)))
  .toSorted((one, other) => (one.time < other.time ? -1 : 1));
const logFile = join(temporaryFolder('plan-of-log'), 'rewrite.log');
const work: PlanWork = {
  kind: 'plan',
  logFile,
  ruleFile: '/etc/my rules.yaml',
  zone: ZONE.name,
  now: NOW,
  ruleText: 'format: 1\n',
  program: 'npm run -s gateway --',
  goneAfterDays: 14,
  names: new Map(),
  rollout: undefined,
};

beforeAll(async () => {
  const lines = entries.map((entry) => `${JSON.stringify({ ...entry, level: 'info', requestId: 'r' })}\n`);
  const [first, second] = [lines.length / 3, (lines.length * 2) / 3].map(Math.floor);
  await writeFile(`${logFile}.2.gz`, gzipSync(lines.slice(0, first).join('')));
  await writeFile(`${logFile}.1`, lines.slice(first, second).join(''));
  await writeFile(logFile, lines.slice(second).join(''));
});

async function planned(
  ...limits: Parameters<typeof planOfLog> extends [unknown, ...infer More] ? More : never
): Promise<EndPlan> {
  return (await planOfLog(work, ...limits)).value as EndPlan;
}

test('a plan is made of a log and its rotated files, as of their entries', async () => {
  const counts = new PlanTally(ZONE);
  for (const entry of entries) counts.add(entry);
  const { now, goneAfterDays, names, rollout } = work;
  const plan = makePlan(counts, {
    now,
    goneAfterDays,
    names,
    rollout,
    leadDays: 90,
    gaps: [],
    avoid: () => false,
  });
  const { parts, clients, made, figures, command } = await planned();
  expect(parts).toEqual(planParts(plan ?? expect.fail('a plan')));
  expect(clients.map(({ client, because }) => [client, because])).toEqual(
    plan?.clients.map(({ client, because }) => [client, because]),
  );
  // Each figure is one that a reader counts in the list of clients.
  const all = clients.length;
  const reached = clients.filter(({ notice }) => notice?.isMet === false).length;
  expect(Object.fromEntries(figures?.map(({ name, value }) => [name, value]) ?? [])).toMatchObject({
    Deprecation: expect.stringContaining(` ${ZONE.name}`),
    Sunset: expect.stringContaining(` ${ZONE.name}, `),
    'Time zone': ZONE.name,
    'Clients on V1': String(all),
    'Have had a notice': `0 of ${all}`,
    'First notice by a planned brownout': `${reached} of ${all}`,
  });
  expect(command).toBe(
    `npm run -s gateway -- plan ${logFile} --zone ${ZONE.name} --into '/etc/my rules.yaml'`,
  );
  expect(made).toEqual([
    `Made from ${entries.length.toLocaleString('en')} exchanges in ${logFile}, since ${ZONE.text(Date.parse(entries[0]?.time ?? ''))}.`,
  ]);
});

test('of a log that is too large the newest part is read, of many clients the first are listed, and the plan says so', async () => {
  const { made, parts, clients } = await planned({ bytes: 100_000, rows: 10 });
  expect(made[1]).toBe('The log is larger: only its newest 1 MiB are read. capture-gateway plan reads all.');
  expect(made[0]).not.toContain(ZONE.text(Date.parse(entries[0]?.time ?? '')));
  const listed = parts.find(({ title }) => title === 'Clients');
  expect(listed?.table?.rows.length).toBe(10);
  expect(listed?.sentences.join(' ')).toMatch(
    /^The first 10 of \d+ are listed; capture-gateway plan lists all\.$/,
  );
  expect(clients.length).toBe(10);
});

test.each(['1', '2.gz'])(
  'a rotated file .%s that does not fit whole is read from the middle on',
  async (name) => {
    const file = `${logFile}.${name}`;
    const unpacked = name.endsWith('.gz') ? gunzipSync(await readFile(file)).length : (await stat(file)).size;
    const { size } = await stat(logFile);
    const before = name === '1' ? size : size + (await stat(`${logFile}.1`)).size;
    const exchanges = async (bytes: number): Promise<number> =>
      Number(
        /^Made from ([\d,]+)/
          .exec((await planned({ bytes, rows: 10 })).made[0] ?? '')?.[1]
          ?.replaceAll(',', ''),
      );
    const [one, some, both] = [
      await exchanges(before),
      await exchanges(before + Math.floor(unpacked / 2)),
      await exchanges(before + unpacked),
    ];
    expect(both).toBeGreaterThan(one);
    // A packed file is left out by pieces.
    expect(some).toBeGreaterThan(one + (both - one) / 4);
    expect(some).toBeLessThanOrEqual(both);
  },
);

test('a log without entries has no plan', async () => {
  const { made, parts } = (
    await planOfLog({ ...work, logFile: '/dev/null', whose: 'It is the log of the replica a alone.' })
  ).value as EndPlan;
  expect(made).toEqual([
    '/dev/null has no entry of the rewrite log, so it does not show who uses V1.',
    'It is the log of the replica a alone.',
  ]);
  expect(parts).toEqual([]);
});

test('a plan has the lead time and the days of its reader, and the lines that declare it', async () => {
  const ruleText = [
    '# Ours.',
    'format: 1',
    'sunset: { at: 2027-01-01, after: gone } # agreed',
    'brownouts:',
    "  - { id: mine, from: '2026-12-01T10:00:00Z', until: '2026-12-01T11:00:00Z' }",
    "  - { id: plan-1, from: '2026-12-02T10:00:00Z', until: '2026-12-02T11:00:00Z' }",
    '',
  ].join('\n');
  const avoid = ['Monday', '2026-12-24..2027-01-02'];
  const choices = { ruleText, lead: 120, avoid };
  const { leadDays, lines, command, proposal } = (await planOfLog({ ...work, ...choices })).value as EndPlan;
  expect(leadDays).toBe(120);
  expect(command).toContain(` --lead 120 --avoid Monday 2026-12-24..2027-01-02 --into `);
  const days = proposal?.brownouts.map(({ from }) => ZONE.text(Date.parse(from))) ?? [];
  expect(days.length).toBeGreaterThan(1);
  for (const day of days) expect(day).not.toMatch(/^Mon|^(?:2[4-9]|3[01]) Dec/);
  // Nothing but the plan's own lines changes.
  expect(lines?.map(({ place, removed }) => [place, removed.trim().slice(0, 12)])).toEqual([
    ['at the end of the file', ''],
    ['in place of line 6', '- { id: plan'],
    ['in place of line 3', 'sunset: { at'],
  ]);
  expect(lines?.map(({ added }) => added).join('')).toContain('lead: 120');
});

/** What a reader of the page does: the changes in their order, each at its place. */
function pasted(text: string, lines: NonNullable<EndPlan['lines']>): string {
  let book = text.split('\n');
  if (book.at(-1) === '') book = book.slice(0, -1);
  for (const { place, added, removed } of lines) {
    const now = added.split('\n').slice(0, -1);
    const [, first = '', last = first] =
      /^in place of lines? (\d+)(?: to (\d+))?$/.exec(place) ?? /^after line (\d+)$/.exec(place) ?? [];
    const isReplaced = place.startsWith('in place');
    if (first === '') book = [...book, ...now];
    else if (isReplaced) {
      expect(`${book.slice(Number(first) - 1, Number(last)).join('\n')}\n`).toBe(removed);
      book.splice(Number(first) - 1, Number(last) - Number(first) + 1, ...now);
    } else book.splice(Number(first), 0, ...now);
  }
  return book.join('\n');
}

const MINE = "{ id: mine, from: '2026-12-01T10:00:00Z', until: '2026-12-01T11:00:00Z' }";
const OLD = "{ id: plan-1, from: '2026-12-02T10:00:00Z', until: '2026-12-02T11:00:00Z' }";

test.each([
  ['no line about the end', '', ['at the end of the file']],
  ['no line feed at its end', 'links: {}', ['at the end of the file']],
  [
    'brownouts',
    `brownouts:\n  # ours\n  - ${MINE} # agreed\n\nlinks: {}\n`,
    ['at the end of the file', 'after line 4'],
  ],
  [
    'brownouts of a plan first',
    `brownouts:\n- ${OLD}\n- ${MINE}\nlinks: {}\n`,
    ['at the end of the file', 'after line 4', 'in place of line 3'],
  ],
  [
    'brownouts of a plan last',
    `brownouts:\n- ${MINE}\n- id: plan-1\n  from: 2026-12-02\n`,
    ['at the end of the file', 'in place of lines 4 to 5'],
  ],
  [
    'an empty list',
    'brownouts: [] # none yet\nlinks: {}\n',
    ['at the end of the file', 'in place of line 2'],
  ],
  ['a sunset', 'sunset: 2027-06-01\n', ['at the end of the file']],
  [
    'a sunset, and other lines',
    '# ours\nsunset: # agreed\n  at: 2027-06-01 # by letter\n  after: gone\nlinks: {}\n',
    ['at the end of the file'],
  ],
  [
    'a zone, a deprecation and a sunset',
    `zone: Europe/Berlin\ndeprecation: 2026-12-01\nsunset: { at: 2027-06-01, after: gone, lead: 100 }\n`,
    ['at the end of the file'],
  ],
  [
    'all of it',
    `deprecation: 2026-12-01\nsunset: { at: 2027-06-01, after: gone, except: ['${'b'.repeat(16)}'] }\nbrownouts:\n  - ${MINE}\n`,
    ['after line 5'],
  ],
])(
  'the lines load where the page says, with the meaning of the plan: a book with %s',
  async (_, more, places) => {
    const ruleText = `changes: []\n${more}`;
    const before = await bookIn(ruleText);
    const { rollout } = before;
    const made = (await planOfLog({ ...work, ruleText, rollout })).value as EndPlan;
    const { lines = [], proposal } = made;
    expect(lines.map(({ place }) => place)).toEqual(places);
    const { rollout: after } = await bookIn(pasted(ruleText, lines));
    expect(after?.signals).toMatchObject({
      since: Date.parse(proposal?.deprecation ?? ''),
      sunset: Date.parse(proposal?.sunset ?? ''),
    });
    // A sunset keeps its effect; a new one ends V1.
    expect(after?.gone).toEqual(rollout?.signals?.sunset === undefined ? {} : rollout.gone);
    const planned = after?.brownouts.filter(({ id }) => id.startsWith('plan-'));
    expect(planned?.map(({ id, from, until }) => [id, from, until])).toEqual(
      proposal?.brownouts.map(({ id, from, until }) => [id, Date.parse(from), Date.parse(until)]),
    );
    expect(after?.brownouts.filter(({ id }) => id === 'mine')).toEqual(
      rollout?.brownouts.filter(({ id }) => id === 'mine') ?? [],
    );
  },
);

test('a book in another style has no lines, and a book that declares the plan needs none', async () => {
  const plan = makePlanOf({ leadDays: 90, avoid: () => false });
  expect(planLines('{ format: 1 }', plan)).toBeUndefined();
  expect(planLines(withPlan('format: 1\n', plan) ?? '', plan)).toEqual([]);
});

test.each([
  [['someday'], 'someday is not a day'],
  [['2026-12-24..'], 'the range has no last day'],
  [['Friday', '2026-12-24..2026-12-01'], 'the range ends before it begins'],
])('days to avoid that are none are a fault: %j', async (avoid, fault) => {
  expect(await planOfLog({ ...work, avoid })).toMatchObject({
    status: 422,
    value: { errors: [{ detail: expect.stringContaining(fault) as string }] },
  });
});

function makePlanOf(more: {
  readonly leadDays: number;
  readonly avoid: ReturnType<typeof avoidedDays>;
}): Plan {
  const counts = new PlanTally(ZONE);
  for (const entry of entries) counts.add(entry);
  const { now, goneAfterDays, names, rollout } = work;
  const { leadDays, avoid } = more;
  if (typeof avoid !== 'function') throw new Error(avoid.fault);
  const plan = makePlan(counts, { now, goneAfterDays, names, rollout, leadDays, avoid, gaps: [] });
  return plan ?? expect.fail('a plan');
}
