import { stdout } from 'node:process';
import { parse, stringify } from 'yaml';
import { readJsonType } from '../../http/content.ts';
import { DEFAULT_PREFIXES, Prefixes, readTarget } from '../../http/target.ts';
import { generalPointer } from '../../json/pointer.ts';
import type { NamedRequest } from '../../inspector/explain/curl-command.ts';
import { inFormOf, readText } from '../../node/files.ts';
import { BodySchemas } from '../../openapi/body-schemas.ts';
import { deriveV1 } from '../../openapi/derive/derive-v1.ts';
import {
  type DescribedOperation,
  describedVersions,
  type Description,
  printJsonText,
  readJsonText,
  tableOf,
} from '../../openapi/description.ts';
import { mergeRuleBook, movesIn } from './merge-rule-book.ts';
import type { GivenMoves } from '../../openapi/draft/match-operations.ts';
import { printRuleBook, type ProposedRuleBook } from '../../openapi/draft/print-rule-book.ts';
import { proposeFromTraffic, type RecordedRequest } from '../../openapi/draft/propose-from-traffic.ts';
import { type DraftWishes, proposeRuleBook } from '../../openapi/draft/propose-rule-book.ts';
import { soundDraft } from '../../openapi/draft/sound-draft.ts';
import { jsonText, terminalLines, terminalText } from '../../report/text.ts';
import { count, counted } from '../../rules/words.ts';
import { CompiledRuleBook } from '../../rewrite/compiled-rule-book.ts';
import { readRuleBook } from '../../rules/read-rule-book.ts';
import { openQuestions, printFault } from '../../rules/rule-book-fault.ts';
import { prefixFault, readPrefix } from '../../rules/rule.ts';
import {
  type CommandFault,
  FAILURE,
  isFault,
  openRuleBook,
  unreadable,
  writeOutput,
} from '../command-fault.ts';
import {
  offlineExplainer,
  readOnly,
  readRecordedRequests,
  type RecordingSource,
  takeRead,
} from '../explain/requests.ts';
import { readDescription, readToCompare, referenceDescription } from './description-file.ts';

export interface DraftParts {
  readonly from?: string;
  readonly to?: string;
  readonly only?: readonly string[];
}

export interface DraftOptions extends RecordingSource, DraftParts {
  readonly v1?: string;
  readonly v2: string;
  readonly out?: string;
  /** Rule book to add to. */
  readonly into?: string;
  readonly json?: true;
}

/** Writes a draft of a rule book, and tries it on recorded requests. */
export async function runDraft(options: DraftOptions): Promise<CommandFault | undefined> {
  if (options.into !== undefined && options.out !== undefined)
    return { fault: 'Give either --out or --into.' };
  const present = options.into === undefined ? undefined : await readPresent(options.into);
  if (present !== undefined && isFault(present)) return present;
  const v2 = await readToCompare(options.v2);
  if (isFault(v2)) return v2;
  const { har, postman, log, admin } = options;
  const isRecorded = [har, postman, log, admin].some((source) => source !== undefined);
  const v1 = options.v1 === undefined ? undefined : await readToCompare(options.v1);
  if (v1 !== undefined && isFault(v1)) return v1;
  const prefixes = v1 && describedPrefixes(v1, v2, options);
  const read = isRecorded ? await readRecordedRequests(options, undefined, prefixes) : readOnly([]);
  if (isFault(read)) return read;
  const requests = takeRead(read);
  const moves = present && movesIn(present.text);
  const book = await bookOf(options, v1, v2, requests, isRecorded, moves);
  if (isFault(book)) return book;
  const merged = present && mergeRuleBook(present.text, book);
  const text = merged?.text ?? printRuleBook(book);
  const out = options.out ?? options.into;
  const reading = await readRuleBook(text, out ?? 'draft');
  const faults = reading.ok ? [] : reading.faults.map((fault) => printFault(fault));
  const trial =
    isRecorded && reading.ok
      ? await draftTrial(new CompiledRuleBook(reading.ruleBook), v2, requests)
      : undefined;
  const isSame = merged !== undefined && merged.text === present?.text;
  const unwritten =
    out === undefined || isSame
      ? undefined
      : writeOutput(out, merged === undefined ? text : inFormOf(out, text));
  if (unwritten !== undefined) return unwritten;
  if (options.json === true) {
    const { text: _, ...tried } = trial ?? { text: '' };
    writeDocument(`${jsonText({ ruleBook: text, faults, ...(trial && { trial: tried }) }, 2)}\n`);
  } else {
    // A draft with faults is also worth reading.
    process.stderr.write(faults.map((fault) => `${fault}\n`).join(''));
    if (merged !== undefined)
      stdout.write(
        isSame
          ? `${out} already has everything: nothing was added.\n`
          : `${out}: ${counted(merged.operations, 'operation')} and ${counted(merged.changes, 'change')} added; ${counted(openQuestions(text, '').length, 'open question')} in the file.\n`,
      );
    else if (out === undefined) writeDocument(text);
    process.stderr.write(trial?.text ?? '');
  }
  const empty = merged === undefined ? emptyWords(book) : undefined;
  if (empty !== undefined) process.stderr.write(`${empty}\n`);
  if (empty !== undefined || faults.length > 0 || (trial !== undefined && trial.refused > 0))
    process.exitCode = FAILURE;
  return undefined;
}

