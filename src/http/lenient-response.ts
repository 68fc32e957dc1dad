import { type HeaderList, isFieldName, isWritableValue } from './header-list.ts';
import type { StatusLine } from './response-head.ts';

/**
 * The head of a response that violates RFC 9112 but has only one meaning, as old servers send it and nginx and HAProxy forward it. These
 * readers are tried after the strict ones. They refuse anything ambiguous: different lengths, a NUL, a bare CR, a folded length or
 * coding.
 */
interface LenientHead {
  readonly line: StatusLine;
  readonly fields: HeaderList;
}

/** One or more blanks, a later minor version, a status of an undefined class, and the sub-status of IIS (403.1). */
const STATUS_LINE = /^HTTP\/([1-9]\.\d)[ \t]+([1-9]\d\d)(?:\.\d{1,3})?(?:[ \t]([^]*))?$/;
/** A line that is not a field, such as the second status line of IIS: nginx also omits it. */
const NO_FIELD = /^(?:HTTP\/[^]*|[^\s:]+)$/;
// oxlint-disable-next-line no-control-regex
const CONTROLS = /[\x00-\x1f\x7f]/g;

/** Offset after the empty line that ends a section, from an offset on; lines may end with LF alone (RFC 9112 §2.2). -1 if there is none. */
export function findLenientEnd(bytes: Uint8Array, from: number): number {
  for (let at = bytes.indexOf(LF, from); at >= 0; at = bytes.indexOf(LF, at + 1)) {
    if (bytes[at + 1] === LF) return at + 2;
    if (bytes[at + 1] === CR && bytes[at + 2] === LF) return at + 3;
  }
  return -1;
}

/** Reads a head in latin1 up to its empty line; undefined if it is ambiguous. */
export function readLenientHead(text: string): LenientHead | undefined {
  const [first = '', ...lines] = linesOf(text);
  const [, version = '', status, reason = ''] = STATUS_LINE.exec(first) ?? [];
  if (status === undefined || reason.includes('\r')) return undefined;
  const fields = fieldsOf(lines);
  const framed = fields && framedOnce(fields);
  if (framed === undefined) return undefined;
  const line = {
    status: Number(status),
    // A reason phrase has no meaning, and may be replaced (RFC 9112 §4).
    reason: reason.replaceAll(CONTROLS, ' ').trim(),
    isKept: version !== '1.0',
  };
  return { line, fields: framed };
}

/** Reads trailers in latin1 up to their empty line, without framing fields; undefined if they are ambiguous. */
export function readLenientTrailers(text: string): HeaderList | undefined {
  const fields = fieldsOf(linesOf(text));
  return fields && without(fields);
}

/**
 * The size in the line before a chunk, without its CRLF: with any number of leading zeros, and with blanks and any extensions after it.
 * Undefined if it is not one number.
 */
export function readLenientChunkSize(line: string): number | undefined {
  const digits = CHUNK_SIZE.exec(line)?.[1];
  return digits === undefined ? undefined : Number.parseInt(digits, 16);
}

const LF = 0x0a;
const CR = 0x0d;
// oxlint-disable-next-line no-control-regex
const CHUNK_SIZE = /^0*([0-9A-Fa-f]{1,12})[ \t]*(?:;[^\r\n\x00]*)?$/;
const LENGTH = 'content-length';
const CODING = 'transfer-encoding';
const FRAMING: ReadonlySet<string> = new Set([LENGTH, CODING]);

/** Lines without their ends; the last ones are empty. */
function linesOf(text: string): string[] {
  return text.split('\n').map(withoutReturns);
}

function withoutReturns(line: string): string {
  let end = line.length;
  while (line[end - 1] === '\r') end -= 1;
  return line.slice(0, end);
}

/** Names and values of field lines; folded lines are joined with a blank (RFC 9112 §5.2). */
function fieldsOf(lines: readonly string[]): string[] | undefined {
  const fields: string[] = [];
  for (const line of lines) {
    if (line === '') continue;
    if (isBlank(line[0])) {
      const name = fields.at(-2);
      if (name === undefined || FRAMING.has(name.toLowerCase())) return undefined;
      fields.push(`${fields.pop() ?? ''} ${trimmed(line)}`.trimEnd());
      continue;
    }
    const colon = line.indexOf(':');
    if (!isWritableValue(line)) return undefined;
    if (colon === -1 || line.startsWith('HTTP/')) {
      if (NO_FIELD.test(line)) continue;
      return undefined;
    }
    // A proxy removes blanks before the colon (RFC 9112 §5.1).
    const name = trimmed(line.slice(0, colon));
    if (isFieldName(name)) fields.push(name, trimmed(line.slice(colon + 1)));
    // oxlint-disable-next-line no-control-regex
    else if (/^$|[\x00-\x20\x7f]/.test(name)) return undefined;
  }
  return fields.every(isWritableValue) ? fields : undefined;
}

/** The fields with at most one length or coding, in the place of the first: chunks take precedence over a length (RFC 9112 §6.3). */
function framedOnce(fields: readonly string[]): string[] | undefined {
  const lengths = new Set<string | undefined>();
  const codings = new Set<string>();
  for (let at = 0; at < fields.length; at += 2) {
    const value = fields[at + 1] ?? '';
    const lower = fields[at]?.toLowerCase();
    if (lower === LENGTH) for (const element of value.split(',')) lengths.add(lengthOf(trimmed(element)));
    else if (lower === CODING) for (const element of codingsOf(value)) codings.add(element);
  }
  const [length] = lengths;
  const [coding] = codings;
  if (lengths.size > 1 || codings.size > 1 || lengths.has(undefined)) return undefined;
  if (coding === undefined) return length === undefined ? without(fields) : without(fields, LENGTH, length);
  return coding === 'chunked' ? without(fields, CODING, coding) : undefined;
}

/** The fields without framing fields, except that the first one named `kept` stays, with this value. */
function without(fields: readonly string[], kept?: string, value = ''): string[] {
  const left: string[] = [];
  let isMissing = true;
  for (let at = 0; at < fields.length; at += 2) {
    const name = fields[at] ?? '';
    const lower = name.toLowerCase();
    if (!FRAMING.has(lower)) {
      left.push(name, fields[at + 1] ?? '');
    } else if (lower === kept && isMissing) {
      left.push(name, value);
      isMissing = false;
    }
  }
  return left;
}

/** A length without leading zeros: parsers differ in how many digits they read. */
function lengthOf(text: string): string | undefined {
  return /^0*(\d{1,15})$/.exec(text)?.[1];
}

/**
 * The codings without `identity`, which changes nothing (RFC 2616 §3.6). A list may have empty elements (RFC 9110 §5.6.1), but not only
 * those.
 */
function codingsOf(value: string): string[] {
  const elements = value
    .toLowerCase()
    .split(',')
    .map(trimmed)
    .filter((element) => element !== '');
  return elements.length === 0 ? [''] : elements.filter((element) => element !== 'identity');
}

function trimmed(text: string): string {
  let start = 0;
  let end = text.length;
  while (isBlank(text[start])) start += 1;
  while (end > start && isBlank(text[end - 1])) end -= 1;
  return text.slice(start, end);
}

function isBlank(character: string | undefined): boolean {
  return character === ' ' || character === '\t';
}
