import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';
import { stdout } from 'node:process';
import { systemReason } from '../../node/system-reason.ts';
import { BodySchemas } from '../../openapi/body-schemas.ts';
import { Components } from '../../openapi/components.ts';
import {
  type DescribedOperation,
  type Description,
  elementsOf,
  memberOf,
  objectIn,
  operationsBelow,
  templateOf,
} from '../../openapi/description.ts';
import { isAddress } from '../../openapi/join-documents.ts';
import { requestBody, resourceIn } from '../../openapi/draft/bodies.ts';
import { type GivenMoves, matchOperations, parametersOf } from '../../openapi/draft/match-operations.ts';
import { printRuleBook, type ProposedRuleBook } from '../../openapi/draft/print-rule-book.ts';
import { type DraftWishes, namedOperations, proposeRuleBook } from '../../openapi/draft/propose-rule-book.ts';
import { soundDraft } from '../../openapi/draft/sound-draft.ts';
import { counted } from '../../rules/words.ts';
import { CompiledRuleBook } from '../../rewrite/compiled-rule-book.ts';
import { readRuleBook } from '../../rules/read-rule-book.ts';
import { openQuestions, printFault } from '../../rules/rule-book-fault.ts';
import type { RuleBook } from '../../rules/rule-book.ts';
import { casePlayer, readTextCases, type TextMessage, updatedLines } from '../cases/text-cases.ts';
import { type CommandFault, FAILURE, isFault, writeOutput } from '../command-fault.ts';
import { readOnly, readRecordedRequests, takeRead } from '../explain/requests.ts';
import { program } from '../terminal.ts';
import { coverageOf } from './coverage.ts';
import { keysOf } from './described-differences.ts';
import { type ExampleResponse, exampleError, exampleRequest, exampleResponse } from './described-examples.ts';
import { DescribedService } from './described-service.ts';
import { readToCompare } from './description-file.ts';
import { describedPrefixes, type DraftParts, draftTrial, usedWishes, wishesOf, withLeft } from './draft.ts';
import { movesIn } from './merge-rule-book.ts';
import type { SampleRequest } from './samples.ts';

export interface InitOptions extends DraftParts {
  readonly v1: string;
  readonly v2: string;
  readonly har?: string;
  readonly dir: string;
  readonly force?: true;
}

const SCHEMA = new URL('../../../config/rules.schema.json', import.meta.url);

/** Maximum operations whose gaps are counted here: for more, `check` takes long. */
const MAX_COUNTED = 150;

/** A placeholder if V2's description names no server. */
const NO_UPSTREAM = 'http://127.0.0.1:9000';

