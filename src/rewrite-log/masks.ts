import { latin1Bytes, latin1Text } from '../http/byte-collector.ts';
import type { HeaderList } from '../http/header-list.ts';
import { decodeQueryText } from '../http/target.ts';
import type { JsonWalker } from '../json/document.ts';
import { applyEdits, type Edit } from '../json/edit.ts';
import { pointerSteps } from '../json/pointer.ts';
import type { Secrets } from '../rewrite/header-plan.ts';
import { type EditRecord, isOfBody, isOfQuery } from '../rewrite/records.ts';
import { ownText } from './entry.ts';

/** A header field that may be displayed. */
export interface ShownHeader {
  readonly name: string;
  readonly value: string;
  readonly masked: boolean;
}

/** Fields whose values reveal nothing about a person, a key or an order; while capture is off, all other values are masked. */
const HARMLESS: ReadonlySet<string> = /* @__PURE__ */ wordsOf([
  'accept accept-charset accept-encoding accept-language accept-ranges age allow alt-svc cache-control connection',
  'content-encoding content-language content-length content-type date deprecation expect expires host keep-alive',
  'pragma retry-after server strict-transport-security sunset te trailer transfer-encoding upgrade user-agent',
  'vary via x-api-version x-content-type-options x-frame-options x-gateway-error x-ratelimit-limit',
  'x-ratelimit-remaining x-ratelimit-reset x-request-id traceparent',
]);

function wordsOf(lines: readonly string[]): ReadonlySet<string> {
  return new Set(lines.flatMap((line) => line.split(' ')));
}

/** Fields that hold addresses: query values are masked, paths are kept as in the log. */
const ADDRESSES: ReadonlySet<string> = new Set(['location', 'content-location', 'referer']);

/** Names of standard and custom fields and parameters that hold credentials. Their values are never kept. */
const CREDENTIAL_NAME =
  /auth|assertion|bearer|cookie|credential|hmac|jwt|key|otp|pass(?:code|phrase|w)|pwd|secret|session|signature|token|[cx]srf|(?<![\w-])(?:code|pin|sid|sig|sign)(?![\w-])/i;

/** How often a name, or a URL within a value, is decoded: a proxy or a redirect may have encoded it once more. */
const MAX_DECODINGS = 3;

