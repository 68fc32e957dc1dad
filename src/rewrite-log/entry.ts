import type { ApiVersionReason } from '../migrate/decision.ts';
import type { EditRecord, PatchOperation } from '../rewrite/records.ts';
import type { ResponseRecord } from '../rewrite/response-rules.ts';
import type { BodyCheck } from '../rollout/body-checks.ts';
import type { Comparison } from '../rollout/rollout-tally.ts';
import type { RequestRuleName } from '../rules/rule.ts';

/** Route of a request: V1 migrated, V2 passed unread, a webhook of V2 for a subscriber, or none: refused before it was routed, or for a client's own report. */
export type Route = 'migrate' | 'pass' | 'webhook' | 'none';

/**
 * Effect of the gateway on an exchange. It is `rewritten` when the request was, or the body of its response: `edits` are those of
 * the request, `responseEdits` those of the response. `passed` is native V2 traffic; a `refused` request was never forwarded, and
 * neither was a `served` one: a client read its own report.
 */
export type Verdict = 'rewritten' | 'unchanged' | 'refused' | 'passed' | 'served';

/**
 * Outcome that migrating a request would have had, when it went to V1. `v2`, `at` and `why` are those of the check of its body
 * against V2's description; absent without a body, and without a description.
 */
export interface Would extends Partial<BodyCheck> {
  readonly verdict: 'rewritten' | 'unchanged' | 'refused';
  /** Failure code that the client would have received. */
  readonly failure?: string;
  /** Pointer of the refusal in the V1 body. */
  readonly pointer?: string;
}

/** One member that a client reads from V1's response, and its place in V2's. */
export interface ResponseDifference {
  readonly change: string;
  /** The rule, where it is a `map`: V2 has other values of the member. */
  readonly rule?: RequestRuleName;
  /** Pointer into V2's response; absent when V2 does not have the member. */
  readonly from?: string;
  /** Pointer into V1's response. */
  readonly path: string;
}

/**
 * One entry of the rewrite log: one exchange, one JSON line.
 * It never holds a value of a body, a query value or an API key.
 */
