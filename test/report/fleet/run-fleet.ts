import { appendFileSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { applyStrips } from '../../../src/cli/report/report.ts';
import { readLogFile, parseEntry } from '../../../src/node/log/log-files.ts';
import { loadRuleBook } from '../../../src/node/rule-books.ts';
import type { UnknownAttributes } from '../../../src/reference/resources.ts';
import { OpenApiNames } from '../../../src/report/census.ts';
import { makeReport, type Report } from '../../../src/report/report.ts';
import { LineTally } from '../../../src/report/tally/tally-lines.ts';
import { Tally } from '../../../src/report/tally/tally.ts';
import type { CompiledRuleBook } from '../../../src/rewrite/compiled-rule-book.ts';
import type { Mode } from '../../../src/rules/rollout.ts';
import { cast, type Character, keyOn } from './character.ts';
import { type LedgerLine, ledgerLine, knowable } from './ledger.ts';
import { randomFrom } from './random.ts';
import { type Clock, clientOf, Replicas } from './replicas.ts';
import { plan } from './requests.ts';
import { startServices, type Services } from './services.ts';
import { type Checkpoint, checkStatements } from './statements.ts';
import { StatementTable } from './table.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';
import { Guide } from '../../../src/report/guide/guide.ts';
import type { GuideBody, GuideDocument } from '../../../src/report/guide/guide-document.ts';

/** The size and kind of a fleet. */
export interface FleetOptions {
  readonly clients: number;
  readonly seed: number;
  /** V2's treatment of attributes that it does not have. */
  readonly unknown: UnknownAttributes;
}

/** The outcome of a fleet. */
export interface FleetOutcome {
  readonly table: StatementTable;
  readonly requests: number;
  readonly rollbacks: number;
  readonly restarts: number;
  readonly logs: number;
  /** Verdicts on switching off, by checkpoint. */
  readonly verdicts: readonly string[];
}

const DAY_MS = 86_400_000;
const START = Date.UTC(2026, 0, 1);

/** Days with V1 traffic, and days after which the last report is made. */
const DAYS = 90;
const LAST_DAY = 140;

/** Modes that the operator chooses, by day. */
const STAGES: ReadonlyMap<number, Mode> = new Map([
  [0, { mode: 'observe' }],
  [20, { mode: 'shadow' }],
  [30, { mode: 'canary', share: 20 }],
  [40, { mode: 'canary', share: 20 }],
  [45, { mode: 'canary', share: 60 }],
  [52, { mode: 'migrate' }],
]);

/** The day on which V2 fails, so that the canary is rolled back. */
const OUTAGE_DAY = 36;

/** Days on which the operator writes the proposals of the census into the rule book. */
const APPLY_DAYS = new Set([20, 60]);

const REPLICAS = 3;

/** Runs a fleet of clients through a whole migration, and compares the report of every tenth day with their characters. */
export async function runFleet({ clients, seed, unknown }: FleetOptions): Promise<FleetOutcome> {
  const folder = temporaryFolder('fleet');
  const clock: Clock = { now: START };
  const services = startServices(unknown, () => clock.now);
  try {
    const rules = join(folder, 'rules.yaml');
    writeRules(rules);
    const replicas = new Replicas(REPLICAS, folder, services, clock);
    await replicas.load(rules);
    const openApi = await services.describe();
    const random = randomFrom(seed);
    const fleet = cast(clients, random);
    const ledger: LedgerLine[] = [];
    const checkpoints: Checkpoint[] = [];
    let book = (await bookOf(rules)).rules;
    let stripped = strippedBy(book);
    let restarts = 0;
    for (let day = 0; day <= LAST_DAY; day += 1) {
      const dayStart = START + day * DAY_MS;
      clock.now = dayStart;
      const stage = STAGES.get(day);
      if (stage !== undefined) replicas.command(stage);
      if (day > 0 && day % 10 === 0) {
        const now = new Date(dayStart).toISOString();
        const schema = new OpenApiNames(openApi, book.ruleBook.operations);
        const { report, described } = await reportsOf(replicas.files, now, schema);
        checkpoints.push({ day, now, report, described, stripped, isOpen: unknown === 'strip' });
        if (APPLY_DAYS.has(day)) {
          const applied = await applyStrips(rules, report.census.strips);
          if ('faults' in applied) throw new Error(applied.faults.join('\n'));
          await replicas.load(rules);
          book = (await bookOf(rules)).rules;
          stripped = strippedBy(book);
        }
      }
      if (day % 11 === 7) {
        replicas.restart(day % REPLICAS);
        restarts += 1;
      }
      if (day % 7 === 6) replicas.rotate(day % REPLICAS);
      services.isV2Failing = day === OUTAGE_DAY;
      for (const { at, character, turn } of eventsOf(fleet, day, random)) {
        clock.now = dayStart + at;
        await exchange(character, day, turn);
      }
    }
    const table = new StatementTable();
    for (const checkpoint of checkpoints) checkStatements(checkpoint, ledger, table);
    await checkGuides(replicas.files, book, services, ledger, table);
    return {
      table,
      requests: ledger.length,
      rollbacks: replicas.rollbacks,
      restarts,
      logs: replicas.files.length,
      verdicts: checkpoints.map(({ report }) => report.switchOff.verdict),
    };

    async function exchange(character: Character, day: number, turn: number): Promise<void> {
      const planned = plan(character, day, turn);
      const call = book.match(planned.method, planned.path)?.id ?? `${planned.method} ${planned.path}`;
      const client = clientOf(`Bearer ${keyOn(character, day)}`);
      for (let attempt = 0; attempt < 3; attempt += 1) {
        clock.now += 1;
        const time = new Date(clock.now).toISOString();
        const response = await replicas.send(planned.request);
        const facts = { time, day, client, call, invalidVersion: character.invalidVersion };
        const known = stripped;
        ledger.push(
          ledgerLine(planned, response, facts, (name) => known.get(`${planned.operation ?? ''} ${name}`)),
        );
        if (!character.retries || (response.status < 500 && response.status !== 429)) return;
      }
    }
  } finally {
    services.close();
  }
}

interface FleetEvent {
  /** Milliseconds of the day. */
  readonly at: number;
  readonly character: Character;
  readonly turn: number;
}

/** The requests of a day in order; after the last day only one native V2 client is left, so that the log goes on. */
function eventsOf(fleet: readonly Character[], day: number, random: () => number): readonly FleetEvent[] {
  const events: FleetEvent[] = [{ at: 1000, character: NATIVE, turn: day }];
  for (const character of day < DAYS ? fleet : []) {
    const { firstDay, everyDays, silentFrom, perDay } = character;
    if (day < firstDay || day >= silentFrom || (day - firstDay) % everyDays !== 0) continue;
    // On the day of the outage all clients call within an hour.
    const span = day === OUTAGE_DAY ? DAY_MS / 24 : DAY_MS - 10_000;
    for (let turn = 0; turn < perDay; turn += 1)
      events.push({ at: 2000 + Math.floor(random() * (span - 5000)), character, turn: day + turn });
  }
  return events.sort((one, other) => one.at - other.at);
}

const NATIVE: Character = {
  id: 'native',
  writes: ['create_client'],
  reads: false,
  wrapped: false,
  address: false,
  transition: false,
  deprecated: [],
  misspelt: false,
  mistake: undefined,
  alwaysMistaken: false,
  invalidVersion: false,
  retries: false,
  perDay: 1,
  firstDay: 0,
  everyDays: 1,
  movesOn: 0,
  silentFrom: Number.POSITIVE_INFINITY,
  rotatesOn: Number.POSITIVE_INFINITY,
};

/** The rule book that ships, with a brownout of two days and a window for rolling back. */
function writeRules(path: string): void {
  const shipped = readFileSync(new URL('../../../config/rules.yaml', import.meta.url), 'utf8');
  writeFileSync(path, shipped.includes('GET /orders/post_productions') ? shipped : withRead(shipped));
  const day = (number: number): string => new Date(START + number * DAY_MS).toISOString();
  appendFileSync(
    path,
    `modes: { default: observe, rollback: { window: 6h, margin: 5, requests: 5 } }
brownouts:
  - { id: first, from: '${day(65)}', until: '${day(67)}', share: 40, status: 503, message: V1 ends. }
`,
  );
}

/** Adds an operation that reads orders, for clients that only read and get their responses rewritten. */
function withRead(text: string): string {
  return text.replace(/^operations:\n/m, '$&  list_post_productions: GET /orders/post_productions\n').replace(
    /^changes:\n/m,
    `$&  - id: read-highlight-type
    summary: transition_type is called highlight_type in lists.
    on: [list_post_productions]
    response:
      - { alias: data.*.highlight_type, as: transition_type }
`,
  );
}

async function bookOf(
  path: string,
): Promise<Exclude<Awaited<ReturnType<typeof loadRuleBook>>, { faults: unknown }>> {
  const outcome = await loadRuleBook(path);
  if ('faults' in outcome) throw new Error(outcome.faults.join('\n'));
  return outcome;
}

/** The changes of the attributes that the rule book strips, by `<operation> <attribute>`. */
function strippedBy({ ruleBook: { changes } }: CompiledRuleBook): ReadonlyMap<string, string> {
  return new Map(
    changes.flatMap(({ id, on, request }) =>
      on === 'every'
        ? []
        : request.flatMap((rule) =>
            rule.rule === 'strip'
              ? on.flatMap((operation) => rule.members.map((name) => [`${operation} ${name}`, id] as const))
              : [],
          ),
    ),
  );
}

/** The report of the logs so far, without and with V2's OpenAPI. */
async function reportsOf(
  files: readonly string[],
  now: string,
  schema: OpenApiNames,
): Promise<Record<'report' | 'described', Report>> {
  const tally = new Tally();
  const lines = new LineTally(tally);
  for (const file of files) {
    lines.begin(file);
    for await (const { bytes } of readLogFile(file)) lines.add(bytes, file);
  }
  const options = { now, unreadable: lines.unreadable, logs: lines.coverage, gaps: lines.gaps };
  return { report: makeReport(tally, options), described: makeReport(tally, { ...options, schema }) };
}

/** Writes the guide of every client from the logs, follows it, and compares it with what the client did. */
async function checkGuides(
  files: readonly string[],
  { ruleBook }: CompiledRuleBook,
  services: Services,
  ledger: readonly LedgerLine[],
  table: StatementTable,
): Promise<void> {
  const guides = new Map<string, Guide>();
  for (const file of files) {
    for await (const { bytes } of readLogFile(file)) {
      for (const line of bytes.toString().split('\n')) {
        const entry = line === '' ? undefined : parseEntry(line);
        if (entry?.client === undefined) continue;
        const guide = guides.get(entry.client) ?? new Guide(entry.client);
        guides.set(entry.client, guide);
        guide.add(entry);
      }
    }
  }
  const lines = Map.groupBy(ledger, ({ client }) => client);
  for (const [client, guide] of guides) {
    const document = guide.document(ruleBook);
    const past = (lines.get(client) ?? []).filter(({ version }) => version === 'v1');
    table.check('guide: requests', document.requests, past.length, client);
    table.check('guide: mistakes', mistakes(document), mistakesOf(past), client);
    checkResponses(document, past, client, table);
    for (const call of document.calls)
      for (const body of call.bodies) await follow(body, services, `${client} ${call.name}`, table);
  }
}

/** Sends the request that a guide shows to V2: what it calls verified must be accepted. */
async function follow(
  body: GuideBody,
  services: Services,
  who: string,
  table: StatementTable,
): Promise<void> {
  const [head = '', text] = body.after.split('\n\n');
  const [method = '', target = ''] = head.split(' ');
  const { status } = await services.ask(method, target, text);
  const isAccepted = status >= 200 && status < 300;
  const judgement = body.isVerified ? (isAccepted ? 'right' : 'wrong') : 'not-known';
  table.add('guide: after', judgement, () => `${who}: ${body.after} is called verified, V2 says ${status}`);
}

function checkResponses(
  { calls }: GuideDocument,
  past: readonly LedgerLine[],
  client: string,
  table: StatementTable,
): void {
  for (const { name, responses, responsesUnknown } of calls) {
    const ofCall = past.filter(({ call }) => call === name);
    const seen = new Set(ofCall.flatMap(({ differing }) => differing));
    const judged = knowable(ofCall);
    const stated = new Set(responses.map(({ v1 }) => v1));
    const isWrong =
      [...stated].some((pointer) => !seen.has(pointer)) ||
      [...judged].some((pointer) => !stated.has(pointer));
    const isUnknown = responsesUnknown || [...seen].some((pointer) => !stated.has(pointer));
    table.add(
      'guide: responses',
      isWrong ? 'wrong' : isUnknown ? 'not-known' : 'right',
      () => `${client} ${name}: ${[...stated].join(' ')}, true is ${[...seen].join(' ')}`,
    );
  }
}

function mistakes({ mistakes: listed }: GuideDocument): string[] {
  return listed.map(({ call, code, count }) => `${call} ${code} ${count}`).sort();
}

function mistakesOf(past: readonly LedgerLine[]): string[] {
  const made = past.filter(
    ({ refusal, by, code }) => refusal !== undefined && (by !== 'gateway' || code === refusal),
  );
  return [...Map.groupBy(made, ({ call, refusal }) => `${call} ${refusal ?? ''}`)]
    .map(([name, all]) => `${name} ${all.length}`)
    .sort();
}
