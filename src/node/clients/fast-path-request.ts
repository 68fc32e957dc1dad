import { readFieldLines } from '../../http/field-lines.ts';
import type { HeaderList } from '../../http/header-list.ts';
import { API_METHODS } from '../../http/methods.ts';

/** A request of the kind that nearly all are: a small body with a length, or none. */
export interface FastPathRequest {
  readonly method: string;
  readonly target: string;
  readonly headers: HeaderList;
  /** Where its body begins in the bytes. */
  readonly bodyAt: number;
  /** Where it ends: beyond the bytes when some of its body is not there yet. */
  readonly end: number;
  /** The client wants the connection closed behind the response. */
  readonly isLast: boolean;
}

/** Bytes of a body that is taken in whole before anything else is done about the request. */
const BODY_LIMIT_BYTES = 64 * 1024;

const HEAD_END = Buffer.from('\r\n\r\n');
const REQUEST_LINE = new RegExp(String.raw`^(${API_METHODS.join('|')}) (/[\x21-\x7e]*) HTTP/1\.1$`);
const CLOSE_OPTION = /(?:^|,)[\t ]*close[\t ]*(?:,|$)/i;

/**
 * Reads the request at the beginning of `bytes`; undefined when anything about it is unusual: a head that is not whole or larger
 * than `headerBytes`, another version or method, a target in another form, chunks, an expectation, a large body, or a fault of
 * any kind (RFC 9112). What is unusual is for Node's own server to read and to judge.
 */
export function readFastPathRequest(bytes: Buffer, headerBytes: number): FastPathRequest | undefined {
  const headEnd = bytes.indexOf(HEAD_END);
  if (headEnd < 0 || headEnd > headerBytes) return undefined;
  const text = bytes.toString('latin1', 0, headEnd + 2);
  const lineEnd = text.indexOf('\r\n');
  const line = REQUEST_LINE.exec(text.slice(0, lineEnd));
  const headers = line === null ? undefined : readFieldLines(text, lineEnd + 2);
  if (line === null || headers === undefined) return undefined;
  let length: number | undefined;
  let isLast = false;
  for (let at = 0; at < headers.length; at += 2) {
    const name = headers[at] ?? '';
    const value = headers[at + 1] ?? '';
    // Five names are looked for; most others can be told by their length.
    switch (name.length) {
      case 6:
        if (name.toLowerCase() === 'expect') return undefined;
        break;
      case 10:
        if (name.toLowerCase() === 'connection') isLast ||= CLOSE_OPTION.test(value);
        break;
      case 14:
        if (name.toLowerCase() !== 'content-length') break;
        if (length !== undefined || !/^\d{1,5}$/.test(value)) return undefined;
        length = Number(value);
        if (length > BODY_LIMIT_BYTES) return undefined;
        break;
      case 16:
        // Node takes it for Connection, which RFC 9112 (appendix C.2.2) does not.
        if (name.toLowerCase() === 'proxy-connection') return undefined;
        break;
      case 17:
        if (name.toLowerCase() === 'transfer-encoding') return undefined;
        break;
      default:
    }
  }
  const bodyAt = headEnd + 4;
  return {
    method: line[1] ?? '',
    target: line[2] ?? '',
    headers,
    bodyAt,
    end: bodyAt + (length ?? 0),
    isLast,
  };
}
