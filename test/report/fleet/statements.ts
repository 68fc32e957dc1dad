import { type ClientReport, reasonsOf } from '../../../src/report/client-report.ts';
import type { Report } from '../../../src/report/report.ts';
import { wouldFail } from '../../../src/rollout/body-checks.ts';
import { DEPRECATED } from './character.ts';
import { DEPRECATIONS, knowable, type LedgerLine } from './ledger.ts';
import type { StatementTable } from './table.ts';

/** The report of a day, and the changes that strip attributes in the rule book of that day, by `<operation> <attribute>`. */
export interface Checkpoint {
  readonly day: number;
  /** RFC 3339. */
  readonly now: string;
  readonly report: Report;
  /** The same with V2's OpenAPI. */
  readonly described: Report;
  readonly stripped: ReadonlyMap<string, string>;
  /** True where V2's OpenAPI leaves bodies open to any member. */
  readonly isOpen: boolean;
}

/** The first day with V1 traffic under the rule book that the report's dry runs are of, at each checkpoint from that day on. */
const BOOK_DAY = 20;

/** Clients that left V1 so long ago must be called gone. */
const SURELY_GONE_DAYS = 50;

const DAY_MS = 86_400_000;

/** Compares every statement of a report with the ledger of the whole time. */
export function checkStatements(
  checkpoint: Checkpoint,
  ledger: readonly LedgerLine[],
  table: StatementTable,
): void {
  const { now, report } = checkpoint;
  const lines = Map.groupBy(ledger, ({ client }) => client);
  const v1 = ledger.filter((line) => line.version === 'v1' && line.time <= now);
  const known = new Set(v1.map(({ client }) => client));
  table.check('clients', report.clients.map(({ client }) => client).sort(), [...known].sort(), now);
  table.check('V1 requests', report.v1, v1.length, now);
  for (const client of report.clients) checkClient(client, lines.get(client.client) ?? [], checkpoint, table);
  checkStrips(checkpoint, v1, table);
  checkSwitchOff(checkpoint, ledger, table);
}

function checkClient(
  client: ClientReport,
  all: readonly LedgerLine[],
  { day, now, report }: Checkpoint,
  table: StatementTable,
): void {
  const who = `${client.client} at ${now.slice(0, 10)}`;
  const past = all.filter(({ time }) => time <= now);
  const lines = past.filter(({ version }) => version === 'v1');
  table.check('V2 requests', client.v2, past.length - lines.length, who);
  table.check('first seen', client.firstSeen, lines[0]?.time, who);
  table.check('last seen', client.lastSeen, lines.at(-1)?.time, who);
  table.check('share', Math.round(client.share * report.v1), lines.length, who);
  table.check(
    'operations',
    counts(client.operations.map((use) => [use.operation, use.count])),
    counted(lines.map(({ call }) => call)),
    who,
  );
  table.check(
    'request changes',
    counts(client.changes.map((use) => [use.change, use.count])),
    counted(lines.filter(({ refusal }) => refusal === undefined).flatMap(({ changes }) => changes)),
    who,
  );
  table.check('refused', client.refused, lines.filter(({ by }) => by === 'gateway').length, who);
  table.check(
    'mistakes',
    counts(client.mistakes.map(({ code, count }) => [code, count])),
    counted(mistakesOf(lines)),
    who,
  );
  table.check(
    'outcomes',
    counts(client.outcomes.map(({ by, status, code, count }) => [`${by} ${status} ${code ?? ''}`, count])),
    counted(lines.map(({ by, status, code }) => `${by} ${status} ${code ?? ''}`)),
    who,
  );
  // What V1 took and the gateway refuses would fail; what V1 refused as well fails before and after.
  const dry = lines.filter(
    (line) => line.by === 'v1' && line.refusal !== undefined && (day <= BOOK_DAY || line.day >= BOOK_DAY),
  );
  const failing = dry.filter(({ status }) => status < 400).length;
  const said = wouldFail(client.bodyChecks);
  if (dry.length > 0 || said.judged > 0)
    table.check('would fail', [said.failing, said.both], [failing, dry.length - failing], who);
  checkResponses(client, lines, who, table);
  checkGone(client, all, now, who, table);
  if (client.class !== 'gone') checkClass(client, lines, now, report.goneAfterDays, who, table);
}

/** Refusals that are due to the request; while a brownout refuses it first, the body is not read. */
function mistakesOf(lines: readonly LedgerLine[]): string[] {
  return lines.flatMap(({ refusal, code, by }) =>
    refusal === undefined || (by === 'gateway' && code !== refusal) ? [] : [refusal],
  );
}

function checkResponses(
  client: ClientReport,
  lines: readonly LedgerLine[],
  who: string,
  table: StatementTable,
): void {
  const stated = new Set(client.responses.map(({ v1 }) => v1));
  const judged = knowable(lines);
  const seen = new Set(lines.flatMap(({ differing }) => differing));
  const invented = [...stated].filter((pointer) => !seen.has(pointer));
  const missing = [...judged].filter((pointer) => !stated.has(pointer));
  const unknown = [...seen].filter((pointer) => !stated.has(pointer));
  const judgement =
    invented.length + missing.length > 0 ? 'wrong' : unknown.length > 0 ? 'not-known' : 'right';
  table.add(
    'response changes',
    judgement,
    () => `${who}: invented ${invented.join(' ')}, missing ${missing.join(' ')}`,
  );
}

