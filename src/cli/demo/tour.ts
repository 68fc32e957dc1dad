import { once } from 'node:events';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { stdin, stdout } from 'node:process';
import type { ClientClass } from '../../report/client-report.ts';
import type { Report } from '../../report/report.ts';
import { count, counted } from '../../rules/words.ts';
import { FAILURE, NOT_STARTED } from '../command-fault.ts';
import { freeAddresses } from './demo.ts';
import { applyStrips } from '../report/report.ts';
import { painter, reachable, terminalOf, wrapLines } from '../terminal.ts';
import {
  addToRuleBook,
  declareOperation,
  FLEET,
  type FleetResponse,
  openStage,
  reloadRules,
  type Stage,
  type StageOptions,
  UNDECLARED_OPERATION,
} from './tour-stage.ts';

/** The steps in which V1 responds to every request. */
const OBSERVING_STEPS: readonly TourStep[] = [
  { title: 'Observe', page: './', play: observe },
  { title: 'Census', page: './?view=clients', play: takeCensus },
  { title: 'Strip', page: './?view=rules', play: strip },
  { title: 'Shadow', page: './?view=rollout', play: shadow },
];

/** Attempts to see something that the gateway skips on a busy machine. */
const MAX_TRIES = 4;

async function observe(stage: Stage): Promise<readonly string[]> {
  const { admin, fleet } = stage;
  await admin.choose({ mode: 'observe' });
  // The census needs several bodies, and a gateway on a busy machine observes only some.
  for (let tries = 0; tries < MAX_TRIES && (await admin.report()).census.strips.length === 0; tries += 1) {
    await fleet.send(4);
    await settle(stage);
  }
  const requests = await admin.sentTo();
  const would = await Promise.all(
    ['rewritten', 'unchanged', 'refused'].map(
      async (verdict) => (await admin.entriesAfter(0, `would:${verdict}`)).length,
    ),
  );
  const [rewritten = 0, unchanged = 0, refused = 0] = would;
  return [
    `${count(FLEET.length)} clients, written for V1, sent ${counted(requests.v1 + requests.v2, 'request')} to the gateway in mode observe.`,
    `V1 responded to ${requests.v1 === fleet.sent ? 'all of them' : count(requests.v1)}, and V2 got ${requests.v2 === 0 ? 'none' : count(requests.v2)}.`,
    `A migration would have rewritten ${count(rewritten)}, left the body of ${count(unchanged)} unchanged, and refused ${count(refused)}.`,
  ];
}

async function takeCensus(stage: Stage): Promise<readonly string[]> {
  const { admin, names } = stage;
  const report = await admin.report();
  const { valid, invalid } = await bodyChecks(stage);
  const refusal = await admin.refusalOf({ mode: 'migrate' });
  return [
    ...report.census.strips.map(
      ({ member, operation = 'requests', clients, why }) =>
        `The census: ${listed(clients.map((hash) => names.get(hash) ?? hash))} send ${member} in ${operation} (${why}), and no rule handles it. It proposes a strip rule.`,
    ),
    `Of ${count(invalid + valid)} bodies that were checked, V2's schema would refuse ${count(invalid)}.`,
    refusal === undefined ? 'A migration would be accepted.' : `A migration is refused now: ${refusal}`,
    classSentence(report),
  ];
}

async function strip(stage: Stage): Promise<readonly string[]> {
  const { admin, rulesPath, fleet } = stage;
  const outcome = await applyStrips(rulesPath, (await admin.report()).census.strips);
  if ('faults' in outcome) throw new Error(outcome.faults.join('\n'));
  const hash = await reloadRules(stage.serving);
  const before = await admin.latest();
  let requests = 0;
  let checks = { valid: 0, invalid: 0 };
  // A gateway on a busy machine checks only some.
  for (let tries = 0; tries < MAX_TRIES && checks.valid + checks.invalid === 0; tries += 1) {
    requests += (await fleet.send(2)).length;
    await settle(stage);
    checks = await bodyChecks(stage);
  }
  const stripped = (await admin.entriesAfter(before)).filter(({ edits }) =>
    edits.some(({ rule }) => rule === 'strip'),
  );
  return [
    `The proposal is in the rule book of the tour, which strips ${outcome.written.join(', ')} now. The gateway took it without a restart, as rule book ${hash}.`,
    `In the next ${counted(requests, 'request')} a migration would have stripped ${count(stripped.length)} bodies. Of the bodies that were checked, V2's schema accepts ${count(checks.valid)} and refuses ${count(checks.invalid)}.`,
  ];
}