/** Writes a settings file, a drafted rule book and a first text case. */
export async function runInit(options: InitOptions): Promise<CommandFault | undefined> {
  const { dir, har, force } = options;
  const [v1, v2] = [await readToCompare(options.v1), await readToCompare(options.v2)];
  if (isFault(v1)) return v1;
  if (isFault(v2)) return v2;
  const recorded =
    har === undefined
      ? readOnly([])
      : await readRecordedRequests({ har }, undefined, describedPrefixes(v1, v2, options));
  if (isFault(recorded)) return recorded;
  const requests = takeRead(recorded);
  const wishes = wishesOf(options, v1, v2);
  if (isFault(wishes)) return wishes;
  const used = usedWishes(wishes, v1, v2, requests);
  if (used.left !== undefined) process.stderr.write(`${used.left}\n`);
  const proposed = withLeft(await soundDraft(proposeRuleBook(v1, v2, used.wishes)), used);
  if (isEmpty(v2))
    return {
      fault:
        'No operation of V1 was found in V2, so there is nothing to write. Compare the paths and servers of the descriptions.',
      isJunk: true,
    };
  const rules = join(dir, 'rules.yaml');
  const { files, text, reading } = await draftFiles(
    { v1, v2, dir, v2Source: options.v2 },
    proposed,
    used.wishes,
  );
  const unwritten = writeFiles(dir, files, force === true ? 'all' : new Map());
  if (unwritten !== undefined) return unwritten;
  const faults = reading.ok ? [] : reading.faults.map((fault) => printFault(fault));
  process.stderr.write(faults.map((fault) => `${fault}\n`).join(''));
  if (reading.ok && har !== undefined) {
    const trial = await draftTrial(new CompiledRuleBook(reading.ruleBook), v2, requests);
    process.stderr.write(trial.text);
  }
  const questions = openQuestions(text, rules).length;
  const { isWanted } = used.wishes;
  const gaps =
    reading.ok && proposed.operations.length <= MAX_COUNTED
      ? coverageOf({ ruleBook: reading.ruleBook, text, v1, v2, ...(isWanted && { isWanted }) }).gaps.length
      : undefined;
  const lines = nextCommands(dir, options).map((line) => `  ${line}\n`);
  const remarks = remarksOn(dir, v2, gaps).map((sentence) => `${sentence}\n`);
  stdout.write(
    `Wrote ${files.map(([path]) => path).join(', ')}: ${counted(proposed.operations.length, 'operation')}, ${counted(questions, 'open question')}.

${questions === 0 ? 'Next:' : `Answer the TODO lines of ${rules}: where the rule is right, remove its marks (# ), otherwise delete it; delete the TODO lines. Then:`}
${lines.join('')}
${remarks.join('')}`,
  );
  if (faults.length > 0) process.exitCode = FAILURE;
  return undefined;
}

/** True for a description without operations. */
export function isEmpty(description: Description): boolean {
  return Object.keys(objectIn(description, 'paths')).length === 0;
}

/** Sentences to read before the next commands: which service V2's address is, and what a passed test proves. */
export function remarksOn(dir: string, v2: Description, gaps: number | undefined): readonly string[] {
  const upstream = serverOf(v2)?.origin;
  const settings = join(dir, 'gateway.yaml');
  return [
    upstream === undefined
      ? `V2's description names no server: write V2's address as upstream in ${settings}.`
      : `upstream in ${settings} is ${upstream}, the first server of V2's description. That may be the live system: write the address of a test system until the rules are done.`,
    `The text cases have the results of the present rules: test shows what changes later, not that the rules are right. ${gapWords(gaps)}`,
  ];
}

/** The result of `check`; undefined for gaps that were not counted. */
function gapWords(gaps: number | undefined): string {
  if (gaps === 0) return 'check, which compares them with both descriptions, finds no gap.';
  const found = gaps === undefined ? '' : `, and finds ${counted(gaps, 'gap')}`;
  return `check compares them with both descriptions${found}.`;
}

/** The commands that follow once the files are written, as this program is started here. */
export function nextCommands(
  dir: string,
  { v1, v2, only = [] }: Pick<InitOptions, 'v1' | 'v2' | 'only'>,
): readonly string[] {
  const rules = join(dir, 'rules.yaml');
  const settings = join(dir, 'gateway.yaml');
  const names = only
    .map((name) => (/^[\w.-]+$/.test(name) ? ` ${name}` : ` ${JSON.stringify(name)}`))
    .join('');
  return [
    `${program()} check --config ${settings} --v1 ${v1} --v2 ${v2}${names === '' ? '' : ` --only${names}`}`,
    `${program()} test --rules ${rules}`,
    `${program()} serve --config ${settings}`,
  ];
}

export type DraftFile = readonly [path: string, text: string];

/** Both descriptions, and the folder for the files. */
export interface DraftPlace {
  readonly v1: Description;
  readonly v2: Description;
  /** V2's description, as the settings name it. */
  readonly v2Source: string;
  readonly dir: string;
  /** The addresses for clients and operators; absent for free ports beside V2's. */
  readonly addresses?: { readonly listen: string; readonly adminListen: string } | undefined;
}

/** The files of a new gateway with a drafted rule book, and the result of reading that rule book. */
export async function draftFiles(
  { v1, v2, v2Source, dir, addresses }: DraftPlace,
  proposed: ProposedRuleBook,
  { isWanted }: Pick<DraftWishes, 'isWanted'>,
): Promise<{
  readonly files: readonly DraftFile[];
  readonly text: string;
  readonly reading: Awaited<ReturnType<typeof readRuleBook>>;
}> {
  const text = printRuleBook(proposed, './rules.schema.json');
  const rules = join(dir, 'rules.yaml');
  const reading = await readRuleBook(text, rules);
  const cases = reading.ok ? await firstCases(v1, v2, reading.ruleBook, movesIn(text), isWanted) : '';
  const files: readonly DraftFile[] = [
    [join(dir, 'gateway.yaml'), settingsText(v2, dir, v2Source, addresses)],
    [rules, text],
    // Editors complete and check the rule book with it.
    [join(dir, 'rules.schema.json'), readFileSync(SCHEMA, 'utf8')],
    [join(dir, 'cases', 'first.txt'), cases],
  ];
  return { files, text, reading };
}

/** Writes the files; overwrites only those with the content of `own`. */
export function writeFiles(
  dir: string,
  files: readonly DraftFile[],
  own: ReadonlyMap<string, string> | 'all',
): CommandFault | undefined {
  const present = files
    .map(([path]) => path)
    .filter((path) => own !== 'all' && existsSync(path) && !isOwn(path, own.get(path)));
  if (present.length > 0)
    return {
      fault: `${present.join(', ')}: already exist. Name another folder with --dir, or overwrite with --force.`,
    };
  try {
    mkdirSync(join(dir, 'cases'), { recursive: true });
  } catch (error) {
    return { fault: `${dir} cannot be written: ${systemReason(error)}; name another folder with --dir.` };
  }
  for (const [path, content] of files) {
    const unwritten = writeOutput(path, content);
    if (unwritten !== undefined) return unwritten;
  }
  return undefined;
}

function isOwn(path: string, text: string | undefined): boolean {
  return text !== undefined && readFileSync(path, 'utf8') === text;
}

/** The first server of a description; undefined if it names none with an address. */
function serverOf(description: Description): URL | undefined {
  const [url] = elementsOf(description['servers']).map((server) => memberOf(server, 'url'));
  return typeof url === 'string' ? (URL.parse(url) ?? undefined) : undefined;
}

function settingsText(
  v2: Description,
  dir: string,
  source: string,
  addresses: DraftPlace['addresses'],
): string {
  const address = serverOf(v2);
  const origin = address?.origin;
  // Many descriptions name a server on the author's own machine, at a port that the gateway would take.
  const [listen, admin] = [8080, 8081, 8082].filter((port) => String(port) !== address?.port);
  const description = isAddress(source) ? source : relative(dir, resolve(source));
  return `# Settings of the gateway; serve --help lists them all. Flags and variables override them, and paths are relative to this file.
listen: ${addresses?.listen ?? `127.0.0.1:${listen}`}
admin-listen: ${addresses?.adminListen ?? `127.0.0.1:${admin}`}
${origin === undefined ? '# Where V2 is: write its address here.' : '# Where V2 is: the first server of its description. Write the address of a test system here while you try the rules.'}
upstream: ${origin ?? NO_UPSTREAM}
rules: rules.yaml
${hasForeign(v2) ? '# The description refers to documents that could not be read: without them it cannot be checked against.\n# ' : ''}v2-openapi: ${JSON.stringify(description)}
`;
}

/** True for a description with references to other documents, which were not read. */
function hasForeign(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  const reference = memberOf(value, '$ref');
  if (typeof reference === 'string' && !reference.startsWith('#')) return true;
  return Object.values(value).some(hasForeign);
}

/** The header fields of V2's request that a case shows: those that V2 requires, and its key. */
function shownFields(described: DescribedOperation, components: Components): readonly string[] {
  const required = parametersOf(described, components.description).flatMap((parameter) => {
    const [name, place] = [memberOf(parameter, 'name'), memberOf(parameter, 'in')];
    const isShown =
      typeof name === 'string' && place === 'header' && memberOf(parameter, 'required') === true;
    return isShown ? [name.toLowerCase()] : [];
  });
  const [keys = []] = keysOf({ operation: described, components });
  const fields = keys.filter((key) => key.in === 'header').map(({ name }) => name);
  return [...new Set([...required, ...fields])];
}

/** The lines of a request of V1 with every parameter that is described, and with V1's key. */
function requestLines({ method, target, headers, body }: SampleRequest): readonly string[] {
  const fields = headers.flatMap((name, at) =>
    at % 2 === 0 && name !== 'Host' ? [`> ${name.toLowerCase()}: ${headers[at + 1] ?? ''}`] : [],
  );
  return [`> ${method} ${target}`, ...fields, ...(body === undefined ? [] : ['>', `> ${body}`])];
}

/** The lines of a response of V2. */
function responseLines({ status, headers, body }: ExampleResponse): readonly string[] {
  const type = headers.find(([name]) => name === 'content-type')?.[1] ?? 'application/json';
  return [`* ${status}`, ...(body === '' ? [] : [`* Content-Type: ${type}`, '*', `* ${body}`])];
}

/**
 * Cases with the values of the descriptions and the results of the draft: one for each operation with a body in both versions, one error,
 * and one for each operation that is gone.
 */
async function firstCases(
  v1: Description,
  v2: Description,
  ruleBook: RuleBook,
  moves: GivenMoves,
  isWanted: DraftWishes['isWanted'] = () => true,
): Promise<string> {
  const play = casePlayer(ruleBook);
  const [old, young] = [new Components(v1), new Components(v2)];
  const [before, after] = [operationsBelow(v1, ruleBook.from, 'v1'), operationsBelow(v2, ruleBook.to, 'v2')];
  const { matched } = matchOperations(
    { components: old, operations: before },
    { components: young, operations: after },
    moves,
  );
  const service = new DescribedService(young, ruleBook.to, new BodySchemas(v2));
  let refused = 0;
  const texts: string[] = [];
  const add = async (
    name: string,
    request: readonly string[],
    response: readonly string[],
    fields: readonly string[],
  ): Promise<void> => {
    const [textCase] = readTextCases([`# ${name}`, ...request, ...response, '< 200'].join('\n'));
    if (textCase === undefined) return;
    const played = await play(textCase);
    const faults = played.sent === undefined ? [] : faultsOf(played.sent, service);
    if (faults.length > 0) refused += 1;
    const wanted = fields.map((field) => [field, ''] as const);
    texts.push(
      [
        `# ${name}`,
        ...faults.map((fault) => `## V2's description refuses the draft's request: ${fault}`),
        ...request,
        ...(played.sent === undefined
          ? []
          : [...updatedLines('=', { line: '', headers: wanted, body: '' }, played.sent), ...response]),
        ...updatedLines('<', undefined, played.response),
      ].join('\n'),
    );
  };
  const requestOf = (described: DescribedOperation): readonly string[] =>
    requestLines(exampleRequest(described, old, ruleBook));
  let hasError = false;
  for (const { pair, operation } of namedOperations(matched.filter((one) => isWanted(one.v1)))) {
    const body1 = requestBody(pair.v1, old);
    const isWrite = body1?.form === 'json' && body1.shape.members.size > 0;
    const resource = resourceIn(pair.v2, young);
    const isPlain = operation.method === 'DELETE' || (operation.method === 'GET' && resource !== undefined);
    if (!isWrite && !isPlain) continue;
    const request = requestOf(pair.v1);
    const { status, body } = exampleResponse(pair.v2, young);
    const fields = shownFields(pair.v2, young);
    const success = responseLines({ status, headers: [], body: resource === undefined ? '' : body });
    await add(operation.id, request, success, fields);
    const error = hasError ? undefined : exampleError(pair.v2, young);
    if (error === undefined || error.body === '') continue;
    hasError = true;
    await add(`${operation.id}, with an error of V2`, request, responseLines(error), fields);
  }
  for (const { id, method, template, gone } of ruleBook.operations) {
    const described = before.find((one) => one.method === method && templateOf(one) === template);
    if (gone === undefined || described === undefined) continue;
    await add(`${id}, which is gone`, requestOf(described), [], []);
  }
  return `Cases with the descriptions' own values, and the results of the drafted rule book. Read V2's request (=) and the client's response (<), and correct the rules
until both are right; then add requests of your own. capture-gateway test plays them.
${refused === 0 ? '' : `V2's description refuses ${refused} of ${texts.length} requests that the draft makes (##): the cases pass, but V2 would refuse them.\n`}
${texts.join('\n\n')}
`;
}

/** The faults that V2's description finds in the request of a case. */
function faultsOf({ line, headers, body }: TextMessage, service: DescribedService): readonly string[] {
  const [method = '', target = ''] = line.split(' ');
  const fields = new Map(headers);
  return service.faultsOf({ method, target, body, field: (name) => fields.get(name) });
}
