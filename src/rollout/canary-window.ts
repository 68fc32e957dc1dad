import type { RollbackRule } from '../rules/rollout.ts';
import type { OriginCount } from './rollout-state.ts';
import { type SharedWindow, WINDOW_PARTS, windowSums } from './store.ts';

interface Counters {
  readonly v1: { requests: number; failures: number };
  readonly v2: { requests: number; failures: number };
}

interface Part extends Counters {
  /** Start, in multiples of the part length. */
  readonly at: number;
}

/** Counts of a window: migrated requests, and those that V1 served. */
export interface CanaryCount {
  readonly migrated: OriginCount;
  readonly v1: OriginCount;
}

/** Counts the failures of one canary stage over a sliding window. */
export class CanaryWindow {
  private readonly rule: RollbackRule;
  private readonly parts: Part[] = [];
  private unshared: Counters = counters();
  private shared: CanaryCount | undefined;

  constructor(rule: RollbackRule) {
    this.rule = rule;
  }

  /** Counts a request at `now` (milliseconds); returns true when migrated requests now fail too often. */
  add(origin: 'v1' | 'v2', failed: boolean, now: number): boolean {
    const at = this.partAt(now);
    let part = this.parts.at(-1);
    if (part === undefined || part.at !== at) {
      part = { at, ...counters() };
      this.parts.push(part);
      this.dropBefore(at);
    }
    part[origin].requests += 1;
    if (failed) part[origin].failures += 1;
    this.unshared[origin].requests += 1;
    if (failed) this.unshared[origin].failures += 1;
    return failed && origin === 'v2' && failsTooOften(this.count(now), this.rule);
  }

  /** Returns what was not yet added to the window of all replicas: requests and failures of V1, then of V2. */
  takeUnshared(): readonly number[] {
    const { v1, v2 } = this.unshared;
    this.unshared = counters();
    return [v1.requests, v1.failures, v2.requests, v2.failures];
  }

  /** Takes the counts of all replicas; returns true when their migrated requests fail too often. */
  merge(counts: SharedWindow): boolean {
    const [v1Requests = 0, v1Failures = 0, v2Requests = 0, v2Failures = 0] = windowSums(counts, 4);
    this.shared = {
      migrated: { requests: v2Requests, failures: v2Failures },
      v1: { requests: v1Requests, failures: v1Failures },
    };
    return v2Failures > 0 && failsTooOften(this.shared, this.rule);
  }

  /** Counts of all replicas when they were last known, or else of this one at `now` (milliseconds). */
  sharedCount(now: number): CanaryCount {
    return this.shared ?? this.count(now);
  }

  /** Counts in this replica of the window that ends at `now` (milliseconds). */
  count(now: number): CanaryCount {
    this.dropBefore(this.partAt(now));
    const sum = (origin: 'v1' | 'v2'): OriginCount => ({
      requests: this.parts.reduce((total, part) => total + part[origin].requests, 0),
      failures: this.parts.reduce((total, part) => total + part[origin].failures, 0),
    });
    return { migrated: sum('v2'), v1: sum('v1') };
  }

  private partAt(now: number): number {
    return Math.floor((now / this.rule.window) * WINDOW_PARTS);
  }

  /** Forgets parts that the window which ends with the part `at` no longer reaches. */
  private dropBefore(at: number): void {
    while ((this.parts[0]?.at ?? at) <= at - WINDOW_PARTS) this.parts.shift();
  }
}

function counters(): Counters {
  return { v1: { requests: 0, failures: 0 }, v2: { requests: 0, failures: 0 } };
}

function failsTooOften({ migrated, v1 }: CanaryCount, { requests, margin }: RollbackRule): boolean {
  return migrated.requests >= requests && percent(migrated) > percent(v1) + margin;
}

function percent({ requests, failures }: OriginCount): number {
  return requests === 0 ? 0 : (failures / requests) * 100;
}
