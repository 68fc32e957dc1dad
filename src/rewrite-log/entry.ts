import type { ApiVersionReason } from '../migrate/api-version.ts';
import type { ResponseRecord } from '../rewrite/response-rewrite.ts';
import type { Comparison } from '../rollout/comparison.ts';
import type { EditRecord, PatchOperation } from '../rewrite/rewrite.ts';

/** How a request crossed: V1 migrated, V2 passed unread, or neither prefix. */
export type Route = 'migrate' | 'pass' | 'none';

/** What was done to a request. `passed` is native V2 traffic; what is `refused` was never sent on. */
export type Verdict = 'rewritten' | 'unchanged' | 'refused' | 'passed';

/** What migrating a request would have come to, where it went to V1. */
export interface Would {
  readonly verdict: 'rewritten' | 'unchanged' | 'refused';
  /** The failure code that the client would have got. */
  readonly failure?: string;
}

/**
 * One entry of the rewrite log: one exchange, one JSON line (rewriting contract §5).
 * It never holds a value of a body, a query value or an API key.
 */
export interface Entry {
  /** RFC 3339, UTC, milliseconds: when the request head had arrived. */
  readonly time: string;
  readonly level: 'info' | 'warn' | 'error';
  readonly requestId: string;
  /** 32 hex digits of the W3C trace context; absent on V2 traffic without one. */
  readonly traceId?: string | undefined;
  /** 16 hex digits: the span that V2's are children of: the gateway's own, or the one that the client named. */
  readonly spanId?: string | undefined;
  /** True when the client named the span. */
  readonly spanOfClient?: true | undefined;
  /** 16 hex digits: the span that the client named, where the gateway's own is below it. */
  readonly parentSpanId?: string | undefined;
  /** True when the gateway exports its spans of the exchange. */
  readonly isSampled?: true | undefined;
  /** First 16 hex digits of HMAC-SHA-256(API key, secret); absent without a key. */
  readonly client?: string | undefined;
  readonly route: Route;
  readonly method: string;
  /** The path as the client sent it, query names kept, query values replaced by `…`. */
  readonly path: string;
  /** The path as V2 got it; absent when nothing was sent. */
  readonly upstreamPath?: string | undefined;
  /** The id in the rule book; absent for unnamed V1 traffic and for V2 traffic. */
  readonly operation?: string | undefined;
  readonly apiVersion?: { readonly sent: string; readonly why: ApiVersionReason } | undefined;
  /** What V1 traffic goes through, where that is not simply being migrated. */
  readonly mode?: 'observe' | 'canary' | 'shadow' | undefined;
  /** `v1` when the request went to V1, untouched; `edits` and `patch` are then what migrating it would have done. */
  readonly origin?: 'v1' | undefined;
  readonly would?: Would | undefined;
  /** What asking both origins found, for a read in `shadow`. */
  readonly comparison?: Comparison | undefined;
  /** Milliseconds for which the request was held back for the rate limit of the service. */
  readonly heldMs?: number | undefined;
  readonly verdict: Verdict;
  readonly edits: readonly EditRecord[];
  readonly patch?: readonly PatchOperation[] | undefined;
  /** Edits carried out beyond those listed: the list is bounded, and there is no patch then. */
  readonly editsOmitted?: number | undefined;
  /** What response rules did to the body of the response, the first 64; absent when they did nothing. */
  readonly responseEdits?: readonly ResponseRecord[] | undefined;
  /** Why a response that a response rule applies to was left as it is, such as `response-too-large`. */
  readonly responseNote?: string | undefined;
  /** Which policy, limit or media type left a V1 body untouched or had it refused. */
  readonly note?: string | undefined;
  /** The failure code of a response that the gateway made itself. */
  readonly failure?: string | undefined;
  /** The system's name for what went wrong upstream, such as `ECONNREFUSED`. */
  readonly cause?: string | undefined;
  /** Where V2 gave no response: false when nothing of the request reached it, true when it may have been carried out. */
  readonly sent?: boolean | undefined;
  /** Pointer and position of a refusal. */
  readonly pointer?: string | undefined;
  readonly position?: { readonly offset: number; readonly line: number; readonly column: number } | undefined;
  /** Bytes of the request body as received and as sent on. */
  readonly bytesIn: number;
  readonly bytesOut: number;
  /** Bytes of the response's body as sent to the client. */
  readonly responseBytes: number;
  /** The status the client got; 0 when it went away before one. */
  readonly status: number;
  /** Milliseconds from the request's last byte sent on to the response's head; absent when nothing was sent. */
  readonly upstreamMs?: number | undefined;
  /** Milliseconds from the request's head to the response's end. */
  readonly totalMs: number;
  /** Milliseconds spent on scanning and editing a V1 body; absent when none was read. */
  readonly rewriteMs?: number | undefined;
  /** How often the request was sent to V2, when more than once. */
  readonly attempts?: number | undefined;
  /**
   * Names of the members of the V1 body as pointers, `*` for elements, at most 64: for the attribute census. Present for a
   * bounded number of exchanges a second, whatever became of them.
   */
  readonly attributes?: readonly string[] | undefined;
  /** The hash of the rule book in force. */
  readonly ruleBook: string;
}
