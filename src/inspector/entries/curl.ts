import type { RequestView } from '../api.ts';

/** Fields that curl sets itself, or that are specific to the original request. */
const OMITTED_FIELDS: ReadonlySet<string> = new Set([
  'accept-encoding',
  'connection',
  'content-length',
  'expect',
  'host',
  'keep-alive',
  'traceparent',
  'tracestate',
  'transfer-encoding',
  'x-request-id',
]);

/** Maximum characters of a body within a command: shells and terminals limit the length of a line. */
const MAX_BODY_CHARACTERS = 16 * 1024;

/**
 * Prints a request as a curl command for a POSIX shell. `origin` is scheme, host and port. The key is `$API_KEY`, other masked
 * fields are left out, and where only the structure of a body is known, placeholders of the right types replace its values. A
 * large body is taken from a file, `body.json`.
 */
export function curlCommand(request: RequestView, origin: string): string {
  const { method, target, headers, body } = request;
  // Without --globoff curl would expand {a,b} and [1-9] in a URL into several URLs.
  const globbing = /[[\]{}]/.test(target) ? ' --globoff' : '';
  const parts = [`curl${globbing} -X ${quote(method)} ${quote(origin + target.replaceAll('…', ''))}`];
  for (const { name, value, masked } of headers) {
    const lower = name.toLowerCase();
    if (OMITTED_FIELDS.has(lower)) continue;
    if (lower === 'authorization') {
      parts.push('-H "Authorization: Bearer $API_KEY"');
      continue;
    }
    if (!masked && lower !== 'content-encoding') parts.push(`-H ${quote(`${name}: ${value}`)}`);
  }
  // Not --data-binary: a body that starts with @ would make the operator's curl send a local file.
  if (body.text !== undefined && (body.isFolded === true || body.text.length > MAX_BODY_CHARACTERS))
    parts.push('--data-binary @body.json');
  else if (body.text !== undefined)
    parts.push(`--data-raw ${quote(body.state === 'structure' ? placeholders(body.text) : body.text)}`);
  return parts.join(' \\\n  ');
}

function quote(text: string): string {
  return /^[\w./:=@%+,-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`;
}

/** Replaces the types in the text of a structure by values of these types. */
export function placeholders(structure: string): string {
  return structure
    .replaceAll('"‹number›"', '0')
    .replaceAll('"‹boolean›"', 'false')
    .replaceAll('"‹string›"', '"string"');
}
