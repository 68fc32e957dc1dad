import { requestLineAtV2 } from '../../migrate/decision.ts';
import type { KeptBody, KeptExchange, KeptHead, KeptResponse } from '../../rewrite-log/capture.ts';
import { isUnreadNote, outcomeOf, type Entry } from '../../rewrite-log/entry.ts';
import { readFormat, readJsonType } from '../../http/content.ts';
import { keyFieldAtV1 } from '../../rewrite/client-key.ts';
import type { CompiledRuleBook } from '../../rewrite/compiled-rule-book.ts';
import type { RuleBook } from '../../rules/rule-book.ts';
import type { Rewrite } from '../../rewrite/records.ts';
import { requestTarget } from '../explain/curl-command.ts';
import { failureBody } from '../routes/responses.ts';
import type { KeptRequest } from '../api.ts';
import {
  bodyBytes,
  bodyOfBytes,
  bodyText,
  decodedFields,
  isOfCoded,
  isOfExchange,
  encodeBase64,
  exactText,
  rewriteAgain,
} from './curl.ts';
import { accountOf, entryName, OUTCOME_WORDS } from './entry-words.ts';
import { jsonText } from '../../report/text.ts';

/** An exchange to export, and the format of its file. */
export interface ExportParts extends Pick<HarParts, 'version' | 'gatewayOrigin' | 'origin'> {
  readonly format: 'har' | 'case';
  readonly entry: Entry;
  readonly kept: KeptExchange;
}

const decoder = new TextDecoder();
const encoder = new TextEncoder();

/** Stands in an archive or a case for a body that was not kept or is not compared. */
export const ANY = '…';

/** Fields about codings, which no case has: its bodies are text. */
const OF_CODINGS: ReadonlySet<string> = new Set(['accept-encoding', 'content-encoding']);

/** Formats an exchange as an HTTP Archive, or as a text case if it can be replayed. */
export function exportEntry(
  { format, ...parts }: ExportParts,
  rules: CompiledRuleBook | undefined,
): OperatorResult {
  const { entry, kept } = parts;
  const outcome = rewriteAgain(entry, kept, rules, bodyBytes(kept.v1Request.body));
  if (format === 'har') return { status: 200, value: jsonText(harOf({ ...parts, outcome }), 2) };
  const text = caseText(entry, kept, outcome, rules);
  if (text !== undefined) return { status: 200, value: text };
  const detail =
    'This exchange cannot be a case: its body was not kept, it is V2 traffic, or a service or the client was missing.';
  return { status: 422, value: failureBody(422, 'no-case', detail) };
}

/**
 * Formats an exchange as a text case, in the notation of this project's cases: `> ` the V1 request, `= ` the request for V2,
 * `* ` V2's response, `< ` the client's. The case of a dry run has no V2 response. Undefined when nothing can be replayed: no body
 * was kept, or a service or the client was missing.
 */
function caseText(
  entry: Entry,
  kept: KeptExchange,
  outcome: Rewrite | undefined,
  rules: CompiledRuleBook | undefined,
): string | undefined {
  const { v1Request, v2Response, clientResponse } = kept;
  const body = bodyText(v1Request.body);
  if (entry.route !== 'migrate' || (body === undefined && entry.bytesIn > 0)) return undefined;
  const isDryRun = entry.origin === 'v1';
  const isRefused = outcome?.verdict === 'refused';
  if (!isDryRun && !isRefused && v2Response === undefined) return undefined;
  if (entry.verdict === 'refused' && !isRefused) return undefined;
  const sent = outcome !== undefined && 'body' in outcome ? decoder.decode(outcome.body) : body;
  return [
    `# ${entryName(entry)}, ${OUTCOME_WORDS[outcomeOf(entry)]}`,
    ...message(
      '>',
      `${v1Request.method} ${targetOf(v1Request)}`,
      fieldsOf(v1Request.headers, true, rules?.ruleBook),
      body,
    ),
    ...(isRefused ? [] : message('=', lineAtV2(kept, rules), sentFields(entry), sent)),
    ...(isDryRun || v2Response === undefined ? [] : responseLines('*', v2Response)),
    ...(isDryRun || clientResponse === undefined
      ? message('<', isRefused ? statusOf(outcome) : '200', [], ANY)
      : message('<', String(clientResponse.status), [], exactly(clientResponse))),
    '',
  ].join('\n');
}

