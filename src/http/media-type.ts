/** The class of a `Content-Type`, as far as rewriting JSON is concerned. */
export type JsonReading =
  /** Absent, or a media type that is not JSON. */
  | 'other'
  /** JSON in UTF-8. */
  | 'json'
  /** JSON in another charset. */
  | 'charset'
  /** Not a media type by RFC 9110 §8.3.1, yet some parsers would treat it as JSON (CVE-2023-51701). */
  | 'ambiguous';

/** Reads a `Content-Type` strictly: `application/json` and `application/*+json` are JSON. */
export function readJsonType(value: string | undefined): JsonReading {
  if (value === undefined) return 'other';
  if (value === 'application/json') return 'json';
  if (!mediaType.test(value)) return !otherType.test(value) && /json/i.test(value) ? 'ambiguous' : 'other';
  const end = value.indexOf(';');
  const essence = (end === -1 ? value : value.slice(0, end)).trim().toLowerCase();
  if (!isJson(essence)) return 'other';
  return end === -1 || charsetsAreUtf8(value.slice(end)) ? 'json' : 'charset';
}

const token = String.raw`[!#$%&'*+.^_\`|~0-9A-Za-z-]+`;
const quoted = String.raw`"(?:[\t \x21\x23-\x5b\x5d-\x7e\x80-\xff]|\\[\t \x21-\x7e\x80-\xff])*"`;
/** White space belongs to the semicolon or the parameter before it, never to either: read two ways, a run of `; ` costs 2^n. */
const mediaType = new RegExp(
  `^${token}/${token}[ \\t]*(?:;[ \\t]*(?:${token}=(?:${token}|${quoted})[ \\t]*)?)*$`,
);
/** Whatever its parameters look like, every parser that finds a type in it finds this one, and it is not JSON. */
const otherType = new RegExp(
  `^(?!application/(?:[^;]*\\+)?json[ \\t]*;)${token}/${token}[ \\t]*;[^,]*$`,
  'i',
);
const parameter = new RegExp(`;[ \\t]*(${token})=(${token}|${quoted})`, 'g');

function isJson(essence: string): boolean {
  return essence === 'application/json' || (essence.startsWith('application/') && essence.endsWith('+json'));
}

/** US-ASCII is a subset of UTF-8. Every charset counts, because parsers differ in which of two they use. */
function charsetsAreUtf8(parameters: string): boolean {
  for (const [, name, value] of parameters.matchAll(parameter)) {
    if (name?.toLowerCase() !== 'charset') continue;
    const charset = (value ?? '').replaceAll(/["\\]/g, '').toLowerCase();
    if (charset !== 'utf-8' && charset !== 'utf8' && charset !== 'us-ascii') return false;
  }
  return true;
}
