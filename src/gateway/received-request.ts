import { type HeadLimits, type RequestHead, readHead } from '../http/request-head.ts';
import type { Failure } from '../migrate/failure.ts';
import { type Decision, type HopLimits, decideReceived } from '../migrate/decision.ts';
import type { CompiledRuleBook } from '../rewrite/compiled-rule-book.ts';
import type { Exchange } from './exchange.ts';
import type { TrustedProxies } from './trusted-proxies.ts';

/** A request whose head was read, with the decision about it and the rule book that the decision was made with. */
export interface ReceivedRequest {
  readonly exchange: Exchange;
  readonly head: RequestHead;
  readonly rules: CompiledRuleBook;
  readonly decision: Decision;
  /** Why the gateway does not serve it now, whatever the decision. */
  readonly refusal?: Failure;
  /** Monotonic clock in milliseconds when the head was complete. */
  readonly started: number;
  /** Milliseconds since 1970 when the head was complete. */
  readonly time: number;
}

/** Reads the head of a request once, and decides how to handle the request. */
export function receiveRequest(
  exchange: Exchange,
  rules: CompiledRuleBook,
  limits: HeadLimits & HopLimits,
  proxies: TrustedProxies,
  clock: { readonly started: number; readonly time: number },
): ReceivedRequest {
  const { method, target, version, hasBody } = exchange;
  const isTrusted = proxies.has(exchange.remote);
  // The readers of HTTP/1.1 have counted it.
  const targetBytes = version === '2' || version === '3' ? target.length : 0;
  const head =
    exchange.readHead?.(limits, isTrusted, targetBytes) ??
    readHead(exchange.headers, limits, isTrusted, targetBytes);
  const decision = decideReceived({ method, target, version, head, hasBody }, rules, limits);
  return { exchange, head, rules, decision, started: clock.started, time: clock.time };
}
