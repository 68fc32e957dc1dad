import type { Edit } from '../json/edit.ts';
import type { RequestRuleName } from '../rules/rule.ts';

/** One edit, for people: its change and rule, and its place in the V1 request and in the V2 request. */
export interface EditRecord {
  readonly change: string;
  readonly rule: RequestRuleName;
  /** RFC 6901 pointer into the V1 body; for a query parameter a question mark and its name. */
  readonly from?: string;
  /** RFC 6901 pointer into the V2 body, or the name of a parameter like `from`; absent if V2 does not get it. */
  readonly path?: string;
  /** The reason for a special case: `conflict`, `sibling`, `duplicate`, `already-flat`, `byte-order-mark`. */
  readonly note?: string;
}

/** True for an edit of the query, whose places are parameters. */
export function isOfQuery({ from }: EditRecord): boolean {
  return from?.startsWith('?') === true;
}

/**
 * One operation of an RFC 6902 patch from the V1 body to the V2 body, or from V2's response to the client's. `value` is one that the
 * gateway created, or the value of a map that took the place of the client's, which says what that was.
 */
export interface PatchOperation {
  readonly op: 'add' | 'remove' | 'move' | 'copy' | 'replace';
  readonly path: string;
  readonly from?: string;
  readonly value?: unknown;
}

/** Why a body is refused: a failure code (`malformed-json`, `duplicate-member`, `wrapper-not-object`, …), and the position. */
export interface Refusal {
  readonly code: string;
  /** HTTP status of the response. */
  readonly status: number;
  /** One sentence that says which part is wrong and how to fix it. Never contains a value of the body. */
  readonly detail: string;
  /** RFC 6901 pointer into the V1 body, if a member is the cause. */
  readonly pointer?: string;
  /** Byte offset in the body, from 0, with line and column from 1, if a position is the cause. */
  readonly position?: { readonly offset: number; readonly line: number; readonly column: number };
  /** What is wrong at the position, in a few words. */
  readonly reason?: string;
}

/** The outcome of rewriting one body. `body` is for V2; if `unchanged`, it is the argument itself. */
export type Rewrite =
  | {
      readonly verdict: 'rewritten';
      readonly body: Uint8Array;
      /** Byte edits against the V1 body, in order, not overlapping. */
      readonly edits: readonly Edit[];
      readonly records: readonly EditRecord[];
      readonly patch: readonly PatchOperation[];
      /** Edits applied in addition to the recorded ones; if there are any, the patch is empty. */
      readonly omitted: number;
    }
  | {
      readonly verdict: 'unchanged';
      readonly body: Uint8Array;
      readonly records: readonly EditRecord[];
      /** The reason, such as the policy `flat: forward`. */
      readonly note?: string;
    }
  | { readonly verdict: 'refused'; readonly refusal: Refusal };
