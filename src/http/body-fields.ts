import { FieldNames, type HeaderList, isNamed, withoutFields } from './header-list.ts';

/** Fields that describe the bytes of one body or its framing, and do not apply to another body (RFC 9530 §6.2). */
const BODY_FIELDS = new FieldNames([
  'content-encoding',
  'content-length',
  'content-md5',
  'content-digest',
  'digest',
  'repr-digest',
  'accept-ranges',
  'trailer',
]);

/** True for the name, in any case, of a field that describes one body. */
export function isBodyField(name: string): boolean {
  return BODY_FIELDS.has(name);
}

/** Returns the fields of a response whose body was rewritten to `length` bytes. */
export function rewrittenResponseFields(headers: HeaderList, length: number): string[] {
  return [...fieldsOfAnotherBody(headers), 'Content-Length', String(length)];
}

/**
 * Returns the fields of a response that stands for another body than V2's. A strong entity tag becomes a weak one: two bodies must not
 * share a strong tag (RFC 9110 §8.8.1), and a conditional GET works with either.
 */
export function fieldsOfAnotherBody(headers: HeaderList): string[] {
  const kept = withoutFields(headers, BODY_FIELDS);
  for (let at = 0; at < kept.length; at += 2) {
    const value = kept[at + 1] ?? '';
    if (isNamed(kept[at], 'etag') && value.startsWith('"')) kept[at + 1] = `W/${value}`;
  }
  return kept;
}