function checkGone(
  client: ClientReport,
  all: readonly LedgerLine[],
  now: string,
  who: string,
  table: StatementTable,
): void {
  const comesBack = all.some(({ version, time }) => version === 'v1' && time > now);
  const silentDays = (Date.parse(now) - Date.parse(client.lastSeen)) / DAY_MS;
  const isGone = client.class === 'gone';
  const isWrong = isGone ? comesBack : silentDays > SURELY_GONE_DAYS;
  table.add(
    'gone',
    isWrong ? 'wrong' : 'right',
    () => `${who}: ${client.class} after ${silentDays} days, back: ${comesBack}`,
  );
}

/** Whether V2 refused the members of a call each time. */
function isRefused(lines: readonly LedgerLine[]): boolean {
  const byV2 = Map.groupBy(
    lines.filter(({ by }) => by === 'v2'),
    ({ call }) => call,
  );
  return [...byV2.values()].some((all) => all.every(({ status }) => status === 422));
}

function checkClass(
  client: ClientReport,
  lines: readonly LedgerLine[],
  now: string,
  goneAfterDays: number,
  who: string,
  table: StatementTable,
): void {
  const from = Date.parse(client.silentDays < goneAfterDays ? now : client.lastSeen) - goneAfterDays * DAY_MS;
  const recent = lines.filter(({ time }) => Date.parse(time) >= from);
  const read = recent.filter(({ refusal, by }) => refusal === undefined && by !== 'gateway');
  const changes = new Set(read.flatMap(({ changes: needed }) => needed));
  const latestReads = new Map(read.filter(({ isRead }) => isRead).map((line) => [line.call, line]));
  // Messages about deprecated attributes follow from the request: they are no work of their own.
  const differs = ({ differing }: LedgerLine): boolean =>
    differing.some((pointer) => pointer !== DEPRECATIONS);
  const readsDiffer = [...latestReads.values()].some((line) => differs(line));
  const writesDiffer = read.some((line) => !line.isRead && differs(line));
  const hasFields = [...changes].some((change) => change !== 'body-wrapper') || isRefused(read);
  const truth =
    read.length === 0
      ? 'unknown'
      : hasFields || writesDiffer || readsDiffer
        ? 'field-work'
        : changes.size > 0
          ? 'unwrap-only'
          : 'url-only';
  const isRefusedAlways = client.class === 'blocked' && read.length === 0 && recent.length > 0;
  const judgement =
    (client.class === 'unknown' || client.class === 'blocked') && reasonsOf(client).length > 0
      ? 'not-known'
      : client.class === truth || isRefusedAlways
        ? 'right'
        : 'wrong';
  table.add('class', judgement, () => `${who}: ${client.class}, true is ${truth}`);
}

/** The proposed strips are those attributes that V2 does not have, that were sent, and that the rule book does not strip yet. */
function checkStrips(
  { report, described, stripped, now, isOpen }: Checkpoint,
  v1: readonly LedgerLine[],
  table: StatementTable,
): void {
  const sent = v1.filter(
    ({ refusal, by, foreign }) => refusal === undefined && by !== 'gateway' && foreign.length > 0,
  );
  const truth = new Set(
    sent.flatMap(({ operation = '', foreign }) => foreign.map((name) => `${operation} ${name}`)),
  );
  const told = new Set(
    sent
      .filter(({ by, status }) => by === 'v1' && status === 201)
      .flatMap(({ operation = '', foreign }) =>
        foreign.filter((name) => isDeprecated(name)).map((name) => `${operation} ${name}`),
      ),
  );
  const due = [...truth].filter((place) => !stripped.has(place));
  for (const [statement, census] of [
    ['proposed strips', report.census],
    ['proposed strips with OpenAPI', described.census],
  ] as const) {
    const proposed = new Set(
      census.strips.map(
        (strip) => `${strip.operation ?? ''} ${strip.in === undefined ? '' : `${strip.in}.`}${strip.member}`,
      ),
    );
    for (const place of proposed)
      table.add(
        statement,
        truth.has(place) ? 'right' : 'wrong',
        () => `${now}: ${place} is proposed, and V2 has it`,
      );
    for (const place of due.filter((other) => !proposed.has(other)))
      table.add(
        statement,
        statement === 'proposed strips'
          ? told.has(place)
            ? 'wrong'
            : 'not-known'
          : isOpen
            ? 'not-known'
            : 'wrong',
        () => `${now}: ${place} is not proposed`,
      );
  }
}

function isDeprecated(name: string): boolean {
  return DEPRECATED.some((deprecated) => deprecated === name);
}

function checkSwitchOff(
  { report, now }: Checkpoint,
  ledger: readonly LedgerLine[],
  table: StatementTable,
): void {
  const { verdict } = report.switchOff;
  const from = new Date(Date.parse(now) - report.goneAfterDays * DAY_MS).toISOString();
  const v1 = ledger.filter(({ version }) => version === 'v1');
  const isUsed = v1.some(({ time }) => time >= from && time <= now);
  const comesBack = v1.some(({ time }) => time > now);
  const isRight = verdict === 'yes' ? !isUsed && !comesBack : verdict === 'no' && isUsed;
  table.add(
    'switching off',
    verdict === 'unknown' ? 'not-known' : isRight ? 'right' : 'wrong',
    () => `${now}: ${report.switchOff.sentence}`,
  );
}

function counted(names: readonly string[]): [string, number][] {
  return counts([...Map.groupBy(names, (name) => name)].map(([name, all]) => [name, all.length]));
}

function counts(pairs: readonly (readonly [string, number])[]): [string, number][] {
  return pairs
    .map(([name, count]): [string, number] => [name, count])
    .sort(([one], [other]) => (one < other ? -1 : 1));
}
