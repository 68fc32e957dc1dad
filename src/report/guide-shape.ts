import type { EditRecord } from '../rewrite/rewrite.ts';
import { sketchJson } from './json-sketch.ts';

/** Stands for the members of a body that were not recorded. */
export const OTHER_SHAPE = '…';

/** Identifies requests that are alike: the same members, edited in the same way. */
export function shapeKey(edits: readonly EditRecord[], attributes: readonly string[] | undefined): string {
  return JSON.stringify([edits, attributes ?? null]);
}

/** Prints a request line and a sketch of its body; `further` is a member that stands for others. */
export function printedRequest(
  head: string,
  members: readonly string[],
  further: string | undefined,
): string {
  const shown = members.filter((member) => member !== '');
  return `${head}\n\n${sketchJson(further === undefined ? shown : [...shown, `/${further}`])}`;
}
