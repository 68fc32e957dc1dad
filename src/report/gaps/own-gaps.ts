import type { LogGap } from './log-gaps.ts';
import { lengthWords } from '../text/number-text.ts';

/** A difference of the clocks below it is none: they drift apart, and time servers set them right. */
const JUMP_MS = 60_000;
/** Maximum gaps that are kept: the latest. */
const MAX_GAPS = 100;

/** What a running gateway knows to be lacking in its own counts: its clock was set, or a worker ended with counts of its own. */
export class OwnGaps {
  private readonly time: () => number;
  private readonly monotonic: () => number;
  private gaps: readonly LogGap[] = [];
  /** The time at which the monotonic clock was 0. */
  private origin: number;

  /** `time` is the clock in milliseconds since 1970; `monotonic` is one that nobody sets, in milliseconds. */
  constructor(time: () => number, monotonic: () => number) {
    this.time = time;
    this.monotonic = monotonic;
    this.origin = time() - monotonic();
  }

  /** The gaps so far, with what the clock shows now. */
  get all(): readonly LogGap[] {
    this.checkClock();
    return this.gaps;
  }

  /** Adds a gap if the clock was set since the last call. */
  checkClock(): void {
    const now = this.time();
    const origin = now - this.monotonic();
    const jump = origin - this.origin;
    this.origin = origin;
    if (Math.abs(jump) < JUMP_MS) return;
    const words = `set ${lengthWords(Math.abs(jump))} ${jump > 0 ? 'forward' : 'back'}`;
    const [from, until] = jump > 0 ? [now - jump, now] : [now, now - jump];
    this.add('clock', from, until, `The clock was ${words} at ${text(now)}.`);
  }

  /** Adds the end of a worker that was not asked to end; what it counted since `from` may be lost. */
  addWorkerEnd(number: number, from: number, how: string): void {
    const now = this.time();
    const sentence = `Worker ${number} ended at ${text(now)} (${how}), perhaps with counts that it had not reported.`;
    this.add(`worker ${number}`, from, now, sentence);
  }

  private add(log: string, from: number, until: number, sentence: string): void {
    const gap: LogGap = { log, kind: 'silent', from: text(from), until: text(until), sentence };
    this.gaps = [...this.gaps, gap].slice(-MAX_GAPS);
  }
}

function text(time: number): string {
  return new Date(time).toISOString();
}
