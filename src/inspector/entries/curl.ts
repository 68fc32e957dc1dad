import { latin1Bytes, latin1Text } from '../../http/byte-collector.ts';
import { formatOfType } from '../../http/content.ts';
import { DIGEST_FIELDS, isHopByHop } from '../../http/fields.ts';
import type { KeptBody, KeptExchange } from '../../rewrite-log/capture.ts';
import { isUnreadNote, type Entry } from '../../rewrite-log/entry.ts';
import type { CompiledRuleBook } from '../../rewrite/compiled-rule-book.ts';
import type { Rewrite } from '../../rewrite/records.ts';
import type { ExplainRequest, RequestView } from '../api.ts';

/** End-to-end fields of one exchange. */
const OF_EXCHANGE: ReadonlySet<string> = new Set([
  'content-length',
  'expect',
  'host',
  'traceparent',
  'tracestate',
  'x-request-id',
]);

/** True for a field of the connection or of one exchange: the same request has its own when it is sent again. */
export function isOfExchange(name: string): boolean {
  return isHopByHop(name) || OF_EXCHANGE.has(name.toLowerCase());
}

/** Maximum characters of a body within a command: shells and terminals limit the length of a line. */
const MAX_BODY_CHARACTERS = 16 * 1024;

/** Header fields as names and values. */
type Fields = readonly (readonly [name: string, value: string])[];

const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
const encoder = new TextEncoder();

const strict = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/**
 * Prints a request as a curl command for a POSIX shell. `origin` is scheme, host and port. The key is `$API_KEY`; other masked fields are
 * left out. If only the structure of a body is known, placeholders of the right types replace its values. A large body is read from a
 * file, `body.json`.
 */
export function curlCommand(request: RequestView, origin: string, keyField?: string): string {
  const { method, target, headers, body } = request;
  // Without --globoff curl would expand {a,b} and [1-9] in a URL into several URLs.
  const globbing = /[[\]{}]/.test(target) ? ' --globoff' : '';
  const parts = [`curl${globbing} -X ${shellWord(method)} ${shellWord(origin + target.replaceAll('…', ''))}`];
  for (const { name, value, masked } of headers) {
    const lower = name.toLowerCase();
    // curl names the codings that it decodes.
    if (isOfExchange(name) || lower === 'accept-encoding') continue;
    if (lower === 'authorization') {
      parts.push('-H "Authorization: Bearer $API_KEY"');
      continue;
    }
    // A rule book may name another field for the key.
    if (masked && lower !== 'cookie' && value === '…' && keyField?.toLowerCase() === lower) {
      parts.push(`-H "${name}: $API_KEY"`);
      continue;
    }
    if (!masked && lower !== 'content-encoding') parts.push(`-H ${shellWord(`${name}: ${value}`)}`);
  }
  // Not --data-binary: a body that starts with @ would make the operator's curl send a local file.
  if (body.text !== undefined && (body.isFolded === true || body.text.length > MAX_BODY_CHARACTERS))
    parts.push('--data-binary @body.json');
  else if (body.text !== undefined)
    parts.push(`--data-raw ${shellWord(body.state === 'structure' ? placeholders(body.text) : body.text)}`);
  return parts.join(' \\\n  ');
}

/** A word of a command for a POSIX shell. */
export function shellWord(text: string): string {
  return /^[\w./:=@%+,-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`;
}

/** Replaces each type in the text of a structure by a value of that type. */
function placeholders(structure: string): string {
  return structure
    .replaceAll('"‹number›"', '0')
    .replaceAll('"‹boolean›"', 'false')
    .replaceAll('"‹string›"', '"string"');
}

/** Returns a kept body as text for display, a structure with placeholders of the right types; undefined without a body. */
export function bodyText({ state, bytes }: KeptBody): string | undefined {
  if (bytes === undefined) return undefined;
  const text = decoder.decode(bytes);
  return state === 'structure' ? placeholders(text) : text;
}

/** Returns a kept body as bytes, a structure with placeholders of the right types; undefined without a body. */
export function bodyBytes(body: KeptBody): Uint8Array | undefined {
  return body.state === 'structure' ? encoder.encode(bodyText(body) ?? '') : body.bytes;
}

/** Rewrites `bytes`, the kept V1 body or its placeholders, by the plan of its exchange; undefined when no plan applies to it. */
export function rewriteAgain(
  entry: Entry,
  { v1Request }: KeptExchange,
  rules: CompiledRuleBook | undefined,
  bytes: Uint8Array | undefined,
): Rewrite | undefined {
  if (entry.route !== 'migrate' || bytes === undefined || rules === undefined) return undefined;
  if (isUnreadNote(entry.note)) return undefined;
  const operation = rules.ruleBook.operations.find(({ id }) => id === entry.operation);
  const type = v1Request.headers.find(({ name }) => name.toLowerCase() === 'content-type')?.value;
  return rules.requestPlan(operation, formatOfType(type)).rewrite(bytes);
}

/** Decodes Base64 (RFC 4648 §4); undefined when invalid. */
export function decodeBase64(text: string): Uint8Array | undefined {
  try {
    return latin1Bytes(atob(text));
  } catch {
    return undefined;
  }
}

/** Encodes bytes in Base64 (RFC 4648 §4). */
export function encodeBase64(bytes: Uint8Array): string {
  return btoa(latin1Text(bytes));
}

/** Decodes bytes that are valid UTF-8; undefined for any others, which a lenient decoder would change. */
export function exactText(bytes: Uint8Array): string | undefined {
  try {
    return strict.decode(bytes);
  } catch {
    return undefined;
  }
}

/** A body for a request to explain, as text, or in Base64 if the bytes are not text. */
export function bodyOfBytes(bytes: Uint8Array): Pick<ExplainRequest, 'body' | 'bodyBase64'> {
  const text = exactText(bytes);
  return text === undefined ? { bodyBase64: encodeBase64(bytes) } : { body: text };
}

const OF_CODED: ReadonlySet<string> = new Set(['content-encoding', 'content-length', ...DIGEST_FIELDS]);

/** True for a field that describes the bytes of a body in its content coding. */
export function isOfCoded(name: string): boolean {
  return OF_CODED.has(name.toLowerCase());
}

/** The fields without those that describe the coded body. */
export function decodedFields(headers: Fields): Fields {
  const isCoded = headers.some(([name]) => name.toLowerCase() === 'content-encoding');
  return isCoded ? headers.filter(([name]) => !isOfCoded(name)) : headers;
}