function statusOf(outcome: Rewrite | undefined): string {
  return outcome?.verdict === 'refused' ? String(outcome.refusal.status) : '200';
}

function targetOf({ target }: KeptHead): string {
  return target.replaceAll(ANY, '');
}

/** The method and target that V2 got, or would get in a dry run. */
function lineAtV2({ v1Request, v2Request }: KeptExchange, rules: CompiledRuleBook | undefined): string {
  const kept = v2Request ?? v1Request;
  const target = targetOf(kept);
  if (v2Request !== undefined || rules === undefined) return `${kept.method} ${target}`;
  const line = requestLineAtV2(kept.method, target, rules);
  return `${line.method} ${line.target}`;
}

function sentFields({ apiVersion }: Entry): readonly string[] {
  const { field = 'x-api-version', sent = '' } = apiVersion ?? {};
  // In the query and in media types it stands where the client named one.
  return apiVersion === undefined || field.startsWith('?') || field === 'accept' ? [] : [`${field}: ${sent}`];
}

function fieldsOf(
  headers: KeptHead['headers'],
  withKey: boolean,
  book?: Pick<RuleBook, 'client'>,
): readonly string[] {
  const isCoded = headers.some(({ name }) => name.toLowerCase() === 'content-encoding');
  return headers.flatMap(({ name, value, masked }) => {
    const lower = name.toLowerCase();
    if (isOfExchange(name) || OF_CODINGS.has(lower) || (isCoded && isOfCoded(name))) return [];
    const key = keyFieldAtV1(book, 'key');
    if (lower === key?.[0].toLowerCase()) return withKey ? [key.join(': ')] : [];
    return masked || name.startsWith(':') ? [] : [`${name}: ${value}`];
  });
}

function responseLines(mark: string, response: KeptResponse): readonly string[] {
  return message(mark, String(response.status), fieldsOf(response.headers, false), bodyText(response.body));
}

/** The body to compare; any body where only the structure is known. */
function exactly({ body }: KeptResponse): string {
  return body.state === 'values' ? (bodyText(body) ?? ANY) : body.state === 'none' ? '' : ANY;
}

function message(mark: string, first: string, fields: readonly string[], body: string | undefined): string[] {
  const lines = [first, ...fields, ...(body === undefined || body === '' ? [] : ['', ...body.split('\n')])];
  return lines.map((line) => `${mark} ${line}`);
}

interface HarParts {
  readonly version: string;
  readonly entry: Entry;
  readonly kept: KeptExchange;
  /** The outcome for the V1 body. */
  readonly outcome: Rewrite | undefined;
  /** Scheme, host and port of the gateway and of V2. */
  readonly gatewayOrigin: string;
  readonly origin: string;
}

/**
 * Formats an exchange as an HTTP Archive (HAR 1.2): the client's request to the gateway, and the gateway's request to V2 if there was
 * one. Masked header fields are left out. Placeholders of the right types replace values that were not kept, and a comment says so.
 */
function harOf({ version, entry, kept, outcome, gatewayOrigin, origin }: HarParts): object {
  const { v1Request, v2Request, v2Response, clientResponse } = kept;
  const { isLike, received } = receivedBody(entry, v1Request, outcome);
  const sent = isLike && outcome !== undefined && 'body' in outcome ? outcome.body : received;
  const front = {
    startedDateTime: entry.time,
    time: entry.totalMs,
    request: request(v1Request, gatewayOrigin, received, entry.bytesIn),
    response: response(clientResponse, entry.status, entry.responseBytes),
    cache: {},
    timings: timings(entry.totalMs, 'The time of the whole exchange; its parts were not measured.'),
    comment: [...accountOf(entry), ...structureNote(v1Request.body, isLike), ...codingNote(v1Request)].join(
      ' ',
    ),
  };
  const back = v2Request && {
    startedDateTime: entry.time,
    time: entry.upstreamMs ?? 0,
    request: request(v2Request, origin, sent, entry.bytesOut),
    response: response(v2Response, 0, -1),
    cache: {},
    timings: timings(
      entry.upstreamMs ?? 0,
      entry.upstreamMs === undefined
        ? 'How long V2 took is not known.'
        : 'The time until the head of the response; the rest was not measured.',
    ),
    comment: ['The request as the gateway made it for V2.', ...structureNote(v1Request.body, isLike)].join(
      ' ',
    ),
  };
  return {
    log: {
      version: '1.2',
      creator: { name: 'capture-gateway', version },
      entries: back === undefined ? [front] : [front, back],
    },
  };
}

