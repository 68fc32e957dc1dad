import type { RollbackRule } from '../rules/rollout.ts';
import type { OriginCount } from './rollout-state.ts';

/** Parts that a window is counted in. */
const WINDOW_PARTS = 12;

interface Part {
  /** When it began, in lengths of a part. */
  at: number;
  readonly v1: { requests: number; failures: number };
  readonly v2: { requests: number; failures: number };
}

/** What a window holds: what was migrated, and what V1 answered. */
export interface WindowCount {
  readonly migrated: OriginCount;
  readonly v1: OriginCount;
}

/** Counts the failures of one canary's stage over a window that moves on. */
export class CanaryWindow {
  private readonly rule: RollbackRule;
  private readonly parts: Part[] = [];

  constructor(rule: RollbackRule) {
    this.rule = rule;
  }

  /** Counts a request at `now` (milliseconds); true when migrated requests now fail too often. */
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
    return failed && origin === 'v2' && this.isTooOften();
  }

  /** What the window holds. */
  get count(): WindowCount {
    const sum = (origin: 'v1' | 'v2'): OriginCount => ({
      requests: this.parts.reduce((all, part) => all + part[origin].requests, 0),
      failures: this.parts.reduce((all, part) => all + part[origin].failures, 0),
    });
    return { migrated: sum('v2'), v1: sum('v1') };
  }

  private isTooOften(): boolean {
    const { migrated, v1 } = this.count;
    if (migrated.requests < this.rule.requests) return false;
    return percent(migrated) > percent(v1) + this.rule.margin;
  }
}

function percent({ requests, failures }: OriginCount): number {
  return requests === 0 ? 0 : (failures / requests) * 100;
}
