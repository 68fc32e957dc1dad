import type { HeaderList } from './header-list.ts';

/**
 * The header section of a `Request` as a raw list. The platform lower-cases names, sorts them and joins lines of one name; fields
 * that must not be repeated are split again, so that a second `Authorization` is refused here as everywhere. Fields that the
 * platform itself adds about the client are left out.
 */
export function requestHeaders(headers: Headers, acceptEncoding: string | undefined): HeaderList {
  const list: string[] = [];
  const onPlatform = headers.has('cf-ray');
  for (const [name, value] of headers) {
    if (onPlatform && isPlatformField(name)) continue;
    const original = name === 'accept-encoding' && acceptEncoding !== undefined ? acceptEncoding : value;
    for (const line of linesOf(name, original)) list.push(name, asBytes(line));
  }
  return list;
}

/** The header section of a response as a raw list; each `Set-Cookie` stays a separate line. */
export function responseHeaders(headers: Headers): string[] {
  const list: string[] = [];
  for (const [name, value] of headers) {
    if (name !== 'set-cookie') list.push(name, asBytes(value));
  }
  for (const cookie of headers.getSetCookie()) list.push('set-cookie', asBytes(cookie));
  return list;
}

/** Converts a raw list to `Headers`, with repeated fields as separate lines. */
export function toHeaders(list: HeaderList): Headers {
  const headers = new Headers();
  for (let at = 0; at < list.length; at += 2) headers.append(list[at] ?? '', asText(list[at + 1] ?? ''));
  return headers;
}

/**
 * True for the fields with which Cloudflare describes the client; V2 receives only the fields that the setting `forwarded`
 * selects.
 */
function isPlatformField(name: string): boolean {
  return name.startsWith('cf-') || name === 'true-client-ip';
}

/** The boundary between two joined lines, found by the start of the second: a scheme, a media type, a length, a date. */
const LINE_BOUNDARIES: ReadonlyMap<string, RegExp> = new Map([
  ['authorization', /, (?=[A-Za-z][\w-]* )/],
  ['content-type', /, (?=[\w.+-]+\/[\w.+-]+)/],
  ['content-length', /, /],
  ['transfer-encoding', /, /],
  ['x-api-version', /, /],
]);

/** The boundary between two joined lines of cookies: a comma before the name of the next cookie (RFC 6265 §4.1.1). */
const COOKIE_BOUNDARY = /, (?=[\w!#$%&'*+.^`|~-]+=)/g;

function linesOf(name: string, value: string): readonly string[] {
  // RFC 9113 §8.2.3: after a comma, they would be a part of the cookie before them.
  if (name === 'cookie') return [value.replaceAll(COOKIE_BOUNDARY, '; ')];
  const boundary = LINE_BOUNDARIES.get(name);
  return boundary === undefined ? [value] : value.split(boundary);
}

const ASCII = /^[\t\x20-\x7e]*$/;
const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** The platform decodes the bytes of a value as UTF-8; the gateway expects one character per byte. */
function asBytes(text: string): string {
  // Bytes that are not valid UTF-8 are lost: U+FFFD stays in the value, and header validation refuses it.
  if (ASCII.test(text) || text.includes('\ufffd')) return text;
  let bytes = '';
  // One at a time: a field that is spread into arguments has more of them than a call may have.
  for (const byte of encoder.encode(text)) bytes += String.fromCharCode(byte);
  return bytes;
}

function asText(value: string): string {
  if (ASCII.test(value)) return value;
  return decoder.decode(Uint8Array.from(value, (unit) => unit.charCodeAt(0)));
}