/** Numbers of bodies that V2's schema accepted and refused under the rule book in force. */
async function bodyChecks({ admin }: Stage): Promise<{ readonly valid: number; readonly invalid: number }> {
  const counts = (await admin.rollout()).bodyChecks?.counts ?? [];
  const sum = (kind: 'valid' | 'invalid'): number => counts.reduce((all, each) => all + each[kind], 0);
  return { valid: sum('valid'), invalid: sum('invalid') };
}

async function shadow(stage: Stage): Promise<readonly string[]> {
  const { admin } = stage;
  await admin.choose({ mode: 'shadow' });
  const start = await admin.latest();
  let first = await compareReads(stage);
  for (let tries = 1; tries < MAX_TRIES && total(first).different === 0; tries += 1)
    first = await compareReads(stage);
  const before = total(first);
  const missing = first
    .flatMap(({ fields }) => fields)
    .filter(({ kind }) => kind === 'missing')
    .map(({ path }) => path);
  declareOperation(stage.rulesPath);
  const hash = await reloadRules(stage.serving);
  let after: Compared = { compared: 0, different: 0, unknown: 0 };
  for (let tries = 0; tries < MAX_TRIES && after.compared === 0; tries += 1) {
    const all = total(await compareReads(stage));
    after = {
      compared: all.compared - before.compared,
      different: all.different - before.different,
      unknown: all.unknown - before.unknown,
    };
  }
  return [
    `The clients read: each read went to both services, and the client got V1's response. ${comparedWords(before)}`,
    ...(missing.length === 0
      ? []
      : [
          `V1 clients would have missed ${listed(missing)}, in a list that the rule book of the tour did not name.`,
        ]),
    `With ${UNDECLARED_OPERATION} declared (rule book ${hash}), the clients read again. ${comparedWords(after)}`,
    ...(await notCompared(stage, start)),
    classSentence(await admin.report()),
  ];
}

function comparedWords({ compared, different, unknown }: Compared): string {
  return `Of ${counted(compared + unknown, 'read')}, ${count(compared - different)} would have had the same response from V2, ${count(different)} another one, and ${count(unknown)} could not be compared.`;
}

/** Says why reads were not compared: a busy gateway skips some. */
async function notCompared({ admin }: Stage, start: number): Promise<readonly string[]> {
  const reasons = (await admin.entriesAfter(start)).flatMap(({ comparison }) =>
    comparison?.verdict === 'unknown' ? [comparison.why ?? 'unknown'] : [],
  );
  if (reasons.length === 0) return [];
  const others = [...new Set(reasons)].filter((reason) => reason !== 'budget');
  const words = [
    ...(reasons.includes('budget') ? ['a busy gateway skips comparisons, so that no client waits'] : []),
    ...others,
  ];
  return [`Why some could not be compared: ${words.join('; ')}.`];
}

type Shadows = Awaited<ReturnType<Stage['admin']['rollout']>>['shadows'];

interface Compared {
  readonly compared: number;
  readonly different: number;
  readonly unknown: number;
}

function total(shadows: Shadows): Compared {
  const sum = (kind: 'same' | 'different' | 'unknown'): number =>
    shadows.reduce((all, each) => all + each[kind], 0);
  return { compared: sum('same') + sum('different'), different: sum('different'), unknown: sum('unknown') };
}

