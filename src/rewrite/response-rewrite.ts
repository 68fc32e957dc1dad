import type { Edit } from '../json/edit.ts';
import type { ResponseRuleName } from '../rules/rule.ts';
import type { DeprecatedAttribute } from './deprecated-attributes.ts';
import type { PatchOperation } from './rewrite.ts';

/** One edit of a response, for people: its change, rule and place. Never contains a value. */
export interface ResponseRecord {
  readonly change: string;
  readonly rule: ResponseRuleName;
  /** RFC 6901 pointer into V2's body: the place of the value, or of the one that a `map` replaced; absent if the gateway created the value, or changed a text in its place. */
  readonly from?: string;
  /** RFC 6901 pointer into the client's body; absent if the member is not in it. */
  readonly path?: string;
  /** The reason for a special case: `conflict` or `duplicate`. */
  readonly note?: string;
}

/** The data of the exchange that a response plan needs in addition to the body. */
export interface ResponseContext {
  readonly status: number;
  /** The attributes that V1 had deprecated and that the request used. */
  readonly deprecated: readonly DeprecatedAttribute[];
  /** Whether the request had the wrapper, so that pointers in errors lead into it. */
  readonly isWrapped: boolean;
}

/** A response that rules changed. `body` is for the client. */
export interface RewrittenResponse {
  readonly verdict: 'rewritten';
  readonly body: Uint8Array;
  /** Byte edits against V2's body, in order, not overlapping. */
  readonly edits: readonly Edit[];
  /** At most 64; further edits are applied but not recorded. */
  readonly records: readonly ResponseRecord[];
  /** Number of edits that were applied but not recorded. */
  readonly omitted: number;
  /**
   * From V2's body to the client's. Empty if an edit was not recorded, because an incomplete patch would be wrong, or if a
   * text was replaced, because it may contain values.
   */
  readonly patch: readonly PatchOperation[];
}

/** The outcome of rewriting one response. `body` is for the client; if `unchanged`, it is the argument itself. */
export type ResponseRewrite =
  | RewrittenResponse
  | {
      readonly verdict: 'unchanged';
      readonly body: Uint8Array;
      /** Why no rule could be applied. */
      readonly note?: 'response-malformed' | 'response-buffer-full' | 'response-no-resource';
    };
