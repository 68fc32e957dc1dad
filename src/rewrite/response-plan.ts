import { concatBytes } from '../http/byte-collector.ts';
import { hasByteOrderMark } from '../json/document.ts';
import { applyEdits, type Edit } from '../json/edit.ts';
import { NameTable } from '../json/names.ts';
import { Scanner } from '../json/scanner.ts';
import { ARRAY, OBJECT, Slab, unlimitedMemory, type WorkMemory } from '../json/tape.ts';
import { InverseIndex, type InvertedRule, resourcePath } from '../rules/inverse.ts';
import {
  canBeRewritten,
  type Change,
  ChangeIndex,
  isRewritten,
  type Operation,
  type RuleBook,
} from '../rules/rule-book.ts';
import type { Path, ResponseRuleName } from '../rules/rule.ts';
import { placedMembers } from '../rules/kinds/kinds.ts';
import { ListPieces } from './list-pieces.ts';
import { isOfErrors, type ErrorForm, type ErrorsRule } from '../rules/kinds/errors.ts';
import { ShapeCache } from './caches.ts';
import { Draft, DraftObject, find, type KeyCache, printDraft, type Recipe } from '../edits/draft.ts';
import { compileErrors } from './errors.ts';
import { compileResponseRule } from '../rules/kinds/kinds.ts';
import { inOrder } from '../rules/kinds/wrap.ts';
import { LinkReader } from './link-stream.ts';
import type { BodyLinks } from './links.ts';
import { queryPlanOf } from './query-plan.ts';
import type { Records } from '../edits/records.ts';
import type { PatchOperation } from './records.ts';
import { Recorder, RESPONSE_RECORDS } from '../edits/recorder.ts';
import { isAbout, type ResponseRecord, type ResponseRewrite } from './response-rules.ts';
import {
  applyRule,
  type Asked,
  goesAnywhere,
  isOfList,
  levelsRead,
  openedBy,
  Run,
  SeenIds,
} from '../edits/run.ts';
import type { CompiledResponseRule } from '../rules/kinds/kinds.ts';
import type { ResponseContext } from './response-rules.ts';

/** The effect of the rules on every response of one shape with one status. */
interface ShapeResult {
  readonly status: number;
  /** Absent if the rules have no effect. */
  readonly recipe: Recipe | undefined;
  readonly records: readonly ResponseRecord[];
  readonly omitted: number;
  readonly patch: readonly PatchOperation[];
  /** True if an inverse applies, and the response has no resource for it. */
  readonly lacksResource: boolean;
  readonly asked: Asked | undefined;
}

/** Maximum nodes of a cached shape, about a page of thirty orders: below that, comparing shapes is faster than running the rules. */
const MAX_CACHED_NODES = 1024;

/** Size of a response in bytes from which its tape may be too large to keep for the next response. */
const LARGE_BYTES = 256 * 1024;

/** Compiles a rule for a plan with these names; `errors` becomes several. */
type RuleSource = (names: NameTable) => readonly CompiledResponseRule[];

interface PlanParts {
  readonly sources: readonly RuleSource[];
  /** Names on the path to the resource; undefined if no inverse applies. */
  readonly resource: Path | undefined;
  readonly turnerOf: LinkTurnerOf | undefined;
  /** Maximum levels of nesting of a response. */
  readonly depth: number;
}

/** Rewrites a long response in pieces. */
export interface ResponsePieces {
  /** The list whose elements the rules are about; undefined where no rule applies. */
  readonly list: ListPieces | undefined;
  /** Returns the client's form of a link, and any other text unchanged; undefined if links are not rewritten. */
  readonly turn: ReturnType<LinkTurnerOf> | undefined;
}

