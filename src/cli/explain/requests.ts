import { readFileSync } from 'node:fs';
import type { EntriesPage, EntryDetail, ExplainRequest, Explanation } from '../../inspector/api.ts';
import { type NamedRequest, type ReadRequests, requestTarget } from '../../inspector/explain/curl-command.ts';
import { explain, type ExplainFault } from '../../inspector/explain/explain.ts';
import { decodeBody } from '../../node/decode-body.ts';
import { requestLike, UNLIKE, type Unlike } from '../../report/entry-request.ts';
import { count, counted, terminalText } from '../../report/text.ts';
import type { CompiledRuleBook } from '../../rewrite/compiled-rule-book.ts';
import { constants, settings } from '../../settings/settings.ts';
import { type AdminClient, openAdmin } from '../admin-client.ts';
import { type CommandFault, isFault, noRewriteLog, unreadable } from '../command-fault.ts';
import { parseEntry, readLogFile } from '../logs/log-files.ts';

/** Requests of which none had to be left out. */
export function readOnly(requests: readonly NamedRequest[], notes: readonly string[] = []): ReadRequests {
  return { requests, faults: [], notes };
}

/** Stands for a form, which the gateway does not read. */
const UNREAD = '…';

type Json = Readonly<Record<string, unknown>>;

/**
 * Reads the requests of a HAR file (1.2), as browsers and proxies save it. The notes say which are left out: a request whose body is not
 * there would be judged as one without a body.
 */
export function readHar(text: string): ReadRequests | CommandFault {
  const log = child(parse(text), 'log');
  const entries = log?.['entries'];
  if (!Array.isArray(entries))
    return { fault: 'This is not a HAR file: it has no log.entries.', isJunk: true };
  const left = new Map<string, number>();
  const leaveOut = (why: string): [] => {
    left.set(why, (left.get(why) ?? 0) + 1);
    return [];
  };
  const requests = entries.flatMap((entry: unknown) => {
    const request = child(entry, 'request');
    const [method, url] = [request?.['method'], request?.['url']];
    if (typeof method !== 'string' || typeof url !== 'string')
      return leaveOut('without the method and url of a request');
    const post = child(request, 'postData');
    const body = post?.['text'] ?? (hasParts(post?.['params']) ? UNREAD : undefined);
    const headers = headersOf(request?.['headers'], 'name');
    if (typeof body !== 'string' && hadBody(request, headers))
      return leaveOut('without the body that was sent');
    const read: ExplainRequest = { method, target: requestTarget(url), headers };
    return [
      {
        name: `${method} ${pathOf(url)}`,
        request: typeof body === 'string' ? { ...read, ...harBody(body, post?.['encoding'], headers) } : read,
      },
    ];
  });
  return readOnly(requests, leftOutNotes(entries.length, left));
}

/** What is said of entries that are left out, by the reason; nothing when there are none. */
export function leftOutNotes(entries: number, left: ReadonlyMap<string, number>): readonly string[] {
  const omitted = [...left.values()].reduce((sum, times) => sum + times, 0);
  if (omitted === 0) return [];
  const reasons = [...left].map(([reason, times]) => `${count(times)} ${reason}`);
  return [
    `${count(omitted)} of ${counted(entries, 'entry', 'entries')} ${omitted === 1 ? 'is' : 'are'} left out: ${reasons.join('; ')}.`,
  ];
}

/** True for a request that was sent with a body, as its size or its head says. */
function hadBody(request: Json | undefined, headers: readonly (readonly [string, string])[]): boolean {
  const length = headers.find(([name]) => name.toLowerCase() === 'content-length')?.[1];
  return Number(request?.['bodySize']) > 0 || Number(length) > 0;
}

/**
 * The body of a request in an archive. Text is that of the decoded body, as browsers have it, so that the field of its coding is no
 * longer true of it; bytes in Base64 are those that were sent.
 */
function harBody(
  text: string,
  encoding: unknown,
  headers: readonly (readonly [string, string])[],
): Pick<ExplainRequest, 'body' | 'bodyBase64' | 'headers'> {
  if (encoding === 'base64') return { bodyBase64: text };
  return { body: text, headers: decodedFields(headers) };
}

/** The fields without those that describe a body with its coding. */
function decodedFields(
  headers: readonly (readonly [name: string, value: string])[],
): readonly (readonly [name: string, value: string])[] {
  const isCoded = headers.some(([name]) => name.toLowerCase() === 'content-encoding');
  return isCoded ? headers.filter(([name]) => !/^content-(?:encoding|length)$/i.test(name)) : headers;
}

