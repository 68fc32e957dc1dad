import type { ExplainRequest, Explanation, RequestsPage } from '../../inspector/api.ts';
import { type NamedRequest, type ReadRequests } from '../../inspector/explain/curl-command.ts';
import { explain, type ExplainFault } from '../../inspector/explain/explain.ts';
import { TransformThreads } from '../../node/threads/transform-thread.ts';
import type { LoadedRuleBook } from '../../node/rule-books.ts';
import { decodeBody } from '../../node/decode-body.ts';
import { hashBody } from '../../node/runtime.ts';
import { requestLike, UNLIKE, type Unlike } from '../../report/entry-request.ts';
import { mayBeEntry } from '../../report/tally/tally-lines.ts';
import { terminalText } from '../../report/text.ts';
import { count, counted } from '../../rules/words.ts';
import type { CompiledRuleBook } from '../../rewrite/compiled-rule-book.ts';
import { constants, settings } from '../../settings/settings.ts';
import { type AdminClient, openAdmin } from '../admin-client.ts';
import { type CommandFault, givenBook, isFault, unreadable } from '../command-fault.ts';
import { type GivenBook, LogBooks, noEntry } from '../../report/log-gaps.ts';
import { readText } from '../../node/files.ts';
import { parseEntry, readLogFile } from '../../node/log/log-files.ts';
import { leftOutNotes, readHar } from './har.ts';
import { readPostman } from './postman.ts';

/** Requests without any that had to be left out. */
export function readOnly(requests: readonly NamedRequest[], notes: readonly string[] = []): ReadRequests {
  return { requests, faults: [], notes };
}

/** Prints notes about assumptions, omissions and faults, and returns the requests. */
export function takeRead({ requests, faults, notes }: ReadRequests): readonly NamedRequest[] {
  const sentences = [...notes, ...faults.map(({ name, fault }) => `${name} cannot be read: ${fault}`)];
  process.stderr.write(sentences.map((sentence) => `note: ${terminalText(sentence)}\n`).join(''));
  return requests;
}

/** The source of recorded requests; at most one is set. */
export interface RecordingSource {
  readonly har?: string;
  readonly postman?: string;
  readonly postmanEnv?: string;
  readonly log?: string;
  readonly admin?: string;
  readonly config?: string;
}

/**
 * Reads recorded requests from a HAR file, a Postman collection, a rewrite log or a running gateway. `rules` are those that will be
 * applied; a log may come from other rules, but not from another API. `prefixes` are those of an API without rules.
 */
export async function readRecordedRequests(
  { har, postman, postmanEnv, log, admin, config }: RecordingSource,
  loaded?: LoadedRuleBook,
  prefixes = loaded?.rules.prefixes,
): Promise<ReadRequests | CommandFault> {
  const book = loaded?.rules.ruleBook.hash;
  const sources = [har, postman, log, admin].filter((source) => source !== undefined);
  if (sources.length !== 1) return { fault: 'Give one of --har, --postman, --log and --admin.' };
  try {
    if (har !== undefined) return readHar(readText(har), prefixes);
    if (postman !== undefined) return readPostmanFiles(postman, postmanEnv);
    if (log !== undefined) return await readLogRequests(log, loaded && givenBook(loaded));
    if (admin !== undefined) {
      const client = await openAdmin(admin, config);
      return isFault(client) ? client : await readAdminRequests(client, book);
    }
  } catch (error) {
    return unreadable(har ?? postman ?? log ?? '', error);
  }
  return { fault: 'Give one of --har, --postman, --log and --admin.' };
}

/** Reads a Postman collection and, if given, an environment. */
export function readPostmanFiles(
  collection: string,
  environment: string | undefined,
): ReadRequests | CommandFault {
  const text = readText(collection);
  try {
    return readPostman(text, environment === undefined ? undefined : readText(environment));
  } catch (error) {
    return unreadable(environment ?? collection, error);
  }
}

/** Maximum distinct requests taken from one log. */
const MAX_REQUESTS = 1000;

/** Requests reconstructed from a log, with notes about omissions. */
interface LogRequests {
  readonly requests: readonly NamedRequest[];
  readonly notes: readonly string[];
}

/**
 * Reconstructs one request for each kind of V1 request in a log: kinds differ in operation and names. Values are `…`. The notes name
 * entries that are left out, and entries from another rule book than `given`; a log of another API is a fault.
 */
export async function readLogRequests(path: string, given?: GivenBook): Promise<ReadRequests | CommandFault> {
  const read = await readKinds(path, given);
  return 'fault' in read ? read : readOnly(read.requests, read.notes);
}

