import type { HeaderList } from '../http/header-list.ts';
import type { ApiVersion } from '../migrate/decision.ts';
import type { FailurePosition } from '../migrate/failure.ts';
import type { ResponseNote } from '../migrate/migrated.ts';
import type { EditRecord, PatchOperation } from '../rewrite/records.ts';
import type { ResponseRecord } from '../rewrite/response-rules.ts';

/** The outcome for one request; `verdict` tells them apart. */
export type RequestVerdict = RewrittenRequest | UnchangedRequest | PassedRequest | RefusedRequest;

/** A V1 request as V2 must receive it. */
export type MigratedRequest = RewrittenRequest | UnchangedRequest;

/** The parts of a migrated request that do not depend on its verdict. */
export interface MigratedRequestHead {
  /** The method for V2: the client's, unless the operation has another one there. */
  readonly method: string;
  /** The raw target at V2: path and query. */
  readonly target: string;
  /** The raw target as the client sent it, and the method that rules apply to, which a POST may override. */
  readonly v1: {
    readonly method: string;
    readonly target: string;
    /** The method that a preflight of a browser asks about. */
    readonly preflight?: string | undefined;
    /** The requested release in the rule book's query parameter or media types. */
    readonly release?: string | undefined;
  };
  /**
   * The header fields to send. `Host`, hop-by-hop fields and the framing (`Content-Length`, `Transfer-Encoding`) are left to the
   * sender.
   */
  readonly headers: HeaderFields;
  /** The id of the operation; undefined for a request that the rule book does not name. */
  readonly operation: string | undefined;
  /** The release that is requested from V2, and the reason; undefined if the rule book names none. */
  readonly apiVersion: ApiVersion | undefined;
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
  /** `digest-unjudged` if the client sent a digest of the body that could not be checked, and was dropped. */
  readonly note: string | undefined;
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

/** A request that must not reach V2, or a response of V2 whose transform failed, with the response to send instead. */
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

/** The outcome for one response; `verdict` tells them apart. */
export type ResponseVerdict = RewrittenResponseVerdict | UnchangedResponseVerdict | RefusedRequest;

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
  /** Why an object that rules look up is missing; absent otherwise. */
  readonly note?: ResponseNote;
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

/** Header fields as pairs of name and value, in order, with repeated fields apart. `new Headers(fields)` takes them. */
export type HeaderFields = [name: string, value: string][];

/**
 * Header fields in any common form: pairs (`Headers`, `Map`, an array), an object, or a flat list of names and values such as
 * Node's `rawHeaders`. Values have one character for each byte.
 */
export type HeadersLike =
  | Iterable<readonly [name: string, value: string]>
  | readonly string[]
  | Readonly<Record<string, string | number | readonly string[] | undefined>>;

/** Converts header fields to a raw list. */
export function headerListOf(headers: HeadersLike): string[] {
  if (!isIterable(headers)) return Object.entries(headers).flatMap(([name, value]) => linesOf(name, value));
  const list: string[] = [];
  for (const field of headers) {
    if (typeof field === 'string') list.push(field);
    else list.push(field[0], field[1]);
  }
  return list;
}

/** Converts a raw list to pairs. */
export function headerFieldsOf(list: HeaderList): HeaderFields {
  const fields: HeaderFields = [];
  for (let at = 0; at < list.length; at += 2) fields.push([list[at] ?? '', list[at + 1] ?? '']);
  return fields;
}

function isIterable(
  headers: HeadersLike,
): headers is Iterable<readonly [name: string, value: string]> | readonly string[] {
  return Symbol.iterator in headers;
}

function linesOf(name: string, value: string | number | readonly string[] | undefined): readonly string[] {
  if (value === undefined) return [];
  if (typeof value === 'object') return value.flatMap((line) => [name, line]);
  return [name, String(value)];
}
