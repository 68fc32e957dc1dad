import { findHeadEnd } from '../../http/raw-headers.ts';

const CR = 0x0d;
const LF = 0x0a;

/** The beginning of an incomplete request head: its cost is the bytes that it holds, and each byte is scanned once. */
export class PartialHead {
  /** When its first byte arrived, by the clock of `performance`. */
  readonly since = performance.now();
  private readonly limit: number;
  private bytes: Buffer;
  private length: number;

  /** `limit` is the maximum size of a head in bytes. */
  constructor(first: Buffer, limit: number) {
    this.limit = limit;
    // A copy: the received bytes may be part of a larger buffer.
    this.bytes = Buffer.allocUnsafeSlow(first.length);
    this.bytes.set(first);
    this.length = first.length;
  }

  /** Adds bytes; true once there is something to check: the end of the head, a bare LF, or more bytes than the limit. */
  add(chunk: Buffer): boolean {
    const from = this.length;
    this.length += chunk.length;
    if (this.length > this.bytes.length) {
      const larger = Buffer.allocUnsafeSlow(Math.max(this.length, this.bytes.length * 2));
      this.bytes.copy(larger, 0, 0, from);
      this.bytes = larger;
    }
    this.bytes.set(chunk, from);
    return this.length > this.limit || this.isCheckable(from);
  }

  /** All bytes received so far. */
  received(): Buffer {
    return this.bytes.subarray(0, this.length);
  }

  private isCheckable(from: number): boolean {
    const { bytes, length } = this;
    if (findHeadEnd(bytes.subarray(0, length), Math.max(0, from - 3)) >= 0) return true;
    for (let at = bytes.indexOf(LF, from); at >= 0 && at < length; at = bytes.indexOf(LF, at + 1)) {
      if (at === 0 || bytes[at - 1] !== CR) return true;
    }
    return false;
  }
}

/**
 * How to treat bytes that do not begin with a fast-path request: wait for the rest of the head, hand them to Node's own server,
 * or respond with 400.
 */
export type UnusualHead = 'partial' | 'unusual' | 'malformed';

/** Classifies the beginning of `bytes`, where it is not a fast-path request with a complete head. */
export function judgeUnusualHead(bytes: Buffer, headerBytes: number): UnusualHead {
  const text = bytes.toString('latin1', 0, headerBytes);
  const lineEnd = text.indexOf('\r\n', leadingLines(text));
  const line = text.slice(leadingLines(text), lineEnd < 0 ? undefined : lineEnd);
  if (lineEnd >= 0 && LOOSE_LINE.test(line)) return 'malformed';
  if (bytes.length > headerBytes || text.includes('\r\n\r\n')) return 'unusual';
  if (!(lineEnd < 0 ? PARTIAL_LINE : REQUEST_LINE).test(text.slice(0, lineEnd < 0 ? undefined : lineEnd)))
    return 'unusual';
  return /(?:^|[^\r])\n/.test(text) ? 'unusual' : 'partial';
}

/**
 * A request line that Node reads although RFC 9112 §3 allows one space between its parts, or the HTTP/2 preface, which is no
 * request.
 */
const LOOSE_LINE = /^(?:PRI |[A-Z-]+ {2,}\S+ +HTTP\/|[A-Z-]+ \S+ {2,}HTTP\/)/;
const REQUEST_LINE = /^[A-Z]{3,7} \/[\x21-\x7e]* HTTP\/1\.1$/;
const PARTIAL_LINE =
  /^[A-Z]{1,7}(?: (?:\/[\x21-\x7e]*(?: (?:H(?:T(?:T(?:P(?:\/(?:1(?:\.1?)?)?)?)?)?)?)?\r?)?)?)?$/;

/** Empty lines before a request are skipped (RFC 9112 §2.2). */
function leadingLines(text: string): number {
  let at = 0;
  while (text.startsWith('\r\n', at)) at += 2;
  return at;
}