/** The text of the rule book to add to. It must have no faults, so that the places for new parts can be found. */
async function readPresent(path: string): Promise<{ readonly text: string } | CommandFault> {
  let text: string;
  try {
    text = readText(path);
  } catch (error) {
    return unreadable(path, error);
  }
  const reading = await readRuleBook(text, path);
  return reading.ok
    ? { text }
    : { fault: reading.faults.map((fault) => printFault(fault)).join('\n'), isJunk: true };
}

/** Why a draft is empty, if it is. */
function emptyWords({ operations, changes, questions }: ProposedRuleBook): string | undefined {
  if (operations.length === 0)
    return 'The draft is empty: no operation is in both. Compare the paths and servers of the descriptions.';
  if (changes.length > 0) return undefined;
  const sentence = 'The draft is empty: no difference was found that a rule could change.';
  return questions.size === 0
    ? sentence
    : `${sentence} Its TODO lines are open questions, also about parts that could not be compared.`;
}

async function bookOf(
  options: DraftOptions,
  v1: Description | undefined,
  v2: Description,
  requests: readonly NamedRequest[],
  isRecorded: boolean,
  moves: GivenMoves | undefined,
): Promise<ProposedRuleBook | CommandFault> {
  const { from, to, only } = options;
  if (v1 === undefined) {
    if (from !== undefined || to !== undefined || only !== undefined)
      return { fault: "--from, --to and --only choose among the operations of V1's description: give --v1." };
    if (!isRecorded)
      return { fault: 'Give --v1, or one of --har, --postman, --log and --admin; see --help.' };
    return soundDraft(proposeFromTraffic(v2, requests.flatMap(recordedRequest)));
  }
  const wishes = wishesOf(options, v1, v2);
  if (isFault(wishes)) return wishes;
  const used = usedWishes(wishes, v1, v2, requests);
  if (used.left !== undefined) process.stderr.write(`${used.left}\n`);
  return withLeft(await soundDraft(proposeRuleBook(v1, v2, { ...used.wishes, moves })), used);
}

/** The prefixes from two descriptions, or from options: recorded requests are below V1's. */
export function describedPrefixes(v1: Description, v2: Description, { from, to }: DraftParts): Prefixes {
  const given = { ...(from !== undefined && { from }), ...(to !== undefined && { to }) };
  const found = describedVersions(v1, v2, given);
  return new Prefixes(found.from ?? DEFAULT_PREFIXES.v1, found.to ?? DEFAULT_PREFIXES.v2);
}

/** A person's instructions for a draft, and a sentence about operations that they leave out. */
export interface UsedWishes {
  readonly wishes: DraftWishes;
  readonly left: string | undefined;
}

/** Limits a draft to the operations of the recorded requests, unless a person names operations, or the requests are for none. */
export function usedWishes(
  wishes: DraftWishes,
  v1: Description,
  v2: Description,
  requests: readonly NamedRequest[],
): UsedWishes {
  if (wishes.isWanted !== undefined || requests.length === 0) return { wishes, left: undefined };
  const { from = DEFAULT_PREFIXES.v1, v1: operations } = describedVersions(v1, v2, wishes);
  const prefix = from.replace(/\/$/, '');
  const table = tableOf(operations);
  const used = new Set(
    requests.flatMap(({ request: { method = 'GET', target = '' } }) => {
      const [path = ''] = target.split('?', 1);
      const isBelow = path.startsWith(`${prefix}/`);
      const id = isBelow ? table.match(method, path.slice(prefix.length))?.id : undefined;
      const operation = id === undefined ? undefined : operations[Number(id)];
      return operation === undefined ? [] : [keyOf(operation)];
    }),
  );
  const left = operations.length - used.size;
  if (used.size === 0 || left === 0) return { wishes, left: undefined };
  return {
    wishes: { ...wishes, isWanted: (operation) => used.has(keyOf(operation)) },
    left: `${counted(left, 'operation')} of V1 that no recorded request is for ${left === 1 ? 'was' : 'were'} left out; draft without recorded requests for all of them.`,
  };
}

