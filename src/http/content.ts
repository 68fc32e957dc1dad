/** The class of a `Content-Type`, as far as rewriting JSON is concerned. */
type JsonReading =
  /** Absent, or a media type that is not JSON. */
  | 'other'
  /** JSON in UTF-8. */
  | 'json'
  /** JSON in another charset. */
  | 'charset'
  /** Not a media type by RFC 9110 §8.3.1, but some parsers would treat it as JSON (CVE-2023-51701). */
  | 'ambiguous';

/** Reads a `Content-Type` strictly: `application/json` and `application/*+json` are JSON. */
export function readJsonType(value: string | undefined): JsonReading {
  if (value === undefined) return 'other';
  if (value === 'application/json') return 'json';
  if (!mediaType.test(value)) return !otherType.test(value) && /json/i.test(value) ? 'ambiguous' : 'other';
  const end = value.indexOf(';');
  const essence = (end === -1 ? value : value.slice(0, end)).trim().toLowerCase();
  if (!isJson(essence) || isStream.test(essence) || hasStream(value, end)) return 'other';
  return end === -1 || charsetsAreUtf8(value.slice(end)) ? 'json' : 'charset';
}

/**
 * How JSON texts follow one another in a body: one per line, each after a record separator (RFC 7464), or each as the data of an event
 * (WHATWG HTML §9.2), if that is JSON.
 */
export type TextFormat = 'ndjson' | 'json-seq' | 'events';

/** A form, possibly with the methods that a field `_method` must not name: `form/PUT,PATCH`. */
type FormFormat = 'form' | `form/${string}`;

/** A multipart body, with its boundary after the semicolon. */
type MultipartFormat = `multipart;${string}` | `multipart/${string};${string}`;

/** The format of a request body that rules apply to: one JSON text, several, or a form; for a multipart body with its boundary. */
export type BodyFormat = 'json' | 'json-patch' | 'merge-patch' | FormFormat | TextFormat | MultipartFormat;

/** A format whose bodies are rewritten while they arrive: they may never end, or carry files of any size. */
export type StreamedFormat = TextFormat | MultipartFormat;

/** True for several JSON texts. */
export function isOfTexts(format: string): format is TextFormat {
  return format === 'ndjson' || format === 'json-seq' || format === 'events';
}

/** The boundary between the parts of a multipart body. */
export function boundaryOf(format: MultipartFormat): string {
  return format.slice(format.indexOf(';') + 1);
}

/** True for a form without parts. */
export function isForm(format: BodyFormat): format is FormFormat {
  return format === 'form' || format.startsWith('form/');
}

/** Returns the format with methods that no field of the form may name; returns any other format unchanged. */
export function withoutMethods(format: BodyFormat, methods: readonly string[]): BodyFormat {
  if (methods.length === 0) return format;
  if (format === 'form') return `form/${methods.join(',')}`;
  return format.startsWith('multipart;')
    ? `multipart/${methods.join(',')};${format.slice('multipart;'.length)}`
    : format;
}

/** The methods that no field of such a form may name. */
export function methodsWithout(format: FormFormat | MultipartFormat): readonly string[] {
  const [, methods] = /^(?:form|multipart)\/([A-Z,]+)/.exec(format) ?? [];
  return methods?.split(',') ?? [];
}

/** True for a format whose bodies are rewritten while they arrive. */
export function isStreamed(format: BodyFormat): format is StreamedFormat {
  return format !== 'json' && format !== 'json-patch' && format !== 'merge-patch' && !isForm(format);
}

/** Why rules cannot read a body: its text is not in UTF-8, or parsers disagree about its media type. */
type FormatFault = 'charset' | 'ambiguous' | 'malformed';

/**
 * Reads a `Content-Type` that is not JSON's: the format of the body, why it cannot be read, or undefined if rules read no body of that
 * type. With `fields` false, forms and multipart bodies are not read. Parameters are read leniently, because clients do not always follow
 * the grammar; a malformed type is never taken for another one.
 */
export function readFormat(
  value: string | undefined,
  fields = true,
): Exclude<BodyFormat, 'json'> | FormatFault | undefined {
  if (value === undefined) return undefined;
  const [, type, rest = ''] = (fields && fieldsType.exec(value)) || [];
  if (type === undefined) {
    const format = readTextFormat(value);
    // Only servers send events.
    return format === 'events' ? undefined : format;
  }
  const parameters = readParameters(rest);
  if (parameters === undefined || /[ \t]/.test(type)) return 'malformed';
  return /^a/i.test(type) ? inUtf8('form', parameters) : readMultipart(parameters);
}