/** All response rules of one operation, compiled so that a response is read only once. */
export class ResponsePlan {
  private readonly names = new NameTable();
  private readonly rules: readonly CompiledResponseRule[];
  /** The rules for a response that is an array; all others name a member of an object. */
  private readonly listRules: readonly CompiledResponseRule[];
  /** Rewrites links after the rules; undefined if links are not rewritten. */
  private readonly turnerOf: LinkTurnerOf | undefined;
  /** Selected rules by status: a number of three digits, so the map stays small. */
  private readonly byStatus = new Map<number, readonly CompiledResponseRule[]>();
  /** The path by status to the list that all rules are about. */
  private readonly lists = new Map<number, readonly number[] | 'none'>();
  private readonly scanner: Scanner;
  private readonly keys: KeyCache = [];
  private readonly slab = new Slab();
  private readonly seen = new SeenIds();
  private readonly shapes = new ShapeCache<ShapeResult>(MAX_CACHED_NODES);
  /** True if rules read only members that they name, so that all others can be grouped in a draft. */
  private readonly isGrouped: boolean | 'scalars';
  /** True if a rule looks something up at V2. */
  private readonly hasLookups: boolean;
  /** The ids on the path to the resource; undefined if no inverse applies. */
  private readonly resource: readonly number[] | undefined;

  constructor({ sources, resource, turnerOf, depth }: PlanParts) {
    this.turnerOf = turnerOf;
    this.rules = sources.flatMap((compileWith) => compileWith(this.names));
    this.listRules = this.rules.filter(isOfList);
    this.hasLookups = this.rules.some((rule) => rule.looksUp);
    const isAnywhere = this.rules.some(goesAnywhere);
    this.isGrouped =
      !this.rules.some(({ readsAnyName }) => readsAnyName === true) && (isAnywhere ? 'scalars' : true);
    this.resource = resource?.map((name) => this.names.add(name));
    this.scanner = new Scanner({
      depth,
      record: levelsRead(this.rules, resource?.length),
      names: this.names,
      opened: openedBy(this.rules),
    });
  }

  /** True if no rule applies to any response to the operation. */
  get isEmpty(): boolean {
    return this.rules.length === 0 && this.turnerOf === undefined;
  }

  /** Ids of the changes whose rules it applies. */
  get changes(): ReadonlySet<string> {
    return new Set(this.rules.map(({ change }) => change));
  }

  /** True if a rule applies to responses with this status; `deprecated` says whether the request used deprecated attributes. */
  appliesTo(status: number, deprecated: boolean): boolean {
    if (this.turnerOf !== undefined) return true;
    const applied = this.rulesFor(status);
    return deprecated ? applied.length > 0 : applied.some(({ readsDeprecated }) => readsDeprecated !== true);
  }

  /** True if a rule looks something up for responses with this status, which are then rewritten whole. */
  looksUp(status: number): boolean {
    return this.hasLookups && this.rulesFor(status).some((rule) => rule.looksUp);
  }

  /**
   * Rewrites a response; never throws, for any bytes. Leaves a scalar unchanged, an array if no rule's path begins with `*`, and a response
   * for which `memory` is not enough.
   */
  rewrite(body: Uint8Array, context: ResponseContext, memory?: WorkMemory): ResponseRewrite {
    const outcome = this.rewriteWithin(body, context, memory);
    if (body.length > LARGE_BYTES) this.scanner.tape.clear();
    const turn = this.turnerFor(context);
    return turn === undefined ? outcome : withLinks(outcome, turn);
  }

  /**
   * Returns what rewrites a response in small pieces while it arrives; undefined if rules concern more than the elements of one list.
   * Links are rewritten at any depth.
   */
  pieces(context: ResponseContext, emit: (part: Uint8Array) => void): ResponsePieces | undefined {
    const [list, turn] = [this.listPieces(context, emit), this.turnerFor(context)];
    const isPossible = list !== undefined || (turn && this.rulesFor(context.status).length === 0);
    return isPossible ? { list, turn } : undefined;
  }