function keyOf({ method, rest }: DescribedOperation): string {
  return `${method} ${rest}`;
}

/** The draft with the sentence about left-out operations. */
export function withLeft(book: ProposedRuleBook, { left }: UsedWishes): ProposedRuleBook {
  return left === undefined ? book : { ...book, origin: [...book.origin, sentenceOf(left)] };
}

function sentenceOf(text: string): string {
  return `${text.slice(0, 1).toUpperCase()}${text.slice(1)}`;
}

/** The instructions for a draft of two descriptions, from options. */
export function wishesOf(
  { from, to, only }: DraftParts,
  v1: Description,
  v2: Description,
): Omit<DraftWishes, 'moves'> | CommandFault {
  for (const [option, prefix] of [
    ['--from', from],
    ['--to', to],
  ] as const) {
    const fault = prefix === undefined ? undefined : prefixFault(prefix);
    if (fault !== undefined) return { fault: `${option} ${prefix} ${fault}.` };
  }
  const prefixes = {
    ...(from !== undefined && { from: readPrefix(from) }),
    ...(to !== undefined && { to: readPrefix(to) }),
  };
  if (only === undefined) return prefixes;
  const isWanted = wantedOf(only, describedVersions(v1, v2, prefixes).v1);
  return typeof isWanted === 'function' ? { ...prefixes, isWanted } : isWanted;
}

/** True for an operation that `--only` names, by its operationId or by method and path. */
export function wantedOf(
  only: readonly string[],
  operations: readonly DescribedOperation[],
): ((operation: DescribedOperation) => boolean) | CommandFault {
  const missing = only.find((name) => !operations.some((operation) => isCalled(operation, name)));
  if (missing === undefined) return (operation) => only.some((name) => isCalled(operation, name));
  return {
    fault: `V1's description has no operation ${missing}. Write its operationId, or method and path as in "POST /orders".`,
  };
}

/** True if a name is the operationId, or method and path with or without the prefix. */
function isCalled({ method, path, rest, operation }: DescribedOperation, name: string): boolean {
  return name === operation['operationId'] || name === `${method} ${path}` || name === `${method} ${rest}`;
}

/** The parts of a V1 request with a JSON body that a draft reads. */
function recordedRequest({ request, count = 1 }: NamedRequest): readonly RecordedRequest[] {
  const { method = 'GET', target = '', headers = [], body } = request;
  const read = readTarget(target, DEFAULT_PREFIXES);
  const type = headers.find(([name]) => name.toLowerCase() === 'content-type')?.[1];
  if (
    read.fault !== undefined ||
    read.version !== 'v1' ||
    body === undefined ||
    readJsonType(type) !== 'json'
  )
    return [];
  const value = readJsonText(body);
  return value === undefined ? [] : [{ method, rest: read.rest, value, count }];
}

/** The result of migrating recorded requests with a draft. */
interface DraftTrial {
  readonly requests: number;
  /** Bodies that were checked against V2's schemas. */
  readonly checked: number;
  /** Bodies that could not be checked, because V2's schema cannot be used. */
  readonly unchecked: number;
  /** Requests that the gateway or V2's schema would refuse. */
  readonly refused: number;
  /** Every reason with the number of requests, the most frequent first. */
  readonly reasons: readonly { readonly reason: string; readonly requests: number }[];
  /** Warnings about unchecked parts of V2's description. */
  readonly warnings: readonly string[];
  readonly text: string;
}

/** Maximum number of reasons to list, the most frequent first. */
const MAX_REASONS = 50;

