const HEAD_END = Buffer.from('\r\n\r\n');
const CR = 0x0d;
const LF = 0x0a;

/** The beginning of a request's head that is not whole yet: it costs what it holds, and each byte is looked at once. */
export class PartialHead {
  /** When its first byte was there, by the clock of `performance`. */
  readonly since = performance.now();
  private readonly limit: number;
  private bytes: Buffer;
  private length: number;

  /** `limit` is how many bytes a head may have. */
  constructor(first: Buffer, limit: number) {
    this.limit = limit;
    // A copy of its own: what was received may stand in a larger buffer.
    this.bytes = Buffer.allocUnsafeSlow(first.length);
    this.bytes.set(first);
    this.length = first.length;
  }

  /** Adds bytes; true once there is something to judge: the end of the head, a bare LF, or more than a head may have. */
  add(chunk: Buffer): boolean {
    const from = this.length;
    this.length += chunk.length;
    if (this.length > this.bytes.length) {
      const larger = Buffer.allocUnsafeSlow(Math.max(this.length, this.bytes.length * 2));
      this.bytes.copy(larger, 0, 0, from);
      this.bytes = larger;
    }
    this.bytes.set(chunk, from);
    return this.length > this.limit || this.isToJudge(from);
  }

  /** Everything that was received. */
  received(): Buffer {
    return this.bytes.subarray(0, this.length);
  }

  private isToJudge(from: number): boolean {
    const { bytes, length } = this;
    if (bytes.subarray(Math.max(0, from - 3), length).includes(HEAD_END)) return true;
    for (let at = bytes.indexOf(LF, from); at >= 0 && at < length; at = bytes.indexOf(LF, at + 1)) {
      if (at === 0 || bytes[at - 1] !== CR) return true;
    }
    return false;
  }
}

/** What comes of bytes that do not begin with a usual request: the rest of the head, Node's own server, or a 400. */
export type UnusualHead = 'partial' | 'unusual' | 'malformed';

/** Names what `bytes` begin with, where it is no usual request whose head is whole. */
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

/** A line that Node reads though RFC 9112 §3 has one space between its parts, and the preface of HTTP/2, which is no request. */
const LOOSE_LINE = /^(?:PRI |[A-Z-]+ {2,}\S+ +HTTP\/|[A-Z-]+ \S+ {2,}HTTP\/)/;
const REQUEST_LINE = /^[A-Z]{3,7} \/[\x21-\x7e]* HTTP\/1\.1$/;
const PARTIAL_LINE =
  /^[A-Z]{1,7}(?: (?:\/[\x21-\x7e]*(?: (?:H(?:T(?:T(?:P(?:\/(?:1(?:\.1?)?)?)?)?)?)?)?\r?)?)?)?$/;

/** Empty lines in front of a request are skipped (RFC 9112 §2.2). */
function leadingLines(text: string): number {
  let at = 0;
  while (text.startsWith('\r\n', at)) at += 2;
  return at;
}