  private listPieces(
    context: ResponseContext,
    emit: (part: Uint8Array) => void,
    outside?: (part: Uint8Array) => void,
    memory: WorkMemory = unlimitedMemory,
  ): ListPieces | undefined {
    const list = this.listFor(context);
    if (list === undefined) return undefined;
    const path = list.map((id) => this.names.name(id));
    const again = usedAgain(memory);
    const rewrite = (piece: Uint8Array): ResponseRewrite => {
      again.free();
      return this.rewriteWhole(piece, context, again);
    };
    return new ListPieces(path, rewrite, emit, outside);
  }

  private turnerFor({ links }: ResponseContext): ReturnType<LinkTurnerOf> | undefined {
    return links === undefined ? undefined : this.turnerOf?.(links);
  }

  private rewriteWithin(
    body: Uint8Array,
    context: ResponseContext,
    memory: WorkMemory | undefined,
  ): ResponseRewrite {
    const inPieces = body.length > LARGE_BYTES ? this.rewriteByPieces(body, context, memory) : undefined;
    return inPieces ?? this.rewriteWhole(body, context, memory);
  }

  /** Rewrites a long list; undefined if the response has none, or parsers could find different ones. */
  private rewriteByPieces(
    body: Uint8Array,
    context: ResponseContext,
    memory: WorkMemory | undefined,
  ): ResponseRewrite | undefined {
    const outside: Uint8Array[] = [];
    const out = new Output(body.length, memory);
    const pieces = this.listPieces(
      context,
      (part) => out.add(part),
      (part) => outside.push(part),
      memory,
    );
    if (pieces === undefined) return undefined;
    pieces.pushWhole(body);
    if (pieces.lists !== 1 || pieces.isAmbiguous) return undefined;
    const { note, records, omitted, patch } = pieces.end();
    if (note !== undefined && note !== 'response-too-large') return unchanged(body, note);
    const around = concatBytes(outside);
    if (this.scanner.scan(around, hasByteOrderMark(around) ? 3 : 0) !== undefined)
      return unchanged(body, 'response-malformed');
    if (records.length === 0) return unchanged(body);
    return { verdict: 'rewritten', body: out.bytes, edits: [], records, omitted, patch };
  }

  /** The ids on the path to the list whose elements all applicable rules are about; undefined if there is no such list. */
  private listFor({ status, deprecated }: ResponseContext): readonly number[] | undefined {
    const applied = this.rulesFor(status);
    const rules = applied.filter(({ readsDeprecated }) => readsDeprecated !== true);
    if (deprecated.length > 0 && rules.length < applied.length) return undefined;
    const known = this.lists.get(status);
    if (known !== undefined) return known === 'none' ? undefined : known;
    const list = rules.map(listPathOf).find((path) => path !== undefined);
    const isOne =
      list !== undefined &&
      isPrefix(this.resource ?? [], list) &&
      rules.every((rule) => rule.looksUp !== true && rule.isOfBody !== true && isPrefix(list, rule.path));
    this.lists.set(status, isOne ? list : 'none');
    return isOne ? list : undefined;
  }

  private rewriteWhole(
    body: Uint8Array,
    context: ResponseContext,
    memory: WorkMemory | undefined,
  ): ResponseRewrite {
    if (body.length === 0) return unchanged(body);
    const from = hasByteOrderMark(body) ? 3 : 0;
    if (this.scanner.scan(body, from, memory) !== undefined) return unchanged(body, 'response-malformed');
    if (this.scanner.tape.isIncomplete) return unchanged(body, 'response-buffer-full');
    const kind = this.scanner.tape.kind(0);
    if (kind !== OBJECT && !(kind === ARRAY && this.listRulesFor(context.status).length > 0))
      return unchanged(body, this.undoes(context.status) ? 'response-no-resource' : undefined);
    const { tape } = this.scanner;
    const result = this.cached(context) ?? this.compute(body, context, memory);
    if (result === undefined) return unchanged(body, 'response-buffer-full');
    const { recipe, records, omitted, patch, lacksResource } = result;
    const asked = result.asked === undefined ? {} : { asked: result.asked };
    if (recipe === undefined)
      return { ...unchanged(body, lacksResource ? 'response-no-resource' : undefined), ...asked };
    const edits = recipe.edits(body, tape, 0);
    return {
      verdict: 'rewritten',
      body: applyEdits(body, edits, this.slab, memory?.room),
      edits,
      records,
      omitted,
      patch,
      ...asked,
    };
  }