/** Migrates recorded requests by the gateway's own decision, and checks V2's bodies against its schemas. */
export async function draftTrial(
  rules: CompiledRuleBook,
  v2: Description,
  requests: readonly NamedRequest[],
): Promise<DraftTrial> {
  const explainRequest = offlineExplainer(rules);
  const schemas = new BodySchemas(v2);
  const reasons = new Map<string, number>();
  const unusable = new Map<string, number>();
  let [all, checked, unchecked, refused] = [0, 0, 0, 0];
  for (const { name, request, count: times = 1 } of requests) {
    all += times;
    const explanation = await explainRequest(request);
    if ('fault' in explanation) continue;
    const { refusal, v2Request, v2Body, operation } = explanation;
    const found = new Set<string>();
    if (refusal !== undefined)
      found.add(
        `the gateway refuses it: ${refusal.code}${refusal.pointer === undefined ? '' : ` at ${refusal.pointer}`}`,
      );
    if (v2Request !== undefined && v2Body !== undefined && v2Body !== '') {
      const target = readTarget(v2Request.target, rules.prefixes);
      const outcome =
        target.fault === undefined
          ? checkBody(schemas, v2Request.method, target.rest, v2Body)
          : { faults: undefined };
      if ('unusable' in outcome) {
        unchecked += times;
        const key = `${operation ?? name}: V2's schema cannot be used: ${outcome.unusable}`;
        unusable.set(key, (unusable.get(key) ?? 0) + times);
      } else {
        if (outcome.faults !== undefined) checked += times;
        for (const { pointer, reason } of outcome.faults ?? [])
          found.add(`${generalPointer(pointer) || 'the body'}: ${reason}`);
      }
    }
    if (found.size > 0) refused += times;
    for (const reason of found) {
      const key = `${operation ?? name}: ${reason}`;
      reasons.set(key, (reasons.get(key) ?? 0) + times);
    }
  }
  const sorted = [...reasons].toSorted(([, one], [, other]) => other - one);
  const linesOf = (found: readonly (readonly [string, number])[]): readonly string[] => [
    ...found
      .slice(0, MAX_REASONS)
      .map(([reason, times]) => `  ${count(times)} of ${count(all)}  ${terminalText(reason)}\n`),
    ...(found.length > MAX_REASONS
      ? [`  and ${counted(found.length - MAX_REASONS, 'further reason')}\n`]
      : []),
  ];
  const head = `${counted(all, 'recorded request')}; ${counted(checked, 'body', 'bodies')} checked against V2's schemas; ${counted(refused, 'request')} would be refused.\n`;
  const warnings = schemas.warnings([]);
  const lines = [
    ...linesOf(sorted),
    ...(unchecked === 0 ? [] : [`${counted(unchecked, 'body', 'bodies')} could not be checked:\n`]),
    ...linesOf([...unusable].toSorted(([, one], [, other]) => other - one)),
  ];
  return {
    requests: all,
    checked,
    unchecked,
    refused,
    reasons: sorted.map(([reason, times]) => ({ reason, requests: times })),
    warnings,
    text: `${head}${lines.join('')}${warnings.map((warning) => `${terminalText(warning)}\n`).join('')}`,
  };
}

/**
 * Checks a body against V2's schema. The schema may be unusable here: it may have a `pattern` in another dialect than ECMA-262's, a `$ref`
 * that leads nowhere or in a circle, or an `$id` that changes the base of its references. The draft continues in that case.
 */
function checkBody(
  schemas: BodySchemas,
  method: string,
  rest: string,
  body: string,
): { readonly faults: ReturnType<BodySchemas['faultsOf']> } | { readonly unusable: string } {
  try {
    return { faults: schemas.faultsOf(method, rest, readJsonText(body)) };
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    const isEndless = error instanceof RangeError;
    // The message can have several lines.
    const [line = ''] = error.message.split('\n');
    return { unusable: isEndless ? 'its references are circular.' : line.replace(/[^.]$/, '$&.') };
  }
}

export interface OpenapiOptions {
  readonly format: 'json' | 'yaml';
  readonly rules: string;
}

/** Prints V1's description; `source` is V2's. */
export async function runOpenapi(
  source: string | undefined,
  { format, rules }: OpenapiOptions,
): Promise<CommandFault | undefined> {
  const book = await openRuleBook(rules);
  if (isFault(book)) return book;
  const v2 = source === undefined ? await referenceDescription('v2') : await readDescription(source);
  if (isFault(v2)) return v2;
  const { description, notes } = deriveV1(v2, book.rules.ruleBook);
  for (const note of notes) process.stderr.write(`note: ${terminalText(note)}\n`);
  const json = printJsonText(description, 2);
  writeDocument(format === 'json' ? `${json}\n` : stringify(parse(json, { intAsBigInt: true })));
  return undefined;
}

/**
 * Writes a document to stdout. For a terminal, characters that would move its cursor, change colours or reverse a line are escaped,
 * because the text comes from descriptions and clients. A file or a pipe gets the document unchanged.
 */
function writeDocument(text: string): void {
  stdout.write(stdout.isTTY ? terminalLines(text) : text);
}
