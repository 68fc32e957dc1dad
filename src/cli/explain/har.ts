import { latin1Bytes } from '../../http/byte-collector.ts';
import { DEFAULT_PREFIXES, type Prefixes, readTarget } from '../../http/target.ts';
import type { ExplainRequest } from '../../inspector/api.ts';
import { bodyOfBytes, decodeBase64, decodedFields, exactText } from '../../inspector/entries/curl.ts';
import { ANY } from '../../inspector/entries/export-entry.ts';
import { type NamedRequest, type ReadRequests, requestTarget } from '../../inspector/explain/curl-command.ts';
import { isJsonObject, memberOf } from '../../json/values.ts';
import { count, counted } from '../../rules/words.ts';
import type { CommandFault } from '../command-fault.ts';
import {
  faultOfJson,
  fieldOf,
  formBody,
  type Json,
  multipartBody,
  parseJson,
  textOf,
  type Field,
} from './forms.ts';

/** Why an entry is left out. */
const NO_REQUEST = {
  incomplete: 'without the method and url of a request',
  scheme: 'not of HTTP (data:, blob:, ws:, an extension, a tunnel)',
  preflight: 'a preflight, which the browser sends itself',
  elsewhere: 'without a prefix of the API, such as assets of the page',
  bodiless: 'without the body that was sent',
  cut: 'with only a part of the body that was sent',
  coded: 'with an encoded body as text, whose bytes are lost',
} as const;

/**
 * Reads the requests of a HAR file (1.2), as browsers and proxies save it. The notes count entries that are left out because they are not
 * requests to the API, or lack their body and would be treated as requests without one.
 */
export function readHar(text: string, prefixes = DEFAULT_PREFIXES): ReadRequests | CommandFault {
  const entries = memberOf(memberOf(parseJson(text), 'log'), 'entries');
  if (!Array.isArray(entries))
    return { fault: faultOfJson(text) ?? 'This is not a HAR file: it has no log.entries.', isJunk: true };
  const left = new Map<string, number>();
  const requests: NamedRequest[] = [];
  const faults: { name: string; fault: string }[] = [];
  for (const entry of entries) {
    const read = readEntry(entry, prefixes);
    if (typeof read === 'string') left.set(NO_REQUEST[read], (left.get(NO_REQUEST[read]) ?? 0) + 1);
    else if ('fault' in read) faults.push(read);
    else requests.push(read);
  }
  return { requests, faults, notes: leftOutNotes(entries.length, left) };
}

/** A note about entries that are left out, by reason, if there are any. */
export function leftOutNotes(entries: number, left: ReadonlyMap<string, number>): readonly string[] {
  const omitted = [...left.values()].reduce((sum, times) => sum + times, 0);
  if (omitted === 0) return [];
  const reasons = [...left].map(([reason, times]) => `${count(times)} ${reason}`);
  return [
    `${count(omitted)} of ${counted(entries, 'entry', 'entries')} ${omitted === 1 ? 'is' : 'are'} left out: ${reasons.join('; ')}.`,
  ];
}

