import type { HeaderList } from '../../http/header-list.ts';

/** What V2 said of its bytes and is not true of others (RFC 9530 §6.2), or was for its own framing. */
const BODY_FIELDS: ReadonlySet<string> = new Set([
  'content-encoding',
  'content-length',
  'content-md5',
  'content-digest',
  'digest',
  'repr-digest',
  'accept-ranges',
  'trailer',
]);

/**
 * The header fields of a response whose body was rewritten to `length` bytes. A strong entity tag becomes a weak one: two
 * bodies must not share a strong tag (RFC 9110 §8.8.1), and a conditional GET works with either.
 */
export function headersOfRewritten(headers: HeaderList, length: number): string[] {
  const kept: string[] = [];
  for (let at = 0; at < headers.length; at += 2) {
    const name = headers[at] ?? '';
    const value = headers[at + 1] ?? '';
    const lower = name.toLowerCase();
    if (BODY_FIELDS.has(lower)) continue;
    kept.push(name, lower === 'etag' && value.startsWith('"') ? `W/${value}` : value);
  }
  kept.push('Content-Length', String(length));
  return kept;
}
