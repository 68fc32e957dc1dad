import { readFileSync } from 'node:fs';
import { stdout } from 'node:process';
import { buffer } from 'node:stream/consumers';
import type { Explanation } from '../../inspector/api.ts';
import { layOutJson } from '../../inspector/diff/json-layout.ts';
import { isSameJsonLine, lineDiff } from '../../report/line-diff.ts';
import { type ReadRequests, requestTarget } from '../../inspector/explain/curl-command.ts';
import { bodyOfBytes } from '../../inspector/entries/curl.ts';
import { readPasted } from '../../inspector/explain/pasted-request.ts';
import { decodeText, readText } from '../../node/files.ts';
import { jsonText, terminalLines, terminalText } from '../../report/text.ts';
import { count, counted } from '../../rules/words.ts';
import { Migration, type StartedResponse } from '../../library/migration.ts';
import type { TransformJob, TransformOutcome } from '../../migrate/transform.ts';
import type { LoadedRuleBook } from '../../node/rule-books.ts';
import { TransformThreads } from '../../node/threads/transform-thread.ts';
import type { HeaderFields, ResponseVerdict } from '../../library/verdicts.ts';
import { type EditRecord, placesOfEdit, refusalText } from '../../rewrite/records.ts';
import type { ResponseRecord } from '../../rewrite/response-rules.ts';
import { changesValue } from '../../rules/kinds/kinds.ts';
import type { RuleBook } from '../../rules/rule-book.ts';
import { queryParts, valueOf } from '../../http/target.ts';
import {
  type CommandFault,
  FAILURE,
  givenBook,
  isFault,
  openRuleBook,
  unreadable,
} from '../command-fault.ts';
import { painter, printColumns, type Style, type Terminal, terminalOf, wrapLines } from '../terminal.ts';
import { readHar } from './har.ts';
import {
  offlineExplainer,
  readLogRequests,
  readOnly,
  readPostmanFiles,
  type RecordingSource,
} from './requests.ts';

export interface ExplainOptions extends Omit<RecordingSource, 'admin' | 'config'> {
  readonly operation?: string;
  readonly method?: string;
  readonly target?: string;
  readonly curl?: string;
  /** File with the body of V2's response. */
  readonly response?: string;
  /** V2's status. */
  readonly status?: number;
  readonly format: 'text' | 'json';
  readonly failOn: 'refused' | 'edits' | 'never';
  readonly rules: string;
}

/** Explains a file's request, or those of another source, and prints the result. */
export async function runExplain(
  file: string | undefined,
  options: ExplainOptions,
): Promise<CommandFault | undefined> {
  const book = await openRuleBook(options.rules);
  if (isFault(book)) return book;
  const requests = await requestsOf(file, options, book);
  if (isFault(requests)) return requests;
  const explainRequest = offlineExplainer(book.rules);
  const explanations: Explained[] = [];
  const faults = [...requests.faults];
  for (const { name, request } of requests.requests) {
    const explanation = await explainRequest(request);
    if ('fault' in explanation) faults.push({ name, fault: explanation.fault });
    else explanations.push({ name, explanation });
  }
  process.stderr.write(requests.notes.map((note) => `note: ${terminalText(note)}\n`).join(''));
  if (explanations.length === 0)
    return nothingExplained(faults, (options.har ?? options.postman ?? options.log) === undefined);
  const [only] = explanations;
  if (options.response !== undefined && only !== undefined) {
    if (explanations.length > 1) return { fault: '--response is for one request: give only one request.' };
    const response = await explainResponse(
      only.explanation,
      book.rules.ruleBook,
      options.response,
      options.status,
    );
    if ('fault' in response) return response;
    explanations[0] = { ...only, response };
  } else if (options.status !== undefined)
    return { fault: '--status belongs to a response: give its body with --response.' };
  stdout.write(options.format === 'json' ? printJson(explanations) : printText(explanations));
  process.stderr.write(faults.map((fault) => `${unreadWords(fault)}\n`).join(''));
  if (faults.length > 0 || explanations.some(({ explanation }) => isFailure(explanation, options)))
    process.exitCode = FAILURE;
  return undefined;
}

