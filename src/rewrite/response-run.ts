import type { NameTable } from '../json/member-name.ts';
import type { Path, ResponseRule, StatusPattern } from '../rules/rule.ts';
import type { ResponseContext, ResponseRecord } from './response-rewrite.ts';
import type { Draft, DraftMember, DraftObject } from './draft.ts';
import { currentPointer, originPointer } from './pointer.ts';
import { pathIds } from './run.ts';

/** Properties of every compiled response rule. */
export interface CompiledResponseRule {
  readonly change: string;
  readonly rule: ResponseRule['rule'];
  readonly status: readonly StatusPattern[];
  /** Ids of the names on the path to the objects that the rule applies to; -1 for `*`. */
  readonly path: readonly number[];
}

/** Maximum records of one response: a page of a list can have thousands of elements, and a log line must not. */
const MAX_RECORDS = 64;

/** One run of the response rules over one response: the draft and its changes so far. */
export class ResponseRun {
  readonly draft: Draft;
  readonly context: ResponseContext;
  private readonly changes: {
    readonly rule: CompiledResponseRule;
    readonly from: string | undefined;
    readonly at: DraftMember;
  }[] = [];

  constructor(draft: Draft, context: ResponseContext) {
    this.draft = draft;
    this.context = context;
  }

  /** Calls `visit` with each object at the rule's path; of a repeated name, the last is used, as parsers do. */
  each(rule: CompiledResponseRule, visit: (object: DraftObject) => void): void {
    this.draft.each<never>(
      rule.path,
      (object) => {
        visit(object);
        return undefined;
      },
      () => undefined,
    );
  }

  /** True if nothing was changed. */
  get isIdle(): boolean {
    return this.changes.length === 0;
  }

  /** Records that the member `at` was added or changed; `source` is the member that it was copied from. */
  record(rule: CompiledResponseRule, at: DraftMember, source?: DraftMember): void {
    if (this.changes.length >= MAX_RECORDS) return;
    const from = source === undefined ? undefined : originPointer(this.draft, source);
    this.changes.push({ rule, from, at });
  }

  /** Returns the records, with pointers into the current response. */
  finish(): readonly ResponseRecord[] {
    return this.changes.map(({ rule: { change, rule }, from, at }) => ({
      change,
      rule,
      ...(from === undefined ? {} : { from }),
      path: currentPointer(this.draft, at) ?? '',
    }));
  }
}

/** True if one of the patterns includes the status. */
export function isAbout(status: readonly StatusPattern[], code: number): boolean {
  const family = `${Math.floor(code / 100)}xx`;
  return status.some((pattern) => pattern === code || pattern === family);
}

/** Splits the path of a member into the compiled path of its object and its name. */
export function memberPlace(
  path: Path,
  names: NameTable,
): { readonly path: readonly number[]; readonly name: string } {
  return { path: pathIds(path.slice(0, -1), names), name: path.at(-1) ?? '' };
}
