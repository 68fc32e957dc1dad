/** One edit of a body: a record for people, without any value. */
export interface RecordedEdit<Rule extends string> {
  readonly change: string;
  readonly rule: Rule;
  /** RFC 6901 pointer into the body before; absent if a rule made the value, or changed a text in place. */
  readonly from?: string;
  /** RFC 6901 pointer into the body after; absent if the member is no longer in it. */
  readonly path?: string;
  /** The reason for a special case. */
  readonly note?: string;
}

/**
 * One operation of an RFC 6902 patch from the V1 body to the V2 body, or from V2's response to the client's. `value` is one that the
 * gateway created, or the replacement from a map, which reveals the client's value.
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

/** The change and the rule that a record names. */
export interface RuleName<Rule extends string = string> {
  readonly change: string;
  readonly rule: Rule;
}

/** The effect of the rules on a body: for people, and as a patch. */
export interface Records<Rule extends string = string> {
  readonly records: readonly RecordedEdit<Rule>[];
  /** Empty if any edit was omitted, because an incomplete patch would be wrong. */
  readonly patch: readonly PatchOperation[];
  /** Number of edits that were applied but not recorded. */
  readonly omitted: number;
}

/** An attribute of a V1 request that V2 no longer has under that name or in that place. */
export interface DeprecatedAttribute {
  /** Member names joined by dots, inside the wrapper: `property.suburb`. */
  readonly attribute: string;
  /** A sentence for people: how the attribute changed. */
  readonly message: string;
}
