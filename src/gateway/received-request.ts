import { type AddressRange, isWithin } from '../http/address-range.ts';
import { type HeadLimits, type RequestHead, readHead } from '../http/request-head.ts';
import { type Decision, type DecisionLimits, decide } from '../migrate/decision.ts';
import type { CompiledRuleBook } from '../rewrite/compiled-rule-book.ts';
import type { Exchange } from './exchange.ts';

/** A request whose head was read, with the decision about it and the rule book that it was made by. */
export interface ReceivedRequest {
  readonly exchange: Exchange;
  readonly head: RequestHead;
  readonly rules: CompiledRuleBook;
  readonly decision: Decision;
  /** Milliseconds of the monotonic clock when the head had arrived. */
  readonly started: number;
  /** Milliseconds since 1970 when the head had arrived. */
  readonly time: number;
}

/** What the head of a request is read and decided by. */
export interface ReceivedRequestLimits extends HeadLimits, DecisionLimits {
  readonly trustedProxies: readonly AddressRange[];
}

/** Reads the head of a request once, and decides what is done with it. */
export function receiveRequest(
  exchange: Exchange,
  rules: CompiledRuleBook,
  limits: ReceivedRequestLimits,
  clock: { readonly started: number; readonly time: number },
): ReceivedRequest {
  const { method, target, version, hasBody } = exchange;
  const head = readHead(exchange.headers, limits, isWithin(exchange.remote, limits.trustedProxies));
  const decision = decide({ method, target, version, head, hasBody }, rules, limits);
  return { exchange, head, rules, decision, started: clock.started, time: clock.time };
}
