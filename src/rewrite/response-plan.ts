import { hasByteOrderMark } from '../json/byte-order-mark.ts';
import { applyEdits } from '../json/edit.ts';
import { NameTable } from '../json/member-name.ts';
import { type OpenedMembers, Scanner } from '../json/scanner.ts';
import { Slab } from '../json/slab.ts';
import { OBJECT } from '../json/tape.ts';
import type { WorkMemory } from '../json/work-memory.ts';
import { ChangeIndex } from '../rules/change-index.ts';
import { isRewritten } from '../rules/rewritten-methods.ts';
import type { Change, Operation, RuleBook } from '../rules/rule-book.ts';
import type { RequestRule, ResponseRule } from '../rules/rule.ts';
import { alias, compileAlias, type CompiledAlias } from './alias.ts';
import { aliasErrors, compileAliasErrors, type CompiledAliasErrors } from './alias-errors.ts';
import type { ResponseContext, ResponseRewrite } from './response-rewrite.ts';
import { ResponseRun, isAbout } from './response-run.ts';
import { compileDeprecations, deprecations, type CompiledDeprecations } from './deprecations.ts';
import { Draft } from './draft.ts';
import { compileFlatten, flatten, type CompiledFlatten } from './flatten.ts';
import { type MembersToOpen, openLike, openPath } from './open-path.ts';
import { type KeyCache, printDraft } from './print-draft.ts';

type Compiled = CompiledAlias | CompiledFlatten | CompiledDeprecations | CompiledAliasErrors;

/** The response plans of a rule book. */
export interface ResponsePlans {
  /** Returns the plan for responses to `operation`; `undefined` is for requests without an operation in the rule book. */
  of(operation: Operation | undefined, method: string): ResponsePlan;
}

/**
 * Compiles the response rules of `book`, each plan on first use. A change `on: every` applies to the responses to any POST or
 * PATCH.
 */
export function compileResponsePlans(book: RuleBook): ResponsePlans {
  const changes = new ChangeIndex(book.changes);
  const other = new ResponsePlan(book, changes.of(undefined, true));
  const none = new ResponsePlan(book, []);
  const plans = new Map<string, ResponsePlan>();
  return {
    of: (operation, method) => {
      if (operation === undefined) return isRewritten(method) ? other : none;
      const known = plans.get(operation.id);
      if (known !== undefined) return known;
      const plan = new ResponsePlan(book, changes.of(operation.id, isRewritten(operation.method)));
      plans.set(operation.id, plan);
      return plan;
    },
  };
}

/** Size of a response in bytes from which its tape may be so large that it is not kept for the next one. */
const LARGE_BYTES = 256 * 1024;

/** All response rules of one operation, compiled so that a response is read only once. */
export class ResponsePlan {
  private readonly names = new NameTable();
  private readonly rules: readonly Compiled[];
  private readonly scanner: Scanner;
  private readonly keys: KeyCache = [];
  private readonly slab = new Slab();

  /** `changes` are those that apply to responses to the operation. */
  constructor(book: RuleBook, changes: readonly Change[]) {
    this.rules = this.compile(changes);
    // A member that a flatten lifts was one level deeper before.
    const lifted = this.rules.filter((rule) => rule.rule === 'flatten').length;
    const record = this.rules.reduce((deepest, rule) => Math.max(deepest, reach(rule)), 0) + lifted;
    this.scanner = new Scanner({
      depth: book.limits.depth,
      record,
      names: this.names,
      opened: openedBy(this.rules),
    });
  }

  /** True if no rule applies to any response to the operation. */
  get isEmpty(): boolean {
    return this.rules.length === 0;
  }

  /** True if a rule applies to responses with this status; `deprecated` says whether the request used deprecated attributes. */
  appliesTo(status: number, deprecated: boolean): boolean {
    return this.rules.some(
      (rule) => isAbout(rule.status, status) && (rule.rule !== 'deprecations' || deprecated),
    );
  }

  /**
   * Rewrites a response; never throws, whatever the bytes are. Anything except a JSON object is left unchanged, and so is a
   * response for which `memory` is not enough.
   */
  rewrite(body: Uint8Array, context: ResponseContext, memory?: WorkMemory): ResponseRewrite {
    const outcome = this.rewriteWithin(body, context, memory);
    if (body.length > LARGE_BYTES) this.scanner.tape.clear();
    return outcome;
  }

  private rewriteWithin(
    body: Uint8Array,
    context: ResponseContext,
    memory: WorkMemory | undefined,
  ): ResponseRewrite {
    if (body.length === 0) return { verdict: 'unchanged', body };
    const from = hasByteOrderMark(body) ? 3 : 0;
    if (this.scanner.scan(body, from, memory) !== undefined)
      return { verdict: 'unchanged', body, note: 'response-malformed' };
    if (this.scanner.tape.isIncomplete) return { verdict: 'unchanged', body, note: 'response-buffer-full' };
    if (this.scanner.tape.kind(0) !== OBJECT) return { verdict: 'unchanged', body };
    const draft = new Draft(body, this.scanner.tape, this.names, false, memory);
    const run = new ResponseRun(draft, context);
    for (const rule of this.rules) {
      if (isAbout(rule.status, context.status)) applyRule(rule, run);
    }
    if (draft.isIncomplete) return { verdict: 'unchanged', body, note: 'response-buffer-full' };
    if (run.isIdle) return { verdict: 'unchanged', body };
    const edits = printDraft(draft, this.keys).edits(body, draft.tape, 0);
    return { verdict: 'rewritten', body: applyEdits(body, edits, this.slab), edits, records: run.finish() };
  }

  private compile(changes: readonly Change[]): readonly Compiled[] {
    const request = changes.flatMap((change) => change.request);
    return changes.flatMap(({ id, response }) =>
      response.map((rule) => compile(rule, id, this.names, request)),
    );
  }
}

function compile(
  rule: ResponseRule,
  change: string,
  names: NameTable,
  request: readonly RequestRule[],
): Compiled {
  switch (rule.rule) {
    case 'alias':
      return compileAlias(rule, change, names);
    case 'flatten':
      return compileFlatten(rule, change, names);
    case 'deprecations':
      return compileDeprecations(rule, change, names);
    case 'alias-errors':
      return compileAliasErrors(rule, change, names, request);
  }
}

function applyRule(rule: Compiled, run: ResponseRun): void {
  switch (rule.rule) {
    case 'alias':
      return run.each(rule, (object) => alias(rule, run, object));
    case 'flatten':
      return run.each(rule, (object) => flatten(rule, run, object));
    case 'deprecations':
      return deprecations(rule, run);
    case 'alias-errors':
      return run.each(rule, (object) => aliasErrors(rule, run, object));
  }
}

/** The ids of the members that rules open. A copy is opened under its new name, its source under the old one. */
function openedBy(rules: readonly Compiled[]): OpenedMembers {
  const opened: MembersToOpen = { objects: [], arrays: [] };
  for (const rule of rules.toReversed()) {
    openPath(opened, rule.path);
    if (rule.rule === 'flatten') opened.objects[rule.id] = true;
    if (rule.rule === 'alias') openLike(opened, rule.id, rule.as);
    if (rule.rule === 'alias-errors') opened.objects[rule.source] = true;
  }
  return opened;
}

/** The number of levels below the body that `rule` may read. */
function reach(rule: Compiled): number {
  if (rule.rule === 'deprecations') return rule.path.length;
  return rule.path.length + (rule.rule === 'alias' ? 1 : 2);
}