/** Prints what was assumed, left out or could not be read, and returns the requests. */
export function takeRead({ requests, faults, notes }: ReadRequests): readonly NamedRequest[] {
  const sentences = [...notes, ...faults.map(({ name, fault }) => `${name} cannot be read: ${fault}`)];
  process.stderr.write(sentences.map((sentence) => `note: ${terminalText(sentence)}\n`).join(''));
  return requests;
}

/** Reads the requests of a Postman collection (2.x), including those in folders, and fills in the collection's variables. */
export function readPostman(text: string): ReadRequests | CommandFault {
  const collection = parse(text);
  if (!isJson(collection) || !Array.isArray(collection['item']))
    return { fault: 'This is not a Postman collection: it has no item.', isJunk: true };
  const variables = new Map(pairsOf(collection['variable'], 'key'));
  return readOnly(collection['item'].flatMap((item: unknown) => postmanItem(item, '', variables)));
}

function postmanItem(item: unknown, folder: string, variables: ReadonlyMap<string, string>): NamedRequest[] {
  if (!isJson(item)) return [];
  const title = typeof item['name'] === 'string' ? item['name'] : 'request';
  const name = folder === '' ? title : `${folder} / ${title}`;
  if (Array.isArray(item['item']))
    return item['item'].flatMap((inside: unknown) => postmanItem(inside, name, variables));
  const { request } = item;
  const fill = (given: string): string =>
    given.replaceAll(
      /\{\{([^{}]+)\}\}/g,
      (whole, variable: string) => variables.get(variable.trim()) ?? whole,
    );
  if (typeof request === 'string')
    return [{ name, request: { method: 'GET', target: target(fill(request)) } }];
  if (!isJson(request)) return [];
  const url = typeof request['url'] === 'string' ? request['url'] : child(request, 'url')?.['raw'];
  if (typeof url !== 'string') return [];
  const body = child(request, 'body');
  const form = formType(body);
  const raw =
    form === undefined
      ? body?.['mode'] === 'raw' && typeof body['raw'] === 'string'
        ? fill(body['raw'])
        : undefined
      : UNREAD;
  const headers = headersOf(request['header'], 'key').map(([field, value]): [string, string] => [
    fill(field),
    fill(value),
  ]);
  const type = form ?? (raw !== undefined && isJsonMode(body) ? 'application/json' : undefined);
  if (type !== undefined && !headers.some(([field]) => field.toLowerCase() === 'content-type'))
    headers.push(['Content-Type', type]);
  const method = typeof request['method'] === 'string' ? request['method'] : 'GET';
  return [
    {
      name,
      request: { method, target: target(fill(url)), headers, ...(raw === undefined ? {} : { body: raw }) },
    },
  ];
}

/** The media type of a form; undefined for another body, or none. */
function formType(body: Json | undefined): string | undefined {
  const mode = body?.['mode'];
  if (mode === 'formdata' && hasParts(body?.['formdata'])) return 'multipart/form-data';
  if (mode === 'urlencoded' && hasParts(body?.['urlencoded'])) return 'application/x-www-form-urlencoded';
  return undefined;
}

function hasParts(parts: unknown): boolean {
  return Array.isArray(parts) && parts.length > 0;
}

/** Postman derives Content-Type from the language selected in its editor. */
function isJsonMode(body: Json | undefined): boolean {
  return child(child(body, 'options'), 'raw')?.['language'] === 'json';
}

/** An unset variable usually stands for the host. */
function target(url: string): string {
  return requestTarget(url.replace(/^\{\{[^{}]+\}\}/, ''));
}

function headersOf(list: unknown, key: 'name' | 'key'): [string, string][] {
  return pairsOf(list, key).filter(([field]) => !field.startsWith(':'));
}

function pairsOf(list: unknown, key: 'name' | 'key'): [string, string][] {
  if (!Array.isArray(list)) return [];
  return list.flatMap((pair: unknown): [string, string][] => {
    if (!isJson(pair) || pair['disabled'] === true) return [];
    const [field, value] = [pair[key], pair['value']];
    return typeof field === 'string' && typeof value === 'string' ? [[field, value]] : [];
  });
}

function pathOf(url: string): string {
  return URL.parse(url)?.pathname ?? url;
}

