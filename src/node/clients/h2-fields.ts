import { isFieldName, isFieldValue } from '../../http/field-lines.ts';
import type { HeaderList } from '../../http/header-list.ts';

/** Connection-specific fields, which HTTP/2 forbids (RFC 9113 §8.2.2). */
const CONNECTION_FIELDS: ReadonlySet<string> = new Set([
  'connection',
  'http2-settings',
  'keep-alive',
  'proxy-connection',
  'te',
  'transfer-encoding',
  'upgrade',
]);

/**
 * Returns the header fields of a request without the pseudo-header fields. The parts of a cookie are joined again, since HTTP/1.1
 * knows no split ones (RFC 9113 §8.2.3). An authority beside a different `host` stays as a second `host`, which is refused.
 */
export function requestFields(raw: HeaderList): string[] {
  const fields: string[] = [];
  let authority: string | undefined;
  let host: string | undefined;
  let cookie = -1;
  for (let at = 0; at < raw.length; at += 2) {
    const name = raw[at] ?? '';
    const value = raw[at + 1] ?? '';
    if (name === ':authority') authority = value;
    if (name.startsWith(':')) continue;
    if (name === 'cookie' && cookie !== -1) {
      fields[cookie] += `; ${value}`;
      continue;
    }
    fields.push(name, value);
    if (name === 'host') host = value;
    if (name === 'cookie') cookie = fields.length - 1;
  }
  if (authority !== undefined && authority !== host) fields.push('host', authority);
  return fields;
}

/** Whether no value begins or ends with white space, which makes a request malformed (RFC 9113 §8.2.1). */
export function isWellFormed(raw: HeaderList): boolean {
  for (let at = 1; at < raw.length; at += 2) {
    if (/^[\t ]|[\t ]$/.test(raw[at] ?? '')) return false;
  }
  return true;
}

/** Returns fields for HTTP/2, in lower case and in order; undefined when one cannot be written. */
export function responseFields(fields: HeaderList): string[] | undefined {
  const written: string[] = [];
  for (let at = 0; at < fields.length; at += 2) {
    const name = (fields[at] ?? '').toLowerCase();
    const value = fields[at + 1] ?? '';
    if (!isFieldName(name) || !isFieldValue(value)) return undefined;
    if (!CONNECTION_FIELDS.has(name)) written.push(name, value);
  }
  return written;
}

/**
 * Returns fields in the form that Node accepts for trailers and interim responses: values by name. A field called `__proto__` is
 * a name like any other.
 */
export function valuesByName(fields: HeaderList): Record<string, string[]> {
  const values: Record<string, string[]> = Object.create(null);
  for (let at = 0; at < fields.length; at += 2) (values[fields[at] ?? ''] ??= []).push(fields[at + 1] ?? '');
  return values;
}
