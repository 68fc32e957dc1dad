import { hasCloseOption } from '../../http/fields.ts';
import { isVisible, readDecimal } from '../../http/header-list.ts';
import { type RawHeaders, findHeadEnd, readFieldLines } from '../../http/raw-headers.ts';
import { API_METHODS } from '../../http/request-head.ts';

/** A request of the most common kind: no body, one with a length, or one in chunks. */
export interface FastPathRequest {
  readonly method: string;
  readonly target: string;
  readonly lines: RawHeaders;
  /** Offset of the body in the bytes. */
  readonly bodyAt: number;
  /** Offset of the end of the request; beyond the bytes while part of the body is missing, `Infinity` for one in chunks. */
  readonly end: number;
  /** The client waits for `100 Continue` before it sends the body (RFC 9110 §10.1.1). */
  readonly expectsContinue: boolean;
  /** The client wants the connection closed after the response. */
  readonly isLast: boolean;
}

const VERSION = ' HTTP/1.1';

/**
 * Reads the request at the beginning of `bytes`; undefined when anything about it is unusual: a head that is incomplete or larger
 * than `headerBytes`, another version or method, a target in another form, another coding or expectation, or any error (RFC 9112).
 * Unusual requests are left to Node's own server.
 */
export function readFastPathRequest(bytes: Buffer, headerBytes: number): FastPathRequest | undefined {
  const headEnd = findHeadEnd(bytes, 0);
  if (headEnd < 0 || headEnd > headerBytes) return undefined;
  const text = bytes.toString('latin1', 0, headEnd + 2);
  const lineEnd = text.indexOf('\r\n');
  const line = readRequestLine(text, lineEnd);
  const lines = line === undefined ? undefined : readFieldLines(text, lineEnd + 2, bytes);
  if (line === undefined || lines === undefined) return undefined;
  let length: number | undefined;
  let isLast = false;
  let expectsContinue = false;
  for (let index = 0; index < lines.kinds.length; index += 1) {
    const use = lines.kinds[index];
    if (use === 'expect') {
      if (expectsContinue || lines.value(index).toLowerCase() !== '100-continue') return undefined;
      expectsContinue = true;
    } else if (use === 'connection') {
      isLast ||= hasCloseOption(lines.value(index));
    } else if (use === 'content-length') {
      if (length !== undefined) return undefined;
      length = readDecimal(lines.value(index));
      if (length === undefined) return undefined;
    } else if (use === 'transfer-encoding') {
      if (length !== undefined || lines.value(index).toLowerCase() !== 'chunked') return undefined;
      length = Number.POSITIVE_INFINITY;
    } else if (use === 'proxy-connection') {
      // Node treats it as Connection, which RFC 9112 (appendix C.2.2) does not.
      return undefined;
    }
  }
  const bodyAt = headEnd + 4;
  return {
    method: line.method,
    target: line.target,
    lines,
    bodyAt,
    end: bodyAt + (length ?? 0),
    expectsContinue,
    isLast,
  };
}

/** Reads the line of a request that ends at `end` (RFC 9112 §3); undefined for another version, method or form of target. */
function readRequestLine(
  text: string,
  end: number,
): { readonly method: string; readonly target: string } | undefined {
  const methodEnd = text.indexOf(' ');
  const targetEnd = end - VERSION.length;
  const method = text.slice(0, methodEnd);
  if (!text.startsWith(VERSION, targetEnd) || !API_METHODS.includes(method)) return undefined;
  const target = text.slice(methodEnd + 1, targetEnd);
  return target.startsWith('/') && isVisible(target) ? { method, target } : undefined;
}
