import type { BodySchemas } from '../../openapi/body-schemas.ts';
import { ObservationBudget } from '../../rewrite-log/attributes/observation-budget.ts';
import type { BodyCheck } from '../../rollout/body-check.ts';
import type { Operation } from '../../rules/rule-book.ts';

/** Maximum bytes of a body to check. The steps of one check are bounded by {@link BodySchemas}, all of them by the budget. */
const MAX_BYTES = 16 * 1024;

/** A body for V2, or why it is not there. */
export type CheckableBody = Uint8Array | 'not-read' | 'too-large';

/** Request schemas of V2; `unread` while its description could not be read yet, undefined when none is configured. */
export type V2Schemas = BodySchemas | 'unread' | undefined;

/** Checks bodies that were not sent to V2 against V2's description, as many as the observation budget allows, failures first. */
export class BodyChecks {
  private readonly budget: ObservationBudget;
  private readonly schemas: () => V2Schemas;

  /** `now` is a monotonic clock, in milliseconds. */
  constructor(now: () => number, schemas: () => V2Schemas) {
    this.budget = new ObservationBudget(now);
    this.schemas = schemas;
  }

  /** True when a description of V2 is configured. */
  get isOn(): boolean {
    return this.schemas() !== undefined;
  }

  /** Sentences about what is not checked of the bodies of a rule book's operations. */
  warnings(operations: readonly Operation[]): readonly string[] {
    const schemas = this.schemas();
    return schemas === undefined || schemas === 'unread' ? [] : schemas.warnings(operations);
  }

  /** What to keep of a body until it can be checked; undefined when there is nothing to check. */
  keep(body: Uint8Array | 'not-read' | undefined): CheckableBody | undefined {
    if (body === undefined || body.length === 0 || !this.isOn) return undefined;
    return body !== 'not-read' && body.length > MAX_BYTES ? 'too-large' : body;
  }

  /** Checks a body for the path `rest` below the version; beyond the budget of the second it is unknown. */
  check(method: string, rest: string, body: CheckableBody, isFailure: boolean): BodyCheck | undefined {
    const schemas = this.schemas();
    if (schemas === undefined) return undefined;
    if (typeof body === 'string') return { v2: 'unknown', why: body };
    if (schemas === 'unread') return { v2: 'unknown', why: 'no-description' };
    const check = this.budget.run(body.length, isFailure, () => schemas.verdictOf(method, rest, body));
    if (check === undefined) return { v2: 'unknown', why: 'budget' };
    return check.v2 === 'invalid' ? { ...check, at: shortened(check.at) } : check;
  }
}

/** Maximum characters of a pointer: its names are the client's. */
const MAX_POINTER = 256;

/** The innermost place on the way to a pointer that is short enough. */
function shortened(pointer: string): string {
  if (pointer.length <= MAX_POINTER) return pointer;
  return pointer.slice(0, pointer.lastIndexOf('/', MAX_POINTER));
}
