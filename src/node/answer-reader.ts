import { readFieldLines } from '../http/field-lines.ts';
import type { HeaderList } from '../http/header-list.ts';

/** Who is told of the answers on a connection. */
export interface AnswerEvents {
  information(status: number, headers: HeaderList): void;
  head(status: number, reason: string, headers: HeaderList): void;
  data(chunk: Buffer): void;
  /** `keptFor` tells for how many milliseconds another request may follow on the connection; 0 when none may. */
  complete(trailers: HeaderList, keptFor: number): void;
}

/** What a head may measure. */
export interface AnswerLimits {
  readonly headerBytes: number;
  readonly headerCount: number;
}

/** Why bytes are not an answer. */
export type AnswerFault =
  | 'head too large'
  | 'too many header fields'
  | 'not HTTP'
  | 'upgrade'
  | 'framing'
  | 'chunk';

type State = 'idle' | 'head' | 'length' | 'chunk-size' | 'chunk' | 'chunk-end' | 'trailers' | 'close';

const HEAD_END = Buffer.from('\r\n\r\n');
const noHeaders: HeaderList = [];
/** RFC 9112 §4; reason phrases are what they are. */
const statusLine = /^HTTP\/1\.([01]) ([1-9]\d\d)(?: ([\t\x20-\x7e\x80-\xff]*))?$/;
const chunkSize = /^([0-9A-Fa-f]{1,12})[\t ]*(?:;[\t\x20-\x7e\x80-\xff]*)?$/;
/** Milliseconds by which a connection is given up before the server says it will: a request may be on its way by then. */
const early = 1000;
/** Bytes of a line that gives the size of a chunk. */
const chunkLine = 4096;

/**
 * Reads the answers on one connection to a server, one request at a time (RFC 9112), as strictly as what they were asked by is
 * checked: a length is given once and is a number, or there are chunks, never both.
 */
export class AnswerReader {
  /** True when the answer ends with the connection. */
  get isUntilClose(): boolean {
    return this.state === 'close';
  }

  private readonly limits: AnswerLimits;
  private readonly events: AnswerEvents;
  private state: State = 'idle';
  private isForHead = false;
  private keptFor = 0;
  /** Bytes of the body or of a chunk that are still to come. */
  private left = 0;
  /** The beginning of a head or of a line that is not whole yet. */
  private rest: Buffer | undefined = undefined;

  constructor(limits: AnswerLimits, events: AnswerEvents) {
    this.limits = limits;
    this.events = events;
  }

  /** The next answer is to a request with this method. */
  expect(method: string): void {
    this.state = 'head';
    this.isForHead = method === 'HEAD';
  }

  /**
   * Takes in what came; returns what is wrong with it, if anything, and tells nothing more then. What is told is a view of
   * `chunk`, good until this returns.
   */
  read(chunk: Buffer): AnswerFault | undefined {
    let bytes = chunk;
    if (this.rest !== undefined) {
      bytes = Buffer.concat([this.rest, chunk]);
      this.rest = undefined;
    }
    let at = 0;
    while (at < bytes.length) {
      const next = this.step(bytes, at);
      if (typeof next === 'string') return next;
      if (next < 0) {
        // A copy: the bytes are the caller's again when this returns.
        this.rest = Buffer.from(bytes.subarray(at));
        return undefined;
      }
      at = next;
    }
    return undefined;
  }

  /** Reads one part from `at` on: returns where the next begins, or -1 when there is not enough of it. */
  private step(bytes: Buffer, at: number): number | AnswerFault {
    switch (this.state) {
      case 'idle':
        // Bytes that nobody asked for must not be taken for the answer to the next request.
        return 'framing';
      case 'head':
        return this.head(bytes, at);
      case 'length':
      case 'chunk':
      case 'close':
        return this.body(bytes, at);
      case 'chunk-size':
        return this.size(bytes, at);
      case 'chunk-end':
        if (bytes.length < at + 2) return -1;
        if (bytes[at] !== 0x0d || bytes[at + 1] !== 0x0a) return 'chunk';
        this.state = 'chunk-size';
        return at + 2;
      case 'trailers':
        return this.trailers(bytes, at);
    }
  }