/** The body that the gateway received, or a placeholder for it; `isLike` is false if checks could treat the placeholder differently. */
function receivedBody(
  entry: Entry,
  v1Request: KeptExchange['v1Request'],
  outcome: Rewrite | undefined,
): { readonly isLike: boolean; readonly received: Uint8Array | undefined } {
  const isLike = v1Request.body.state !== 'structure' || isJudgedAlike(entry, outcome);
  const received = (isLike ? bodyBytes(v1Request.body) : undefined) ?? unreadBody(entry, v1Request);
  return { isLike, received };
}

/** Returns the kept request of an exchange in the form for `/explain`, or names the part that was not kept. */
export function keptRequest(
  entry: Entry,
  kept: KeptExchange | undefined,
  rules: CompiledRuleBook | undefined,
): Pick<KeptRequest, 'request' | 'lacks'> {
  if (kept === undefined) return { lacks: 'request' };
  const { v1Request } = kept;
  const { method, target, body } = v1Request;
  if (body.state === 'withheld') return { lacks: 'body' };
  const fields = v1Request.headers
    .filter(({ masked }) => !masked)
    .map(({ name, value }) => [name, value] as const);
  const request = { method, target: target.replaceAll('=…', '='), headers: fields };
  if (body.state === 'none') return { request };
  // Only for placeholders can the verdict differ from that for the values.
  const outcome = body.state === 'structure' ? rewriteAgain(entry, kept, rules, bodyBytes(body)) : undefined;
  const { received } = receivedBody(entry, v1Request, outcome);
  const bytes = received === undefined ? {} : bodyOfBytes(received);
  return { request: { ...request, ...bytes, headers: decodedFields(fields) } };
}

/** Statuses of refusals for the content of a body. */
const OF_BODY: ReadonlySet<number> = new Set([400, 415, 422]);

/** False if placeholders get another verdict than the values: a rule compares or converts values, or the fault was in their bytes. */
function isJudgedAlike({ verdict, would, status, edits }: Entry, outcome: Rewrite | undefined): boolean {
  if (outcome === undefined) return true;
  const isRefused = (would?.verdict ?? verdict) === 'refused';
  if (isRefused) return outcome.verdict === 'refused' || (would === undefined && !OF_BODY.has(status));
  const hasEdits = edits.some(
    ({ header, from, path }) => header === undefined && !(from ?? path)?.startsWith('?'),
  );
  return outcome.verdict === (hasEdits ? 'rewritten' : 'unchanged');
}

/**
 * Returns a placeholder for a body that was neither kept nor read, so that the archive does not show a request without a body. Undefined
 * if there was no body, if its size was refused, or if the placeholder would get another verdict.
 */
function unreadBody(entry: Entry, head: KeptHead): Uint8Array | undefined {
  const { bytesIn, status, verdict, would } = entry;
  const fieldOf = (field: string): string | undefined =>
    head.headers.find(({ name }) => name.toLowerCase() === field)?.value;
  if (status === 413 || (bytesIn === 0 && !(Number(fieldOf('content-length')) > 0))) return undefined;
  const type = fieldOf('content-type');
  const isJson = readJsonType(type) !== 'other';
  const isRead =
    entry.route === 'migrate' &&
    /^(?:POST|PATCH|PUT)$/.test(head.method) &&
    (head.method !== 'PUT' || entry.operation !== undefined) &&
    !isUnreadNote(entry.note) &&
    (isJson || readFormat(type) !== undefined);
  const isRefused = (would?.verdict ?? verdict) === 'refused';
  return !isRead || (isJson && isRefused) ? encoder.encode(ANY) : undefined;
}

