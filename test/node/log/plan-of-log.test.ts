import { readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import { beforeAll, expect, test } from 'vitest';
import type { EndPlan } from '../../../src/inspector/api.ts';
import type { PlanWork } from '../../../src/inspector/operator-work.ts';
import { planOfLog } from '../../../src/node/log/plan-of-log.ts';
import { PlanTally } from '../../../src/report/plan/activity.ts';
import { makePlan } from '../../../src/report/plan/plan.ts';
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
  leadDays: 90,
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
  const { kind: _, logFile: __, ruleFile: ____, zone: ___, ...options } = work;
  const plan = makePlan(counts, { ...options, gaps: [], avoid: () => false });
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
  expect(command).toBe(`capture-gateway plan ${logFile} --zone ${ZONE.name} --into '/etc/my rules.yaml'`);
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
