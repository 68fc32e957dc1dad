import type { OpenedMembers } from '../json/scanner.ts';

/** The members that rules open, being collected. */
export interface MembersToOpen extends OpenedMembers {
  readonly objects: boolean[];
  readonly arrays: boolean[];
}

/** Opens the members on the path to an object, whose segments are ids of names and -1 for `*`. */
export function openPath({ objects, arrays }: MembersToOpen, path: readonly number[]): void {
  for (const [at, id] of path.entries()) {
    if (id >= 0) (path[at + 1] === -1 ? arrays : objects)[id] = true;
  }
}

/** Opens the member `to` as the member `from` is opened: a rule renames or copies it. */
export function openLike({ objects, arrays }: MembersToOpen, to: number, from: number): void {
  if (objects[from] === true) objects[to] = true;
  if (arrays[from] === true) arrays[to] = true;
}
