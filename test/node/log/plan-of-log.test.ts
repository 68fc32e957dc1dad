import { readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import { beforeAll, expect, test } from 'vitest';
import type { EndPlan } from '../../../src/inspector/api.ts';
import type { PlanWork } from '../../../src/inspector/operator-work.ts';
import { planOfLog } from '../../../src/node/log/plan-of-log.ts';
import { PlanTally } from '../../../src/report/plan/activity.ts';
import { avoidedDays } from '../../../src/report/plan/avoided-days.ts';
import { makePlan, type Plan } from '../../../src/report/plan/plan.ts';
import { planLines, withPlan } from '../../../src/node/log/plan-lines.ts';
import { planParts } from '../../../src/report/plan/plan-text.ts';
import { Zone } from '../../../src/report/plan/zone.ts';
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
    'Had a notice before': `0 of ${all}`,
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
  // Nothing but the plan's own lines changes, and they are those that the command writes.
  expect(lines?.removed.split('\n').map((line) => line.trim().slice(0, 12))).toEqual([
    'sunset: { at',
    '- { id: plan',
    '',
  ]);
  const plan = makePlanOf({ leadDays: 120, avoid: avoidedDays(avoid) });
  const next = withPlan(ruleText, plan) ?? expect.fail('a text');
  for (const line of lines?.added.split('\n') ?? []) expect(next).toContain(line);
  expect(next).toContain('# Ours.');
  expect(lines?.added).toContain('lead: 120');
  // A book in another style gets the lines of one without dates.
  expect(planLines('{ format: 1 }', plan)).toEqual({
    added: expect.stringMatching(/^(?:zone: .*\n)?deprecation: .*\nsunset: .*\nbrownouts:\n/) as string,
    removed: '',
  });
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