function nothingExplained(faults: ReadRequests['faults'], isOne: boolean): CommandFault {
  const [only] = faults;
  if (only === undefined) return { fault: 'There is no request to explain.', isJunk: true };
  return {
    fault: faults.length === 1 && isOne ? terminalText(only.fault) : faults.map(unreadWords).join('\n'),
  };
}

function unreadWords({ name, fault }: ReadRequests['faults'][number]): string {
  return terminalText(`${name} cannot be read: ${fault}`);
}

async function requestsOf(
  file: string | undefined,
  options: ExplainOptions,
  book: LoadedRuleBook,
): Promise<ReadRequests | CommandFault> {
  const { operation, method, target, curl, har, postman, postmanEnv, log } = options;
  const sources = [file, curl, har, postman, log].filter((source) => source !== undefined);
  if (sources.length > 1) return { fault: 'Give one of a file, --curl, --har, --postman and --log.' };
  if (postmanEnv !== undefined && postman === undefined)
    return { fault: '--postman-env belongs to a collection: give --postman as well.' };
  try {
    if (curl !== undefined)
      return readPasted(curl === '-' ? decodeText(await buffer(process.stdin)) : curl, (path) =>
        readFileSync(path),
      );
    if (har !== undefined) return readHar(readText(har), book.rules.prefixes);
    if (postman !== undefined) return readPostmanFiles(postman, postmanEnv);
    if (log !== undefined) return await readLogRequests(log, givenBook(book));
    if (file === undefined && operation === undefined && target === undefined) {
      return { fault: 'Name a file, or use --curl, --har, --postman or --log; see --help.' };
    }
    const missing = missingFlags(options);
    if (missing !== undefined) return { fault: missing };
    const body =
      file === '-' ? await buffer(process.stdin) : file === undefined ? undefined : readFileSync(file);
    const request = {
      ...(operation === undefined ? {} : { operation }),
      ...(method === undefined ? {} : { method }),
      ...(target === undefined ? {} : { target: requestTarget(target) }),
      ...(body === undefined ? {} : bodyOfBytes(body)),
    };
    return readOnly([{ name: file ?? operation ?? target ?? 'request', request }]);
  } catch (error) {
    return unreadable(file ?? har ?? postman ?? log ?? 'The request', error);
  }
}

/** Names the flags that a request lacks: a body alone does not identify its operation. */
function missingFlags({ operation, method, target }: ExplainOptions): string | undefined {
  if (operation !== undefined || (method !== undefined && target !== undefined)) return undefined;
  if (method !== undefined)
    return `--target is missing: with --method ${method}, give the path as well, such as --target /api/v1/clients.`;
  if (target !== undefined)
    return `--method is missing: with --target ${target}, give the method as well, such as --method POST.`;
  return '--operation is missing: a body alone names no operation. Give --operation <id>, such as --operation create_client, or --method and --target.';
}

/** A request with its explanation, and that of a given response. */
interface Explained {
  readonly name: string;
  readonly explanation: Explanation;
  readonly response?: ExplainedResponse;
}

/** The gateway's result for a response from V2. */
interface ExplainedResponse {
  readonly status: number;
  readonly verdict: ResponseVerdict['verdict'];
  readonly edits: readonly ResponseRecord[];
  readonly note?: string;
  /** The requests to V2 for lookup rules, which explain does not send. */
  readonly lookups?: readonly string[];
  /** Why the client gets an error from the gateway. */
  readonly refusal?: { readonly code: string; readonly detail: string };
  readonly headers: HeaderFields;
  /** V2's body. */
  readonly v2Body: string;
  /** The client's body. */
  readonly body: string;
}

