import type { BodySchemas, CheckedRequest } from '../../openapi/body-schemas.ts';
import { ObservationBudget } from '../../rewrite-log/attributes.ts';
import type { BodyCheck } from '../../rollout/body-checks.ts';
import { type Comparison, ComparisonTally, type ShadowView } from '../../rollout/comparison-tally.ts';
import type { Operation } from '../../rules/rule-book.ts';

// The state of comparisons of reads and checks of bodies, apart from the code that does them, which is rarely loaded.

/** Maximum bytes of a body to check. The steps of one check are bounded by {@link BodySchemas}, all of them by the budget. */
const MAX_BYTES = 16 * 1024;

/** A body for V2, or the reason for its absence. */
export type CheckableBody = Uint8Array | 'not-read' | 'too-large';

/** Request schemas of V2; `unread` until its description is read, undefined if none is configured. */
export type V2Schemas = BodySchemas | 'unread' | undefined;

/** Checks bodies that were not sent to V2 against V2's description, within the observation budget, failures first. */
export class BodyChecks {
  private readonly budget: ObservationBudget;
  private readonly schemas: () => V2Schemas;

  /** `now` is a monotonic clock, in milliseconds. */
  constructor(now: () => number, schemas: () => V2Schemas) {
    this.budget = new ObservationBudget(now);
    this.schemas = schemas;
  }

  /** True if a description of V2 is configured. */
  get isOn(): boolean {
    return this.schemas() !== undefined;
  }

  /** Warnings about bodies of a rule book's operations that are not checked. */
  warnings(operations: readonly Operation[]): readonly string[] {
    const schemas = this.schemas();
    return schemas === undefined || schemas === 'unread' ? [] : schemas.warnings(operations);
  }

  /** The part of a body to keep until it can be checked; undefined if there is nothing to check. */
  keep(body: Uint8Array | 'not-read' | undefined): CheckableBody | undefined {
    if (body === undefined || body.length === 0 || !this.isOn) return undefined;
    return body !== 'not-read' && body.length > MAX_BYTES ? 'too-large' : body;
  }

  /** Checks a body for the path `rest` below the version; beyond the budget of the second it is unknown. */
  check(
    method: string,
    rest: string,
    body: CheckableBody,
    isFailure: boolean,
    request: CheckedRequest,
  ): BodyCheck | undefined {
    const schemas = this.schemas();
    if (schemas === undefined) return undefined;
    if (typeof body === 'string') return { v2: 'unknown', why: body };
    if (schemas === 'unread') return { v2: 'unknown', why: 'no-description' };
    const check = this.budget.run(body.length, isFailure, () =>
      schemas.verdictOf(method, rest, body, request),
    );
    if (check === undefined) return { v2: 'unknown', why: 'budget' };
    return check.v2 === 'invalid' ? { ...check, at: shortened(check.at) } : check;
  }
}

/** Maximum characters of a pointer, whose names come from the client. */
const MAX_POINTER = 256;

/** The longest prefix of a pointer within the limit. */
function shortened(pointer: string): string {
  if (pointer.length <= MAX_POINTER) return pointer;
  return pointer.slice(0, pointer.lastIndexOf('/', MAX_POINTER));
}

/** A comparison without a result, and the reason. */
export function unknownComparison(reason: string, status: Pick<Comparison, 'status'> = {}): Comparison {
  return { verdict: 'unknown', ...status, differences: [], noise: 0, extra: 0, why: reason };
}

/** Comparisons of the responses of both origins: totals since the start, and the budget per second. */
export class Comparisons {
  /** Reads that are being verified. */
  verifying = 0;
  private readonly tally = new ComparisonTally();
  private readonly budget: ObservationBudget;

  /** `now` is a monotonic clock, in milliseconds. */
  constructor(now: () => number) {
    this.budget = new ObservationBudget(now);
  }

  /** Runs a comparison of so many bytes, within the budget per second; beyond it the result is unknown. */
  run(bytes: number, isFailure: boolean, compare: () => Comparison): Comparison {
    return this.budget.run(bytes, isFailure, compare) ?? unknownComparison('budget');
  }

  /** Adds the result of a shadowed, or of a verified, read of this time (milliseconds since 1970). */
  add(operation: string | undefined, comparison: Comparison, isVerified: boolean, time: number): void {
    this.tally.add(operation, comparison, isVerified, time);
  }

  /** Results by operation. */
  get list(): readonly ShadowView[] {
    return this.tally.list;
  }
}