/** Makes every client read once, each after the comparison of the last read, because comparisons give way to clients. */
async function compareReads({ admin, fleet }: Stage): Promise<Shadows> {
  const done = ({ shadows }: { readonly shadows: Shadows }): number => {
    const { compared, unknown } = total(shadows);
    return compared + unknown;
  };
  let before = done(await admin.rollout());
  await fleet.readInTurn(async () => {
    before += 1;
    await admin.until(
      () => admin.rollout(),
      (view) => done(view) >= before,
    );
  });
  return (await admin.rollout()).shadows;
}

/** Percentage of clients in the canary. */
const SHARE = 30;

/** Rounds of the fleet by which a failing canary must have been rolled back. */
const MAX_ROUNDS = 40;

/** The steps in which requests go to V2. */
const MIGRATING_STEPS: readonly TourStep[] = [
  { title: 'Canary', page: './?view=rollout', play: canary },
  { title: 'A fault, and the roll-back', page: './?view=traffic&part=problems', play: fault },
  { title: 'Migrate', page: './', play: migrate },
  { title: 'Sunset', page: './?view=clients', play: sunset },
];

async function canary(stage: Stage): Promise<readonly string[]> {
  const { admin, fleet } = stage;
  await admin.choose({ mode: 'canary', share: SHARE });
  const before = await admin.latest();
  await fleet.send(3);
  await settle(stage);
  const { canaries } = await admin.rollout();
  const [window] = canaries;
  const clients = await migratedSince(stage, before);
  return [
    `A canary of ${SHARE} % migrates ${count(clients.length)} of ${count(FLEET.length)} clients: ${listed(clients)}. The others stay on V1.`,
    ...(window === undefined
      ? []
      : [
          `Of their ${counted(window.migrated.requests, 'request')} to V2, ${count(window.migrated.failures)} failed; of ${count(window.v1.requests)} to V1, ${count(window.v1.failures)} failed.`,
        ]),
  ];
}

async function fault(stage: Stage): Promise<readonly string[]> {
  const { admin, fleet, v2 } = stage;
  await v2.restart(['--failing', FLEET.map(({ key }) => key).join(',')]);
  const before = await admin.latest();
  for (let round = 0; round < MAX_ROUNDS && (await admin.rollout()).rollbacks.length === 0; round += 1) {
    await fleet.send(1);
    await settle(stage);
  }
  const { rollbacks, default: mode } = await admin.rollout();
  const [rollback] = rollbacks;
  if (rollback === undefined) throw new Error('The canary was not rolled back.');
  const failed = await migratedSince(stage, before, 'status:5xx');
  const after = await fleet.send(1);
  await settle(stage);
  const well = after.filter(({ status }) => status < 400).length;
  return [
    `V2 was restarted with a store that fails, and ${listed(failed)} got its errors.`,
    `At ${rollback.at} the gateway rolled the canary of ${rollback.share} % back by itself: ${count(rollback.migrated.failures)} of ${count(rollback.migrated.requests)} compared requests had failed on V2, and ${count(rollback.v1.failures)} of ${count(rollback.v1.requests)} on V1.`,
    `The mode is ${mode.mode} until an operator chooses another one. Of the next ${counted(after.length, 'request')} V1 responded well to ${well === after.length ? 'all' : count(well)}.`,
  ];
}

async function migrate(stage: Stage): Promise<readonly string[]> {
  const { admin, fleet, v2 } = stage;
  const first = await migratedSince(stage, 0);
  await v2.restart();
  await admin.choose({ mode: 'canary', share: 60 });
  let before = await admin.latest();
  await fleet.send(2);
  await settle(stage);
  const most = await migratedSince(stage, before);
  await admin.choose({ mode: 'migrate' });
  const start = await admin.sentTo();
  before = await admin.latest();
  const responses = await fleet.send(2);
  await settle(stage);
  const end = await admin.sentTo();
  const failed = responses.filter(({ status }) => status >= 400).length;
  const clients = await migratedSince(stage, before);
  return [
    `V2 was restarted with a store that works. A canary of 60 % migrates ${count(most.length)} clients, ${first.every((name) => most.includes(name)) ? 'among them all' : 'but not all'} of the canary of ${SHARE} %.`,
    `In mode migrate ${count(end.v2 - start.v2)} requests of ${count(clients.length)} clients went to V2, ${count(end.v1 - start.v1)} to V1, and ${count(failed)} failed. No client has changed a line.`,
  ];
}

