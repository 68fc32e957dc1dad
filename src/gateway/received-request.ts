import { type AddressRange, isWithin } from '../http/forwarding.ts';
import { headerValue } from '../http/header-list.ts';
import { type HeadLimits, isHost, readHead, type RequestHead } from '../http/request-head.ts';
import { decideReceived, type Decision, type HopLimits } from '../migrate/decision.ts';
import type { Failure } from '../migrate/failure.ts';
import type { CompiledRuleBook } from '../rewrite/compiled-rule-book.ts';
import type { Exchange } from './exchange.ts';

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
  const isTrusted = !proxies.isEmpty && proxies.has(exchange.remote);
  // The readers of HTTP/1.1 have counted it.
  const targetBytes = version === '2' || version === '3' ? target.length : 0;
  const head =
    exchange.readHead?.(limits, isTrusted, targetBytes) ??
    readHead(exchange.headers, limits, isTrusted, targetBytes);
  const decision = decideReceived({ method, target, version, head, hasBody }, rules, limits);
  return { exchange, head, rules, decision, started: clock.started, time: clock.time };
}

/** The key of the client of a request, from where the rule book has it; undefined without one. */
export function apiKeyOf({ head, rules, exchange, decision }: ReceivedRequest): string | undefined {
  // V2 is no client.
  if (decision.route === 'webhook') return undefined;
  const { clientKeys } = rules;
  if (clientKeys === undefined) return head.authorization;
  return clientKeys.of(head, exchange.target, decision.route === 'pass');
}

/** Maximum number of addresses that are remembered; beyond it all are forgotten: a single client may have a whole `/64`. */
const MAX_ADDRESSES = 1024;

/** The peers whose `Forwarded` and similar fields are kept. Whether an address is one of them never changes, and is remembered. */
export class TrustedProxies {
  private readonly ranges: readonly AddressRange[];
  private readonly known = new Map<string, boolean>();

  constructor(ranges: readonly AddressRange[]) {
    this.ranges = ranges;
  }

  /** True where nobody is one: then no address need be known. */
  get isEmpty(): boolean {
    return this.ranges.length === 0;
  }

  /** True for the address of a trusted proxy. */
  has(address: string): boolean {
    const known = this.known.get(address);
    if (known !== undefined) return known;
    if (this.known.size >= MAX_ADDRESSES) this.known.clear();
    const isTrusted = isWithin(address, this.ranges);
    this.known.set(address, isTrusted);
    return isTrusted;
  }
}

/** The gateway's address as the client sees it; a trusted proxy's headers take precedence over the connection. */
export function gatewayAddress({ exchange, head }: ReceivedRequest): string | undefined {
  const host = headerValue(head.forwardedHeaders, 'x-forwarded-host') ?? head.host;
  if (host === undefined || !isHost(host)) return undefined;
  const proto = headerValue(head.forwardedHeaders, 'x-forwarded-proto')?.toLowerCase();
  const scheme = proto === 'http' || proto === 'https' ? proto : exchange.secure ? 'https' : 'http';
  return `${scheme}://${host}`;
}