function readEntry(
  entry: unknown,
  prefixes: Prefixes,
): NamedRequest | { readonly name: string; readonly fault: string } | keyof typeof NO_REQUEST {
  const request = memberOf(entry, 'request');
  const [method, url] = [memberOf(request, 'method'), memberOf(request, 'url')];
  if (!isJsonObject(request) || typeof method !== 'string' || method === '' || typeof url !== 'string')
    return 'incomplete';
  const headers = fieldsOf(memberOf(request, 'headers'));
  const isSocket = /^websocket$/i.test(fieldOf(headers, 'upgrade') ?? '');
  if (isSocket || method === 'CONNECT' || /^(?!https?:)[a-z][a-z\d+.-]*:(?!\d)/i.test(url)) return 'scheme';
  const isPreflight =
    memberOf(entry, '_resourceType') === 'preflight' ||
    fieldOf(headers, 'access-control-request-method') !== undefined;
  if (method === 'OPTIONS' && isPreflight) return 'preflight';
  const own = memberOf(request, '_target');
  const address = requestTarget(url.replace(/^\/\//, 'http://'))
    .replace(/^[^/?#]+(?=\/)/, '')
    .replaceAll(' ', '%20');
  const target = typeof own === 'string' ? own : address + queryOf(request, url);
  const read = readTarget(target, prefixes);
  if (read.fault === undefined && read.version === undefined) return 'elsewhere';
  const body = readBody(request, headers);
  if (typeof body === 'string') return body;
  const name = `${method} ${URL.parse(url)?.pathname ?? url}`;
  return 'fault' in body
    ? { name, fault: body.fault }
    : { name, request: { method, target, headers, ...body } };
}

/** The query, if the exporter has it only as a list. */
function queryOf(request: Json, url: string): string {
  const list = pairsOf(request['queryString']);
  return url.includes('?') || list.length === 0 ? '' : `?${formBody(list)}`;
}

type Body = Pick<ExplainRequest, 'body' | 'bodyBase64' | 'headers'>;

function readBody(
  request: Json,
  headers: readonly Field[],
): Body | { readonly fault: string } | keyof typeof NO_REQUEST {
  const post = memberOf(request, 'postData');
  const [text, mimeType] = [memberOf(post, 'text'), memberOf(post, 'mimeType')];
  const params = pairsOf(memberOf(post, 'params'));
  const hasText = typeof text === 'string' && text !== '';
  if (!hasText && params.length === 0) return hadBody(request, headers, mimeType) ? 'bodiless' : { headers };
  const isTyped = fieldOf(headers, 'content-type') !== undefined;
  const typed: readonly Field[] =
    isTyped || typeof mimeType !== 'string' || mimeType === ''
      ? headers
      : [...headers, ['Content-Type', mimeType]];
  if (!hasText) return hasFiles(memberOf(post, 'params')) ? 'bodiless' : paramsBody(params, typed);
  const encoding = memberOf(post, 'encoding') ?? memberOf(post, '_encoding');
  if (/^base64$/i.test(textOf(encoding))) return bytesBody(decodeBase64(text), typed);
  const coding = fieldOf(headers, 'content-encoding')?.toLowerCase();
  const isCoded = coding !== undefined && coding !== 'identity';
  // eslint-disable-next-line no-control-regex -- coded bytes have these, and text does not
  if (isCoded && /[\0-\u0008\u000e-\u001f\ufffd]/.test(text))
    return isLatin1(text) ? bytesBody(latin1Bytes(text), typed) : 'coded';
  const sent = withoutOwnHead(text, typed);
  if (!isCoded && isCut(sent, sizeOf(request, headers), typed)) return 'cut';
  return { body: sent, headers: decodedFields(typed) };
}

/** True if a form has files, of which a HAR file has only the names. */
function hasFiles(params: unknown): boolean {
  return (
    Array.isArray(params) &&
    params.some(
      (part: unknown) => memberOf(part, 'fileName') !== undefined && textOf(memberOf(part, 'value')) === '',
    )
  );
}

/** The length of the sent body, by its size or its head; 0 if unknown. */
function sizeOf(request: Json, headers: readonly Field[]): number {
  return Math.max(Number(request['bodySize']) || 0, Number(fieldOf(headers, 'content-length')) || 0);
}

/** True if the request had a body, by its size, or without one by its media type. */
function hadBody(request: Json, headers: readonly Field[], mimeType: unknown): boolean {
  if (sizeOf(request, headers) > 0) return true;
  const isSized = request['bodySize'] === 0 || fieldOf(headers, 'content-length') !== undefined;
  return !isSized && typeof mimeType === 'string' && mimeType !== '';
}

/** Removes the header fields that Firefox writes before a form's body. */
function withoutOwnHead(text: string, headers: readonly Field[]): string {
  if (!/form/i.test(fieldOf(headers, 'content-type') ?? '')) return text;
  return text.replace(/^(?:content-(?:type|length):[^\r\n]*\r?\n)+\r?\n/i, '');
}

/**
 * True for a body that the exporter has cut at a limit, or left files out of. JSON that is shorter than its length may have had another
 * charset, so it must also be incomplete; a form may have lost the CR of its line ends.
 */
function isCut(text: string, length: number, headers: readonly Field[]): boolean {
  // From the gateway's own archive, for a body that was not kept.
  if (text === ANY) return false;
  const type = fieldOf(headers, 'content-type') ?? '';
  const bytes = new TextEncoder().encode(text).length;
  if (/form/i.test(type)) return length > bytes + text.split('\n').length - text.split('\r\n').length;
  return /[/+]json/i.test(type) && length > bytes && parseJson(text) === undefined;
}

/**
 * Makes a body of bytes. If they are JSON, the exporter has decoded them although the head still names a coding.
 */
function bytesBody(
  bytes: Uint8Array | undefined,
  headers: readonly Field[],
): Body | { readonly fault: string } {
  if (bytes === undefined) return { fault: 'Its body is marked as Base64, but is not.' };
  const isDecoded = /^\s*[[{"]/.test(exactText(bytes) ?? '');
  return { ...bodyOfBytes(bytes), headers: isDecoded ? decodedFields(headers) : headers };
}

function paramsBody(params: readonly Field[], headers: readonly Field[]): Body {
  const type = fieldOf(headers, 'content-type') ?? 'application/x-www-form-urlencoded';
  if (!/^multipart\//i.test(type)) return { body: formBody(params), headers };
  const { body, boundary } = multipartBody(
    params.map(([name, content]) => ({ name, content })),
    /boundary="?([^";]+)/i.exec(type)?.[1],
  );
  const others = headers.filter(([name]) => name.toLowerCase() !== 'content-type');
  const typed = /boundary=/i.test(type)
    ? headers
    : [...others, ['Content-Type', `${type}; boundary=${boundary}`] as const];
  return { body, headers: typed };
}

function isLatin1(text: string): boolean {
  return !/[^\0-\u00ff]/.test(text);
}

/** The header fields without HTTP/2's pseudo-fields, which repeat method and target. */
function fieldsOf(list: unknown): readonly Field[] {
  return pairsOf(list).filter(([name]) => !name.startsWith(':'));
}

function pairsOf(list: unknown): readonly Field[] {
  if (isJsonObject(list)) return Object.entries(list).map(([name, value]) => [name, textOf(value)]);
  if (!Array.isArray(list)) return [];
  return list.flatMap((pair: unknown): Field[] => {
    const [name, value] = [memberOf(pair, 'name'), memberOf(pair, 'value')];
    return typeof name === 'string' && !isJsonObject(value) ? [[name, textOf(value)]] : [];
  });
}
