import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { startRuntimeGateway, startTwinServices } from '../../node/twin/twin-services.ts';
import { count, counted, terminalText } from '../../report/text.ts';
import type { Difference } from '../../twin/compare.ts';
import { type PlayedExchange, type TwinReport, TwinTally } from '../../twin/play.ts';
import { type Choice, CHOICES, isWrite, readScript, type Script } from '../../twin/script.ts';
import {
  type CommandFault,
  FAILURE,
  isFault,
  NOT_STARTED,
  openRuleBook,
  SUCCESS,
  unreadable,
} from '../command-fault.ts';
import { printColumns, type Terminal, terminalOf, wrapLines } from '../terminal.ts';
import { realStage, referenceStage, type TwinStage } from './twin-stage.ts';

/** Maximum requests a minute to each service that runs, unless the options say another. */
const DEFAULT_RATE = 60;

/** Options of `twin`. */
export interface TwinOptions {
  readonly script: readonly string[];
  readonly rules: string;
  readonly on: 'node' | 'bun' | 'deno' | 'workerd';
  readonly sequences: number;
  readonly long?: true;
  readonly seed?: number;
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
  if (unused !== undefined) return fail([`${unused} is for services that run: it requires --v1 and --v2.`]);
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
    return fail(['--v1, --v2 and --key-file belong together.']);
  if (options.long === true || options.sequences > 0)
    return fail(['Random sequences are for the reference services: leave --v1 and --v2 out.']);
  const wrong = [v1, v2].find((url) => !/^https?:$/.test(URL.parse(url)?.protocol ?? ''));
  if (wrong !== undefined) return fail([`${wrong} is no http or https address.`]);
  const key = readKeyFile(keyFile);
  if (typeof key !== 'string') return failWith(key);
  const stage = realStage({
    v1,
    gateway: v2,
    key,
    isReadOnly: writes !== true,
    rate: Math.max(1, rate),
    ignored: new Set(options.ignore.map((name) => name.toLowerCase())),
  });
  const count = scripts
    .flatMap(({ exchanges }) => exchanges)
    .filter((one) => writes === true || !isWrite(one)).length;
  process.stderr.write(`Playing ${counted(count, 'exchange')}, ${rate} a minute.\n`);
  return report(await playAll(stage, scripts), options);
}

async function playReference(options: TwinOptions, scripts: readonly Script[]): Promise<number> {
  const { rules } = options;
  const sequences = options.long === true ? 20_000 : options.sequences;
  if (sequences > 0 && !hasFastCheck())
    return fail(['Random sequences need a checkout of the repository, after npm ci.']);
  const workerd = new URL('../../../deploy/edge/node_modules/workerd', import.meta.url);
  if (options.on === 'workerd' && !existsSync(workerd))
    return fail(['workerd needs a checkout of the repository, after `npm ci --prefix deploy/edge`.']);
  const book = await openRuleBook(rules);
  if (isFault(book)) return fail([book.fault]);
  const services = await startTwinServices();
  const runtime = options.on;
  try {
    const gateway =
      runtime === 'workerd'
        ? await (await import('./twin-workerd.ts')).startWorkerdGateway(services.v2, rules)
        : await startRuntimeGateway(runtime, process.argv[1] ?? '', services.v2, rules);
    const stage = referenceStage(services, gateway.origin, { fields: [] });
    try {
      const tally = await playAll(stage, scripts);
      const failing =
        sequences === 0 ? undefined : await playSequences(stage, sequences, options.seed, tally);
      const code = report(tally, options);
      if (failing !== undefined) process.stdout.write(`\n${failing}`);
      return failing === undefined ? code : FAILURE;
    } finally {
      stage.close();
      await gateway.stop();
    }
  } finally {
    services.close();
  }
}

async function playAll(stage: TwinStage, scripts: readonly Script[]): Promise<TwinTally> {
  const tally = new TwinTally();
  for (const script of scripts) {
    for await (const played of stage.play(script)) tally.add(played);
  }
  return tally;
}

/** Plays random sequences; returns the shortest one that fails, as a script to play again. */
async function playSequences(
  stage: TwinStage,
  count: number,
  seed: number | undefined,
  tally: TwinTally,
): Promise<string | undefined> {
  const { randomSequences } = await import('./twin-random.ts');
  return randomSequences(stage, { count, seed: seed ?? Date.now() & 0x7fffffff, tally });
}

/** An installed package has neither fast-check nor workerd. */
function hasFastCheck(): boolean {
  try {
    import.meta.resolve('fast-check');
    return true;
  } catch {
    return false;
  }
}

function report(tally: TwinTally, { json }: TwinOptions): number {
  process.stdout.write(
    json === true ? twinJson(tally.report) : twinText(tally.report, terminalOf(process.stdout)),
  );
  const { played, missing, different } = tally.report;
  // Where nothing was found at all, nothing was shown.
  return different.length === 0 && (played === 0 || missing < played) ? SUCCESS : FAILURE;
}

function failWith({ fault, isJunk }: CommandFault): number {
  return fail([fault], isJunk === true ? FAILURE : NOT_STARTED);
}

