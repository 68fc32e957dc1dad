import type { UpstreamFault } from '../../gateway/upstream.ts';

/** The pool for which `Reconnection` reconnects. */
export interface ReconnectionOwner {
  /** Starts another attempt, unless too many are in progress or there is no room for it. */
  connectAgain(): void;
}

/** A time in which no address of V2 accepts connections. */
export interface Outage {
  /** When the first failed attempt began: requests wait until the connect time has passed since then. */
  readonly since: number;
  /** The error of the last attempt. */
  readonly fault: UpstreamFault;
}

const FIRST_DELAY_MS = 20;
/** Maximum milliseconds until a V2 that is back is noticed, plus the time of connecting. */
const MAX_DELAY_MS = 100;
/** Milliseconds after which another attempt is made beside one that hangs: TCP itself asks again only after 1, 3 and 7 s. */
const HANGING_MS = 200;

/**
 * Reconnects to a V2 that cannot be reached, after 20 ms, doubling to 100, until it can: also while no request waits, because those that
 * are answered at once do not. Times are milliseconds.
 */
export class Reconnection {
  /** Set while V2 cannot be reached. */
  outage: Outage | undefined = undefined;
  /** Number of outages that ended. */
  recoveries = 0;
  private readonly owner: ReconnectionOwner;
  /** When the first of the attempts began that have failed since one last succeeded. */
  private failingSince: number | undefined = undefined;
  private retryAt = 0;
  private delay = FIRST_DELAY_MS;
  private timer: NodeJS.Timeout | undefined = undefined;

  constructor(owner: ReconnectionOwner) {
    this.owner = owner;
  }

  /** True once no attempt has succeeded for so long: V2 is known to be away. 0 is never. */
  isAway(now: number, connectTimeout: number): boolean {
    return this.outage !== undefined && connectTimeout > 0 && now >= this.outage.since + connectTimeout;
  }

  /** A connection was made. */
  reached(): void {
    this.failingSince = undefined;
    if (this.outage === undefined) return;
    this.outage = undefined;
    this.delay = FIRST_DELAY_MS;
    this.recoveries += 1;
    this.stop();
  }

  /** An attempt that began at `began` failed. It is an outage unless another address may still accept. */
  failed(began: number, fault: UpstreamFault, now: number, hasUsableAddress: boolean): void {
    this.failingSince ??= began;
    if (hasUsableAddress) return;
    this.outage = { since: this.outage?.since ?? this.failingSince, fault };
    this.retryAt = now + this.delay;
    this.delay = Math.min(this.delay * 2, MAX_DELAY_MS);
  }

  /** In an outage, makes the next attempt, now or when it is due. */
  next(now: number): void {
    if (this.outage === undefined) return;
    this.stop();
    if (this.retryAt <= now) {
      this.retryAt = now + HANGING_MS;
      this.owner.connectAgain();
    }
    this.timer = setTimeout(() => this.next(performance.now()), Math.ceil(this.retryAt - now));
    this.timer.unref();
  }

  stop(): void {
    clearTimeout(this.timer);
  }
}

/** Error codes of TLS and certificates: reconnecting changes nothing, and waiting hides the fault from the operator. */
const LASTING_CAUSE = /CERT|^ERR_TLS|^ERR_SSL|^UNABLE_TO_|^HOSTNAME_MISMATCH$|^EPROTO$/;

/** True for a fault that an operator has to fix: requests do not wait for its end. */
export function isLasting(fault: UpstreamFault): boolean {
  return LASTING_CAUSE.test(fault.cause);
}
