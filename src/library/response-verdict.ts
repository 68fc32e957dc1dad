import type { ResponseNote } from '../migrate/decide-response.ts';
import type { ResponseRecord } from '../rewrite/response-rewrite.ts';
import type { PatchOperation } from '../rewrite/rewrite.ts';
import type { HeaderFields } from './header-fields.ts';

/** The outcome for one response; `verdict` tells them apart. */
export type ResponseVerdict = RewrittenResponseVerdict | UnchangedResponseVerdict;

/** A response whose body was edited. */
export interface RewrittenResponseVerdict {
  readonly verdict: 'rewritten';
  readonly status: number;
  /** The header fields for the client, with the new `Content-Length`. */
  readonly headers: HeaderFields;
  /** The body for the client. */
  readonly body: Uint8Array;
  /** At most 64 edits, in order, never with a value. */
  readonly edits: readonly ResponseRecord[];
  /** RFC 6902 patch from V2's body to the client's; empty if `omitted` is not 0, or if a text was replaced. */
  readonly patch: readonly PatchOperation[];
  /** Number of edits that were applied but are not in `edits`. */
  readonly omitted: number;
}

/** A response of which only header fields change, such as `Location`. */
export interface UnchangedResponseVerdict {
  readonly verdict: 'unchanged';
  readonly status: number;
  /** The header fields for the client. */
  readonly headers: HeaderFields;
  /** The body as V2 sent it; null if there is none. */
  readonly body: Uint8Array | null;
  /** Why a rule that concerns the response could not be applied; undefined if none does. */
  readonly note: ResponseNote | undefined;
}
