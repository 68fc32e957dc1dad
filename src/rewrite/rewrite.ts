import type { Edit } from '../json/edit.ts';
import type { RequestRuleName } from '../rules/rule.ts';

/** One thing that a rule did, for people: which change and rule, where in the V1 body and where in the V2 body. */
export interface EditRecord {
  readonly change: string;
  readonly rule: RequestRuleName;
  /** RFC 6901 pointer into the V1 body. */
  readonly from?: string;
  /** RFC 6901 pointer into the V2 body; absent when the member is not in it. */
  readonly path?: string;
  /** Why, where it was not the plain case: `conflict`, `sibling`, `duplicate`, `already-flat`, `byte-order-mark`. */
  readonly note?: string;
}

/** One operation of an RFC 6902 patch from the V1 body to the V2 body; `value` only where the gateway made it. */
export interface PatchOperation {
  readonly op: 'add' | 'remove' | 'move';
  readonly path: string;
  readonly from?: string;
  readonly value?: unknown;
}

/** Why a body is refused: a failure code (`malformed-json`, `duplicate-member`, `wrapper-not-object`, …), and where. */
export interface Refusal {
  readonly code: string;
  /** HTTP status to respond with. */
  readonly status: number;
  /** One sentence that names the thing, the value and the way out. Never holds a value of the body. */
  readonly detail: string;
  /** RFC 6901 pointer into the V1 body, where one is to blame. */
  readonly pointer?: string;
  /** Byte offset in the body, from 0, with line and column from 1, where one is to blame. */
  readonly position?: { readonly offset: number; readonly line: number; readonly column: number };
}

/** The outcome of rewriting one body. `body` is what goes to V2; for `unchanged` it is the very argument. */
export type Rewrite =
  | {
      readonly verdict: 'rewritten';
      readonly body: Uint8Array;
      /** Byte edits against the V1 body, in order, not overlapping. */
      readonly edits: readonly Edit[];
      readonly records: readonly EditRecord[];
      readonly patch: readonly PatchOperation[];
      /** Edits that were carried out beyond those written down; the patch is empty then. */
      readonly omitted: number;
    }
  | {
      readonly verdict: 'unchanged';
      readonly body: Uint8Array;
      readonly records: readonly EditRecord[];
      /** A policy that made it so, such as `flat: forward`. */
      readonly note?: string;
    }
  | { readonly verdict: 'refused'; readonly refusal: Refusal };
