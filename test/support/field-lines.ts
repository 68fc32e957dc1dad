import * as fc from 'fast-check';
import { type RawHeaders, readFieldLines } from '../../src/http/raw-headers.ts';

const name = fc.constantFrom(
  'Host',
  'Content-Length',
  'content-type',
  'Connection',
  'Keep-Alive',
  'TE',
  'Trailer',
  'Transfer-Encoding',
  'X-Forwarded-For',
  'forwarded',
  'X-Api-Version',
  'X_Api_Version',
  'x-request-id',
  'Traceparent',
  'tracestate',
  'Content-Digest',
  'content-encoding',
  'Accept-Encoding',
  'X-Gone',
  'Authorization',
  'Expect',
  'Range',
  'If-Match',
  'x',
);
const value = fc.constantFrom(
  '',
  '1',
  'chunked',
  'keep-alive',
  'X-Gone',
  'close, keep-alive',
  'gzip, zstd',
  'W/"a"',
  'caf\u00e9 x',
);
const separator = fc.constantFrom(': ', ': ', ': ', ': ', ': ', ': ', ': ', ':', ':  ');
/** Lines that a client or a server may send, most of them written as `Name: value`. */
export const arbitraryLines = fc
  .array(fc.tuple(name, separator, value), { maxLength: 6 })
  .map((all) => linesOf(all.map((parts) => `${parts.join('')}\r\n`).join('')));

/** Reads the lines of a text, as they stand behind the first line of a message. */
export function linesOf(text: string): RawHeaders {
  const start = 'first line\r\n';
  const found = readFieldLines(start + text, start.length, Buffer.from(start + text, 'latin1'));
  if (found === undefined) throw new Error(`not lines: ${text}`);
  return found;
}