export interface Entry {
  /** Time at which the request head was complete: RFC 3339, UTC, milliseconds. */
  readonly time: string;
  readonly level: 'info' | 'warn' | 'error';
  readonly requestId: string;
  /** W3C trace id, 32 hex digits; absent on V2 traffic without one. */
  readonly traceId?: string | undefined;
  /** 16 hex digits: the parent of V2's spans: the gateway's own span, or the client's. */
  readonly spanId?: string | undefined;
  /** True when the span is the client's. */
  readonly spanOfClient?: true | undefined;
  /** 16 hex digits: the client's span, when the gateway's own is its child. */
  readonly parentSpanId?: string | undefined;
  /** True when the gateway exports its spans of the exchange. */
  readonly isSampled?: true | undefined;
  /** First 16 hex digits of HMAC-SHA-256(API key, secret); absent without a key. */
  readonly client?: string | undefined;
  readonly route: Route;
  readonly method: string;
  /** Path as the client sent it, with query names; query values are replaced by `…`. */
  readonly path: string;
  /** Method of the request for V2, where it is another one than the client's. */
  readonly upstreamMethod?: string | undefined;
  /** Path of the request for V2; absent when none was made. */
  readonly upstreamPath?: string | undefined;
  /** Operation id in the rule book; absent for unnamed V1 traffic and for V2 traffic. */
  readonly operation?: string | undefined;
  /** The release that V2 is asked for; `field` is the header field, unless it is `x-api-version`. */
  readonly apiVersion?:
    | { readonly sent: string; readonly why: ApiVersionReason; readonly field?: string }
    | undefined;
  /** Mode of V1 traffic, unless it is `migrate`. */
  readonly mode?: 'observe' | 'canary' | 'shadow' | 'verify' | undefined;
  /** `v1` when the request went to V1 unchanged; `edits` and `patch` are then those of the migration that was not carried out. */
  readonly origin?: 'v1' | undefined;
  readonly would?: Would | undefined;
  /** Result of comparing both origins, for a read in `shadow` or `verify`. */
  readonly comparison?: Comparison | undefined;
  /** Milliseconds for which the request was queued for the rate limit of the service. */
  readonly heldMs?: number | undefined;
  /** The client is new to V1: refused for it, warned, would be refused, or not known to be. */
  readonly newcomer?: 'refused' | 'warned' | 'would' | 'not-known' | undefined;
  readonly verdict: Verdict;
  readonly edits: readonly EditRecord[];
  readonly patch?: readonly PatchOperation[] | undefined;
  /** Number of edits beyond those listed: the list is limited, and there is no patch then. */
  readonly editsOmitted?: number | undefined;
  /** Edits of the response body by response rules, the first 64; absent without any. */
  readonly responseEdits?: readonly ResponseRecord[] | undefined;
  /** From V2's response to the client's; absent if edits are not listed, or if a text was replaced, which may contain values. */
  readonly responsePatch?: readonly PatchOperation[] | undefined;
  /** Number of edits of the response beyond those listed. */
  readonly responseEditsOmitted?: number | undefined;
  /** Reason why a response was not rewritten although a response rule applies, such as `response-too-large`. */
  readonly responseNote?: string | undefined;
  /** Members of V1's response that V2 names or places otherwise, by the request rules; for sampled writes that V1 responded to. */
  readonly responseWould?: readonly ResponseDifference[] | undefined;
  /** Places that the errors of a 4xx point at, in the body as the service received it, at most 16. */
  readonly errorPointers?: readonly string[] | undefined;
  /** Attributes of the request that V1's response calls deprecated, as pointers into the V1 body, at most 16. */
  readonly deprecated?: readonly string[] | undefined;
  /** Attributes of the request that V2's 2xx does not echo, as pointers into the V1 body, at most 16; empty when it echoes all. */
  readonly unechoed?: readonly string[] | undefined;
  /** Policy, limit or media type because of which a V1 body was forwarded unchanged or refused. */
  readonly note?: string | undefined;
  /** Failure code of a response that the gateway itself made. */
  readonly failure?: string | undefined;
  /** Cause of a failure: the system's error code, such as `ECONNREFUSED`, or a few words, such as `no response head in time`. */
  readonly cause?: string | undefined;
  /**
   * When the service gave no response: false when nothing of the request reached it, true when it may have been carried out. Also
   * false when the client left before anything was sent.
   */
  readonly sent?: boolean | undefined;
  /** Pointer and position of a refusal. */
  readonly pointer?: string | undefined;
  readonly position?: { readonly offset: number; readonly line: number; readonly column: number } | undefined;
  /** Bytes of the request body as received and as forwarded; of one that streams, both as received. */
  readonly bytesIn: number;
  readonly bytesOut: number;
  /** Bytes of the response's body as written to the client's connection. */
  readonly responseBytes: number;
  /** Status that the client received; 0 when it received none. */
  readonly status: number;
  /** Status of V2's response, where V1 clients get another one. */
  readonly upstreamStatus?: number | undefined;
  /** True when the exchange with the client ended after the status and before the end of the response: it left, was too slow, or was reset. */
  readonly incomplete?: true | undefined;
  /** Milliseconds from the last attempt to send the request to the head of its response; absent without one. */
  readonly upstreamMs?: number | undefined;
  /** Milliseconds from the head of the request to the end of the response. */
  readonly totalMs: number;
  /** Milliseconds spent on scanning and editing a V1 body; absent when none was read. */
  readonly rewriteMs?: number | undefined;
  /** Number of attempts to send the request, if more than one. */
  readonly attempts?: number | undefined;
  /**
   * Pointers of the members of the V1 body, `*` for elements, at most 64: for the attribute census. Present for a limited number
   * of exchanges per second, whatever their outcome.
   */
  readonly attributes?: readonly string[] | undefined;
  /** Hash of the rule book in force. */
  readonly ruleBook: string;
}
