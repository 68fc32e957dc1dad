import { countUse, type Span } from './span.ts';
import type { TallyEntry } from './tally-entry.ts';

/** Verdicts of V2's schema on the bodies of one operation that were not sent to V2. */
export interface BodyCheckSums {
  valid: number;
  /** Bodies that V1 accepted and V2's schema refuses. */
  invalid: number;
  /** Bodies that V2's schema refuses as V1 did. */
  refusedByBoth: number;
  unknown: number;
  /** Places of the first fault of bodies that V1 accepted. */
  readonly pointers: Map<string, Span>;
}

/** Maximum operations of one client, and pointers of one operation. */
const MAX_OPERATIONS = 1000;
const MAX_POINTERS = 40;

/** Whether V2's schema refuses a body that V1 accepted. */
export function isRefusedBySchema({ would, status }: Pick<TallyEntry, 'would' | 'status'>): boolean {
  return would?.v2 === 'invalid' && status > 0 && status < 400;
}

/** Counts the checks of one client's bodies, by operation. */
export class BodyCheckCounts {
  readonly all = new Map<string, BodyCheckSums>();

  /** Counts the check of an entry, if it has one. V1's 5xx and clients that left say nothing about the body. */
  add(call: string, { would, status, time }: TallyEntry): void {
    if (would?.v2 === undefined || status === 0 || status >= 500) return;
    const sums = this.sumsOf(call);
    if (sums === undefined) return;
    if (would.v2 !== 'invalid') {
      sums[would.v2 === 'valid' ? 'valid' : 'unknown'] += 1;
      return;
    }
    if (status >= 400) {
      sums.refusedByBoth += 1;
      return;
    }
    sums.invalid += 1;
    countUse(sums.pointers, would.at ?? '', time, MAX_POINTERS);
  }

  private sumsOf(call: string): BodyCheckSums | undefined {
    const known = this.all.get(call);
    if (known !== undefined) return known;
    if (this.all.size >= MAX_OPERATIONS) return undefined;
    const sums = { valid: 0, invalid: 0, refusedByBoth: 0, unknown: 0, pointers: new Map<string, Span>() };
    this.all.set(call, sums);
    return sums;
  }
}