  private head(bytes: Buffer, at: number): number | AnswerFault {
    const end = bytes.indexOf(HEAD_END, at);
    if ((end < 0 ? bytes.length : end) - at > this.limits.headerBytes) return 'head too large';
    if (end < 0) return -1;
    const text = bytes.toString('latin1', at, end + 2);
    const lineEnd = text.indexOf('\r\n');
    const line = statusLine.exec(text.slice(0, lineEnd));
    if (line === null) return 'not HTTP';
    const headers = this.fields(text, lineEnd + 2);
    if (typeof headers === 'string') return headers;
    const status = Number(line[2]);
    if (status === 101) return 'upgrade';
    if (status < 200) {
      this.events.information(status, headers);
      return end + 4;
    }
    const fault = this.frame(status, line[1] === '1', headers);
    if (fault !== undefined) return fault;
    this.events.head(status, line[3] ?? '', headers);
    if (this.state === 'length' && this.left === 0) this.finish(noHeaders);
    return end + 4;
  }

  /** The fields of a head or of trailers, as they are written. */
  private fields(text: string, from: number): string[] | AnswerFault {
    const list = readFieldLines(text, from);
    if (list === undefined) return 'not HTTP';
    return list.length > this.limits.headerCount * 2 ? 'too many header fields' : list;
  }

  /** Finds where the body ends (RFC 9112 §6.3). */
  private frame(status: number, isKept: boolean, headers: HeaderList): AnswerFault | undefined {
    let length: string | undefined;
    let coding: string | undefined;
    this.keptFor = isKept ? Number.POSITIVE_INFINITY : 0;
    for (let at = 0; at < headers.length; at += 2) {
      const name = headers[at] ?? '';
      // Most names can be told by their length.
      if (name.length !== 10 && name.length !== 14 && name.length !== 17) continue;
      const lower = name.toLowerCase();
      const value = headers[at + 1] ?? '';
      if (lower === 'connection') {
        if (/(?:^|[,\t ])close(?:$|[,\t ])/i.test(value)) this.keptFor = 0;
      } else if (lower === 'keep-alive') {
        const seconds = /(?:^|[,\t ])timeout=(\d{1,6})(?:$|[,\t ])/i.exec(value)?.[1];
        if (seconds !== undefined) this.keptFor = Math.min(this.keptFor, Number(seconds) * 1000 - early);
      } else if (lower === 'content-length') {
        if (length !== undefined || !/^\d{1,15}$/.test(value)) return 'framing';
        length = value;
      } else if (lower === 'transfer-encoding') {
        if (coding !== undefined) return 'framing';
        coding = value.toLowerCase();
      }
    }
    if (coding !== undefined && (length !== undefined || !isKept)) return 'framing';
    if (this.isForHead || status === 204 || status === 304) {
      this.state = 'length';
      this.left = 0;
    } else if (coding !== undefined) {
      if (coding !== 'chunked') return 'framing';
      this.state = 'chunk-size';
    } else if (length === undefined) {
      this.state = 'close';
      this.keptFor = 0;
    } else {
      this.state = 'length';
      this.left = Number(length);
    }
    return undefined;
  }

  private body(bytes: Buffer, at: number): number {
    const available = bytes.length - at;
    if (this.state === 'close') {
      this.events.data(at === 0 ? bytes : bytes.subarray(at));
      return bytes.length;
    }
    const length = Math.min(available, this.left);
    this.left -= length;
    const end = at + length;
    const part = length === bytes.length ? bytes : bytes.subarray(at, end);
    const { state } = this;
    if (state === 'chunk' && this.left === 0) this.state = 'chunk-end';
    this.events.data(part);
    if (state === 'length' && this.left === 0 && this.state === 'length') this.finish(noHeaders);
    return end;
  }

  private size(bytes: Buffer, at: number): number | AnswerFault {
    const end = bytes.indexOf('\r\n', at, 'latin1');
    if ((end < 0 ? bytes.length : end) - at > chunkLine) return 'chunk';
    if (end < 0) return -1;
    const size = chunkSize.exec(bytes.toString('latin1', at, end))?.[1];
    if (size === undefined) return 'chunk';
    this.left = Number.parseInt(size, 16);
    this.state = this.left === 0 ? 'trailers' : 'chunk';
    return end + 2;
  }

  private trailers(bytes: Buffer, at: number): number | AnswerFault {
    if (bytes.length < at + 2) return -1;
    if (bytes[at] === 0x0d && bytes[at + 1] === 0x0a) {
      this.finish(noHeaders);
      return at + 2;
    }
    const end = bytes.indexOf(HEAD_END, at);
    if ((end < 0 ? bytes.length : end) - at > this.limits.headerBytes) return 'head too large';
    if (end < 0) return -1;
    const headers = this.fields(bytes.toString('latin1', at, end + 2), 0);
    if (typeof headers === 'string') return headers;
    this.finish(headers);
    return end + 4;
  }

  private finish(trailers: HeaderList): void {
    this.state = 'idle';
    this.events.complete(trailers, this.keptFor);
  }
}
