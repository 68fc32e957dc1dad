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
  /** The origin of the call: the same for all attempts. */
  readonly origin: Origin;
  readonly gateway: { readonly parts: GatewayParts; notify(notice: GatewayNotice): void };
  /** Sends the request again after a delay, unless the exchange has ended by then. */
  sendAgain(request: UpstreamRequest): void;
}

/**
 * The call of an exchange to its origin: all attempts to send one request, and their effect on the circuit and the retry budget. It
 * receives the upstream's callbacks for the exchange: if one of them throws, only the exchange ends. It also keeps the copy of the
 * service's own response.
 */
export class OriginCall implements UpstreamReceiver {
  /** Number of attempts. */
  attempts = 0;
  /** The request as last sent. */
  request: UpstreamRequest | undefined = undefined;
  private readonly owner: CallOwner;
  /** The receiver of this attempt's response, and a copy of the response. */
  private receiver: UpstreamReceiver | undefined = undefined;
  private copy: ResponseCopy | undefined = undefined;
  private sending: UpstreamCall | undefined = undefined;
  private sentAt = 0;
  /** True if the call probes whether its origin has recovered. */
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

  /** Sends the request again if that is allowed; false if the fault is final. */
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

  /** The origin accepts no connections: as with an open circuit, the request was not sent. */
  notTried(): void {
    this.owner.origin.breaker.away();
    if (this.attempts === 1) this.attempts = 0;
  }

  /**
   * Counts a fault for the breaker if it concerns the origin. One closed connection or restart ends many requests at once, so these count
   * once; each timeout counts separately.
   */
  count(fault: UpstreamFault): void {
    if (!isCounted(fault, this.request?.body ?? null)) return;
    const { breaker, version, host } = this.owner.origin;
    this.owner.gateway.notify({ event: 'upstream-fault', origin: version, host, fault });
    breaker.failed(fault.kind === 'closed' ? this.sentAt : undefined);
  }

  /** Milliseconds since the request was last sent. */
  get elapsedMs(): number {
    return this.owner.gateway.parts.now() - this.sentAt;
  }

  /** True while the call occupies its connection. */
  get isHolding(): boolean {
    return this.sending?.isHolding === true;
  }

  /** True if nothing of the request was sent, for certain. */
  get isUnsent(): boolean {
    return this.sending?.isSent === false;
  }

  /** True for a call to this upstream. */
  isTo(upstream: Upstream): boolean {
    return this.owner.origin.upstream === upstream;
  }

  /** Sets its position in the queue for a connection: the lowest is served first. */
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
