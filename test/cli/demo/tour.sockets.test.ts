import { existsSync, readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { FLEET, openStage, type Stage } from '../../../src/cli/demo/tour-stage.ts';
import { TOUR } from '../../../src/cli/demo/tour.ts';
import type { Entry } from '../../../src/rewrite-log/entry.ts';
import type { RolloutView } from '../../../src/rollout/rollout-tally.ts';
import { VIEWS } from '../../../src/inspector/page/page-state.ts';
import { PROGRAM } from '../../support/product.ts';
import { until } from '../../support/until.ts';

/** A step that was played: its sentences, the log entries of its time, and the rollout after it. */
interface PlayedStep {
  readonly text: string;
  readonly entries: readonly Entry[];
  readonly rollout: RolloutView;
  readonly metrics: string;
  readonly rules: string;
}

const played = new Map<string, PlayedStep>();
let stage: Stage;
const shipped = readFileSync('config/rules.yaml', 'utf8');

const logged = (): readonly Entry[] =>
  readFileSync(`${stage.folder}/rewrite.log`, 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Entry);

beforeAll(async () => {
  const opened = await openStage({
    program: PROGRAM,
    listen: '127.0.0.1:0',
    adminListen: '127.0.0.1:0',
  });
  if ('faults' in opened) throw new Error(opened.faults.join('\n'));
  stage = opened;
  const { adminOrigin } = stage.serving.running;
  let before = 0;
  for (const { title, play } of TOUR) {
    const text = (await play(stage)).join('\n');
    await until(() => existsSync(`${stage.folder}/rewrite.log`) && logged().length === stage.fleet.sent);
    const [rollout, metrics] = await Promise.all([
      fetch(`${adminOrigin}/rollout`).then((response) => response.json() as Promise<RolloutView>),
      fetch(`${adminOrigin}/metrics`).then((response) => response.text()),
    ]);
    const entries = logged().slice(before);
    before += entries.length;
    played.set(title, { text, entries, rollout, metrics, rules: readFileSync(stage.rulesPath, 'utf8') });
  }
});

// A test closes it, unless one before it throws.
afterAll(() => stage?.abandon());

const of = (title: string): PlayedStep => {
  const step = played.get(title);
  if (step === undefined) throw new Error(`no step ${title}`);
  return step;
};
const amount = (entries: readonly Entry[], holds: (entry: Entry) => boolean): number =>
  entries.filter(holds).length;
const isMigrated = ({ origin }: Entry): boolean => origin === undefined;
const namesOf = (entries: readonly Entry[]): string[] =>
  [...new Set(entries.map(({ client }) => stage.names.get(client ?? '') ?? ''))].toSorted();

describe('each step of the tour says what the rewrite log and the gateway say', () => {
  test('observe: V1 responds to all', () => {
    const { text, entries, metrics } = of('Observe');
    expect(entries.every(({ origin, mode }) => origin === 'v1' && mode === 'observe')).toBe(true);
    expect(text).toContain(`${FLEET.length} clients, written for V1, sent ${entries.length} requests`);
    expect(text).toContain('V1 responded to all of them, and V2 got none.');
    expect(metrics).toContain(`gateway_rollout_requests_total{origin="v1"} ${entries.length}\n`);
    const would = (verdict: string): number => amount(entries, (entry) => entry.would?.verdict === verdict);
    expect(text).toContain(
      `would have rewritten ${would('rewritten')}, left the body of ${would('unchanged')} unchanged, and refused ${would('refused')}.`,
    );
    expect(would('rewritten')).toBeGreaterThan(20);
  });

  test('census: the clients that send the attribute, and a canary that is refused', () => {
    const { text, entries } = of('Census');
    expect(entries).toEqual([]);
    const senders = of('Observe').entries.filter(
      ({ attributes }) => attributes?.includes('/data/legacy_code') === true,
    );
    expect(namesOf(senders)).toEqual(['Eastgate Property', 'Fernhill Realty']);
    expect(text).toContain('Eastgate Property and Fernhill Realty send legacy_code in create_client');
    const [, checked, refused] =
      /Of (\d+) bodies that were checked, V2's schema would refuse (\d+)/.exec(text) ?? [];
    const verdicts = of('Observe').entries.map(({ would }) => would?.v2);
    const invalid = verdicts.filter((verdict) => verdict === 'invalid').length;
    expect([Number(checked), Number(refused)]).toEqual([
      invalid + verdicts.filter((verdict) => verdict === 'valid').length,
      invalid,
    ]);
    expect(text).toContain(`A migration is refused now: V2 would refuse ${invalid} of`);
  });

  test('strip: only the rule book of the tour gets the strip rule', () => {
    const { text, entries, rules } = of('Strip');
    expect(rules).toContain('strip: [legacy_code]');
    const hashes = new Set(entries.map(({ ruleBook }) => ruleBook));
    expect([...hashes].map((hash) => text.includes(`as rule book ${hash ?? ''}.`))).toEqual([true]);
    const stripped = amount(entries, ({ edits }) => edits.some(({ rule }) => rule === 'strip'));
    expect(stripped).toBeGreaterThan(0);
    expect(text).toContain(
      `In the next ${entries.length} requests a migration would have stripped ${stripped} bodies.`,
    );
    const verdict = (v2: string): number => amount(entries, ({ would }) => would?.v2 === v2);
    expect(text).toContain(`V2's schema accepts ${verdict('valid')} and refuses ${verdict('invalid')}.`);
  });

  test('shadow: differences before the operation is declared, and after it', () => {
    const { text, entries } = of('Shadow');
    // Reads that the gateway could not compare in time are sent again, before and after.
    const halves = [...Map.groupBy(entries, ({ ruleBook }) => ruleBook).values()];
    const [before, after] = halves.map((half) => {
      const of = (verdict: string): number =>
        amount(half, ({ comparison }) => comparison?.verdict === verdict);
      return { reads: half.length, same: of('same'), different: of('different'), unknown: of('unknown') };
    });
    const sums = [...text.matchAll(/Of (\d+) reads, (\d+) .+?, (\d+) another one, and (\d+) could not/g)];
    const told = sums.map((one) => one.slice(1).map(Number));
    expect(told).toEqual(
      [before, after].map((half) => [half?.reads, half?.same, half?.different, half?.unknown]),
    );
    for (const [reads, same = 0, different = 0, unknown = 0] of told)
      expect(same + different + unknown).toBe(reads);
    expect(before?.different).toBeGreaterThan(0);
    expect(after?.different).toBe(0);
    expect(text).toContain('/data/*/property/street_address');
    const skipped = amount(entries, ({ comparison }) => comparison?.verdict === 'unknown');
    expect(/^Why some could not be compared: \w/m.test(text)).toBe(skipped > 0);
  });

  test('canary: the clients in it, and their failures', () => {
    const { text, entries } = of('Canary');
    const migrated = entries.filter((entry) => isMigrated(entry));
    const names = namesOf(migrated);
    expect(text).toContain(`migrates ${names.length} of ${FLEET.length} clients: `);
    for (const name of names) expect(text).toContain(name);
    for (const { name } of FLEET) expect(text.includes(name)).toBe(names.includes(name));
    expect(text).toContain(
      `Of their ${migrated.length} requests to V2, ${amount(migrated, ({ status }) => status >= 400)} failed; of ${entries.length - migrated.length} to V1, 0 failed.`,
    );
  });

  test('a fault: the gateway rolls back by itself, and V1 responds again', () => {
    const { text, entries, rollout } = of('A fault, and the roll-back');
    const [rollback] = rollout.rollbacks;
    expect(text).toContain(
      `At ${rollback?.at} the gateway rolled the canary of ${rollback?.share} % back by itself: ${rollback?.migrated.failures} of ${rollback?.migrated.requests} compared requests had failed on V2, and ${rollback?.v1.failures} of ${rollback?.v1.requests} on V1.`,
    );
    expect(rollback?.migrated.failures).toBeGreaterThan(0);
    // V2 itself responds, so the gateway reports no failure.
    const failed = entries.filter((entry) => isMigrated(entry) && entry.status >= 400);
    expect(failed.map(({ status, failure }) => [status, failure])).toEqual(
      failed.map(() => [500, undefined]),
    );
    expect(rollout.default).toEqual({ mode: 'observe', from: 'roll-back' });
    for (const name of namesOf(entries.filter((entry) => isMigrated(entry) && entry.status >= 500)))
      expect(text).toContain(name);
    const last = entries.slice(-FLEET.length * 2);
    expect(last.every(({ origin, status }) => origin === 'v1' && status < 400)).toBe(true);
    expect(text).toContain(`Of the next ${last.length} requests V1 responded well to all.`);
  });

  test('migrate: V2 gets the requests of all clients, and V1 gets none', () => {
    const { text, entries, rollout } = of('Migrate');
    const last = entries.slice(-FLEET.length * 4);
    expect(last.every((entry) => isMigrated(entry) && entry.status < 400)).toBe(true);
    expect(text).toContain(
      `In mode migrate ${last.length} requests of ${FLEET.length} clients went to V2, 0 to V1, and 0 failed.`,
    );
    const larger = namesOf(entries.slice(0, -FLEET.length * 4).filter((entry) => isMigrated(entry)));
    expect(text).toContain(
      `A canary of 60 % migrates ${larger.length} clients, among them all of the canary of 30 %.`,
    );
    expect(larger).toEqual(
      expect.arrayContaining(namesOf(of('Canary').entries.filter((entry) => isMigrated(entry)))),
    );
    expect(rollout.default).toMatchObject({ mode: 'migrate' });
  });

  test('sunset: announced, then 410 for all clients but one', () => {
    const { text, entries, rules } = of('Sunset');
    const [, sunset = ''] = /Sunset: (.+ GMT)/.exec(text) ?? [];
    expect(Date.parse(sunset)).toBeGreaterThan(Date.now());
    // Every client reads once, and each response announces the end.
    expect(text).toContain(`${FLEET.length} of ${FLEET.length} responses announce it`);
    const gone = entries.filter(({ status }) => status === 410);
    expect(text).toContain(`${gone.length} requests of ${namesOf(gone).length} clients got 410.`);
    expect(namesOf(gone)).toEqual(
      FLEET.map(({ name }) => name)
        .filter((name) => name !== 'Acacia Estates')
        .toSorted(),
    );
    expect(text).toContain('Acacia Estates, which the rule book excepts, got 2 responses as before.');
    const ended = /^sunset: \{ at: (\S+),/m.exec(rules)?.[1] ?? '';
    expect(Date.parse(ended)).toBeLessThan(Date.now());
  });
});

test('every address of the tour is a page, and in the end no file is left', async () => {
  const { adminOrigin } = stage.serving.running;
  // Addresses of former views still work, but a reader should see those of today.
  const named = TOUR.map(({ page }) => new URL(page, adminOrigin).searchParams.get('view') ?? 'overview');
  expect(named.filter((view) => !VIEWS.some((one) => one === view))).toEqual([]);
  const pages = await Promise.all(TOUR.map(({ page }) => fetch(new URL(page, adminOrigin))));
  expect(pages.map(({ status }) => status)).toEqual(TOUR.map(() => 200));
  // A page that is not read keeps its connection busy, and the stage waits for it.
  await Promise.all(pages.map((page) => page.arrayBuffer()));
  await stage.close();
  expect(existsSync(stage.folder)).toBe(false);
  expect(readFileSync('config/rules.yaml', 'utf8')).toBe(shipped);
});
