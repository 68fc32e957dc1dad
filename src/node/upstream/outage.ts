import type { UpstreamFault } from '../../gateway/upstream.ts';

const FIRST_DELAY_MS = 20;
/** A V2 that is back is noticed within this time, plus what connecting takes. */
const LONGEST_DELAY_MS = 100;

/** A time in which no address of V2 takes connections: one attempt at a time is made, and requests wait for it. */
export class Outage {
  /** When the first attempt that failed began; a request waits from then on, or from when it came. */
  readonly since: number;
  /** Why the last attempt failed. */
  fault: UpstreamFault;
  /** When the next attempt is due. */
  retryAt: number;
  private delay = FIRST_DELAY_MS;

  /** All times are milliseconds of the pool's clock. */
  constructor(since: number, fault: UpstreamFault, now: number) {
    this.since = since;
    this.fault = fault;
    this.retryAt = now;
    this.failed(fault, now);
  }

  /** Another attempt failed: the next one follows in twice the time. */
  failed(fault: UpstreamFault, now: number): void {
    this.fault = fault;
    this.retryAt = now + this.delay;
    this.delay = Math.min(this.delay * 2, LONGEST_DELAY_MS);
  }
}

/** Codes of TLS and certificates: connecting again changes nothing, and waiting hides the fault from the operator. */
const LASTING_CAUSE = /CERT|^ERR_TLS|^ERR_SSL|^UNABLE_TO_|^HOSTNAME_MISMATCH$|^EPROTO$/;

/** True for a fault that a person has to mend: nobody waits for the end of it. */
export function isLasting(fault: UpstreamFault): boolean {
  return LASTING_CAUSE.test(fault.cause);
}
