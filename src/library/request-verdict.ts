import type { ApiVersion } from '../migrate/api-version.ts';
import type { FailurePosition } from '../migrate/failure.ts';
import type { EditRecord, PatchOperation } from '../rewrite/rewrite.ts';
import type { HeaderFields } from './header-fields.ts';

/** The outcome for one request; `verdict` tells them apart. */
export type RequestVerdict = RewrittenRequest | UnchangedRequest | PassedRequest | RefusedRequest;

/** A V1 request as V2 must receive it. */
export type MigratedRequest = RewrittenRequest | UnchangedRequest;

/** The parts of a migrated request that do not depend on its verdict. */
export interface MigratedRequestHead {
  readonly method: string;
  /** The raw target at V2: path and query. */
  readonly target: string;
  /**
   * The header fields to send. `Host`, hop-by-hop fields and the framing (`Content-Length`, `Transfer-Encoding`) are left to the
   * sender.
   */
  readonly headers: HeaderFields;
  /** The id of the operation; undefined for a request that the rule book does not name. */
  readonly operation: string | undefined;
  /** The `x-api-version` that is sent, and why. */
  readonly apiVersion: ApiVersion;
  /** `Host` of the V1 request; undefined if it has none. */
  readonly host: string | undefined;
  /** Edits of the query, then of the body, never with a value. */
  readonly edits: readonly EditRecord[];
}

/** A V1 request whose query or body was edited. */
export interface RewrittenRequest extends MigratedRequestHead {
  readonly verdict: 'rewritten';
  /** The body for V2; null if there is none. */
  readonly body: Uint8Array | null;
  /** RFC 6902 patch from the V1 body to the V2 body; empty if `omitted` is not 0. */
  readonly patch: readonly PatchOperation[];
  /** Number of edits of the body that were applied but are not in `edits`, because their pointers are too long together. */
  readonly omitted: number;
}

/** A V1 request of which only path and header fields change. */
export interface UnchangedRequest extends MigratedRequestHead {
  readonly verdict: 'unchanged';
  /** The body as received; null if there is none. */
  readonly body: Uint8Array | null;
  /** Why no rule was applied, such as `media-type`; undefined if none concerns the request. */
  readonly note: string | undefined;
}

/** A request under `/api/v2`, which the migration does not concern. */
export interface PassedRequest {
  readonly verdict: 'passed';
}

/** A request that must not reach V2, with the response to send instead. */
export interface RefusedRequest {
  readonly verdict: 'refused';
  readonly status: number;
  /** The header fields of the response, with `x-gateway-error`. */
  readonly headers: HeaderFields;
  /** The error envelope of the service, in JSON. */
  readonly body: Uint8Array;
  /** A stable name of the reason, such as `malformed-json`. */
  readonly code: string;
  /** One sentence that says what is wrong. Never contains a value of the body. */
  readonly detail: string;
  /** RFC 6901 pointer into the V1 body, if a member is the cause. */
  readonly pointer: string | undefined;
  /** Place in the V1 body, if a position is the cause. */
  readonly position: FailurePosition | undefined;
}
