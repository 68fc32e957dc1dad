import { type HeaderList, isFieldName, isFieldValue } from '../../../http/header-list.ts';
import { isConnectionField } from './request-section.ts';
import { STATIC_FIELDS } from './static-fields.ts';

/** The first index of each name of a field that both sides know. */
const NAME_INDEXES = new Map<string, number>();
/** The indexes of whole fields of the statuses that both sides know. */
const STATUS_INDEXES = new Map<string, number>();
for (const [at, [name, value]] of STATIC_FIELDS.entries()) {
  if (!NAME_INDEXES.has(name)) NAME_INDEXES.set(name, at + 1);
  if (name === ':status') STATUS_INDEXES.set(value, at + 1);
}
const STATUS_INDEX = NAME_INDEXES.get(':status') ?? 0;
/** The most bytes that a field takes beside its characters: a prefix, and two lengths. */
const FIELD_BYTES = 12;

let block = Buffer.allocUnsafeSlow(16 * 1024);

/**
 * Writes the fields of a response, or of its trailers where there is no status, as a block (RFC 7541) that has no effect on later ones:
 * what it costs to have the client remember fields is more than what it saves. Names are written in lower case, and fields of the
 * connection left out. The block is valid until the next call; undefined when a field cannot be written.
 */
export function writeBlock(status: number | undefined, fields: HeaderList): Buffer | undefined {
  let at = status === undefined ? 0 : writeStatus(String(status));
  for (let field = 0; field < fields.length; field += 2) {
    const given = fields[field] ?? '';
    const value = fields[field + 1] ?? '';
    if (!isFieldName(given) || !isFieldValue(value)) return undefined;
    const name = given.toLowerCase();
    if (name === 'te' || isConnectionField(name)) continue;
    makeRoom(at, name.length + value.length + FIELD_BYTES);
    const index = NAME_INDEXES.get(name) ?? 0;
    at = writeNumber(at, index, 0x0f);
    if (index === 0) at = writeText(at, name);
    at = writeText(at, value);
  }
  return block.subarray(0, at);
}

function writeStatus(status: string): number {
  const index = STATUS_INDEXES.get(status);
  if (index === undefined) return writeText(writeNumber(0, STATUS_INDEX, 0x0f), status);
  block[0] = 0x80 | index;
  return 1;
}

/** Writes a text as it is (RFC 7541 §5.2). */
function writeText(start: number, text: string): number {
  const at = writeNumber(start, text.length, 0x7f);
  block.write(text, at, 'latin1');
  return at + text.length;
}

/** Writes a number behind bits that are 0 (RFC 7541 §5.1); `mask` has those that it may use of the first byte. */
function writeNumber(start: number, value: number, mask: number): number {
  if (value < mask) {
    block[start] = value;
    return start + 1;
  }
  block[start] = mask;
  let at = start + 1;
  let rest = value - mask;
  for (; rest >= 0x80; rest >>>= 7) block[at++] = (rest & 0x7f) | 0x80;
  block[at] = rest;
  return at + 1;
}

function makeRoom(at: number, bytes: number): void {
  if (at + bytes <= block.length) return;
  const larger = Buffer.allocUnsafeSlow(2 * (at + bytes));
  block.copy(larger, 0, 0, at);
  block = larger;
}