  private cached(context: ResponseContext): ShapeResult | undefined {
    if (!this.isCacheable(context)) return undefined;
    const known = this.shapes.get(this.scanner.tape);
    return known?.status === context.status ? known : undefined;
  }

  /** Applies the rules to the response that was scanned last; undefined if there is not enough memory. */
  private compute(
    body: Uint8Array,
    context: ResponseContext,
    memory: WorkMemory | undefined,
  ): ShapeResult | undefined {
    const { run, recorder } = this.run(body, context, memory, false);
    if (run.draft.isIncomplete) return undefined;
    const recipe = recorder.length === 0 ? undefined : printDraft(run.draft, this.keys);
    const records = this.recordsOf(recorder, body, context, memory);
    if (records === undefined) return undefined;
    const lacksResource =
      this.resource !== undefined && this.undoes(context.status) && !hasResource(run.draft, this.resource);
    const { asked } = run;
    const result: ShapeResult = { status: context.status, recipe, ...records, lacksResource, asked };
    const hasReadValues = run.hasForeignNames || run.lookups.length > 0;
    if (!hasReadValues && this.isCacheable(context)) this.shapes.set(this.scanner.tape, result);
    return result;
  }

  /** The records of a run. Their patch, if one can express all edits, needs a second run. Undefined if there is not enough memory. */
  private recordsOf(
    recorder: Recorder<ResponseRuleName>,
    body: Uint8Array,
    context: ResponseContext,
    memory: WorkMemory | undefined,
  ): Records<ResponseRuleName> | undefined {
    if (recorder.length === 0 || !recorder.isPatchable) return recorder.finish();
    const again = this.run(body, context, memory, true);
    return again.run.draft.isIncomplete ? undefined : again.recorder.finish();
  }

  /** True if an inverse applies to responses with this status: a response without its resource then keeps V2's shape. */
  private undoes(status: number): boolean {
    return this.resource !== undefined && status >= 200 && status < 300;
  }

  /** Whether the effect of the rules depends only on the shape: not on unlisted names, nor on the contents of strings. */
  private isCacheable({ status, deprecated }: ResponseContext): boolean {
    return this.isGrouped === true && deprecated.length === 0 && !this.readsTexts(status);
  }

  private readsTexts(status: number): boolean {
    return this.rulesFor(status).some(({ readsTexts }) => readsTexts === true);
  }

  private run(
    body: Uint8Array,
    context: ResponseContext,
    memory: WorkMemory | undefined,
    makesPatch: boolean,
  ): { readonly run: Run; readonly recorder: Recorder<ResponseRuleName> } {
    const draft = new Draft(body, this.scanner.tape, this.names, this.isGrouped, memory);
    const recorder = new Recorder<ResponseRuleName>(draft, RESPONSE_RECORDS, makesPatch);
    const run = new Run(draft, recorder, this.seen, context);
    const isList = draft.list !== undefined;
    const applied = isList ? this.listRulesFor(context.status) : this.rulesFor(context.status);
    // Of a repeated name on the path, the last counts, as in most parsers; no rule for responses stops.
    for (const rule of applied) applyRule(rule, run, () => undefined);
    return { run, recorder };
  }

  /** The rules for responses with this status, selected once, because every response needs them. */
  private rulesFor(status: number): readonly CompiledResponseRule[] {
    const known = this.byStatus.get(status);
    if (known !== undefined) return known;
    const applied = this.rules.filter((rule) => isAbout(rule.status, status));
    this.byStatus.set(status, applied);
    return applied;
  }

  /** The rules for a response with this status that is an array. */
  private listRulesFor(status: number): readonly CompiledResponseRule[] {
    return this.listRules.length === 0 ? this.listRules : this.rulesFor(status).filter(isOfList);
  }
}

