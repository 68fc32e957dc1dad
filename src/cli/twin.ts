import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import {
  httpSide,
  type SenderOptions,
  type ServiceSettings,
  startRuntimeGateway,
  startTwinServices,
  startWorkerdGateway,
  type TwinServices,
} from '../node/twin/twin-services.ts';
import { decodeText, readText } from '../node/files.ts';
import type { LoadedRuleBook } from '../node/rule-books.ts';
import { jsonText, terminalText } from '../report/text.ts';
import { count, counted } from '../rules/words.ts';
import { printMatch } from '../rules/move.ts';
import type { ClientField } from '../rules/rule-book.ts';
import type { Difference } from '../twin/compare.ts';
import { type PlayedExchange, playScript, type Stage, type TwinReport, TwinTally } from '../twin/play.ts';
import {
  type Choice,
  CHOICES,
  isWrite,
  readScript,
  type Script,
  type Sender,
  type Side,
} from '../twin/script.ts';
import {
  type CommandFault,
  FAILURE,
  isFault,
  NOT_STARTED,
  openRuleBook,
  SUCCESS,
  unreadable,
  reasonOf,
} from './command-fault.ts';
import { printColumns, type Terminal, terminalOf, wrapLines } from './terminal.ts';

/** Default maximum of requests per minute to each real service. */
const DEFAULT_RATE = 60;

export interface TwinOptions {
  readonly script: readonly string[];
  readonly rules: string;
  readonly on: 'node' | 'bun' | 'deno' | 'workerd';
  readonly v1?: string;
  readonly v2?: string;
  readonly keyFile?: string;
  readonly writes?: true;
  readonly rate?: number;
  readonly ignore: readonly string[];
  readonly json?: true;
}

/** Plays the scripts, prints the differences and sets the exit code. */
export async function runTwin(options: TwinOptions): Promise<void> {
  try {
    process.exitCode = await run(options);
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    process.exitCode = fail([error.message]);
  }
}

async function run(options: TwinOptions): Promise<number> {
  const isReal = options.v1 !== undefined || options.v2 !== undefined;
  const unused = isReal ? undefined : unusedOption(options);
  if (unused !== undefined) return fail([`${unused} is for running services: it requires --v1 and --v2.`]);
  const loaded = loadScripts(options.script, isReal ? 'any' : 'reference');
  if ('faults' in loaded) return fail(loaded.faults, loaded.isMissing ? NOT_STARTED : FAILURE);
  return isReal ? playReal(options, loaded.scripts) : playReference(options, loaded.scripts);
}

/** An option that has no effect on the reference services. */
function unusedOption({ keyFile, writes, rate }: TwinOptions): string | undefined {
  if (keyFile !== undefined) return '--key-file';
  if (writes === true) return '--writes';
  return rate === undefined ? undefined : '--rate';
}

async function playReal(options: TwinOptions, scripts: readonly Script[]): Promise<number> {
  const { v1, v2, keyFile, writes, rate = DEFAULT_RATE } = options;
  if (v1 === undefined || v2 === undefined || keyFile === undefined)
    return fail(['Give --v1, --v2 and --key-file together.']);
  const wrong = [v1, v2].find((url) => !/^https?:$/.test(URL.parse(url)?.protocol ?? ''));
  if (wrong !== undefined) return fail([`${wrong} is not an http or https address.`]);
  const key = readKeyFile(keyFile);
  if (typeof key !== 'string') return failWith(key);
  const book = await openRuleBook(options.rules);
  if (isFault(book)) return fail([book.fault]);
  const unfit = await scriptFault(options, book);
  const cases = unfit === undefined || book.shippedAt !== undefined ? [] : casesBeside(options.rules);
  if (unfit !== undefined && cases.length === 0) return fail([unfit]);
  const own = cases.length === 0 ? { scripts } : loadScripts(cases, 'any', requestsOfCases);
  if ('faults' in own) return fail(own.faults, FAILURE);
  const stage = realStage({
    v1,
    gateway: v2,
    key,
    isReadOnly: writes !== true,
    rate: Math.max(1, rate),
    ignored: new Set(options.ignore.map((name) => name.toLowerCase())),
    keyField: book.rules.ruleBook.client,
  });
  const played = own.scripts
    .flatMap(({ exchanges }) => exchanges)
    .filter((one) => writes === true || !isWrite(one)).length;
  const source = cases.length === 0 ? '' : ` of ${terminalText(cases.join(', '))}`;
  process.stderr.write(`Playing ${counted(played, 'exchange')}${source}, ${rate} a minute.\n`);
  return report(await playAll(stage, own.scripts), options);
}

