import { generalPointer } from '../json/json-pointer.ts';
import type { EditRecord } from '../rewrite/rewrite.ts';
import { movedPointer } from './capture/value-masks.ts';

/** Places of the members of a V1 body in the V2 body, according to the edits of the request; `*` for every index. */
export class MovedMembers {
  private readonly edits: readonly EditRecord[];
  private readonly removed: readonly string[];

  constructor(edits: readonly EditRecord[]) {
    this.edits = edits.map(({ change, rule, from, path, note }) => ({
      change,
      rule,
      ...(from === undefined ? {} : { from: generalPointer(from) }),
      ...(path === undefined ? {} : { path: generalPointer(path) }),
      ...(note === undefined ? {} : { note }),
    }));
    this.removed = this.edits.flatMap(({ from, path }) =>
      from === undefined || path !== undefined ? [] : [from],
    );
  }

  /** The pointer of the wrapper in the V1 body; empty for a flat body. */
  get wrapper(): string {
    return this.edits.find(({ rule, note }) => rule === 'unwrap' && note === undefined)?.from ?? '';
  }

  /** Place in the V2 body of the member at `pointer` of the V1 body; undefined when an edit removes it. */
  of(pointer: string): string | undefined {
    const general = generalPointer(pointer);
    if (this.removed.some((taken) => general === taken || general.startsWith(`${taken}/`))) return undefined;
    return movedPointer(general, this.edits);
  }
}
