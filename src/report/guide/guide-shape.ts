import type { Entry } from '../../rewrite-log/entry.ts';
import type { GuideBody } from './guide-document.ts';
import { unreadNote } from './guide-evidence.ts';
import { counted } from '../text/number-text.ts';
import { sketchJson } from './json-sketch.ts';

/** Stands for the members of a body that were not recorded. */
export const OTHER_SHAPE = '…';

/** What identifies requests that are alike: the same members, edited in the same way; or without a body, or one that was not read. */
export function shapeKey({
  edits,
  attributes,
  bytesIn,
  note,
}: Pick<Entry, 'edits' | 'attributes' | 'bytesIn' | 'note'>): string {
  return JSON.stringify([edits, attributes ?? null, bytesIn > 0, unreadNote(note) ?? null]);
}

/** The number of requests of a shape, and whether the address is all that changes: of one that V2 was not seen to accept, only so far. */
export function shapeWords({
  count,
  moves,
  isVerified,
}: Pick<GuideBody, 'count' | 'moves' | 'isVerified'>): string {
  const words = `${counted(count, 'request')} like this.`;
  if (moves.length > 0) return words;
  return `${words} ${isVerified ? 'Only the address changes.' : 'The migration changes only the address.'}`;
}

/** Prints a request line and a sketch of its body; `further` is the pointer of a member that stands for others. */
export function printedRequest(
  head: string,
  members: readonly string[],
  further: string | undefined,
  wrapper = '',
): string {
  const shown = members.filter((member) => member !== '');
  return `${head}\n\n${sketchJson(further === undefined ? shown : [...shown, further], wrapper)}`;
}
