import type { HeaderList } from '../http/header-list.ts';

/**
 * The header section of a `Request` as a raw list. The platform lower-cases names, sorts them and joins lines of one name;
 * fields that must not be there twice are taken apart again, so that a second `Authorization` is refused here as
 * anywhere. What the platform itself adds about the client stays out.
 */
export function requestHeaders(headers: Headers, acceptEncoding: string | undefined): HeaderList {
  const list: string[] = [];
  const onPlatform = headers.has('cf-ray');
  for (const [name, value] of headers) {
    if (onPlatform && isPlatforms(name)) continue;
    const told = name === 'accept-encoding' && acceptEncoding !== undefined ? acceptEncoding : value;
    for (const line of linesOf(name, told)) list.push(name, asBytes(line));
  }
  return list;
}

/** The header section of a response as a raw list; each `Set-Cookie` stays a line of its own. */
export function responseHeaders(headers: Headers): string[] {
  const list: string[] = [];
  for (const [name, value] of headers) {
    if (name !== 'set-cookie') list.push(name, asBytes(value));
  }
  for (const cookie of headers.getSetCookie()) list.push('set-cookie', asBytes(cookie));
  return list;
}

/** A raw list as `Headers`, repeated fields as lines of their own. */
export function toHeaders(list: HeaderList): Headers {
  const headers = new Headers();
  for (let at = 0; at < list.length; at += 2) headers.append(list[at] ?? '', asText(list[at + 1] ?? ''));
  return headers;
}

/** What Cloudflare tells a worker of the client; V2 is told what the setting `forwarded` says, and no more. */
function isPlatforms(name: string): boolean {
  return name.startsWith('cf-') || name === 'true-client-ip';
}

/** The start of each of two joined lines: a scheme, a media type, a length, a date. */
const JOINTS: ReadonlyMap<string, RegExp> = new Map([
  ['authorization', /, (?=[A-Za-z][\w-]* )/],
  ['content-type', /, (?=[\w.+-]+\/[\w.+-]+)/],
  ['content-length', /, /],
  ['transfer-encoding', /, /],
  ['x-api-version', /, /],
]);

function linesOf(name: string, value: string): readonly string[] {
  const joint = JOINTS.get(name);
  return joint === undefined ? [value] : value.split(joint);
}

const ASCII = /^[\t\x20-\x7e]*$/;
const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** The platform reads bytes of a value as UTF-8; the gateway wants one character a byte. */
function asBytes(text: string): string {
  // Where bytes were no UTF-8 they are lost: U+FFFD is left in, and refused by whoever judges the head.
  if (ASCII.test(text) || text.includes('\ufffd')) return text;
  return String.fromCharCode(...encoder.encode(text));
}

function asText(value: string): string {
  if (ASCII.test(value)) return value;
  return decoder.decode(Uint8Array.from(value, (unit) => unit.charCodeAt(0)));
}
