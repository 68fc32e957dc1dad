import type { Edit } from '../json/edit.ts';
import type { ResponseRule } from '../rules/rule.ts';
import type { DeprecatedAttribute } from './deprecated-attributes.ts';

/** One edit of a response, for people: its change, rule and place. Never contains a value. */
export interface ResponseRecord {
  readonly change: string;
  readonly rule: ResponseRule['rule'];
  /** RFC 6901 pointer into V2's body: the source of the copy; absent if the gateway created or changed the value in its place. */
  readonly from?: string;
  /** RFC 6901 pointer into the client's body: the member that was added, or whose value was changed. */
  readonly path: string;
}

/** The data of the exchange that a response plan needs in addition to the body. */
export interface ResponseContext {
  readonly status: number;
  /** The deprecated attributes that the request used. */
  readonly deprecated: readonly DeprecatedAttribute[];
  /** Whether the request had the wrapper, so that pointers in errors lead into it. */
  readonly isWrapped: boolean;
}

/** The outcome of rewriting one response. `body` is for the client; if `unchanged`, it is the argument itself. */
export type ResponseRewrite =
  | {
      readonly verdict: 'rewritten';
      readonly body: Uint8Array;
      /** Byte edits against V2's body, in order, not overlapping. */
      readonly edits: readonly Edit[];
      /** At most 64; further edits are applied but not recorded. */
      readonly records: readonly ResponseRecord[];
    }
  | {
      readonly verdict: 'unchanged';
      readonly body: Uint8Array;
      /** Why no rule could be applied. */
      readonly note?: 'response-malformed' | 'response-buffer-full';
    };
