import type { RollbackRule } from '../rules/rollout.ts';
import type { OriginCount } from './rollout-state.ts';

/** Number of parts of a window. */
const WINDOW_PARTS = 12;

interface Part {
  /** Start, in multiples of the part length. */
  at: number;
  readonly v1: { requests: number; failures: number };
  readonly v2: { requests: number; failures: number };
}

/** Counts of a window: migrated requests, and those that V1 served. */
export interface WindowCount {
  readonly migrated: OriginCount;
  readonly v1: OriginCount;
}

/** Counts the failures of one canary stage over a sliding window. */
export class CanaryWindow {
  private readonly rule: RollbackRule;
  private readonly parts: Part[] = [];

  constructor(rule: RollbackRule) {
    this.rule = rule;
  }

  /** Counts a request at `now` (milliseconds); returns true when migrated requests now fail too often. */
  add(origin: 'v1' | 'v2', failed: boolean, now: number): boolean {
    const at = Math.floor((now / this.rule.window) * WINDOW_PARTS);
    let part = this.parts.at(-1);
    if (part === undefined || part.at !== at) {
      part = { at, v1: { requests: 0, failures: 0 }, v2: { requests: 0, failures: 0 } };
      this.parts.push(part);
      while ((this.parts[0]?.at ?? at) <= at - WINDOW_PARTS) this.parts.shift();
    }
    part[origin].requests += 1;
    if (failed) part[origin].failures += 1;
    return failed && origin === 'v2' && this.failsTooOften();
  }

  /** Counts of the window. */
  get count(): WindowCount {
    const sum = (origin: 'v1' | 'v2'): OriginCount => ({
      requests: this.parts.reduce((total, part) => total + part[origin].requests, 0),
      failures: this.parts.reduce((total, part) => total + part[origin].failures, 0),
    });
    return { migrated: sum('v2'), v1: sum('v1') };
  }

  private failsTooOften(): boolean {
    const { migrated, v1 } = this.count;
    if (migrated.requests < this.rule.requests) return false;
    return percent(migrated) > percent(v1) + this.rule.margin;
  }
}

function percent({ requests, failures }: OriginCount): number {
  return requests === 0 ? 0 : (failures / requests) * 100;
}