async function readKinds(path: string, given: GivenBook | undefined): Promise<LogRequests | CommandFault> {
  const book = given?.book.hash;
  const books = new LogBooks();
  const kinds = new Map<
    string,
    { readonly request: NamedRequest['request']; count: number; readonly label: string }
  >();
  const left = new Map<Unlike, number>();
  const lines = { entries: 0, unreadable: 0, others: 0, beyond: 0 };
  /** The rule books of requests that another one than `book` handled. */
  const others: string[] = [];
  for await (const { bytes } of readLogFile(path)) {
    for (const line of bytes.toString('utf8').split('\n')) {
      const entry = parseEntry(line);
      if (entry !== undefined) lines.entries += 1;
      else if (line !== '') lines[mayBeEntry(line) ? 'unreadable' : 'others'] += 1;
      if (entry === undefined) continue;
      books.add(entry);
      const request = requestLike(entry);
      if (typeof request === 'string') {
        left.set(request, (left.get(request) ?? 0) + 1);
        continue;
      }
      if (entry.ruleBook !== book) others.push(entry.ruleBook);
      const label = entry.operation ?? `${entry.method} ${entry.path}`;
      const key = `${label} ${request.body ?? ''}`;
      const known = kinds.get(key);
      if (known !== undefined) known.count += 1;
      else if (kinds.size < MAX_REQUESTS) kinds.set(key, { request, count: 1, label });
      else lines.beyond += 1;
    }
  }
  if (lines.entries === 0) return { fault: noEntry(path, lines.unreadable + lines.others), isJunk: true };
  const foreign = given && books.faultOf(given);
  if (foreign !== undefined) return { fault: foreign };
  const requests = [...kinds.values()].map(({ request, count: times, label }) => ({
    name: times === 1 ? label : `${label} (${times} like it)`,
    request,
    count: times,
  }));
  return { requests, notes: [...notesOf(lines, left), ...otherBookNotes('log', others, book)] };
}

function notesOf(
  lines: Readonly<Record<'entries' | 'unreadable' | 'beyond', number>>,
  left: ReadonlyMap<Unlike, number>,
): readonly string[] {
  const reasons = new Map([...left].map(([reason, times]) => [UNLIKE[reason] as string, times]));
  if (lines.beyond > 0) reasons.set(`of kinds beyond the first ${count(MAX_REQUESTS)}`, lines.beyond);
  const notes = [...leftOutNotes(lines.entries, reasons)];
  if (lines.unreadable > 0)
    notes.push(
      `${counted(lines.unreadable, 'line')} of the log ${lines.unreadable === 1 ? 'is not an entry' : 'are not entries'}.`,
    );
  return notes;
}

/** A note about requests whose entries name `others`, rule books other than the current one, if there are any. */
function otherBookNotes(
  where: 'log' | 'gateway',
  others: readonly string[],
  book: string | undefined,
): readonly string[] {
  if (book === undefined || others.length === 0) return [];
  const books = [...new Set(others)];
  const named = `${books.slice(0, MAX_NAMED).join(', ')}${books.length > MAX_NAMED ? ', …' : ''}`;
  return [
    `${counted(others.length, 'request')} of the ${where} ${others.length === 1 ? 'was' : 'were'} handled by ${books.length === 1 ? 'another rule book' : 'other rule books'} (${named}); the outcome shown is that of ${book}.`,
  ];
}

/** Maximum hashes of other rule books that a note names. */
const MAX_NAMED = 3;

/** Why an entry of a running gateway is left out. */
const LEFT_OUT = {
  request: 'whose request the gateway has not kept',
  body: 'whose body the gateway has not kept',
} as const;

/**
 * Reads the V1 requests that a running gateway has captured: complete while capture is on, otherwise their structure. The notes name
 * entries that are left out, and entries from another rule book than the current one, whose hash is `book`.
 */
export async function readAdminRequests(
  client: AdminClient,
  book?: string,
): Promise<ReadRequests | CommandFault> {
  const requests: NamedRequest[] = [];
  const left = new Map<string, number>();
  const others: string[] = [];
  let entries = 0;
  let before: number | undefined;
  do {
    const page = await client.view<RequestsPage>(
      `/entries/requests?filter=route:v1&limit=500${before === undefined ? '' : `&before=${before}`}`,
      'requests',
    );
    if (isFault(page)) return page;
    for (const { name, request, lacks = 'request' } of page.requests) {
      entries += 1;
      if (request === undefined) {
        left.set(LEFT_OUT[lacks], (left.get(LEFT_OUT[lacks]) ?? 0) + 1);
        continue;
      }
      if (book !== undefined && page.ruleBook !== undefined && page.ruleBook !== book)
        others.push(page.ruleBook);
      requests.push({ name, request });
    }
    before = page.next;
  } while (before !== undefined);
  return readOnly(requests, [...leftOutNotes(entries, left), ...otherBookNotes('gateway', others, book)]);
}

/** Explains requests as a gateway with these rules and the default limits would, without opening a listener. */
export function offlineExplainer(
  rules: CompiledRuleBook,
): (request: ExplainRequest) => Promise<Explanation | ExplainFault> {
  const parts = {
    rules,
    limits: { count: constants.headerCount, bytes: settings.headerBytes.value },
    decode: decodeBody,
    hash: hashBody,
    transform: new TransformThreads().run,
    gatewayOrigin: 'http://127.0.0.1:8080',
    origin: 'https://captur3d.io',
  };
  return (request) => explain(request, parts);
}