/** Applies transform and response rules, as in live traffic, to a body from a file. */
async function explainResponse(
  { v1Request, v2Request, edits, refusal }: Explanation,
  ruleBook: RuleBook,
  file: string,
  status = 200,
): Promise<ExplainedResponse | CommandFault> {
  if (v2Request === undefined)
    return {
      fault: `The request does not reach V2${refusal === undefined ? '' : ` (${refusal.code})`}, so there is no response from V2.`,
    };
  let body: Uint8Array;
  try {
    body = readFileSync(file);
  } catch (error) {
    return unreadable(file, error);
  }
  const { method, target } = v1Request;
  const headers = ['Content-Type', 'application/json', 'Content-Length', String(body.length)];
  const threads = new TransformThreads();
  // With the error's message: the user may read the values.
  const detailed = async (job: TransformJob): Promise<TransformOutcome> => {
    const outcome = await threads.run(ruleBook, job);
    return 'why' in outcome ? { ...outcome, why: outcome.detail } : outcome;
  };
  const request = { v1: { method, target }, target: v2Request.target, host: undefined, edits };
  const lookups: string[] = [];
  const ask = (address: string): never => {
    lookups.push(address);
    throw new Error('explain sends nothing to V2');
  };
  const started = new Migration(ruleBook, {}, detailed).startResponse(request, status, headers, ask);
  const verdict = await verdictOn(started, body);
  threads.close();
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
  const asked = lookups.length === 0 ? undefined : 'lookup-unasked';
  const note = asked ?? (verdict.verdict === 'refused' ? undefined : verdict.note);
  return {
    status: verdict.status,
    verdict: verdict.verdict,
    edits: verdict.verdict === 'rewritten' ? verdict.edits : [],
    ...(verdict.verdict === 'refused' ? { refusal: { code: verdict.code, detail: verdict.detail } } : {}),
    ...(note === undefined ? {} : { note }),
    ...(lookups.length === 0 ? {} : { lookups }),
    headers: verdict.headers,
    v2Body: decoder.decode(body),
    body: decoder.decode(verdict.body ?? new Uint8Array()),
  };
}

function verdictOn(started: StartedResponse, body: Uint8Array): ResponseVerdict | Promise<ResponseVerdict> {
  switch (started.action) {
    case 'forward':
      return { ...started.unchanged, body };
    case 'stream':
      return started.finish(body, body);
    case 'collect':
      return started.settle(body, body);
  }
}

function responseText(
  { status, verdict, edits, note, lookups = [], refusal, v2Body, body }: ExplainedResponse,
  terminal: Terminal,
): string {
  const paint = painter(terminal);
  const columns = terminal.columns === undefined ? undefined : terminal.columns - INDENT.length;
  return [
    `${paint('bold', `Response ${status}`)}  ${paint(VERDICTS[verdict], verdict)}`,
    ...(refusal === undefined ? [] : [`${paint('red', refusal.code)}  ${terminalText(refusal.detail)}`]),
    ...(edits.length === 0
      ? []
      : [`${paint('bold', 'Edits of the response')}\n${responseEdits(edits, columns)}`]),
    `${paint('bold', 'What the client gets')}\n${bodyDiff(v2Body, body, paint)}`,
    ...(lookups.length === 0
      ? []
      : [
          `${paint('bold', 'What live traffic would look up')}\n${indent(lookups.map((address) => terminalText(`GET ${address}`)).join('\n'))}`,
        ]),
    ...(note === undefined || lookups.length > 0 ? [] : [`The response was left untouched: ${note}.`]),
  ]
    .join('\n\n')
    .concat('\n');
}

function responseEdits(edits: readonly ResponseRecord[], columns: number | undefined): string {
  return indent(printColumns(['change', 'rule', 'from', 'to', 'note'], edits.map(editCells), { columns }));
}

function editCells(edit: EditRecord | ResponseRecord): readonly string[] {
  const { from = '', path } = placesOfEdit(edit);
  const place = path === undefined ? 'dropped' : path === '' ? 'the body' : terminalText(path);
  return [edit.change, edit.rule, terminalText(from), place, edit.note ?? ''];
}

/** Longest value that a table of edits shows. */
const MAX_VALUE_CHARACTERS = 40;