/** HAR 1.2 takes -1 for unknown times, except for those to send, wait and receive. */
function timings(wait: number, comment: string): object {
  return { blocked: -1, dns: -1, connect: -1, ssl: -1, send: 0, wait, receive: 0, comment };
}

function structureNote({ state }: KeptBody, isLike: boolean): readonly string[] {
  if (!isLike) return ['The body was not kept, and placeholders for its values would be judged differently.'];
  if (state === 'withheld') return ['The body was not kept; where it was not read, … replaces it.'];
  return state === 'structure' ? ['Values were not kept: placeholders replace them.'] : [];
}

function codingNote({ headers, body }: KeptExchange['v1Request']): readonly string[] {
  const coding = headers.find(({ name }) => name.toLowerCase() === 'content-encoding');
  if (coding === undefined || body.bytes === undefined) return [];
  return [`The body is here without its content coding (${coding.value}) and the fields about it.`];
}

/** `bodySize` is the size of the transferred body. HAR defines no encoding for request bodies, so the member for responses is used. */
function request(
  { method, target, headers }: KeptHead,
  origin: string,
  body: Uint8Array | undefined,
  bodySize: number,
): object {
  // The fields about the transferred bytes are not true of decoded bytes, or of a placeholder.
  const isOther =
    body !== undefined &&
    (body.length !== bodySize || headers.some(({ name }) => name.toLowerCase() === 'content-encoding'));
  // Not resolved by a URL parser: the gateway's handling depends on dot segments and backslashes.
  const raw = target.replaceAll('…', '');
  const url = raw.startsWith('/') ? origin + raw : new URL(raw, origin).href;
  return {
    method,
    url,
    ...(requestTarget(url) === raw ? {} : { _target: raw }),
    httpVersion: 'HTTP/1.1',
    cookies: [],
    headers: shown(
      isOther
        ? headers.filter(({ name }) => !isOfCoded(name) && name.toLowerCase() !== 'transfer-encoding')
        : headers,
    ),
    queryString: [...(URL.parse(url)?.searchParams ?? [])].map(([name, value]) => ({ name, value })),
    headersSize: -1,
    bodySize,
    ...(body === undefined ? {} : { postData: { mimeType: typeOf(headers), ...contentOf(body) } }),
  };
}

/** `bytes` is the size of a body that was not kept; -1 if unknown. */
function response(kept: KeptResponse | undefined, status: number, bytes: number): object {
  const body = kept && bodyBytes(kept.body);
  const mimeType = kept === undefined ? '' : typeOf(kept.headers);
  return {
    status: kept?.status ?? status,
    statusText: '',
    httpVersion: 'HTTP/1.1',
    cookies: [],
    headers: kept === undefined ? [] : shown(kept.headers),
    content: { size: kept?.bodyBytes ?? bytes, mimeType, ...(body === undefined ? {} : contentOf(body)) },
    redirectURL: '',
    headersSize: -1,
    bodySize: kept?.bodyBytes ?? bytes,
  };
}

/** A body for HAR: text, or Base64 if its bytes are not text. */
function contentOf(bytes: Uint8Array): { readonly text: string; readonly encoding?: 'base64' } {
  const text = exactText(bytes);
  return text === undefined ? { text: encodeBase64(bytes), encoding: 'base64' } : { text };
}

function shown(headers: KeptHead['headers']): readonly object[] {
  return headers.filter(({ masked }) => !masked).map(({ name, value }) => ({ name, value }));
}

function typeOf(headers: KeptHead['headers']): string {
  return headers.find(({ name }) => name.toLowerCase() === 'content-type')?.value ?? '';
}

/** A response for an operator: a text, or a value to print as JSON. */
export interface OperatorResult {
  readonly status: 200 | 400 | 422 | 503;
  readonly value: object | string;
}