/** A possible name of a pair, with the sign after it. One pass is enough: no two names share a character. */
const NAME = /([^?&;#=]+)(=?)/g;

/** The end of a value: of a parameter, of a URL in a field, or of a quoted text. */
const VALUE_END = /[&;#\s"'<>]/g;

/** An encoded equals sign within a value, which may have a URL or a form inside. */
const ENCODED_EQUALS = /%(?:25)*3d/i;

/** User information of a URL (RFC 3986 §3.2.1). */
const USER_INFORMATION = /\/\/[^/?#\s"'<>@]*@/g;

/** Maximum characters of a target in the log. */
const MAX_CHARACTERS = 2048;

const MASK = /* @__PURE__ */ new TextEncoder().encode('"…"');

/** The pointers with `*` that match a path so far, after this many steps. */
interface MaskPosition {
  readonly steps: number;
  readonly matching: readonly (readonly string[])[];
}

const NOWHERE: MaskPosition = { steps: 0, matching: [] };

/**
 * Masks a raw header list for storage. `values` keeps values that are not credentials and contain none; `secrets` are further credentials
 * from the rule book.
 */
export function maskHeaders(headers: HeaderList, values: boolean, secrets?: Secrets): ShownHeader[] {
  const shown: ShownHeader[] = [];
  for (let at = 0; at < headers.length; at += 2) {
    const { name, value, masked } = maskHeader(headers[at] ?? '', headers[at + 1] ?? '', values, secrets);
    shown.push({ name: ownText(name), value: ownText(value), masked });
  }
  return shown;
}

function masked(
  walker: JsonWalker,
  body: Uint8Array,
  isMasked: (path: readonly (string | number)[]) => boolean,
): Uint8Array | undefined {
  const edits: Edit[] = [];
  let maskedUntil = 0;
  const isJson = walker.walk(body, {
    enter: ({ kind, path, start, end }) => {
      if (path.length > 0 && start >= maskedUntil && isMasked(path)) maskedUntil = end;
      // Containers stay, so that the rules still find their members; all values in them are masked.
      if (start < maskedUntil && kind !== 'object' && kind !== 'array')
        edits.push({ start, end, insert: MASK });
    },
  });
  return isJson ? applyEdits(body, edits) : undefined;
}

function maskHeader(name: string, value: string, values: boolean, secrets: Secrets | undefined): ShownHeader {
  const lower = name.toLowerCase();
  if (isCredentialName(lower) || secrets?.fields.has(lower) === true)
    return { name, value: maskSecret(value), masked: true };
  if (values) {
    const shown = maskQuerySecrets(value, [], secrets);
    return { name, value: shown, masked: shown !== value };
  }
  if (HARMLESS.has(lower)) return { name, value, masked: false };
  if (ADDRESSES.has(lower)) {
    const address = redactTarget(value);
    return { name, value: address, masked: address !== value };
  }
  return { name, value: '…', masked: true };
}

/** True for a name that looks like a credential's, however it is encoded. */
function isCredentialName(name: string): boolean {
  let decoded = name;
  for (let count = 0; count < MAX_DECODINGS && !CREDENTIAL_NAME.test(decoded); count += 1) {
    const next = decodeQueryText(decoded);
    if (next === decoded) return false;
    decoded = next;
  }
  return CREDENTIAL_NAME.test(decoded);
}

/** The scheme of `Authorization` stays, to help find a client that sends a wrong one. */
function maskSecret(value: string): string {
  const scheme = /^(?:bearer|basic|digest|token|apikey) /i.exec(value);
  return scheme === null ? '…' : `${scheme[0]}…`;
}

/**
 * Masks parameters of a target whose names look like credentials, in either version: `records` are the edits of the query, and `named`
 * the credentials that the rule book names.
 */
export function maskQuerySecrets(target: string, records: readonly EditRecord[], named?: Secrets): string {
  const secrets = new Set([...secretNames(records), ...(named?.parameters ?? [])]);
  if (secrets.size === 0) return maskSecrets(target);
  return maskSecrets(target, (name) => isCredentialName(name) || secrets.has(decodeQueryText(name)));
}

/** Both names of each parameter that has the name of a credential in either version. */
function secretNames(records: readonly EditRecord[]): ReadonlySet<string> {
  const names = records
    .filter(isOfQuery)
    .map(({ from = '', path = '' }) => [from, path])
    .filter((both) => both.some((name) => isCredentialName(name)));
  return new Set(names.flat().map((name) => name.slice(1)));
}

/**
 * Masks apparent credentials in a target, a form or a field value: user information, and the values of `name=value` pairs anywhere, as
 * in the URLs of `Location`, `Link`, `Referer` and `Refresh`. `isSecret` decides by the name.
 */
export function maskSecrets(text: string, isSecret: (name: string) => boolean = isCredentialName): string {
  const shown = text.includes('@') ? text.replaceAll(USER_INFORMATION, '//…@') : text;
  return shown.includes('=') || shown.includes('%') ? maskPairs(shown, isSecret, 0) : shown;
}

/** Masks the parts of a multipart body whose names look like a credential's; all other bytes stay, even if they are not text. */
export function maskParts(body: Uint8Array, boundary: string): Uint8Array {
  if (boundary === '') return body;
  const parts = latin1Text(body).split(`--${boundary}`);
  const masked = parts.map((part) => {
    const end = part.indexOf('\r\n\r\n');
    const isSecret =
      end !== -1 && isCredentialName(part.slice(0, end).replaceAll(/^content-type:.*$/gim, ''));
    return isSecret ? `${part.slice(0, end + 4)}${ELLIPSIS}\r\n` : part;
  });
  if (masked.every((part, at) => part === parts[at])) return body;
  return latin1Bytes(masked.join(`--${boundary}`));
}

/** The bytes of `…` in UTF-8. */
const ELLIPSIS = /* @__PURE__ */ String.fromCharCode(0xe2, 0x80, 0xa6);

function maskPairs(text: string, isSecret: (name: string) => boolean, depth: number): string {
  let masked = '';
  let copied = 0;
  NAME.lastIndex = 0;
  for (let found = NAME.exec(text); found !== null; found = NAME.exec(text)) {
    const [whole, run = '', equals] = found;
    const end = found.index + whole.length;
    if (equals === '=' && isSecret(run)) {
      const valueEnd = endOfValue(text, end);
      if (valueEnd > end) masked += `${text.slice(copied, end)}…`;
      else masked += text.slice(copied, end);
      copied = valueEnd;
    } else if (depth < MAX_DECODINGS && ENCODED_EQUALS.test(run) && hasSecretInside(run, isSecret, depth)) {
      masked += `${text.slice(copied, found.index)}…`;
      copied = found.index + run.length;
    }
    NAME.lastIndex = Math.max(end, copied);
  }
  return copied === 0 ? text : masked + text.slice(copied);
}

function endOfValue(text: string, from: number): number {
  if (text[from] === '"') {
    const quote = text.indexOf('"', from + 1);
    return quote === -1 ? text.length : quote + 1;
  }
  VALUE_END.lastIndex = from;
  return VALUE_END.exec(text)?.index ?? text.length;
}

function hasSecretInside(value: string, isSecret: (name: string) => boolean, depth: number): boolean {
  const at = NAME.lastIndex;
  const inside = decodeQueryText(value);
  const isMasked = maskPairs(inside, isSecret, depth + 1) !== inside;
  NAME.lastIndex = at;
  return isMasked;
}

/**
 * Redacts a raw target for the log: names of query parameters stay; their values, parts without a name, a fragment, user
 * information and credentials within the path (`;jsessionid=`) become `…`.
 */
export function redactTarget(target: string): string {
  const mark = target.indexOf('?');
  const isShort = target.length <= MAX_CHARACTERS;
  if (mark === -1 && isShort && isOriginForm(target) && !target.includes('=') && !target.includes('#'))
    return target;
  const whole = (mark === -1 ? target : target.slice(0, mark)).replace(
    /^([a-z][\w+.-]*:)?\/\/[^/]*@/i,
    '$1//…@',
  );
  // Redirects may contain tokens in fragments (RFC 6749 §4.2.2).
  const hash = whole.indexOf('#');
  const path = maskSecrets(hash === -1 ? whole : `${whole.slice(0, hash)}#…`);
  const query = mark === -1 ? '' : target.slice(mark + 1);
  return cut(mark === -1 ? path : `${path}?${redactQuery(query)}`);
}

/** True for a path, which has no user information. */
function isOriginForm(target: string): boolean {
  return target.startsWith('/') && !target.startsWith('//');
}

function cut(text: string): string {
  return text.length <= MAX_CHARACTERS ? text : `${text.slice(0, MAX_CHARACTERS)}…`;
}

function redactQuery(query: string): string {
  return query
    .split('&')
    .map((pair) => {
      const equals = pair.indexOf('=');
      return equals === -1 ? (pair === '' ? '' : '…') : `${pair.slice(0, equals)}=…`;
    })
    .join('&');
}

/**
 * The operator's list of members whose values capture must not keep. A mask is a pointer (`/data/client/email`, `*` for any
 * member or element) into the V1 or the V2 body, or a bare member name, which matches anywhere.
 */
export class ValueMasks {
  /** As given by the operator, for display. */
  readonly masks: readonly string[];
  private readonly pointers: readonly (readonly string[])[];
  private readonly names: ReadonlySet<string>;
  private readonly lastNames: ReadonlySet<string>;

  constructor(masks: readonly string[]) {
    this.masks = masks;
    this.pointers = masks.filter((mask) => mask.startsWith('/')).map(pointerSteps);
    this.names = new Set(masks.filter((mask) => !mask.startsWith('/')));
    const last = this.pointers.map((pointer) => pointer.findLast((step) => step !== '*') ?? '*');
    this.lastNames = new Set([...this.names, ...last]);
  }

  get empty(): boolean {
    return this.masks.length === 0;
  }

  /**
   * Returns the V1 body with masked values as `"…"`; `records` contain the moves of its members. Undefined when it cannot be
   * parsed.
   */
  ofRequest(walker: JsonWalker, body: Uint8Array, records: readonly EditRecord[]): Uint8Array | undefined {
    if (this.empty) return body;
    const positions = new MaskPositions(this.pointers, records);
    const places = [positions.root];
    return masked(walker, body, (path) => {
      const step = String(path.at(-1));
      const place = positions.below(places[path.length - 1] ?? positions.root, step);
      places[path.length] = place;
      return this.names.has(step) || positions.isNamed(place);
    });
  }

  /**
   * Returns a response body with masked values as `"…"`. No rule describes the positions of members in a response, so a mask
   * matches by its last name.
   */
  ofResponse(walker: JsonWalker, body: Uint8Array): Uint8Array | undefined {
    if (this.empty) return body;
    const { lastNames } = this;
    return masked(walker, body, (path) => lastNames.has('*') || lastNames.has(String(path.at(-1))));
  }
}

/** Position of a value in the V1 body and in the V2 body, relative to the masks. */
interface MaskedPlace {
  readonly v1: MaskPosition;
  readonly v2: MaskPosition;
  /** Moves of the members below. */
  readonly moves: MoveTree | undefined;
}

/** The moves of a rewrite by V1 pointer, step by step. */
interface MoveTree {
  readonly below: Map<string, MoveTree>;
  /** Destination of the value here; the last record wins. */
  to: MaskPosition | undefined;
}

/** Follows pointers down a body, level by level: at any depth, each value takes one check per pointer that still matches. */
class MaskPositions {
  readonly root: MaskedPlace;
  private readonly pointers: readonly (readonly string[])[];

  /** `records` contain the moves of members of the V1 body. */
  constructor(pointers: readonly (readonly string[])[], records: readonly EditRecord[]) {
    this.pointers = pointers;
    const start = { steps: 0, matching: pointers };
    const moves = this.movesOf(records);
    this.root = { v1: start, v2: moves.to ?? start, moves };
  }

  /** Returns the place of the member or element `step` of a container. */
  below(place: MaskedPlace, step: string): MaskedPlace {
    const moves = place.moves?.below.get(step);
    return { v1: advanced(place.v1, step), v2: moves?.to ?? advanced(place.v2, step), moves };
  }

  /** Whether a pointer names this place, in the V1 body or in the V2 body. */
  isNamed({ v1, v2 }: MaskedPlace): boolean {
    return endsAt(v1) || endsAt(v2);
  }

  private movesOf(records: readonly EditRecord[]): MoveTree {
    const root: MoveTree = { below: new Map(), to: undefined };
    for (const record of records) {
      const { from, path, note } = record;
      if (from === undefined || path === undefined || note === 'already-flat' || !isOfBody(record)) continue;
      let tree = root;
      for (const step of pointerSteps(from)) {
        const below = tree.below.get(step) ?? { below: new Map<string, MoveTree>(), to: undefined };
        tree.below.set(step, below);
        tree = below;
      }
      tree.to = this.positionOf(path);
    }
    return root;
  }

  private positionOf(pointer: string): MaskPosition {
    let position: MaskPosition = { steps: 0, matching: this.pointers };
    for (const step of pointerSteps(pointer)) position = advanced(position, step);
    return position;
  }
}

function advanced({ steps, matching }: MaskPosition, step: string): MaskPosition {
  if (matching.length === 0) return NOWHERE;
  return {
    steps: steps + 1,
    matching: matching.filter((pointer) => pointer[steps] === step || pointer[steps] === '*'),
  };
}

function endsAt({ steps, matching }: MaskPosition): boolean {
  return matching.some((pointer) => pointer.length === steps);
}

/**
 * Returns the pointer in the V2 body of the member at `pointer` of the V1 body, according to `records`: the longest move above it
 * applies.
 */
export function movedPointer(pointer: string, records: readonly EditRecord[]): string {
  let longest: EditRecord | undefined;
  for (const record of records) {
    const { from, path } = record;
    if (from === undefined || path === undefined || record.note === 'already-flat') continue;
    if (pointer !== from && !pointer.startsWith(`${from}/`)) continue;
    if (longest?.from === undefined || from.length >= longest.from.length) longest = record;
  }
  return longest?.from === undefined ? pointer : `${longest.path ?? ''}${pointer.slice(longest.from.length)}`;
}