function child(value: unknown, name: string): Json | undefined {
  if (!isJson(value)) return undefined;
  const found = value[name];
  return isJson(found) ? found : undefined;
}

function isJson(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function parse(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text.replace(/^\uFEFF/, ''));
    return value;
  } catch {
    return undefined;
  }
}

/** Where recorded requests are; at most one. */
export interface RecordingSource {
  readonly har?: string;
  readonly postman?: string;
  readonly log?: string;
  readonly admin?: string;
  readonly config?: string;
}

/**
 * Reads recorded requests from a HAR file, a Postman collection, a rewrite log or a running gateway. `book` is the hash of the rule
 * book that judges them, which a log may not be of.
 */
export async function readRecordedRequests(
  { har, postman, log, admin, config }: RecordingSource,
  book?: string,
): Promise<ReadRequests | CommandFault> {
  const sources = [har, postman, log, admin].filter((source) => source !== undefined);
  if (sources.length !== 1) return { fault: 'Give one of --har, --postman, --log and --admin.' };
  try {
    if (har !== undefined) return readHar(readFileSync(har, 'utf8'));
    if (postman !== undefined) return readPostman(readFileSync(postman, 'utf8'));
    if (log !== undefined) return await readLogRequests(log, book);
    if (admin !== undefined) {
      const client = await openAdmin(admin, config);
      return isFault(client) ? client : await readAdminRequests(client, book);
    }
  } catch (error) {
    // A gateway that does not respond is no junk, whatever its connection fails with.
    return {
      ...unreadable(har ?? postman ?? log ?? admin ?? '', error),
      ...(admin === undefined ? {} : { isJunk: false }),
    };
  }
  return { fault: 'Give one of --har, --postman, --log and --admin.' };
}

/** Maximum distinct requests taken from one log. */
const MAX_REQUESTS = 1000;

/** Reconstructed requests of a log, and what has to be said about those that they are not. */
interface LogRequests {
  readonly requests: readonly NamedRequest[];
  readonly notes: readonly string[];
}

/**
 * Reconstructs one request for each kind of V1 request in a log: kinds differ in operation and names. Values are `…`. The
 * notes say which entries are left out, and that the log is of another rule book than `book`, the hash of the one at hand.
 */
export async function readLogRequests(path: string, book?: string): Promise<ReadRequests | CommandFault> {
  const read = await readKinds(path, book);
  return 'fault' in read ? read : readOnly(read.requests, read.notes);
}

