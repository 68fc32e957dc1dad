import { isForwarding } from './forwarded.ts';
import { isHopByHop } from './hop-by-hop.ts';

/**
 * What a field is to the gateway: the name of one that it reads, or a kind. `hop-by-hop` are those that have no name of their own here,
 * `forwarding` claim where a request came from, and an `alias` may be read as another field.
 */
export type FieldUse = NamedUse | 'hop-by-hop' | 'forwarding' | 'alias' | 'other';

type NamedUse = (typeof NAMED_USES)[number];

const NAMED_USES = [
  'host',
  'authorization',
  'content-type',
  'content-length',
  'content-encoding',
  'transfer-encoding',
  'x-api-version',
  'x-request-id',
  'traceparent',
  'connection',
  'keep-alive',
  'proxy-connection',
  'trailer',
  'upgrade',
  'expect',
] as const;

const USES_BY_NAME: ReadonlyMap<string, FieldUse> = new Map(NAMED_USES.map((name) => [name, name]));

/** Further names of fields that are often sent, or that have a use. */
const COMMON_NAMES = [
  'accept',
  'accept-encoding',
  'accept-language',
  'access-control-allow-origin',
  'age',
  'cache-control',
  'content-language',
  'cookie',
  'date',
  'etag',
  'expires',
  'forwarded',
  'http2-settings',
  'if-none-match',
  'last-modified',
  'location',
  'origin',
  'pragma',
  'proxy-authenticate',
  'proxy-authentication-info',
  'proxy-authorization',
  'referer',
  'server',
  'set-cookie',
  'strict-transport-security',
  'te',
  'tracestate',
  'user-agent',
  'vary',
  'via',
  'x-content-type-options',
  'x-forwarded-for',
  'x-forwarded-host',
  'x-forwarded-proto',
  'x-frame-options',
  'x-powered-by',
  'x-real-ip',
];

/** The use of a field by its name, in any case. */
export function useOfName(name: string): FieldUse {
  return usesBySpelling.get(name) ?? useOf(name.toLowerCase());
}

function useOf(lower: string): FieldUse {
  const use = USES_BY_NAME.get(lower);
  if (use !== undefined) return use;
  if (isHopByHop(lower)) return 'hop-by-hop';
  if (isForwarding(lower)) return 'forwarding';
  return lower.includes('_') && isAlias(lower) ? 'alias' : 'other';
}

/** Servers that follow CGI read X_API_VERSION as X-API-VERSION, which would bypass every check. */
function isAlias(lower: string): boolean {
  const plain = lower.replaceAll('_', '-');
  const isRead = USES_BY_NAME.has(plain) && plain !== 'expect';
  return isRead || isHopByHop(plain) || isForwarding(plain);
}

const knownNames = [...NAMED_USES, ...COMMON_NAMES];

/** Uses by the two spellings that nearly all clients send, so that most names take one lookup and no conversion. */
const usesBySpelling: ReadonlyMap<string, FieldUse> = new Map(
  knownNames.flatMap((lower): [string, FieldUse][] => [
    [lower, useOf(lower)],
    [lower.replaceAll(/(?<![a-z])[a-z]/g, (letter) => letter.toUpperCase()), useOf(lower)],
  ]),
);

/** A known name, with the next one of the same slot. */
interface KnownName {
  readonly codes: Uint8Array;
  readonly use: FieldUse;
  readonly next: KnownName | undefined;
}

const SLOTS = 512;
/** The bit that tells lower case from upper case: without it no two characters of known names are the same. */
const LOWER_CASE = 0x20;
const UNDERSCORE = 0x5f;
const slots: (KnownName | undefined)[] = Array.from({ length: SLOTS }, () => undefined);
const FORWARDED = ascii('x-forwarded-');

for (const name of knownNames) {
  const codes = ascii(name);
  const slot = slotOf(codes, 0, codes.length);
  slots[slot] = { codes, use: useOf(name), next: slots[slot] };
}

/** The use of a field by the bytes of its name, which must be a token: no text is made of a name that is known. */
export function useOfBytes(bytes: Uint8Array, from: number, to: number): FieldUse {
  for (let known = slots[slotOf(bytes, from, to)]; known !== undefined; known = known.next)
    if (known.codes.length === to - from && startsWith(bytes, from, known.codes)) return known.use;
  const isAny = !startsWith(bytes, from, FORWARDED) && !bytes.subarray(from, to).includes(UNDERSCORE);
  return isAny ? 'other' : useOf(String.fromCharCode(...bytes.subarray(from, to)).toLowerCase());
}

function startsWith(bytes: Uint8Array, from: number, codes: Uint8Array): boolean {
  for (let at = 0; at < codes.length; at += 1)
    if (((bytes[from + at] ?? 0) | LOWER_CASE) !== codes[at]) return false;
  return true;
}

/** Length, first, middle and last character tell nearly all known names apart. */
function slotOf(bytes: Uint8Array, from: number, to: number): number {
  const length = to - from;
  const first = (bytes[from] ?? 0) | LOWER_CASE;
  const middle = (bytes[from + (length >> 1)] ?? 0) | LOWER_CASE;
  const last = (bytes[to - 1] ?? 0) | LOWER_CASE;
  return (length ^ (first << 1) ^ (middle << 4) ^ (last << 2)) & (SLOTS - 1);
}

function ascii(text: string): Uint8Array {
  return Uint8Array.from(text, (character) => character.charCodeAt(0));
}
