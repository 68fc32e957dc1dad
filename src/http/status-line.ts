import { readDecimal } from './decimal.ts';
import { isFieldValue } from './field-characters.ts';

/** The first line of a response. */
export interface StatusLine {
  /** From 100 to 599. */
  readonly status: number;
  /** Empty where the server sends none. */
  readonly reason: string;
  /** False for HTTP/1.0, which closes the connection after the response. */
  readonly isKept: boolean;
}

const VERSION_1_1 = 'HTTP/1.1 ';
const VERSION_1_0 = 'HTTP/1.0 ';
const REASON_AT = 'HTTP/1.1 200'.length;

/**
 * Reads a status line without its CRLF (RFC 9112 §4); reason phrases are free text. Undefined for any other line, and for a status
 * that RFC 9110 §15 does not define the class of: a client would take it for a 5xx.
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
