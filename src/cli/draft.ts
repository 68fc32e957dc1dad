import { writeFileSync } from 'node:fs';
import { stdout } from 'node:process';
import type { Command } from 'commander';
import { readJsonType } from '../http/media-type.ts';
import { readTarget } from '../http/target.ts';
import { CompiledRuleBook } from '../rewrite/compiled-rule-book.ts';
import type { Description } from '../openapi/description.ts';
import { readJsonText } from '../openapi/json-text.ts';
import { printRuleBook, type ProposedRuleBook } from '../openapi/print-rule-book.ts';
import { proposeFromTraffic, type RecordedRequest } from '../openapi/propose-from-traffic.ts';
import { proposeRuleBook } from '../openapi/propose-rule-book.ts';
import { printFault } from '../rules/rule-book-fault.ts';
import { readRuleBook } from '../rules/read-rule-book.ts';
import { readDescription } from './description-file.ts';
import { draftTrial } from './draft-trial.ts';
import { readRecordedRequests, type RecordingSource } from './recorded-requests.ts';
import type { NamedRequest } from './request-files.ts';

interface DraftOptions extends RecordingSource {
  readonly v1?: string;
  readonly v2: string;
  readonly out?: string;
}

/** Adds the command `draft`: writes a rule book from two descriptions, or from V2's and recorded traffic. */
export function draft(program: Command): void {
  program
    .command('draft')
    .summary('draft a rule book from two OpenAPI descriptions, or from recorded traffic')
    .description(
      "Compares V1's and V2's OpenAPI descriptions and writes a rule book, each rule with its evidence and a confidence in a comment, and questions where it cannot decide. Without --v1, recorded requests take the place of V1's description. Recorded requests are then migrated with the draft, and what V2's schemas would refuse is listed on stderr. Exit code 1 if there is any.",
    )
    .requiredOption('--v2 <description>', "V2's description: a file or a URL")
    .option('--v1 <description>', "V1's description: a file or a URL")
    .option('--har <file>', 'recorded requests: a HAR file')
    .option('--postman <file>', 'recorded requests: a Postman collection')
    .option('--log <file>', 'recorded requests: a rewrite log, which has names but no values')
    .option(
      '--admin <url>',
      'recorded requests: those captured by a running gateway; its token is read from GATEWAY_ADMIN_TOKEN',
    )
    .option('--out <file>', 'rule book to write (default: stdout)')
    .action(async (options: DraftOptions) => {
      const fault = await run(options);
      if (fault === undefined) return;
      process.stderr.write(`${fault}\n`);
      process.exitCode = 2;
    });
}

async function run(options: DraftOptions): Promise<string | undefined> {
  const v2 = await readDescription(options.v2);
  if (isFault(v2)) return v2.fault;
  const { har, postman, log, admin } = options;
  const isRecorded = [har, postman, log, admin].some((source) => source !== undefined);
  const requests = isRecorded ? await readRecordedRequests(options) : [];
  if (isFault(requests)) return requests.fault;
  const book = await bookOf(options.v1, v2, requests, isRecorded);
  if (isFault(book)) return book.fault;
  const text = printRuleBook(book);
  const reading = await readRuleBook(text, options.out ?? 'draft');
  // A fault is a reason to read the draft, not to keep it back.
  if (!reading.ok) process.stderr.write(reading.faults.map((fault) => `${printFault(fault)}\n`).join(''));
  stdout.on('error', () => {});
  if (options.out === undefined) stdout.write(text);
  else writeFileSync(options.out, text);
  if (!isRecorded || !reading.ok) return undefined;
  const trial = await draftTrial(new CompiledRuleBook(reading.ruleBook), v2, requests);
  process.stderr.write(trial.text);
  if (trial.refused > 0) process.exitCode = 1;
  return undefined;
}

function isFault(value: object): value is { readonly fault: string } {
  return 'fault' in value && typeof value.fault === 'string';
}

async function bookOf(
  source: string | undefined,
  v2: Description,
  requests: readonly NamedRequest[],
  isRecorded: boolean,
): Promise<ProposedRuleBook | { readonly fault: string }> {
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