/** The cells of edits of a request: those that change values have the value before the rules, and after all of them. */
function requestEditCells({
  v1Request,
  v2Request,
  v2Body,
}: Explanation): (edit: EditRecord) => readonly string[] {
  const before = valueReader(v1Request.target, v1Request.body.text);
  const after = valueReader(v2Request?.target, v2Body);
  return (edit) => {
    const cells = editCells(edit);
    if (!changesValue(edit.rule) || edit.from === undefined || edit.path === undefined) return cells;
    const [change = '', rule = '', from = '', to = '', ...rest] = cells;
    return [change, rule, from + before(edit.from), to + after(edit.path), ...rest];
  };
}

/** Reads the value at a place of a request, to be shown behind the place; empty for one that is long or not scalar. */
function valueReader(target: string | undefined, body: string | undefined): (place: string) => string {
  const mark = target?.indexOf('?') ?? -1;
  const parts = mark === -1 ? [] : queryParts(target?.slice(mark + 1) ?? '');
  const layout = body === undefined ? undefined : layOutJson(new TextEncoder().encode(body));
  return (place) => {
    const isOfQuery = place.startsWith('?');
    const parameter = parts.find(({ name }) => name === place.slice(1));
    const [found] = layout?.places.get(place) ?? [];
    const value = isOfQuery
      ? parameter && valueOf(parameter)
      : found && layout?.text.slice(found.value.start, found.value.end);
    const isShown =
      value !== undefined && value.length <= MAX_VALUE_CHARACTERS && (isOfQuery || !/^[[{]/.test(value));
    return isShown ? `${isOfQuery ? '=' : ': '}${terminalText(value)}` : '';
  };
}

function bodyDiff(
  before: string,
  after: string,
  paint: ReturnType<typeof painter>,
  isSame?: typeof isSameJsonLine,
): string {
  return lineDiff(terminalLines(before.trimEnd()), terminalLines(after.trimEnd()), isSame)
    .map(
      ({ sign, text }) =>
        `  ${sign === ' ' ? `  ${text}` : paint(sign === '-' ? 'red' : 'green', `${sign} ${text}`)}`,
    )
    .join('\n');
}

function printText(explanations: readonly Explained[]): string {
  const terminal = terminalOf(stdout);
  const texts = explanations.map(({ name, explanation, response }) => {
    const text = explainText(name, explanation, terminal);
    return response === undefined ? text : `${text}\n${responseText(response, terminal)}`;
  });
  if (texts.length === 1) return texts.join('');
  const refused = explanations.filter(({ explanation }) => explanation.verdict === 'refused').length;
  const edited = explanations.filter(({ explanation }) => explanation.verdict === 'rewritten').length;
  return `${texts.join('\n')}\n${count(texts.length)} requests: ${count(edited)} rewritten, ${count(refused)} refused.\n`;
}

function printJson(explanations: readonly Explained[]): string {
  const all = explanations.map(({ name, explanation, response }) =>
    Object.assign({ name }, explanation, response && { response }),
  );
  return `${jsonText(all.length === 1 ? all[0] : all, 2)}\n`;
}

function isFailure({ verdict, edits }: Explanation, { failOn }: ExplainOptions): boolean {
  if (failOn === 'never') return false;
  return verdict === 'refused' || (failOn === 'edits' && edits.some((edit) => edit.note !== 'already-flat'));
}

const VERDICTS: Readonly<Record<Explanation['verdict'], Style>> = {
  rewritten: 'yellow',
  unchanged: 'green',
  refused: 'red',
  passed: 'dim',
  served: 'dim',
};

/** The verdict, with `moved` if V2 has the operation elsewhere. */
function verdictWords({ verdict, moved }: Explanation): string {
  if (moved === undefined) return verdict;
  return verdict === 'unchanged' ? 'moved' : `${verdict}, moved`;
}

/** Formats an explanation for a terminal. Requests and bodies keep their lines. */
export function explainText(name: string, explanation: Explanation, terminal: Terminal): string {
  const paint = painter(terminal);
  const columns = terminal.columns === undefined ? undefined : terminal.columns - INDENT.length;
  const title = (text: string): string => paint('bold', text);
  const { verdict, operation, v1Request, v2Request, refusal, edits, diff, policies, rules, live, delivery } =
    explanation;
  const { lookups } = explanation;
  const silent = rules.filter(({ applied, isElsewhere }) => !applied && isElsewhere !== true);
  const elsewhere = rules.filter(({ isElsewhere }) => isElsewhere === true).length;
  const used = policies.filter((policy) => policy.used);
  // For a body that is already flat, policy and rule explain that.
  const made = edits.filter(({ note }) => note !== 'already-flat');
  const sections = [
    `${title(terminalText(name))}  ${paint(VERDICTS[verdict], verdictWords(explanation))}${operation === undefined ? '' : `  ${operation}`}`,
    refusal === undefined
      ? ''
      : `${paint('red', `${refusal.status} ${refusal.code}`)}${refusal.pointer === undefined ? '' : ` at ${refusal.pointer === '' ? 'the body' : terminalText(refusal.pointer)}`}\n${wrapLines(terminalText(refusalText(refusal)), terminal.columns, 0)}`,
    live === undefined
      ? ''
      : `${title('Live traffic, by the rule book alone')}\n${indent(
          wrapLines([...live.map(terminalText), RUN_TIME_MODES].join('\n'), columns, 0),
        )}`,
    made.length === 0
      ? ''
      : `${title('Edits')}\n${indent(
          printColumns(['change', 'rule', 'from', 'to', 'note'], made.map(requestEditCells(explanation)), {
            columns,
          }),
        )}`,
    diff?.after === undefined || verdict !== 'rewritten'
      ? ''
      : `${title('Diff')}\n${bodyDiff(diff.before, diff.after, paint, isSameJsonLine)}`,
    v2Request === undefined
      ? ''
      : `${title('V2 request')}\n${indent(
          [
            terminalText(`${v2Request.method} ${v2Request.target}`),
            ...v2Request.headers.map(({ name: field, value }) => terminalText(`${field}: ${value}`)),
            ...(explanation.v2Body === undefined || explanation.v2Body === ''
              ? []
              : ['', terminalLines(explanation.v2Body)]),
          ].join('\n'),
        )}`,
    lookups === undefined
      ? ''
      : `${title('Looked up for the response')}\n${indent(lookups.map((address) => terminalText(`GET ${address}`)).join('\n'))}`,
    delivery === undefined || delivery.edits.length === 0
      ? ''
      : `${title('Edits of the webhook')}\n${responseEdits(delivery.edits, columns)}`,
    delivery === undefined
      ? ''
      : `${title(`What ${terminalText(delivery.to)} gets`)}\n${bodyDiff(v1Request.body.text ?? '', layOutJson(new TextEncoder().encode(delivery.body))?.text ?? delivery.body, paint)}`,
    delivery?.note === undefined ? '' : `The body is delivered unchanged: ${delivery.note}.`,
    used.length === 0
      ? ''
      : `${title('Policies that decided')}\n${indent(used.map(({ policy, value }) => `${policy}: ${value}`).join('\n'))}`,
    verdict === 'passed' || silent.length === 0
      ? ''
      : `${title('Rules that did nothing')}\n${indent(
          printColumns(
            ['change', 'rule', 'why'],
            silent.map(({ change, text, why }) => [change, terminalText(text), terminalText(why)]),
            { columns },
          ),
        )}`,
    verdict === 'passed' || elsewhere === 0
      ? ''
      : `${counted(elsewhere, 'rule is', 'rules are')} for other ${operation === undefined ? 'requests' : `operations than ${operation}`}.`,
    v1Request.body.state === 'none' || explanation.note === undefined
      ? ''
      : `The body was left untouched: ${explanation.note}.`,
  ];
  return `${sections.filter((section) => section !== '').join('\n\n')}\n`;
}

const RUN_TIME_MODES = 'This command does not know modes that operators chose at run time.';

const INDENT = '  ';

function indent(text: string): string {
  return text.replaceAll(/^(?=.)/gm, INDENT);
}