function fail(faults: readonly string[], code: number = NOT_STARTED): number {
  process.stderr.write(faults.map((fault) => `twin: ${fault}\n`).join(''));
  return code;
}

/** Reads the API key in a file: one word of visible ASCII characters, with white space around it. */
export function readKeyFile(file: string): string | CommandFault {
  let key: string;
  try {
    key = readFileSync(file, 'utf8').trim();
  } catch (error) {
    return unreadable(file, error);
  }
  if (/^[!-~]+$/.test(key)) return key;
  return { fault: `${file} does not hold an API key: one word of ASCII characters.`, isJunk: true };
}

/** Prints a report for people: a line for each difference, then the counts, also of those by choice. Texts of the services are escaped. */
export function twinText(
  { played, alike, missing, different, chosen, skipped }: TwinReport,
  { columns }: Pick<Terminal, 'columns'>,
): string {
  const rows = different.flatMap((exchange) => rowsOf(exchange));
  const reasons = Object.entries(skipped).map(
    ([reason, times]) => `${count(times)} not played: ${terminalText(reason)}.\n`,
  );
  return [
    rows.length === 0
      ? ''
      : `${printColumns(['exchange', 'where', 'kind', 'V1', 'gateway'], rows, { columns })}\n\n`,
    ...[
      `${counted(played, 'exchange')} played: ${count(alike)} alike, ${count(different.length)} different, ${count(chosen.length)} different by choice.\n`,
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
export function twinJson({ played, alike, missing, different, chosen, skipped }: TwinReport): string {
  const exchanges = different.map(({ script, name, statuses: [v1, gateway], differences }) => {
    return { script, name, statuses: { v1, gateway }, differences };
  });
  const choices = Object.fromEntries(byChoice(chosen));
  return `${JSON.stringify({ played, alike, missing, different: exchanges, choices, skipped }, null, 2)}\n`;
}

/** Names of the exchanges that differ by choice. */
function byChoice(chosen: TwinReport['chosen']): ReadonlyMap<Choice, readonly string[]> {
  const names = new Map<Choice, string[]>();
  for (const { choice, name } of chosen) names.set(choice, [...(names.get(choice) ?? []), name]);
  return names;
}

/** Differences of one exchange that are printed; the first ones usually explain the others. */
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

/** Maximum characters of a value, or of the part of it, that are shown. */
const EXCERPT = 64;
/** Characters shown before the first difference. */
const BEFORE = 20;

/**
 * Returns two values that differ as one line each: the parts around their first difference, at the same place of both. The number
 * of characters left out stands in their place. Values are escaped for a terminal.
 */
export function differingExcerpts(one: string, other: string): readonly [one: string, other: string] {
  const start = startOf(one, firstDifference(one, other) - BEFORE);
  return [excerptFrom(one, start), excerptFrom(other, start)];
}

/** Returns the beginning of a value, with the number of characters that are left out. */
export function valueExcerpt(text: string): string {
  return excerptFrom(text, 0);
}

function firstDifference(one: string, other: string): number {
  let at = 0;
  while (at < one.length && at < other.length && one[at] === other[at]) at += 1;
  return at;
}

/** A few characters take no more room than the sentence that they are left out. */
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

/** An index that does not stand between the two halves of a character. */
function boundary(text: string, at: number): number {
  return /[\uDC00-\uDFFF]/.test(text[at] ?? '') && /[\uD800-\uDBFF]/.test(text[at - 1] ?? '') ? at - 1 : at;
}

/** Scripts, or every fault of their files; `isMissing` when one of them could not be opened. */
export type ScriptFiles =
  | { readonly scripts: readonly Script[] }
  | { readonly faults: readonly string[]; readonly isMissing: boolean };

/** Folder of the scripts that ship with the program; `tables.txt` holds the tables that all scripts can use. */
const SHIPPED = new URL('../../../config/twin/', import.meta.url);
const TABLES = 'tables.txt';

/** Reads script files, or without any the shipped scripts; `any` chooses those that fit services of unknown data. */
export function loadScripts(files: readonly string[], fit: 'any' | 'reference'): ScriptFiles {
  const scripts: Script[] = [];
  const faults: string[] = [];
  let isMissing = false;
  const shared = readFileSync(new URL(TABLES, SHIPPED), 'utf8');
  const shipped = readdirSync(SHIPPED).filter((name) => name !== TABLES);
  for (const file of files.length > 0 ? files : shipped.map((name) => new URL(name, SHIPPED))) {
    try {
      const reading = readScript(basename(String(file)), readFileSync(file, 'utf8'), shared);
      if ('faults' in reading) faults.push(...reading.faults);
      else scripts.push(reading.script);
    } catch (error) {
      isMissing = true;
      faults.push(
        `${String(file)} cannot be read: ${error instanceof Error ? error.message : String(error)}.`,
      );
    }
  }
  if (faults.length > 0) return { faults, isMissing };
  const isChosen = ({ settings }: Script): boolean =>
    files.length > 0 || fit === 'reference' || settings['services'] === 'any';
  return { scripts: scripts.filter((script) => isChosen(script)) };
}
