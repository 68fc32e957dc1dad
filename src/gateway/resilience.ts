import type { ServiceContact } from '../rewrite-log/metric-families.ts';
import type { Upstream, UpstreamFault, UpstreamRequest } from './upstream.ts';

/** `closed` admits every request, `open` none, `probing` a few that test whether the origin has recovered. */
type BreakerState = 'closed' | 'open' | 'probing';

/** Thresholds and clock of a circuit breaker. */
interface BreakerOptions {
  /** Consecutive failed requests that open the circuit; 0 never opens it. */
  readonly failures: number;
  /** Maximum time between two probes in milliseconds, while fewer than five are in flight. */
  readonly openMs: number;
  /** Monotonic clock, in milliseconds. */
  readonly now: () => number;
  /** Called on each change of state. */
  readonly onChange?: ((before: BreakerState, after: BreakerState) => void) | undefined;
}

/** Milliseconds between the first two probes; each later interval is twice as long. */
const FIRST_PROBE_INTERVAL_MS = 100;
/** Maximum probes in flight at these intervals: the slow part may be the request instead of the origin. */
const PROBES_IN_FLIGHT = 5;
/** Minimum milliseconds between further probes: probes must not accumulate at an origin that hangs. */
const PROBE_WAIT_MS = 5000;

/**
 * Stops sending requests to an origin that stays down. Counts a request as failed, once for all its attempts, if the origin is
 * unreachable, closes the connection or does not respond in time; a response with any status is a success.
 */
export class CircuitBreaker {
  state: BreakerState = 'closed';
  private failureCount = 0;
  /** Time of the first of the consecutive failures. */
  private firstFailureAt = 0;
  private openUntil = 0;
  private probeIntervalMs = 0;
  /** Number of probes in flight. */
  private probes = 0;
  /** Times of the first and the last probe since one failed. */
  private probedAt = 0;
  private lastProbeAt = 0;
  /** True while only the upstream tests whether the origin has recovered: all requests get a failure at once. */
  private isAwaited = false;
  /** Whether the origin accepts connections, and the time from which that is known; undefined without an outage. */
  private contact: { readonly isAway: boolean; readonly at: number } | undefined = undefined;
  private readonly options: BreakerOptions;

  constructor(options: BreakerOptions) {
    this.options = options;
  }

  /**
   * Returns true if a request may be sent. An `open` circuit admits one as a probe once its wait is over; it is then `probing`, and
   * `probeOver` has to be called.
   */
  admit(): boolean {
    if (this.state === 'closed') return true;
    const now = this.options.now();
    if (now < this.nextProbeAt) return false;
    if (this.state === 'open') this.probedAt = now;
    this.changeState('probing');
    this.lastProbeAt = now;
    this.probes += 1;
    return true;
  }

  /** A probe is over, with or without an outcome: its client may have disconnected. */
  probeOver(): void {
    if (this.probes > 0) this.probes -= 1;
  }

  /** Seconds until a request may be admitted, at least 1; 1 during a probe, whose success admits all requests. */
  retryAfter(): number {
    if (this.state === 'probing') return 1;
    return Math.max(1, Math.ceil((this.openUntil - this.options.now()) / 1000));
  }

  succeeded(): void {
    this.failureCount = 0;
    this.isAwaited = false;
    if (this.state !== 'closed') this.changeState('closed');
  }

  /**
   * Counts a failed request that was sent at `sentAt`. Requests that were in flight at the first failure count as one with it: a restart
   * that ends a hundred of them is one event, and does not mean that the origin stays down.
   */
  failed(sentAt = this.options.now()): void {
    const { failures, openMs, now } = this.options;
    if (failures === 0) return;
    if (this.state === 'closed') {
      if (this.failureCount > 0 && sentAt < this.firstFailureAt) return;
      if (this.failureCount === 0) this.firstFailureAt = now();
      this.failureCount += 1;
      if (this.failureCount < failures) return;
      this.probeIntervalMs = Math.min(FIRST_PROBE_INTERVAL_MS, openMs);
      // The first probe may be sent at once.
      this.open(0);
      return;
    }
    // Requests sent before the probe give no new information.
    if (this.state === 'open' || sentAt < this.probedAt) return;
    this.open(this.probeIntervalMs);
    this.probeIntervalMs = Math.min(this.probeIntervalMs * 2, openMs);
  }

