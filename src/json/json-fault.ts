/** The reason why a text is not JSON, or is nested too deep. */
export type JsonFaultCode =
  | 'end'
  | 'value'
  | 'number'
  | 'literal'
  | 'string'
  | 'control'
  | 'escape'
  | 'utf-8'
  | 'key'
  | 'colon'
  | 'comma'
  | 'trailing'
  | 'depth';

/** Why a text is refused, and where: byte offset from 0, line and column (in characters) from 1. */
export interface JsonFault {
  readonly code: JsonFaultCode;
  /** A sentence for people; it contains nothing of the text. */
  readonly message: string;
  readonly offset: number;
  readonly line: number;
  readonly column: number;
}

const MESSAGES: Readonly<Record<JsonFaultCode, string>> = {
  end: 'the text ends in the middle of a value',
  value: 'a value is expected here',
  number: 'the number is not valid (RFC 8259 section 6)',
  literal: 'only true, false and null are literals',
  string: 'the string is not closed',
  control: 'a control character in a string must be escaped',
  escape: 'the escape is not one of RFC 8259 section 7',
  'utf-8': 'the bytes are not UTF-8',
  key: 'a member name in double quotes is expected here',
  colon: 'a colon is expected between a member name and its value',
  comma: 'a comma or a closing bracket is expected here',
  trailing: 'nothing but white space may follow the value',
  depth: 'the nesting is deeper than the limit',
};

/** Describes the fault `code` at byte `offset` of `bytes`. Lines are counted only here, on the error path. */
export function jsonFault(code: JsonFaultCode, bytes: Uint8Array, offset: number): JsonFault {
  let line = 1;
  let column = 1;
  for (let i = 0; i < offset; i += 1) {
    const byte = bytes[i] ?? 0;
    if (byte === 0x0a) {
      line += 1;
      column = 1;
    } else if ((byte & 0xc0) !== 0x80) {
      column += 1;
    }
  }
  return { code, message: MESSAGES[code], offset, line, column };
}
