import type { Edit } from '../json/edit.ts';
import type { RequestRuleName } from '../rules/rule.ts';

/** One edit, for people: its change and rule, and its place in the V1 body and in the V2 body. */
export interface EditRecord {
  readonly change: string;
  readonly rule: RequestRuleName;
  /** RFC 6901 pointer into the V1 body. */
  readonly from?: string;
  /** RFC 6901 pointer into the V2 body; absent if the member is not in it. */
  readonly path?: string;
  /** The reason for a special case: `conflict`, `sibling`, `duplicate`, `already-flat`, `byte-order-mark`. */
  readonly note?: string;
}

/**
 * One operation of an RFC 6902 patch from the V1 body to the V2 body, or from V2's response to the client's; `value` only if the
 * gateway created it.
 */
export interface PatchOperation {
  readonly op: 'add' | 'remove' | 'move' | 'copy';
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
