import { type FieldUse, useOfLower, USUAL_NAMES } from './field-use.ts';

/** Names in lower case that are often received. */
const KNOWN_NAMES = [
  ...USUAL_NAMES,
  'access-control-allow-origin',
  'age',
  'cache-control',
  'content-language',
  'date',
  'etag',
  'expires',
  'forwarded',
  'if-none-match',
  'last-modified',
  'location',
  'pragma',
  'referer',
  'server',
  'set-cookie',
  'strict-transport-security',
  'te',
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

/** A known name, with the next one of the same slot. */
interface KnownName {
  readonly codes: Uint8Array;
  readonly use: FieldUse;
  readonly next: KnownName | undefined;
}

const SLOTS = 512;
/** The bit that tells lower case from upper case: without it no two characters of known names are the same. */
const LOWER_CASE = 0x20;
const slots: (KnownName | undefined)[] = Array.from({ length: SLOTS }, () => undefined);

for (const name of KNOWN_NAMES) {
  const codes = ascii(name);
  const slot = slotOf(codes, 0, codes.length);
  slots[slot] = { codes, use: useOfLower(name), next: slots[slot] };
}

/** The use of a field by the bytes of its name, which must be a token; undefined for one that is not known. No text is made of it. */
export function useOfBytes(bytes: Uint8Array, from: number, to: number): FieldUse | undefined {
  for (let known = slots[slotOf(bytes, from, to)]; known !== undefined; known = known.next)
    if (isName(known.codes, bytes, from, to)) return known.use;
  return undefined;
}

function isName(codes: Uint8Array, bytes: Uint8Array, from: number, to: number): boolean {
  if (codes.length !== to - from) return false;
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
