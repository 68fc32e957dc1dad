import type { Edit } from '../json/edit.ts';
import type { ResponseRule } from '../rules/rule.ts';
import type { DeprecatedAttribute } from './deprecated-attributes.ts';

/** One thing that a response rule did, for people: which change and rule, and where. Never holds a value. */
export interface ResponseRecord {
  readonly change: string;
  readonly rule: ResponseRule['rule'];
  /** RFC 6901 pointer into V2's body: what was copied; absent where the gateway made or changed the value in its place. */
  readonly from?: string;
  /** RFC 6901 pointer into the client's body: what was added, or whose value was changed. */
  readonly path: string;
}

/** What a response plan has to know of the exchange beside the body. */
export interface ResponseContext {
  readonly status: number;
  /** The deprecated attributes that the request used. */
  readonly deprecated: readonly DeprecatedAttribute[];
  /** Whether the request had the wrapper, so that pointers in errors lead into it. */
  readonly isWrapped: boolean;
}

/** The outcome of rewriting one response. `body` is what goes to the client; for `unchanged` it is the very argument. */
export type ResponseRewrite =
  | {
      readonly verdict: 'rewritten';
      readonly body: Uint8Array;
      /** Byte edits against V2's body, in order, not overlapping. */
      readonly edits: readonly Edit[];
      /** At most 64; the rest is done all the same. */
      readonly records: readonly ResponseRecord[];
    }
  | {
      readonly verdict: 'unchanged';
      readonly body: Uint8Array;
      /** Why no rule could be applied: `response-malformed`. */
      readonly note?: string;
    };