  /**
   * Opens the circuit for an origin that accepts no connections, after any number of requests. The upstream keeps connecting by itself,
   * and `reached` closes the circuit.
   */
  away(): void {
    const { failures, openMs } = this.options;
    if (failures === 0) return;
    this.isAwaited = true;
    if (this.contact?.isAway !== true) this.contact = { isAway: true, at: this.options.now() };
    this.probeIntervalMs = Math.min(FIRST_PROBE_INTERVAL_MS, openMs);
    if (this.state !== 'open') this.open(this.probeIntervalMs);
  }

  /**
   * The upstream has connected again. For an origin that accepted no connections, that closes the circuit without waiting for a request:
   * V1 may serve all of them by now. An origin that failed in another way also has to respond, and may be probed at once.
   */
  reached(): void {
    if (this.isAwaited) this.succeeded();
    this.contact = { isAway: false, at: this.options.now() };
    this.openUntil = 0;
    this.lastProbeAt = Number.NEGATIVE_INFINITY;
  }

  /** Whether the origin accepts connections, as far as an outage has shown; `time` is the present, in milliseconds since 1970. */
  contactAt(time: number): ServiceContact | undefined {
    const { contact } = this;
    return contact && { isAway: contact.isAway, since: time - (this.options.now() - contact.at) };
  }

  private get nextProbeAt(): number {
    if (this.state === 'open') return this.openUntil;
    const isFull = this.probes >= PROBES_IN_FLIGHT;
    const wait = isFull ? Math.max(PROBE_WAIT_MS, this.options.openMs) : this.probeIntervalMs;
    return this.lastProbeAt + wait;
  }

  private open(waitMs: number): void {
    this.openUntil = this.options.now() + waitMs;
    this.changeState('open');
  }

  private changeState(state: BreakerState): void {
    const before = this.state;
    this.state = state;
    if (before !== state) this.options.onChange?.(before, state);
  }
}

/**
 * The idempotent methods (RFC 9110 §9.2.2). Others, such as REPORT, do not count: the gateway does not know what a service does with them.
 */
const IDEMPOTENT: ReadonlySet<string> = new Set(['GET', 'HEAD', 'PUT', 'DELETE', 'OPTIONS', 'TRACE']);

/**
 * True for a request that the gateway may send twice: its method is idempotent, and the gateway still has its body. It never sends a POST
 * or PATCH twice (RFC 9110 §9.2.2), because V2 must not place an order twice. The upstream also calls this: it sends a request that must
 * not be repeated only on a connection that the origin is not about to close.
 */
export function mayRepeat(method: string, isBodyKept: boolean): boolean {
  return isBodyKept && IDEMPOTENT.has(method);
}

/**
 * Decides on a retry: one, for a request that may be repeated, when the connection closed before a response. If none of it was sent, it
 * needs no retry: the upstream keeps trying to connect until the timeout.
 */
export function mayRetry({ method, body }: UpstreamRequest, fault: UpstreamFault, attempts: number): boolean {
  if (attempts > 1 || fault.kind !== 'closed' || !fault.mayHaveArrived) return false;
  return mayRepeat(method, body === null || body instanceof Uint8Array);
}

/** Milliseconds before a retry: 25 with jitter, from half to one and a half of that. `random` is at least 0 and less than 1. */
export function retryDelayMs(random: number): number {
  return Math.round(25 * (0.5 + random));
}

const SLOTS = 10;
const SLOT_MS = 1000;
/** Share of all requests that may be retried. */
const RETRY_SHARE = 0.2;
/** Retries that are always allowed, for a gateway with little traffic. */
const MIN_RETRIES = 10;

/**
 * Limits retries to a fifth of the requests of the last 10 seconds, and ten in any case, like the retry budgets of Envoy and
 * linkerd. A service that resets every connection does not cause a retry storm.
 */
export class RetryBudget {
  private readonly now: () => number;
  private readonly requests = new Array<number>(SLOTS).fill(0);
  private readonly retries = new Array<number>(SLOTS).fill(0);
  /** Number of the current second. */
  private second = 0;

  /** `now` is a monotonic clock, in milliseconds. */
  constructor(now: () => number) {
    this.now = now;
  }

  /** Counts the first attempt of a request at `now`, which may be before the last `acquire`. */
  count(now: number): void {
    this.advance(now);
    const slot = this.second % SLOTS;
    this.requests[slot] = (this.requests[slot] ?? 0) + 1;
  }

