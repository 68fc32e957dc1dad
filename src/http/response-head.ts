import type { RawHeaders } from './raw-headers.ts';
import { endToEnd, HOP_BY_HOP_KINDS, namesOthers, type AddedFields, type HopFields } from './fields.ts';
import { type HeaderList, isFieldValue, readDecimal } from './header-list.ts';

/** The head of a final response (RFC 9110 §15). */
export interface ResponseHead {
  readonly status: number;
  /** The reason phrase; undefined for the standard one. */
  readonly reason: string | undefined;
  readonly headers: HeaderList;
  /** True for a response that came over HTTP/1.0. */
  readonly is10?: boolean | undefined;
  /** The lines that most of the fields come from, if they were read as lines: these need no second check when written. */
  readonly lines: RawHeaders | undefined;
  /** All lines of these fields in latin1, if known; they have been checked. */
  readonly fieldText?: string | undefined;
  /** The head without hop-by-hop fields and with the gateway's, as received lines; undefined or absent if more has to change. */
  forwarded?(hop: HopFields): ResponseHead | undefined;
}

/** The head of a final response as read. Its fields are listed on demand. */
export class ReadResponseHead implements ResponseHead {
  readonly status: number;
  readonly reason: string;
  readonly lines: RawHeaders;
  readonly is10: boolean;

  constructor(status: number, reason: string, lines: RawHeaders, is10 = false) {
    this.status = status;
    this.reason = reason;
    this.lines = lines;
    this.is10 = is10;
  }

  get headers(): HeaderList {
    return this.lines.fields;
  }

  forwarded(hop: HopFields): ResponseHead | undefined {
    const { status, lines } = this;
    // Its length is dropped.
    if (status === 204 || !lines.arePlain) return undefined;
    let isWhole = true;
    let hasDate = false;
    for (let index = 0; index < lines.kinds.length; index += 1) {
      const kind = lines.kinds[index] ?? 'other';
      if (kind === 'trailer' || (kind === 'connection' && namesOthers(lines.value(index)))) return undefined;
      hasDate ||= kind === 'date';
      isWhole &&= !HOP_BY_HOP_KINDS.has(kind);
    }
    return new ForwardedHead(this, isWhole, hop.ofResponse(hasDate, this.is10));
  }
}

class ForwardedHead implements ResponseHead {
  readonly status: number;
  readonly reason: string;
  readonly lines: RawHeaders;
  /** True if all fields are forwarded. */
  private readonly isWhole: boolean;
  private readonly added: AddedFields;

  constructor({ status, reason, lines }: ReadResponseHead, isWhole: boolean, added: AddedFields) {
    this.status = status;
    this.reason = reason;
    this.lines = lines;
    this.isWhole = isWhole;
    this.added = added;
  }

  get headers(): HeaderList {
    const { fields } = this.lines;
    return [...(this.isWhole ? fields : endToEnd(fields, true)), ...this.added.fields];
  }

  get fieldText(): string | undefined {
    const kept = this.lines.filter((kind) => !HOP_BY_HOP_KINDS.has(kind));
    return kept === undefined ? undefined : kept + this.added.text;
  }
}

/** The first line of a response. */
export interface StatusLine {
  /** From 100 to 599, or to 999 if it was read leniently. */
  readonly status: number;
  /** Empty if the server sends none. */
  readonly reason: string;
  /** False for HTTP/1.0, which closes the connection after the response. */
  readonly isKept: boolean;
}

const VERSION_1_1 = 'HTTP/1.1 ';
const VERSION_1_0 = 'HTTP/1.0 ';
const REASON_AT = 'HTTP/1.1 200'.length;

/**
 * Reads a status line without its CRLF (RFC 9112 §4); reason phrases are free text. Undefined for any other line, and for a status of a
 * class that RFC 9110 §15 does not define: clients would treat it as a 5xx.
 */
export function readStatusLine(line: string): StatusLine | undefined {
  const isKept = line.startsWith(VERSION_1_1);
  if (!isKept && !line.startsWith(VERSION_1_0)) return undefined;
  const status = readDecimal(line.slice(VERSION_1_1.length, REASON_AT));
  if (status === undefined || status < 100 || status > 599) return undefined;
  if (line.length === REASON_AT) return { status, reason: '', isKept };
  const reason = line.slice(REASON_AT + 1);
  return line[REASON_AT] === ' ' && isFieldValue(reason) ? { status, reason, isKept } : undefined;
}
