import { type Answer, AnswerJudge } from '../../src/rewrite-log/answers.ts';
import type { Entry } from '../../src/rewrite-log/entry.ts';
import { sampleEntry } from './sample-entries.ts';

/** When such traffic begins: milliseconds since 1970. */
export const WATCH_START = Date.UTC(2026, 10, 29, 8);

/** The clients of such traffic. */
export const [ACME, OTHER] = ['a'.repeat(16), 'b'.repeat(16)] as const;

/** Exchanges of one operation that are observed: by default migrated orders that are well. */
export class WatchedTraffic {
  now = WATCH_START;
  readonly entries: Entry[] = [];
  private readonly judge = new AnswerJudge();
  private readonly onEntry: (entry: Entry, time: number, answer: Answer) => void;

  constructor(onEntry: (entry: Entry, time: number, answer: Answer) => void) {
    this.onEntry = onEntry;
  }

  /** So many exchanges, a second apart. */
  see(requests: number, facts: Partial<Entry> | ((number: number) => Partial<Entry>) = {}): this {
    for (let number = 0; number < requests; number += 1) {
      this.now += 1000;
      const entry: Entry = {
        ...sampleEntry(1, this.now),
        operation: 'order_floor_plan',
        route: 'migrate',
        verdict: 'rewritten',
        failure: undefined,
        origin: undefined,
        would: undefined,
        incomplete: undefined,
        client: ACME,
        status: 201,
        totalMs: 0,
        ...(typeof facts === 'function' ? facts(number) : facts),
      };
      this.entries.push(entry);
      this.onEntry(entry, this.now, this.judge.judge(entry));
    }
    return this;
  }

  pass(milliseconds: number): this {
    this.now += milliseconds;
    return this;
  }
}