async function sunset(stage: Stage): Promise<readonly string[]> {
  const { admin, fleet, names } = stage;
  const [kept] = FLEET;
  const hash = [...names].find(([, name]) => name === kept?.name)?.[0] ?? '';
  const day = (days: number): string => new Date(Date.now() + days * 86_400_000).toISOString().slice(0, 10);
  addToRuleBook(
    stage.rulesPath,
    `deprecation: ${day(-30)}\nsunset: { at: ${day(30)}, after: gone, except: [${hash}] }`,
  );
  await reloadRules(stage.serving);
  const reads = await fleet.readInTurn();
  const announced = reads.filter(({ headers }) => headers.has('sunset'));
  await settle(stage);
  await endV1(stage, day(30), day(-1));
  const refused = await fleet.send(1);
  await settle(stage);
  const gone = refused.filter(({ status }) => status === 410);
  const served = refused.filter(({ status }) => status < 400);
  const { switchOff, clients } = await admin.report();
  return [
    `Thirty days before the end, ${count(announced.length)} of ${counted(reads.length, 'response')} announce it: Deprecation: ${headerOf(announced[0], 'deprecation')}, Sunset: ${headerOf(announced[0], 'sunset')}.`,
    `After the sunset, each client sends two requests. ${counted(gone.length, 'request')} of ${count(clientsOf(gone).length)} clients got 410. ${listed(clientsOf(served))}, which the rule book excepts, got ${counted(served.length, 'response')} as before.`,
    `The report knows ${count(clients.length)} clients of V1, all of them active today: ${switchOff.sentence}`,
  ];
}

/** Moves the sunset into the past. */
async function endV1(stage: Stage, from: string, to: string): Promise<void> {
  writeFileSync(stage.rulesPath, readFileSync(stage.rulesPath, 'utf8').replace(`at: ${from}`, `at: ${to}`));
  await reloadRules(stage.serving);
}

function clientsOf(responses: readonly FleetResponse[]): readonly string[] {
  return [...new Set(responses.map(({ client }) => client.name))];
}

function headerOf(response: FleetResponse | undefined, name: string): string {
  return response?.headers.get(name) ?? 'absent';
}

/** Every step of the tour, in its order. */
export const TOUR: readonly TourStep[] = [...OBSERVING_STEPS, ...MIGRATING_STEPS];

interface TourOptions extends StageOptions {
  /** Addresses that are defaults: free ports replace them if another program listens there. */
  readonly unchosen?: readonly ('listen' | 'adminListen')[];
}

/** Signals that end the tour, with the exit codes of shells. */
const SIGNALS = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 } as const;

/**
 * Plays a whole migration and prints each step. On a terminal it waits for Enter after each. It removes its files at the end or at a
 * signal, and sets the exit code.
 */
export async function playTour(options: TourOptions): Promise<void> {
  for (const [signal, code] of Object.entries(SIGNALS)) process.on(signal, () => process.exit(code));
  const { unchosen = [], ...given } = options;
  const free = await freeAddresses(unchosen.map((name) => [name, given[name]]));
  const stage = await openStage({ ...given, ...free.addresses });
  if ('faults' in stage) {
    process.stderr.write(stage.faults.map((fault) => `${fault}\n`).join(''));
    process.exitCode = NOT_STARTED;
    return;
  }
  try {
    print(free.note + introduction(stage));
    for (const [at, step] of TOUR.entries()) await playStep(stage, step, at + 1);
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    process.stderr.write(`The demo ends here: ${error.message}\n`);
    process.exitCode = FAILURE;
  } finally {
    await stage.close();
    stdin.destroy();
  }
  if (existsSync(stage.folder)) return;
  const hint = waits() ? '' : ' On a terminal the demo waits after each step, and names the page to look at.';
  print(`The services are stopped, and ${stage.folder} is removed.${hint}\n`);
}