  /** Returns true, and counts a retry, if a request may be sent again. */
  acquire(): boolean {
    this.advance(this.now());
    if (sum(this.retries) >= Math.max(MIN_RETRIES, RETRY_SHARE * sum(this.requests))) return false;
    const slot = this.second % SLOTS;
    this.retries[slot] = (this.retries[slot] ?? 0) + 1;
    return true;
  }

  private advance(now: number): void {
    const second = Math.floor(now / SLOT_MS);
    if (second <= this.second) return;
    for (let count = Math.min(second - this.second, SLOTS); count > 0; count -= 1) {
      const slot = (second - count + 1) % SLOTS;
      this.requests[slot] = 0;
      this.retries[slot] = 0;
    }
    this.second = second;
  }
}

function sum(slots: readonly number[]): number {
  let total = 0;
  for (const count of slots) total += count;
  return total;
}

/** A service behind the gateway. */
export interface Origin {
  /** The version that it serves, or `webhook` for a subscriber. */
  readonly version: 'v1' | 'v2' | 'webhook';
  /** Host and port of a subscriber, for the operator. */
  readonly host?: string | undefined;
  readonly upstream: Upstream;
  /** Each origin has its own breaker. */
  readonly breaker: CircuitBreaker;
  readonly retryBudget: RetryBudget;
  /** The prefix of every target that is sent, without a trailing slash. */
  readonly path: string;
  /** Hosts with their ports, for recognising the origin's addresses in responses. If empty, only paths are compared. */
  readonly hosts: readonly string[];
}

/** An event between the gateway and an origin, reported to operators outside the rewrite log. */
export type GatewayNotice =
  | {
      readonly event: 'circuit-opened' | 'circuit-closed';
      readonly origin: Origin['version'];
      readonly host?: string | undefined;
    }
  | { readonly event: 'newcomers-served'; readonly since: string; readonly from: string }
  | {
      readonly event: 'upstream-fault';
      readonly origin: Origin['version'];
      readonly host?: string | undefined;
      readonly fault: UpstreamFault;
    };

/** A notice as a line of the process log; notices with the same `key` are repetitions. */
interface NoticeLine {
  readonly level: 'info' | 'warn' | 'error';
  readonly event: GatewayNotice['event'];
  readonly key: string;
  readonly message: string;
  readonly fields: Readonly<Record<string, string | boolean>>;
}

/** Formats a notice as a sentence with machine-readable fields. */
export function noticeLine(notice: GatewayNotice): NoticeLine {
  if (notice.event === 'newcomers-served') {
    const { event, since, from } = notice;
    return {
      level: 'warn',
      event,
      key: `${event} ${from}`,
      message: `newcomers: the gateway has learned clients since ${since}, less than 14 days before ${from}, so it serves newcomers; choose a later day, and keep the list in a store that survives restarts.`,
      fields: { since, from },
    };
  }
  const { event, origin, host } = notice;
  const name = host === undefined ? origin.toUpperCase() : `the subscriber ${host}`;
  const where = host === undefined ? { origin } : { origin, host };
  if (event === 'upstream-fault') {
    const { kind, cause, mayHaveArrived: sent } = notice.fault;
    const reached = sent ? 'the request may have reached it' : 'nothing was sent';
    return {
      level: 'warn',
      event,
      key: `${event} ${name} ${kind} ${cause} ${sent}`,
      message: `upstream: ${name} failed (${kind}, ${cause}); ${reached}.`,
      fields: { ...where, kind, cause, sent },
    };
  }
  const isOpen = event === 'circuit-opened';
  return {
    level: isOpen ? 'error' : 'info',
    event,
    key: `${event} ${name}`,
    message: isOpen
      ? `circuit: open; ${name} keeps failing, and requests get 503 until it responds to a probe.`
      : `circuit: closed; ${name} responds again.`,
    fields: where,
  };
}

/** Returns the notice for a change of the circuit's state; there is none for probing. */
export function circuitNotice(
  { version: origin, host }: Pick<Origin, 'version' | 'host'>,
  before: BreakerState,
  after: BreakerState,
): GatewayNotice | undefined {
  if (before === 'closed' && after === 'open') return { event: 'circuit-opened', origin, host };
  if (before !== 'closed' && after === 'closed') return { event: 'circuit-closed', origin, host };
  return undefined;
}
