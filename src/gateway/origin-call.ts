import type { HeaderList } from '../http/header-list.ts';
import type { ResponseHead } from '../http/response-head.ts';
import type { GatewayParts } from './gateway-context.ts';
import type { OnError } from './guard.ts';
import { type GatewayNotice, mayRetry, type Origin, retryDelayMs } from './resilience.ts';
import type { ResponseCopy } from './response-copy.ts';
import {
  isCounted,
  type Upstream,
  type UpstreamCall,
  type UpstreamFault,
  type UpstreamReceiver,
  type UpstreamRequest,
} from './upstream.ts';

/** The exchange that a call is made for. */
export interface CallOwner extends OnError {
  /** The origin that it is for: the same for all attempts. */
  readonly origin: Origin;
  readonly gateway: { readonly parts: GatewayParts; notify(notice: GatewayNotice): void };
  /** Sends the request again after a delay, unless the exchange has ended meanwhile. */
  sendAgain(request: UpstreamRequest): void;
}

/**
 * The call of an exchange to its origin: all attempts to send one request, with what the circuit and the retry budget learn from them. It
 * takes the upstream's calls for the exchange: where one of them throws, it ends the exchange, and the process goes on. It also keeps the
 * copy of the service's own response.
 */
export class OriginCall implements UpstreamReceiver {
  /** Number of times that the request was sent. */
  attempts = 0;
  /** The request as it was sent last. */
  request: UpstreamRequest | undefined = undefined;
  private readonly owner: CallOwner;
  /** What gets the response of this attempt, and a copy of it. */
  private receiver: UpstreamReceiver | undefined = undefined;
  private copy: ResponseCopy | undefined = undefined;
  private sending: UpstreamCall | undefined = undefined;
  private sentAt = 0;
  /** True when it tests whether its origin has recovered. */
  private isProbe = false;

  constructor(owner: CallOwner) {
    this.owner = owner;
  }

  send(request: UpstreamRequest, receiver: UpstreamReceiver, copy: ResponseCopy | undefined): void {
    const { origin } = this.owner;
    this.request = request;
    this.receiver = receiver;
    this.copy = copy;
    this.attempts += 1;
    this.sentAt = this.owner.gateway.parts.now();
    if (this.attempts === 1) {
      origin.retryBudget.count(this.sentAt);
      this.isProbe = origin.breaker.state === 'probing';
    }
    this.sending = origin.upstream.send(request, this);
  }

  /** Sends the request again, if that is allowed; false where the fault is final. */
  retry(fault: UpstreamFault): boolean {
    const { request, attempts, sentAt, owner } = this;
    const { origin } = owner;
    if (request === undefined || !mayRetry(request, fault, attempts) || !origin.retryBudget.acquire())
      return false;
    const { after, now, random } = owner.gateway.parts;
    // All attempts share one timeout.
    after(retryDelayMs(random()), () =>
      owner.sendAgain({ ...request, headers: request.headers, spentMs: now() - sentAt }),
    );
    return true;
  }

  /** The origin accepts no connections: as with an open circuit, the request was not tried. */
  notTried(): void {
    this.owner.origin.breaker.away();
    if (this.attempts === 1) this.attempts = 0;
  }

  /**
   * Counts a fault for the breaker, where it says something about the origin. One closing connection or restart ends many requests at once,
   * so these count once; each timeout counts by itself.
   */
  count(fault: UpstreamFault): void {
    if (!isCounted(fault, this.request?.body ?? null)) return;
    const { breaker, version, host } = this.owner.origin;
    this.owner.gateway.notify({ event: 'upstream-fault', origin: version, host, fault });
    breaker.failed(fault.kind === 'closed' ? this.sentAt : undefined);
  }

  /** Milliseconds since the request was sent last. */
  get elapsedMs(): number {
    return this.owner.gateway.parts.now() - this.sentAt;
  }

  /** True while no other request can use its connection. */
  get isHolding(): boolean {
    return this.sending?.isHolding === true;
  }

  /** True where it is known that nothing of the request is sent. */
  get isUnsent(): boolean {
    return this.sending?.isSent === false;
  }

  /** True for a call to this upstream. */
  isTo(upstream: Upstream): boolean {
    return this.owner.origin.upstream === upstream;
  }

  /** Sets its place among those that wait for a connection: the lowest is the first. */
  setRank(rank: number): void {
    if (this.sending !== undefined) this.sending.rank = rank;
  }

  pause(): void {
    this.sending?.pause();
  }

  resume(): void {
    this.sending?.resume();
  }

  abort(): void {
    this.sending?.abort();
  }

  /** The exchange is over. */
  over(): void {
    if (this.isProbe) this.owner.origin.breaker.probeOver();
  }

  // Called by the upstream.

  get borrowsParts(): boolean {
    return this.receiver?.borrowsParts === true;
  }

  information(status: number, headers: HeaderList): void {
    try {
      this.receiver?.information(status, headers);
    } catch (error) {
      this.owner.failInternally(error);
    }
  }

  head(head: ResponseHead): void {
    try {
      this.copy?.head(head);
      this.receiver?.head(head);
    } catch (error) {
      this.owner.failInternally(error);
    }
  }

  data(chunk: Uint8Array, isLast?: boolean): void {
    try {
      this.copy?.data(chunk);
      this.receiver?.data(chunk, isLast);
    } catch (error) {
      this.owner.failInternally(error);
    }
  }

  pass(body: ReadableStream<Uint8Array>, length: number): Promise<void> | undefined {
    try {
      return this.copy?.isTaken === true ? undefined : this.receiver?.pass?.(body, length);
    } catch (error) {
      this.owner.failInternally(error);
      return undefined;
    }
  }

  end(trailers: HeaderList): void {
    try {
      this.copy?.end();
      this.receiver?.end(trailers);
    } catch (error) {
      this.owner.failInternally(error);
    }
  }

  fail(fault: UpstreamFault): void {
    try {
      this.receiver?.fail(fault);
    } catch (error) {
      this.owner.failInternally(error);
    }
  }

  endUnproven(): void {
    try {
      this.receiver?.endUnproven?.();
    } catch (error) {
      this.owner.failInternally(error);
    }
  }
}