function introduction({ v1, v2, serving, folder }: Stage): string {
  const origin = reachable(serving.running.origin);
  const adminOrigin = reachable(serving.running.adminOrigin);
  return `A migration from V1 to V2, in ${TOUR.length} steps.

V1 is ${v1.origin}, and V2 is ${v2.origin}, on the same data. The gateway is ${origin}, and its page ${adminOrigin}. Every file is in ${folder}. The rule book there is a copy of the package's own, without one operation, like a first draft.

`;
}

async function playStep(stage: Stage, { title, page, play }: TourStep, number: number): Promise<void> {
  const adminOrigin = reachable(stage.serving.running.adminOrigin);
  const paint = painter(terminalOf(stdout));
  print(`${paint('bold', `${number}/${TOUR.length}  ${title}`)}\n`);
  const sentences = await play(stage);
  const address = new URL(page, adminOrigin).href;
  // Without a wait, the page is gone before anybody can open it.
  const look = waits() ? `  Look at ${paint('cyan', address)}\n` : '';
  print(`${sentences.map((sentence) => `  ${sentence.replaceAll('\n', '\n  ')}\n`).join('')}${look}\n`);
  await pause(number === TOUR.length ? 'Enter ends the demo.' : 'Enter continues, and Ctrl-C ends the demo.');
}

/** True if the tour waits after each step. */
function waits(): boolean {
  return stdin.isTTY && stdout.isTTY;
}

/** Waits for Enter on a terminal; the end of the input counts as one. */
async function pause(words: string): Promise<void> {
  if (!waits() || stdin.readableEnded) return;
  print(painter(terminalOf(stdout))('dim', words));
  stdin.resume();
  await Promise.race([once(stdin, 'data'), once(stdin, 'end')]);
  stdin.pause();
  print('\n');
}

function print(text: string): void {
  stdout.write(wrapLines(text, terminalOf(stdout).columns, 0));
}

export interface TourStep {
  readonly title: string;
  /** Place of the page to look at, relative to the admin listener. */
  readonly page: string;
  /** Carries out the step; returns sentences on its result, with the gateway's own numbers. */
  readonly play: (stage: Stage) => Promise<readonly string[]>;
}

/** Names of clients in a sentence: `Acacia Estates, Blue Gum Living and Jetty Road`. */
export function listed(names: readonly string[]): string {
  const sorted = [...names].toSorted();
  const last = sorted.pop();
  if (last === undefined) return 'none';
  return sorted.length === 0 ? last : `${sorted.join(', ')} and ${last}`;
}

/** The report's classes of V1 clients as a sentence, without the empty ones. */
function classSentence({ classes }: Report): string {
  const parts = CLASS_PARTS.flatMap(([name, words]) => {
    const clients = classes[name];
    return clients === 0 ? [] : [`${count(clients)} ${words}`];
  });
  return `The report says of the clients: ${parts.join(', ')}.`;
}

const CLASS_PARTS: readonly (readonly [name: ClientClass, words: string])[] = [
  ['blocked', 'with calls that V2 refuses or does not have'],
  ['field-work', 'with work on fields'],
  ['unwrap-only', 'that only drop the wrapper'],
  ['url-only', 'that only need a new URL'],
  ['unknown', 'still unknown'],
  ['unserved', 'that no service has an address for'],
];

/** Waits until the gateway has an entry for every request of the fleet. */
export async function settle({ admin, fleet }: Stage): Promise<void> {
  await admin.until(
    () => admin.latest(),
    (latest) => latest >= fleet.sent,
  );
}

/** Names of the clients with migrated requests after entry `after`, with this status if given. */
async function migratedSince(
  { admin, names }: Stage,
  after: number,
  filter = 'route:v1',
): Promise<readonly string[]> {
  const entries = await admin.entriesAfter(after, filter);
  const hashes = new Set(
    entries.filter(({ origin }) => origin === undefined).map(({ client }) => client ?? ''),
  );
  return [...hashes].map((hash) => names.get(hash) ?? hash);
}