async function readKinds(path: string, book: string | undefined): Promise<LogRequests | CommandFault> {
  const kinds = new Map<
    string,
    { readonly request: NamedRequest['request']; count: number; readonly label: string }
  >();
  const left = new Map<Unlike, number>();
  const lines = { entries: 0, others: 0, beyond: 0 };
  /** The rule books of requests that another one handled, by request. */
  const others: string[] = [];
  for await (const { bytes } of readLogFile(path)) {
    for (const line of bytes.toString('utf8').split('\n')) {
      const entry = parseEntry(line);
      if (entry !== undefined) lines.entries += 1;
      else if (line !== '') lines.others += 1;
      if (entry === undefined) continue;
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
  if (lines.entries === 0 && lines.others > 0) return noRewriteLog(path, lines.others);
  const requests = [...kinds.values()].map(({ request, count: times, label }) => ({
    name: times === 1 ? label : `${label} (${times} like it)`,
    request,
    count: times,
  }));
  return { requests, notes: [...notesOf(lines, left), ...otherBookNotes('log', others, book)] };
}

function notesOf(
  lines: Readonly<Record<'entries' | 'others' | 'beyond', number>>,
  left: ReadonlyMap<Unlike, number>,
): readonly string[] {
  const reasons = new Map([...left].map(([reason, times]) => [UNLIKE[reason] as string, times]));
  if (lines.beyond > 0) reasons.set(`of kinds beyond the first ${count(MAX_REQUESTS)}`, lines.beyond);
  const notes = [...leftOutNotes(lines.entries, reasons)];
  if (lines.others > 0)
    notes.push(
      `${counted(lines.others, 'line')} of the log ${lines.others === 1 ? 'is no entry' : 'are no entries'}.`,
    );
  return notes;
}

/** What is said of requests whose entries name other rule books (`others`) than the one at hand; nothing when there are none. */
export function otherBookNotes(
  where: 'log' | 'gateway',
  others: readonly string[],
  book: string | undefined,
): readonly string[] {
  if (book === undefined || others.length === 0) return [];
  const books = [...new Set(others)];
  const named = `${books.slice(0, MAX_NAMED).join(', ')}${books.length > MAX_NAMED ? ', …' : ''}`;
  return [
    `${counted(others.length, 'request')} of the ${where} ${others.length === 1 ? 'was' : 'were'} handled by ${books.length === 1 ? 'another rule book' : 'other rule books'} (${named}); here the outcome is that of ${book}.`,
  ];
}

/** Hashes of other rule books that a note names. */
const MAX_NAMED = 3;

/** Why an entry of a running gateway is left out. */
const LEFT_OUT = {
  unkept: 'of which the gateway has not kept the request',
  bodiless: 'of which the gateway has not kept the body',
  dropped: 'that the gateway no longer has',
} as const;

/**
 * Reads the V1 requests that a running gateway has captured: complete while capture is on, otherwise their structure. The notes
 * say which entries are left out, and that some are of another rule book than `book`, the hash of the one at hand.
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
    const { statusCode, body } = await client.ask(
      `/entries?filter=route:v1&limit=500${before === undefined ? '' : `&before=${before}`}`,
    );
    const text = await body.text();
    if (statusCode !== 200) return { fault: client.refusal(statusCode) };
    const page: EntriesPage = JSON.parse(text);
    for (const { seq } of page.entries) {
      const found = await client.ask(`/entries/${seq}`);
      const entry = await found.body.text();
      entries += 1;
      const detail: EntryDetail | undefined = found.statusCode === 200 ? JSON.parse(entry) : undefined;
      const request = detail === undefined ? 'dropped' : requestIn(detail);
      const { body } = detail?.v1Request ?? {};
      const isKept = body?.state === 'values' || body?.state === 'structure';
      const bytes = isKept ? await bodyOf(client, seq) : {};
      if (detail === undefined || typeof request === 'string' || bytes === undefined) {
        const why = LEFT_OUT[typeof request === 'string' ? request : 'dropped'];
        left.set(why, (left.get(why) ?? 0) + 1);
        continue;
      }
      if (book !== undefined && detail.entry.ruleBook !== book) others.push(detail.entry.ruleBook);
      const headers = request.request.headers ?? [];
      requests.push({
        ...request,
        request: { ...request.request, ...bytes, headers: isKept ? decodedFields(headers) : headers },
      });
    }
    before = page.next;
  } while (before !== undefined);
  return readOnly(requests, [...leftOutNotes(entries, left), ...otherBookNotes('gateway', others, book)]);
}

function requestIn({ entry, v1Request }: EntryDetail): NamedRequest | keyof typeof LEFT_OUT {
  if (v1Request === undefined) return 'unkept';
  if (v1Request.body.state === 'withheld') return 'bodiless';
  const { method, target, headers } = v1Request;
  return {
    name: entry.operation ?? `${method} ${entry.path}`,
    request: {
      method,
      target: target.replaceAll('=…', '='),
      headers: headers.filter(({ masked }) => !masked).map(({ name, value }) => [name, value] as const),
    },
  };
}

/**
 * The body of a captured request to the byte: the view of it is laid out for display, and may be folded. Undefined when the gateway no
 * longer has it.
 */
async function bodyOf(
  client: AdminClient,
  seq: number,
): Promise<Pick<ExplainRequest, 'body' | 'bodyBase64'> | undefined> {
  const { statusCode, body } = await client.ask(`/entries/${seq}/har`);
  const archive = readHar(await body.text());
  const [front] = statusCode === 200 && !isFault(archive) ? archive.requests : [];
  if (front === undefined) return undefined;
  const { body: text, bodyBase64 } = front.request;
  return {
    ...(text === undefined ? {} : { body: text }),
    ...(bodyBase64 === undefined ? {} : { bodyBase64 }),
  };
}

/** Explains requests as a gateway with these rules and the default limits would, without opening a listener. */
export function offlineExplainer(
  rules: CompiledRuleBook,
): (request: ExplainRequest) => Promise<Explanation | ExplainFault> {
  const parts = {
    rules,
    limits: { count: constants.headerCount, bytes: settings.headerBytes.value },
    decode: decodeBody,
    gatewayOrigin: 'http://127.0.0.1:8080',
    origin: 'https://captur3d.io',
  };
  return (request) => explain(request, parts);
}
