import { stdout } from 'node:process';
import { readJsonType } from '../../http/media-type.ts';
import { readTarget } from '../../http/target.ts';
import { CompiledRuleBook } from '../../rewrite/compiled-rule-book.ts';
import type { Description } from '../../openapi/description.ts';
import { readJsonText } from '../../openapi/json-text.ts';
import { printRuleBook, type ProposedRuleBook } from '../../openapi/draft/print-rule-book.ts';
import { proposeFromTraffic, type RecordedRequest } from '../../openapi/draft/propose-from-traffic.ts';
import { proposeRuleBook } from '../../openapi/draft/propose-rule-book.ts';
import { printFault } from '../../rules/rule-book-fault.ts';
import { readRuleBook } from '../../rules/read-rule-book.ts';
import { type CommandFault, endWith, isFault, writeOutput } from '../command-fault.ts';
import { readDescription } from './description-file.ts';
import { draftTrial } from './draft-trial.ts';
import { FAILURE } from '../exit-codes.ts';
import { readRecordedRequests, type RecordingSource } from '../requests/recorded-requests.ts';
import type { NamedRequest } from '../requests/request-files.ts';

/** Options of `draft`. */
export interface DraftOptions extends RecordingSource {
  readonly v1?: string;
  readonly v2: string;
  readonly out?: string;
  readonly json?: true;
}

/** Writes a draft of a rule book, tries it on the recorded requests, and sets the exit code. */
export async function runDraft(options: DraftOptions): Promise<void> {
  endWith(await run(options));
}

async function run(options: DraftOptions): Promise<CommandFault | undefined> {
  const v2 = await readDescription(options.v2);
  if (isFault(v2)) return v2;
  const { har, postman, log, admin } = options;
  const isRecorded = [har, postman, log, admin].some((source) => source !== undefined);
  const requests = isRecorded ? await readRecordedRequests(options) : [];
  if (isFault(requests)) return requests;
  const book = await bookOf(options.v1, v2, requests, isRecorded);
  if (isFault(book)) return book;
  const text = printRuleBook(book);
  const reading = await readRuleBook(text, options.out ?? 'draft');
  const faults = reading.ok ? [] : reading.faults.map((fault) => printFault(fault));
  const trial =
    isRecorded && reading.ok
      ? await draftTrial(new CompiledRuleBook(reading.ruleBook), v2, requests)
      : undefined;
  const unwritten = options.out === undefined ? undefined : writeOutput(options.out, text);
  if (unwritten !== undefined) return unwritten;
  if (options.json === true) {
    const { text: _, ...tried } = trial ?? { text: '' };
    stdout.write(`${JSON.stringify({ ruleBook: text, faults, ...(trial && { trial: tried }) }, null, 2)}\n`);
  } else {
    // A fault is a reason to read the draft, not to keep it back.
    process.stderr.write(faults.map((fault) => `${fault}\n`).join(''));
    if (options.out === undefined) stdout.write(text);
    process.stderr.write(trial?.text ?? '');
  }
  const empty = emptyWords(book);
  if (empty !== undefined) process.stderr.write(`${empty}\n`);
  if (empty !== undefined || faults.length > 0 || (trial !== undefined && trial.refused > 0))
    process.exitCode = FAILURE;
  return undefined;
}

/** Why a draft has nothing in it; undefined for one that has. */
function emptyWords({ operations, changes }: ProposedRuleBook): string | undefined {
  if (operations.length === 0)
    return 'The draft is empty: no operation is in both. Compare the paths and servers of the descriptions.';
  return changes.length === 0
    ? 'The draft is empty: no difference was found that a rule could change.'
    : undefined;
}

async function bookOf(
  source: string | undefined,
  v2: Description,
  requests: readonly NamedRequest[],
  isRecorded: boolean,
): Promise<ProposedRuleBook | CommandFault> {
  if (source === undefined) {
    if (!isRecorded)
      return { fault: 'Give --v1, or one of --har, --postman, --log and --admin; see --help.' };
    return proposeFromTraffic(v2, requests.flatMap(recordedRequest));
  }
  const v1 = await readDescription(source);
  return isFault(v1) ? v1 : proposeRuleBook(v1, v2);
}

/** The parts of a V1 request with a JSON body that a draft reads. */
function recordedRequest({ request, count = 1 }: NamedRequest): readonly RecordedRequest[] {
  const { method = 'GET', target = '', headers = [], body } = request;
  const read = readTarget(target);
  const type = headers.find(([name]) => name.toLowerCase() === 'content-type')?.[1];
  if (
    read.fault !== undefined ||
    read.prefix !== '/api/v1' ||
    body === undefined ||
    readJsonType(type) !== 'json'
  )
    return [];
  const value = readJsonText(body);
  return value === undefined ? [] : [{ method, rest: read.rest, value, count }];
}