function unchanged(
  body: Uint8Array,
  note?: Extract<ResponseRewrite, { readonly verdict: 'unchanged' }>['note'],
): ResponseRewrite {
  return note === undefined ? { verdict: 'unchanged', body } : { verdict: 'unchanged', body, note };
}

/** The rule of each operation of a book that names the form of V2's errors and has no rule for them there. */
const DECLARED_ERRORS: ErrorsRule = { rule: 'errors', details: {}, status: ['4xx', '5xx'] };

/**
 * First undoes the request rules; the other rules then apply to a response in V1's shape. A form of errors describes V2's bodies, so names
 * in errors are turned back before other rules give these bodies V1's form; without one, `errors` applies where it stands.
 */
function sourcesOf(
  changes: readonly Change[],
  inverted: readonly InvertedRule[],
  form: ErrorForm | undefined,
): readonly RuleSource[] {
  const request = changes.flatMap((change) => change.request);
  const query = queryPlanOf(changes);
  const renaming = changes.find((change) => change.request.length > 0 || change.query !== undefined);
  const [errors, others]: [RuleSource[], RuleSource[]] = [[], []];
  const addErrors = (rule: ErrorsRule, id: string): void => {
    (form === undefined ? others : errors).push((names) =>
      compileErrors(rule, id, names, request, query, form),
    );
  };
  const all = changes.flatMap(({ id, response }) => response.map((rule) => ({ id, rule })));
  for (const { id, rule } of inOrder(all)) {
    if (rule.rule === 'inverse') continue;
    if (isOfErrors(rule)) addErrors(rule, id);
    else others.push((names) => [compileResponseRule(rule, id, names)]);
  }
  if (form !== undefined && errors.length === 0 && renaming !== undefined)
    addErrors(DECLARED_ERRORS, renaming.id);
  return [
    ...inverted.map(({ rule, change }): RuleSource => {
      return (names) => [compileResponseRule(rule, change, names)];
    }),
    ...errors,
    ...others,
  ];
}

/** The path to the list whose elements a rule edits; undefined if it edits none. */
function listPathOf({ path }: CompiledResponseRule): readonly number[] | undefined {
  return path.includes(-1) ? path.slice(0, path.indexOf(-1)) : undefined;
}

/** True if `ids` begin with `prefix`. */
function isPrefix(prefix: readonly number[], ids: readonly number[]): boolean {
  return prefix.every((id, at) => ids[at] === id);
}

/** Memory for one piece at a time: the next piece uses what the last one took. */
function usedAgain(memory: WorkMemory): WorkMemory & { readonly free: () => void } {
  let taken = 0;
  let used = 0;
  return {
    take: (bytes) => {
      const missing = used + bytes - taken;
      if (missing > 0) {
        if (!memory.take(missing)) return false;
        taken += missing;
      }
      used += bytes;
      return true;
    },
    free: () => {
      used = 0;
    },
  };
}

/** A rewritten response in one block of memory, initially as large as the received one. */
class Output {
  private memory: Uint8Array = new Uint8Array();
  private readonly room: (bytes: number) => Uint8Array;
  private readonly expected: number;
  private length = 0;

  constructor(expected: number, memory: WorkMemory | undefined) {
    this.room = memory?.room ?? ((length) => new Uint8Array(length));
    this.expected = expected;
  }

  get bytes(): Uint8Array {
    return this.memory.subarray(0, this.length);
  }

  add(part: Uint8Array): void {
    const needed = this.length + part.length;
    if (needed > this.memory.length) {
      const larger = this.room(needed < this.expected ? this.expected : Math.ceil(needed * 1.25));
      larger.set(this.bytes);
      this.memory = larger;
    }
    this.memory.set(part, this.length);
    this.length = needed;
  }
}