async function playReference(options: TwinOptions, scripts: readonly Script[]): Promise<number> {
  const { rules } = options;
  const workerd = new URL('../../deploy/edge/node_modules/workerd', import.meta.url);
  if (options.on === 'workerd' && !existsSync(workerd))
    return fail(['workerd needs a checkout of the repository, after `npm ci --prefix deploy/edge`.']);
  const book = await openRuleBook(rules);
  if (isFault(book)) return fail([book.fault]);
  const unfit = await scriptFault(options, { rules: book.rules });
  if (unfit !== undefined) return fail([unfit]);
  const services = await startTwinServices();
  const runtime = options.on;
  try {
    const gateway =
      runtime === 'workerd'
        ? await startWorkerdGateway(services.v2, rules)
        : await startRuntimeGateway(runtime, process.argv[1] ?? '', services.v2, rules);
    const stage = referenceStage(services, gateway.origin, { fields: [] });
    try {
      return report(await playAll(stage, scripts), options);
    } finally {
      stage.close();
      await gateway.stop();
    }
  } finally {
    services.close();
  }
}

/**
 * Says that the package's own scripts do not fit: they are for the property-capture API. A running service belongs to that API only if
 * its rule book shows that; the package's own rule book, used by default, does not.
 */
async function scriptFault(
  { script, rules: path }: TwinOptions,
  { rules, shippedAt }: Pick<LoadedRuleBook, 'rules' | 'shippedAt'>,
): Promise<string | undefined> {
  if (script.length > 0) return undefined;
  const shipped = await openRuleBook(fileURLToPath(SHIPPED_RULES));
  if (isFault(shipped)) return shipped.fault;
  const known = new Set(shipped.rules.ruleBook.operations.map((operation) => printMatch(operation)));
  const isOfApi = rules.ruleBook.operations.some((operation) => known.has(printMatch(operation)));
  if (shippedAt === undefined && isOfApi) return undefined;
  const why = shippedAt === undefined ? `${path} has none of its operations` : '--rules names no rule book';
  const cases =
    shippedAt === undefined
      ? `put text cases into ${caseFolder(path)}`
      : 'name your rule book with --rules, beside which text cases are in the folder cases';
  return `The package's own scripts are for the property-capture API, and ${why}. Give your own scripts with --script, or ${cases}: twin plays their requests with --v1, --v2 and --key-file.`;
}

function caseFolder(rules: string): string {
  return join(dirname(rules), 'cases');
}

/** The files with text cases beside a rule book, by name; none without such a folder. */
function casesBeside(rules: string): readonly string[] {
  const folder = caseFolder(rules);
  if (!existsSync(folder)) return [];
  return readdirSync(folder)
    .filter((name) => name.endsWith('.txt'))
    .sort()
    .map((name) => join(folder, name));
}

