import type { NameTable } from '../json/member-name.ts';
import type { Path, ResponseRule, StatusPattern } from '../rules/rule.ts';
import type { ResponseContext, ResponseRecord } from './response-rewrite.ts';
import type { Draft, DraftMember, DraftObject } from './draft.ts';
import { currentPointer, originPointer } from './pointer.ts';
import { pathIds } from './run.ts';

/** What every compiled response rule has. */
export interface CompiledResponseRule {
  readonly change: string;
  readonly rule: ResponseRule['rule'];
  readonly status: readonly StatusPattern[];
  /** Ids of the names on the way to the objects that the rule looks into; -1 for `*`. */
  readonly path: readonly number[];
}

/** Records that are kept of one response: a page of a list can have thousands of elements, and a line of the log must not. */
const LISTED = 64;

/** One run of the response rules over one response: the draft, and what has been done to it. */
export class ResponseRun {
  readonly draft: Draft;
  readonly context: ResponseContext;
  private readonly done: {
    readonly rule: CompiledResponseRule;
    readonly from: string | undefined;
    readonly at: DraftMember;
  }[] = [];

  constructor(draft: Draft, context: ResponseContext) {
    this.draft = draft;
    this.context = context;
  }

  /** Calls `visit` with each object at the rule's path; of a name that occurs twice, the last is taken, as parsers do. */
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

  /** True when nothing was done. */
  get isIdle(): boolean {
    return this.done.length === 0;
  }

  /** Writes down that the member `at` was added or changed; `source` is what it was copied from. */
  record(rule: CompiledResponseRule, at: DraftMember, source?: DraftMember): void {
    if (this.done.length >= LISTED) return;
    const from = source === undefined ? undefined : originPointer(this.draft, source);
    this.done.push({ rule, from, at });
  }

  /** Returns what was written down first, with pointers into the response as it is now. */
  finish(): readonly ResponseRecord[] {
    return this.done.map(({ rule: { change, rule }, from, at }) => ({
      change,
      rule,
      ...(from === undefined ? {} : { from }),
      path: currentPointer(this.draft, at) ?? '',
    }));
  }
}

/** True when one of the patterns is about the status. */
export function isAbout(status: readonly StatusPattern[], code: number): boolean {
  const family = `${Math.floor(code / 100)}xx`;
  return status.some((pattern) => pattern === code || pattern === family);
}

/** Splits the path of a member into the way to its object, compiled, and its name. */
export function memberPlace(
  path: Path,
  names: NameTable,
): { readonly path: readonly number[]; readonly name: string } {
  return { path: pathIds(path.slice(0, -1), names), name: path.at(-1) ?? '' };
}