/** Reads a `Content-Type` of several JSON texts, as {@link readFormat} does. */
export function readTextFormat(
  value: string | undefined,
): TextFormat | Exclude<FormatFault, 'malformed'> | undefined {
  const format = value === undefined ? undefined : textFormatOf(value);
  if (value === undefined || format === undefined) return undefined;
  const end = value.indexOf(';');
  const parameters = readParameters(end === -1 ? '' : value.slice(end));
  return parameters === undefined ? 'ambiguous' : inUtf8(format, parameters);
}

function inUtf8<Format extends 'form' | TextFormat>(
  format: Format,
  parameters: Parameters,
): Format | 'charset' {
  const isRead = parameters.every(([name, value]) => name !== 'charset' || value === '' || isUtf8(value));
  return isRead ? format : 'charset';
}

/** Returns the format of a body that was read, by its `Content-Type`. */
export function formatOfType(value: string | undefined): BodyFormat {
  const format = readFormat(value);
  if (format === undefined || format === 'charset' || format === 'ambiguous' || format === 'malformed')
    return jsonFormat(value);
  return format;
}

/** The meaning of JSON by its media type: a resource, operations on one (RFC 6902), or the changed members of one (RFC 7396). */
export function jsonFormat(value: string | undefined): 'json' | 'json-patch' | 'merge-patch' {
  if (value === undefined || value === 'application/json') return 'json';
  const [, patch] = /^application\/(json-patch|merge-patch)\+json[ \t]*(?:;|$)/i.exec(value) ?? [];
  if (patch === undefined) return 'json';
  return patch.toLowerCase() === 'json-patch' ? 'json-patch' : 'merge-patch';
}

function textFormatOf(value: string): TextFormat | undefined {
  const type = value.split(';', 1)[0]?.trim().toLowerCase() ?? '';
  // RFC 8091 registers the suffix.
  if (type === 'application/json-seq' || /^application\/[^+]+\+json-seq$/.test(type)) return 'json-seq';
  if (type === 'text/event-stream') return 'events';
  if (LINES.has(type) || (type.startsWith('application/') && isStream.test(type))) return 'ndjson';
  return isJson(type) && hasStream(value, value.indexOf(';')) ? 'ndjson' : undefined;
}

/** True for a parameter `stream`, as the watches of Kubernetes have it: `application/json;stream=watch`. */
function hasStream(value: string, end: number): boolean {
  return end !== -1 && /;[ \t]*stream=/i.test(value.slice(end));
}

/** Unregistered names under which services send one JSON text per line. */
const LINES: ReadonlySet<string> = new Set([
  'application/x-ndjson',
  'application/ndjson',
  'application/jsonl',
  'application/x-jsonl',
  'application/jsonlines',
  'application/json-lines',
  'application/x-jsonlines',
  'application/x-json-stream',
  'text/x-ndjson',
  'text/ndjson',
  'text/jsonl',
]);

/** Maximum length of a boundary; RFC 2046 §5.1.1 allows 70 characters. */
const MAX_BOUNDARY = 200;

/** A multipart body can only be read if all parsers find the same boundary. */
function readMultipart(parameters: Parameters): `multipart;${string}` | 'malformed' {
  // RFC 2231 allows the boundary in pieces or encoded, but few parsers support that.
  if (parameters.some(([name]) => name.startsWith('boundary*'))) return 'malformed';
  const [boundary = '', ...others] = new Set(
    parameters.flatMap(([name, value]) => (name === 'boundary' ? [value] : [])),
  );
  const isPlain = /^[ -~]*[!-~]$/.test(boundary) && boundary.length <= MAX_BOUNDARY;
  return others.length === 0 && isPlain ? `multipart;${boundary}` : 'malformed';
}