/** The names and requests of text cases, in their lines. */
function requestsOfCases(text: string): string {
  return text.replaceAll(/^[^#>\r\n].*$/gm, '');
}

async function playAll(stage: TwinStage, scripts: readonly Script[]): Promise<TwinTally> {
  const tally = new TwinTally();
  for (const script of scripts) {
    for await (const played of stage.play(script)) tally.add(played);
  }
  return tally;
}

function report(tally: TwinTally, { json }: TwinOptions): number {
  process.stdout.write(
    json === true ? twinJson(tally.report) : twinText(tally.report, terminalOf(process.stdout)),
  );
  const { played, missing, different } = tally.report;
  // If every request got 404, the scripts have shown nothing.
  return different.length === 0 && (played === 0 || missing < played) ? SUCCESS : FAILURE;
}

function failWith({ fault, isJunk }: CommandFault): number {
  return fail([fault], isJunk === true ? FAILURE : NOT_STARTED);
}

function fail(faults: readonly string[], code: number = NOT_STARTED): number {
  process.stderr.write(faults.map((fault) => `${fault}\n`).join(''));
  return code;
}

/** Reads the API key in a file: one word of visible ASCII characters, perhaps with white space around it. */
function readKeyFile(file: string): string | CommandFault {
  let key: string;
  try {
    key = readText(file).trim();
  } catch (error) {
    return unreadable(file, error);
  }
  if (/^[!-~]+$/.test(key)) return key;
  return { fault: `${file} does not contain an API key; write one word of ASCII characters.`, isJunk: true };
}

/** Prints a report for people: a line for each difference, then all counts. Texts from the services are escaped. */
export function twinText(
  { played, alike, missing, different, chosen, skipped }: TwinReport,
  { columns }: Pick<Terminal, 'columns'>,
): string {
  const spelled = different.flatMap(({ name, differences }) =>
    differences.filter(isSpelledNumber).map((difference) => ({ name, difference })),
  );
  // A rule spells all numbers of one kind in the same way: one line covers them.
  const isGrouped = spelled.length > 1;
  const rows = different.flatMap(({ differences, ...exchange }) =>
    rowsOf({
      ...exchange,
      differences: differences.filter((one) => !isGrouped || !isSpelledNumber(one)),
    }),
  );
  const reasons = Object.entries(skipped).map(
    ([reason, times]) => `${count(times)} not played: ${terminalText(reason)}.\n`,
  );
  return [
    rows.length === 0
      ? ''
      : `${printColumns(['exchange', 'where', 'kind', 'V1', 'gateway'], rows, { columns })}\n\n`,
    ...[
      ...(isGrouped ? [spelledWords(spelled)] : []),
      `${counted(played, 'exchange')} played: ${count(alike)} the same, ${count(different.length)} different, ${count(chosen.length)} different by choice.\n`,
      ...(missing === 0
        ? []
        : [
            `${count(missing)} not found by both: only ${missing === 1 ? 'its error was' : 'their errors were'} compared, as on a path that neither service has.\n`,
          ]),
      ...[...byChoice(chosen)].map(
        ([choice, names]) => `${count(names.length)} ${choice}: ${CHOICES[choice]}.\n`,
      ),
      ...reasons,
    ].map((line) => wrapLines(line, columns)),
  ].join('');
}

/** Prints a report for programs: one JSON object. */
function twinJson({ played, alike, missing, different, chosen, skipped }: TwinReport): string {
  const exchanges = different.map(({ script, name, statuses: [v1, gateway], differences }) => {
    return { script, name, statuses: { v1, gateway }, differences };
  });
  const choices = Object.fromEntries(byChoice(chosen));
  return `${jsonText({ played, alike, missing, different: exchanges, choices, skipped }, 2)}\n`;
}

/** The names of exchanges that differ by each choice. */
function byChoice(chosen: TwinReport['chosen']): ReadonlyMap<Choice, readonly string[]> {
  const names = new Map<Choice, string[]>();
  for (const { choice, name } of chosen) names.set(choice, [...(names.get(choice) ?? []), name]);
  return names;
}

/** True for a number with the same value in both responses, and other digits. */
function isSpelledNumber({ kind, v1 = '' }: Difference): boolean {
  return kind === 'spelling' && /^-?\d/.test(v1);
}

function spelledWords(
  spelled: readonly { readonly name: string; readonly difference: Difference }[],
): string {
  const [first] = spelled;
  if (first === undefined) return '';
  const exchanges = new Set(spelled.map(({ name }) => name)).size;
  const { where, v1 = '', gateway = '' } = first.difference;
  return `${counted(spelled.length, 'number')} in ${counted(exchanges, 'exchange')} have the same value in another spelling, such as ${terminalText(v1)} in V1 and ${terminalText(gateway)} by the gateway at ${terminalText(where)} of ${terminalText(first.name)}.\n`;
}

/** Maximum differences to print for one exchange; the first ones usually explain the others. */
const MAX_ROWS = 4;

function rowsOf({ name, differences }: PlayedExchange): readonly (readonly string[])[] {
  const rows = differences
    .slice(0, MAX_ROWS)
    .map((difference, at) => rowOf(at === 0 ? name : '', difference));
  const rest = differences.length - rows.length;
  return rest === 0 ? rows : [...rows, ['', `… ${counted(rest, 'more difference')}`, '', '', '']];
}

function rowOf(name: string, { where, kind, v1, gateway }: Difference): readonly string[] {
  const [one, other] =
    v1 === undefined || gateway === undefined
      ? [v1, gateway].map((value) => (value === undefined ? '–' : valueExcerpt(value)))
      : differingExcerpts(v1, gateway);
  return [
    terminalText(name),
    where === '' ? '(the body)' : terminalText(where),
    kind,
    one ?? '',
    other ?? '',
  ];
}

/** Maximum characters to show of a value. */
const EXCERPT = 64;
/** Characters shown before the first difference. */
const BEFORE = 20;

/**
 * Returns one line for each of two different values: the part around their first difference, with the number of characters left out before
 * and after it. Values are escaped for a terminal.
 */
export function differingExcerpts(one: string, other: string): readonly [one: string, other: string] {
  const start = startOf(one, firstDifference(one, other) - BEFORE);
  return [excerptFrom(one, start), excerptFrom(other, start)];
}

/** Returns a value's beginning, with the number of characters left out. */
export function valueExcerpt(text: string): string {
  return excerptFrom(text, 0);
}

function firstDifference(one: string, other: string): number {
  let at = 0;
  while (at < one.length && at < other.length && one[at] === other[at]) at += 1;
  return at;
}

/** The start of an excerpt: 0 if a note about the omitted characters would be as long as them. */
function startOf(text: string, wanted: number): number {
  return wanted <= EXCERPT / 2 ? 0 : boundary(text, wanted);
}

function excerptFrom(text: string, start: number): string {
  if (text === '') return '(empty)';
  const isShort = text.length <= start + EXCERPT + EXCERPT / 2;
  const end = isShort ? text.length : boundary(text, start + EXCERPT);
  return [leftOut(start), terminalText(text.slice(start, end)), leftOut(text.length - end)]
    .filter((part) => part !== '')
    .join(' ');
}

function leftOut(characters: number): string {
  return characters === 0 ? '' : `(… ${counted(characters, 'character')} …)`;
}

/** Moves an index that is between the two halves of a character. */
function boundary(text: string, at: number): number {
  return /[\uDC00-\uDFFF]/.test(text[at] ?? '') && /[\uD800-\uDBFF]/.test(text[at - 1] ?? '') ? at - 1 : at;
}

/** Scripts, or every fault in their files; `isMissing` if one of them could not be opened. */
export type ScriptFiles =
  | { readonly scripts: readonly Script[] }
  | { readonly faults: readonly string[]; readonly isMissing: boolean };

/** The rule book of the scripts that ship. */
const SHIPPED_RULES = new URL('../../config/rules.yaml', import.meta.url);
/** Folder of the scripts that ship with the program; `tables.txt` has tables for all scripts. */
const SHIPPED = new URL('../../config/twin/', import.meta.url);
const TABLES = 'tables.txt';

/** Reads script files, or by default the package's own; `any` selects those that fit services with unknown data. */
export function loadScripts(
  files: readonly string[],
  fit: 'any' | 'reference',
  scriptIn = (text: string): string => text,
): ScriptFiles {
  const scripts: Script[] = [];
  const faults: string[] = [];
  let isMissing = false;
  const shared = readFileSync(new URL(TABLES, SHIPPED), 'utf8');
  const shipped = readdirSync(SHIPPED).filter((name) => name !== TABLES);
  for (const file of files.length > 0 ? files : shipped.map((name) => new URL(name, SHIPPED))) {
    try {
      const reading = readScript(basename(String(file)), scriptIn(decodeText(readFileSync(file))), shared);
      if ('faults' in reading) faults.push(...reading.faults);
      else scripts.push(reading.script);
    } catch (error) {
      isMissing = true;
      faults.push(`${String(file)} cannot be read: ${reasonOf(error, String(file))}.`);
    }
  }
  if (faults.length > 0) return { faults, isMissing };
  const isChosen = ({ settings }: Script): boolean =>
    files.length > 0 || fit === 'reference' || settings['services'] === 'any';
  return { scripts: scripts.filter((script) => isChosen(script)) };
}

/** Plays scripts one after the other. */
export interface TwinStage {
  play(script: Script): AsyncGenerator<PlayedExchange>;
  close(): void;
}

/** A key for the reference services, which accept any. */
const ANY_KEY = 'twin';

/** A stage of V1's reference and a gateway in front of V2's; every script starts with empty data. */
export function referenceStage(services: TwinServices, gateway: string, wire: SenderOptions = {}): TwinStage {
  const [v1, v2] = [httpSide(services.v1), httpSide(gateway, wire)];
  let before = '';
  const stage: Stage = { v1, gateway: v2, key: ANY_KEY, before: ({ store }) => services.setStore(store) };
  return {
    play: (script) => {
      const settings = JSON.stringify(script.settings);
      services.reset(settings === before ? undefined : serviceSettings(script));
      before = settings;
      return playScript(script, stage);
    },
    close: () => {
      v1.close();
      v2.close();
    },
  };
}

function serviceSettings({ settings }: Script): ServiceSettings {
  return {
    rate: Number(settings['rate'] ?? 0),
    deprecated: settings['deprecated']?.split(/,\s*/) ?? [],
    unknown: settings['unknown'] === 'strip' ? 'strip' : 'refuse',
  };
}

/** Two real services, and limits on the requests to them. */
export interface RealServices {
  readonly v1: string;
  readonly gateway: string;
  readonly key: string;
  readonly isReadOnly: boolean;
  /** Maximum requests per minute to each. */
  readonly rate: number;
  /** Names of fields not to compare, in lower case. */
  readonly ignored: ReadonlySet<string>;
  /** The place of a client's key in the rule book; undefined for Authorization. */
  readonly keyField: ClientField | undefined;
}

/** A stage of two real services, which keeps to their rate limit and waits after a 429. */
function realStage({ v1, gateway, key, isReadOnly, rate, ignored, keyField }: RealServices): TwinStage {
  const sides = [httpSide(v1), httpSide(gateway)] as const;
  const [one, other] = sides.map((side) => patient(side));
  const pauseMs = 60_000 / rate;
  if (one === undefined || other === undefined) throw new Error('a stage has two sides');
  const stage: Stage = {
    v1: one,
    gateway: other,
    key,
    isReadOnly,
    ignored,
    takesAnyOrder: true,
    before: () => delay(pauseMs),
    ...(keyField === undefined ? {} : { keyField }),
  };
  return { play: (script) => playScript(script, stage), close: () => sides.forEach((side) => side.close()) };
}

/** Maximum number of waits before a 429 counts as the response. */
const MAX_WAITS = 5;
const MAX_WAIT_S = 120;

function patient({ origin, send }: Side): Side {
  const sendPatiently: Sender = async (request) => {
    for (let waits = 0; ; waits += 1) {
      const response = await send(request);
      if ('fault' in response || response.status !== 429 || waits === MAX_WAITS) return response;
      const [, seconds = '1'] = response.headers.find(([name]) => name.toLowerCase() === 'retry-after') ?? [];
      await delay(Math.min(Number(seconds) || 1, MAX_WAIT_S) * 1000);
    }
  };
  return { origin, send: sendPatiently };
}