/** True if the response has a member at the path; the body itself is always there. */
function hasResource(draft: Draft, path: readonly number[]): boolean {
  let value: ReturnType<Draft['open']> = draft.list ?? draft.root;
  for (const id of path) {
    const member = value instanceof DraftObject ? find(value, id) : undefined;
    if (member === undefined) return false;
    value = draft.open(member, member.node);
  }
  return true;
}

/** Returns a function that rewrites the links of a response, and returns any other text unchanged. */
type LinkTurnerOf = (links: BodyLinks) => (text: string) => string;

/**
 * Returns a response with its links rewritten as well, and without a patch, which would contain values. A response to which rules could
 * not be applied stays V2's.
 */
function withLinks(outcome: ResponseRewrite, turn: (text: string) => string): ResponseRewrite {
  if (outcome.verdict === 'unchanged' && (outcome.note ?? NO_RESOURCE) !== NO_RESOURCE) return outcome;
  const known = outcome.verdict === 'rewritten' ? outcome : { records: [], omitted: 0 };
  const links = new LinkReader(turn);
  const edits: Edit[] = [];
  links.read(outcome.body, edits);
  if (links.count === 0) return outcome;
  return {
    verdict: 'rewritten',
    body: applyEdits(outcome.body, edits),
    edits: [],
    ...links.withLinkRecords({ records: known.records, omitted: known.omitted, patch: [] }),
    ...(outcome.asked === undefined ? {} : { asked: outcome.asked }),
  };
}

/** The only note on a body to which rules could be applied. */
const NO_RESOURCE = 'response-no-resource';

/** The response plans of a rule book. */
export interface ResponsePlans {
  /** Returns the plan for responses to `operation`; `undefined` is for requests without an operation in the rule book. */
  of(operation: Operation | undefined, method: string): ResponsePlan;
}

/**
 * Compiles the response rules of `book`, each plan on first use. A change `on: every` applies to the responses to any POST or
 * PATCH; its `inverse` applies to all responses, and errors of reads get the names of the operations that write the resource.
 */
export function compileResponsePlans(book: RuleBook, turnerOf?: LinkTurnerOf): ResponsePlans {
  const changes = new ChangeIndex(book.changes);
  const inverse = new InverseIndex(book.operations, book.changes, book.resource);
  const unnamed = inverse.of(undefined);
  const usual = resourcePath(undefined, book.resource);
  const planOf = (
    applied: readonly Change[],
    inverted: readonly InvertedRule[],
    resource: Path,
  ): ResponsePlan =>
    new ResponsePlan({
      sources: sourcesOf(applied, inverted, book.errors),
      resource: inverted.length > 0 ? resource : undefined,
      turnerOf,
      depth: book.limits.depth,
    });
  let other: ResponsePlan | undefined;
  let read: ResponsePlan | undefined;
  const plans = new Map<string, ResponsePlan>();
  return {
    of: (operation, method) => {
      if (operation === undefined && isRewritten(method))
        return (other ??= planOf(changes.of(undefined, true), unnamed, usual));
      if (operation === undefined)
        return (read ??= planOf(changesOfRead([], inverse.writing(undefined)), unnamed, usual));
      const known = plans.get(operation.id);
      if (known !== undefined) return known;
      const named = changes.of(operation.id, isRewritten(operation.method));
      const applied = canBeRewritten(operation.method)
        ? named
        : changesOfRead(named, inverse.writing(operation));
      const plan = planOf(applied, inverse.of(operation), resourcePath(operation, book.resource));
      plans.set(operation.id, plan);
      return plan;
    },
  };
}

/** Adds to the changes that name a read the `errors` rules of those that write the resource, where V1 has other names for it. */
function changesOfRead(named: readonly Change[], writing: readonly Change[]): readonly Change[] {
  const isRenamed = writing.some(({ request }) => request.some((rule) => placedMembers(rule).length > 0));
  if (!isRenamed) return named;
  return writing.map((change) => {
    if (named.includes(change)) return change;
    return { ...change, query: [], response: change.response.filter((rule) => isOfErrors(rule)) };
  });
}