/** The media types of forms, with optional blanks; the next character must not continue the name. */
const fieldsType =
  /^(application[ \t]*\/[ \t]*x-www-form-urlencoded|multipart[ \t]*\/[ \t]*form-data)(?![!#$%&'*+.^_`|~0-9A-Za-z-])(.*)$/i;

/** Names in lower case, and values without quotes; the value is empty if there is none. */
type Parameters = readonly (readonly [name: string, value: string])[];

/**
 * Reads the parameters behind a type leniently: a value may contain any visible character except separators, as boundaries do (RFC 2046
 * §5.1.1), and a name without a value is ignored. Undefined if parsers could disagree.
 */
function readParameters(text: string): Parameters | undefined {
  const rest = text.trim();
  const found: [string, string][] = [];
  for (let at = 0; at < rest.length;) {
    lenientParameter.lastIndex = at;
    const [whole = '', name, quotedValue, plain] = lenientParameter.exec(rest) ?? [];
    if (whole === '') return undefined;
    at += whole.length;
    const value = quotedValue?.replaceAll(/\\(.)/g, '$1') ?? plain ?? '';
    if (name !== undefined) found.push([name.toLowerCase(), value]);
  }
  return found;
}

/** How to read a part of a multipart body, by its `Content-Type`. */
type PartReading =
  | { readonly kind: 'text' | 'json'; readonly charset: string | undefined }
  /** Bytes that no rule reads. */
  | 'other'
  /** A media type that resembles one of text. */
  | 'malformed';

/**
 * Reads the `Content-Type` of a part leniently, like {@link readFormat}. A part without one is text (RFC 7578 §4.4), and so is any
 * `text/` type: services read a part without a file name as a field.
 */
export function readPartType(value: string | undefined): PartReading {
  if (value === undefined || value === '') return { kind: 'text', charset: undefined };
  const end = value.indexOf(';');
  const essence = (end === -1 ? value : value.slice(0, end)).trim().toLowerCase();
  const isJsonText = isJson(essence) ? !isStream.test(essence) : otherNames.test(essence);
  const isText = textType.test(essence) && !isJsonText;
  if (!isText && !isJsonText)
    return nearlyText.test(value) || readJsonType(value) === 'ambiguous' ? 'malformed' : 'other';
  const parameters = readParameters(end === -1 ? '' : value.slice(end));
  const [charset, ...others] = new Set(
    parameters?.flatMap(([name, named]) =>
      name === 'charset' && named !== '' ? [named.replaceAll("'", '').toLowerCase()] : [],
    ),
  );
  if (parameters === undefined || others.length > 0) return 'malformed';
  return { kind: isText ? 'text' : 'json', charset };
}

const textType = /^text\/[!#$%&'*+.^_`|~0-9a-z-]+$/;
const nearlyText = /^text[ \t]*\/[ \t]*plain(?![!#$%&'*+.^_`|~0-9A-Za-z-])/i;

const token = String.raw`[!#$%&'*+.^_\`|~0-9A-Za-z-]+`;
const quoted = String.raw`"(?:[\t \x21\x23-\x5b\x5d-\x7e\x80-\xff]|\\[\t \x21-\x7e\x80-\xff])*"`;
/** Each white space matches in only one place, after the semicolon or the parameter: with two, a run of `; ` would take 2^n steps. */
const mediaType = new RegExp(
  `^${token}/${token}[ \\t]*(?:;[ \\t]*(?:${token}=(?:${token}|${quoted})[ \\t]*)?)*$`,
);
/** Parameters do not matter here: every parser that finds a media type finds this one, and it is not JSON. */
const otherType = new RegExp(
  `^(?!application/(?:[^;]*\\+)?json[ \\t]*;)${token}/${token}[ \\t]*;[^,]*$`,
  'i',
);
const parameter = new RegExp(`;[ \\t]*(${token})=(${token}|${quoted})`, 'g');
const lenientParameter =
  /;[ \t]*(?:([!#$%&'*+.^_`|~0-9A-Za-z-]+)[ \t]*(?:=[ \t]*(?:"((?:[^"\\]|\\.)*)"[ \t]*|([!#-:<-[\]-~\x80-\xff]+)[ \t]*)?)?)?/y;

function isJson(essence: string): boolean {
  return essence === 'application/json' || (essence.startsWith('application/') && essence.endsWith('+json'));
}

/** A stream of texts with a suffix of JSON: it may never end, so it cannot be read whole. */
const isStream = /[/.-](?:stream|seq|lines|ndjson|jsonl)\+json$/;

/** Names under which services send JSON that is registered as `application/json`. */
const otherNames = /^(?:text\/json|text\/x-json|application\/x-json)[ \t]*(?:;|$)/i;

/** How a response is read, by its `Content-Type`. */
export type ResponseReading =
  | JsonReading
  | TextFormat
  /** JSON if its first byte says so. */
  | 'guess'
  /** The same, but it is not rewritten. */
  | 'hidden';

/** Reads the `Content-Type` of a response; `media` sets the names under which JSON is expected. */
export function readResponseType(
  value: string | undefined,
  media: 'strict' | 'known' | 'sniff',
): ResponseReading {
  const type = readJsonType(value);
  if (type !== 'other') return type;
  const texts = readTextFormat(value);
  if (texts !== undefined) return texts;
  if (value !== undefined && noText.test(value)) return 'other';
  if (media === 'strict') return 'hidden';
  if (value !== undefined && otherNames.test(value)) {
    const end = value.indexOf(';');
    return readJsonType(`application/json${end === -1 ? '' : value.slice(end)}`);
  }
  return media === 'sniff' || value === undefined || /^text\/plain[ \t]*(?:;|$)/i.test(value)
    ? 'guess'
    : 'hidden';
}

/** Never a single JSON text, even if its first byte looks like it. */
const noText = /^(?:image|audio|video|font|multipart)\//i;

/**
 * Returns whether a body begins like a JSON object (RFC 8259 §2) or a list that may contain one, after white space and a byte order mark:
 * `[{`, but not `[INFO]`. Undefined if more bytes are needed.
 */
export function looksLikeJson(body: Uint8Array): boolean | undefined {
  const first = skipWhiteSpace(body, body[0] === 0xef && body[1] === 0xbb && body[2] === 0xbf ? 3 : 0);
  const at = body[first] === OPEN_LIST ? skipWhiteSpace(body, first + 1) : first;
  if (at === body.length) return undefined;
  const byte = body[at];
  return byte === OPEN_OBJECT || (at > first && (byte === OPEN_LIST || byte === CLOSE_LIST));
}

const OPEN_LIST = 0x5b;
const CLOSE_LIST = 0x5d;
const OPEN_OBJECT = 0x7b;

function skipWhiteSpace(body: Uint8Array, from: number): number {
  let at = from;
  while (isWhiteSpace(body[at])) at += 1;
  return at;
}

/** True for white space between the tokens of JSON (RFC 8259 §2). */
export function isWhiteSpace(byte: number | undefined): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;
}

/** US-ASCII is a subset of UTF-8. Every charset parameter counts, because parsers differ in which one they use. */
function charsetsAreUtf8(parameters: string): boolean {
  for (const [, name, value] of parameters.matchAll(parameter)) {
    if (name?.toLowerCase() === 'charset' && !isUtf8(value ?? '')) return false;
  }
  return true;
}

function isUtf8(value: string): boolean {
  // Some clients use single quotes, which HTTP does not treat as quotes.
  const charset = value.replaceAll(/["'\\]/g, '').toLowerCase();
  return charset === 'utf-8' || charset === 'utf8' || charset === 'us-ascii';
}

/** A content coding (RFC 9110 §8.4.1) that a body can be decoded from. */
export type Coding = 'gzip' | 'deflate' | 'br';

/** The codings that can be decoded if the runtime supports all of them. */
export const ALL_CODINGS: readonly Coding[] = ['gzip', 'deflate', 'br'];

/**
 * Reads `Content-Encoding`: undefined for none, `unsupported` for an unknown coding or for a chain of codings, which makes small
 * bodies grow without limit (CVE-2026-22036).
 */
export function readCoding(value: string | undefined): Coding | 'unsupported' | undefined {
  if (value === undefined) return undefined;
  const named = value
    .split(',')
    .map((part) => part.trim().toLowerCase())
    .filter((part) => part !== '' && !NO_CODINGS.has(part));
  const [first] = named;
  if (first === undefined) return undefined;
  if (named.length > 1) return 'unsupported';
  if (first === 'x-gzip') return 'gzip';
  return first === 'gzip' || first === 'deflate' || first === 'br' ? first : 'unsupported';
}

/** Values that clients and services write without a coding: a charset, or words of MIME's Content-Transfer-Encoding. */
const NO_CODINGS: ReadonlySet<string> = new Set([
  'identity',
  'utf-8',
  'utf8',
  'none',
  'binary',
  '7bit',
  '8bit',
]);

/** True if an `Accept-Encoding` names a coding, or `*` (RFC 9110 §12.5.3): the client may not support others. */
export function takesCoding(accepted: string | undefined, coding: Coding): boolean {
  if (accepted === undefined) return false;
  const members = accepted.split(',');
  const named = members.find((member) => readCoding(member.split(';', 1)[0]) === coding);
  const member = named ?? members.find(isAny);
  return member !== undefined && !isRefused(member);
}

/** True for a body in zlib's format, which always starts with method 8: some clients send raw deflate as `deflate`. */
export function isZlib(body: Uint8Array): boolean {
  return ((body[0] ?? 0) & 0x0f) === 8;
}

/**
 * Returns the members of an `Accept-Encoding` (RFC 9110 §12.5.3) whose coding is `identity` or one of `codings`; the first `*` is
 * replaced by the codings that it covers. Returns `identity` if the client allows none of them, and the same text if it names no others.
 */
export function acceptedCodings(value: string, codings: readonly Coding[]): string {
  if (plainListOf(codings).test(value)) return value;
  const members = value.split(',');
  const named = members.map((member) => readCoding(member.split(';', 1)[0]));
  const names = new Set(named);
  let hasAny = false;
  const kept = members.flatMap((member, at) => {
    const coding = named[at];
    if (coding !== 'unsupported') return coding === undefined || codings.includes(coding) ? member : [];
    // Only the first `*` counts: replacing each one could turn a few bytes of a client into many for the origin.
    if (hasAny || !isAny(member)) return [];
    hasAny = true;
    if (isRefused(member)) return member;
    return codings.filter((other) => !names.has(other)).map((other) => member.replace('*', other));
  });
  const text = kept.join(',');
  if (text === value) return value;
  return kept.every(isRefused) ? 'identity' : text.trim();
}

/** True for a `*` with any weight; a longer member than one with white space and a weight is not valid. */
function isAny(member: string): boolean {
  return member.length <= MAX_ANY_LENGTH && /^[ \t]*\*[ \t]*(?:;|$)/.test(member);
}

const MAX_ANY_LENGTH = 40;

/** True for a member of weight 0 (RFC 9110 §12.4.2), and for an empty one. */
function isRefused(member: string): boolean {
  return member.trim() === '' || /;[ \t]*q=0(?:\.0*)?[ \t]*$/i.test(member);
}

/** Matches a list of only these codings, as nearly all clients send it: parsing it takes twenty times as long. */
function plainListOf(codings: readonly Coding[]): RegExp {
  const known = plainLists.get(codings);
  if (known !== undefined) return known;
  const member = `(?:${[...codings, 'identity'].join('|')})(?:;q=[0-9.]+)?`;
  // Not proven linear: the codings are words of `Coding`, and the test of this check covers the whole expression.
  const pattern = new RegExp(`^${member}(?:, ?${member})*$`);
  plainLists.set(codings, pattern);
  return pattern;
}

const plainLists = new WeakMap<readonly Coding[], RegExp>();

/**
 * Returns the media type that an `Accept` field prefers (RFC 9110 §12.5.1): the first of `offers` with the highest weight. Without a
 * field, or if it accepts none of them, the first one: the RFC allows disregarding the field.
 */
export function preferredType<const Type extends string>(
  accept: string | undefined,
  offers: readonly [Type, ...Type[]],
): Type {
  const ranges = rangesOf(accept ?? '');
  let [best] = offers;
  let bestWeight = 0;
  for (const offer of offers) {
    const weight = weightOf(offer, ranges);
    if (weight <= bestWeight) continue;
    best = offer;
    bestWeight = weight;
  }
  return best;
}

/** Maximum media ranges that are read. */
const MAX_RANGES = 50;

interface MediaRange {
  readonly range: string;
  readonly weight: number;
}

function rangesOf(accept: string): readonly MediaRange[] {
  return accept
    .split(',', MAX_RANGES)
    .map((part) => {
      const [range = '', ...parameters] = part.split(';').map((piece) => piece.trim().toLowerCase());
      const weight = parameters.find((parameter) => parameter.startsWith('q='))?.slice(2) ?? '1';
      return { range, weight: /^(?:0(?:\.\d{0,3})?|1(?:\.0{0,3})?)$/.test(weight) ? Number(weight) : 0 };
    })
    .filter(({ range }) => range !== '');
}

/** The weight of the most specific range. */
function weightOf(type: string, ranges: readonly MediaRange[]): number {
  const group = `${type.slice(0, type.indexOf('/'))}/*`;
  for (const wanted of [type, group, '*/*']) {
    const found = ranges.find(({ range }) => range === wanted);
    if (found !== undefined) return found.weight;
  }
  return 0;
}
