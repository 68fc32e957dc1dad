import { hasByteOrderMark } from '../json/document.ts';
import { applyEdits } from '../json/edit.ts';
import { bytesOfText, NameTable } from '../json/names.ts';
import { Scanner } from '../json/scanner.ts';
import { ARRAY, OBJECT, Slab, type WorkMemory } from '../json/tape.ts';
import {
  type Change,
  ChangeIndex,
  isRewritten,
  type Operation,
  type Policies,
  type RuleBook,
} from '../rules/rule-book.ts';
import type { RequestRule, RequestRuleName } from '../rules/rule.ts';
import { RecordCache, ShapeCache } from './caches.ts';
import { Draft, type KeyCache, printDraft, type Recipe } from '../edits/draft.ts';
import {
  type EditRecord,
  joinedPatch,
  malformed,
  type Records,
  type Refusal,
  type Rewrite,
} from './records.ts';
import { kindOf } from '../rules/kinds/kinds.ts';
import { type Lookup, lookUp } from '../edits/mapped-values.ts';
import { Recorder, REQUEST_RECORDS } from '../edits/recorder.ts';
import {
  applyRule,
  type CompiledRule,
  goesAnywhere,
  isOfList,
  levelsRead,
  openedBy,
  Run,
  SeenIds,
  STEPS_OF_RULE,
  type Stop,
} from '../edits/run.ts';

/** The plans of a rule book: one for each operation, and one for every other POST or PATCH. */
export type Plans = PerOperation<Plan>;

/** Maximum nodes of a cached shape: hashing a larger body takes longer than running the rules. */
const MAX_CACHED_NODES = 128;

/** Maximum number of results for one shape; for further values, the rules run each time. */
const MAX_RESULTS = 64;

/** Size of a body in bytes from which its tape may be too large to keep for the next body. */
const LARGE_BYTES = 256 * 1024;

/** The outcome when there is not enough memory for the work. */
export const BUFFER_FULL: Extract<Rewrite, { readonly verdict: 'refused' }> = {
  verdict: 'refused',
  refusal: {
    code: 'buffer-full',
    status: 503,
    detail: 'There is no memory left to read the body; send it again later.',
  },
};
const EMPTY_OBJECT = bytesOfText('{}');

const NO_RECORDS: Records = { records: [], patch: [], omitted: 0 };

/** The record of a byte order mark that was dropped. */
export const BYTE_ORDER_MARK: EditRecord = {
  change: 'byte-order-mark',
  rule: 'strip',
  note: 'byte-order-mark',
};

/** The result of the rules for every body of one shape in which maps find the same values. */
interface ShapeResult {
  readonly recipe: Recipe;
  readonly records: Records;
}

/** The results for bodies of one shape, by the positions of the values that maps look up. */
interface ShapeResults {
  readonly lookups: readonly Lookup[];
  readonly byPositions: Map<string, ShapeResult>;
}

/** The outcome of rules for a JSON text that represents a body in another format. */
export type AppliedRules =
  | { readonly outcome: 'fault' | 'buffer-full' }
  | { readonly outcome: 'refuse'; readonly refusal: Refusal }
  | { readonly outcome: 'forward'; readonly note: string }
  | {
      readonly outcome: 'applied';
      readonly draft: Draft;
      readonly records: Records;
      /** True if a rule has read a value. */
      readonly readsValues: boolean;
    };

/** All request rules of one operation, compiled so that they read a body only once. */
export class Plan {
  private readonly policies: Policies;
  private readonly depth: number;
  private readonly names = new NameTable();
  private readonly rules: readonly CompiledRule[];
  /** The rules for a body that is an array; all others name a member of an object. */
  private readonly listRules: readonly CompiledRule[];
  private readonly scanner: Scanner;
  /** How members that no rule uses are grouped: a rule for any depth has to visit objects and lists. */
  private readonly grouping: true | 'scalars';
  private readonly keys: KeyCache = [];
  private readonly cache = new RecordCache();
  private readonly shapes = new ShapeCache<ShapeResult | ShapeResults>(MAX_CACHED_NODES);
  private readonly slab = new Slab();
  private readonly seen = new SeenIds();

  /** The plan for a request without a body; undefined if the rules create none. */
  private readonly maker: Plan | undefined;

  /** `changes` are those that apply to the operation. */
  constructor(book: RuleBook, changes: readonly Change[]) {
    this.policies = book.policies;
    this.depth = book.limits.depth;
    this.rules = this.compile(book.policies, changes);
    this.listRules = this.rules.filter(isOfList);
    this.grouping = this.rules.some(goesAnywhere) ? 'scalars' : true;
    this.scanner = new Scanner({
      depth: book.limits.depth,
      record: levelsRead(this.rules),
      names: this.names,
      opened: openedBy(this.rules),
    });
    // Rules for every request do not create a body; rules for an operation do. There is nothing to unwrap then.
    this.maker = changes.some((change) => change.on !== 'every' && change.request.some(makesBody))
      ? new Plan(book, changes.map(withoutBodies))
      : undefined;
  }

  /** True if the rules add members to the body of a request that has none. */
  get makesBodies(): boolean {
    return this.maker !== undefined;
  }

  /** True if no rule applies to any body. */
  get isEmpty(): boolean {
    return this.rules.length === 0;
  }

  /**
   * Rewrites a V1 body; never throws, for any bytes. The rewritten body never shares memory with the original. The memory for the work
   * comes from `memory`; if there is not enough, the body is refused with `buffer-full`.
   */
  rewrite(body: Uint8Array, memory?: WorkMemory): Rewrite {
    const outcome = this.rewriteWithin(body, memory);
    if (body.length > LARGE_BYTES) this.scanner.tape.clear();
    return outcome;
  }

  /**
   * Applies the rules to a JSON text that represents a body in another format. The draft is valid until the next body. Nothing is cached:
   * reading the other format takes longer than running the rules.
   */
  applyTo(text: Uint8Array, memory: WorkMemory | undefined): AppliedRules {
    if (this.scanner.scan(text, 0, memory) !== undefined) return { outcome: 'fault' };
    if (this.scanner.tape.isIncomplete) return { outcome: 'buffer-full' };
    const { run, recorder } = this.recordedRun(text, memory);
    const stop = this.applyRules(run);
    if (run.draft.isIncomplete) return { outcome: 'buffer-full' };
    if (stop?.kind === 'refuse') return { outcome: 'refuse', refusal: stop.refusal };
    if (stop !== undefined) return { outcome: 'forward', note: stop.note };
    const readsValues = run.hasForeignNames || run.lookups.length > 0;
    return {
      outcome: 'applied',
      draft: run.draft,
      records: recorder.finish(),
      readsValues,
    };
  }

  private rewriteWithin(body: Uint8Array, memory: WorkMemory | undefined): Rewrite {
    if (body.length === 0) return this.maker?.make(body) ?? { verdict: 'unchanged', body, records: [] };
    const from = hasByteOrderMark(body) ? 3 : 0;
    const fault = this.scanner.scan(body, from, memory);
    if (fault !== undefined) {
      const code = fault.code === 'depth' ? 'too-deep' : 'malformed-json';
      if (this.policies.malformed === 'forward')
        return { verdict: 'unchanged', body, records: [], note: code };
      return { verdict: 'refused', refusal: malformed(fault, this.depth) };
    }
    const { tape } = this.scanner;
    if (tape.isIncomplete) return BUFFER_FULL;
    const result = this.known(body) ?? this.compute(body, memory);
    if (result === undefined) return BUFFER_FULL;
    if ('kind' in result) {
      if (result.kind === 'refuse') return { verdict: 'refused', refusal: result.refusal };
      return { verdict: 'unchanged', body, records: [], note: result.note };
    }
    const { records, patch, omitted } = result.records;
    const edits = result.recipe.edits(body, tape, from);
    if (edits.length === 0) return { verdict: 'unchanged', body, records };
    const all = from === 0 ? records : [BYTE_ORDER_MARK, ...records];
    return {
      verdict: 'rewritten',
      body: applyEdits(body, edits, this.slab, memory?.room),
      edits,
      records: all,
      patch,
      omitted,
    };
  }

  /** Rewrites an empty object in place of the missing body. */
  private make(body: Uint8Array): Rewrite {
    const outcome = this.rewrite(EMPTY_OBJECT);
    if (outcome.verdict === 'unchanged') return { ...outcome, body };
    if (outcome.verdict === 'refused') return outcome;
    const edits = [{ start: 0, end: 0, insert: outcome.body }];
    return {
      ...outcome,
      edits,
      patch: joinedPatch([{ patch: [{ op: 'add', path: '', value: {} }] }, outcome]),
    };
  }

  /** Returns the cached result for the body that was scanned last. */
  private known(body: Uint8Array): ShapeResult | undefined {
    const { tape } = this.scanner;
    const cached = this.shapes.get(tape);
    if (cached === undefined || !('lookups' in cached)) return cached;
    return cached.byPositions.get(lookUp(cached.lookups, body, tape));
  }

  private remember(body: Uint8Array, lookups: readonly Lookup[], result: ShapeResult): void {
    const { tape } = this.scanner;
    if (lookups.length === 0) {
      this.shapes.set(tape, result);
      return;
    }
    const cached = this.shapes.get(tape);
    const positions = lookUp(lookups, body, tape);
    if (cached === undefined || !('lookups' in cached))
      this.shapes.set(tape, { lookups, byPositions: new Map([[positions, result]]) });
    else if (cached.byPositions.size < MAX_RESULTS) cached.byPositions.set(positions, result);
  }

  /** Applies the rules to the body that was scanned last; undefined if there is not enough memory. */
  private compute(body: Uint8Array, memory: WorkMemory | undefined): ShapeResult | Stop | undefined {
    const run = new Run(this.draft(body, memory), undefined, this.seen);
    const stop = this.applyRules(run);
    if (run.draft.isIncomplete) return undefined;
    if (stop !== undefined) return stop;
    const records = this.recordsOf(run, body, memory);
    if (records === undefined) return undefined;
    const result = { records, recipe: printDraft(run.draft, this.keys) };
    if (!run.hasForeignNames) this.remember(body, run.lookups, result);
    return result;
  }

  private draft(body: Uint8Array, memory: WorkMemory | undefined): Draft {
    return new Draft(body, this.scanner.tape, this.names, this.grouping, memory);
  }

  private recordedRun(
    body: Uint8Array,
    memory: WorkMemory | undefined,
  ): { readonly run: Run; readonly recorder: Recorder<RequestRuleName> } {
    const draft = this.draft(body, memory);
    const recorder = new Recorder<RequestRuleName>(draft, REQUEST_RECORDS);
    return { run: new Run(draft, recorder, this.seen), recorder };
  }

  private applyRules(run: Run): Stop | undefined {
    const kind = this.scanner.tape.kind(0);
    for (const rule of kind === OBJECT ? this.rules : kind === ARRAY ? this.listRules : []) {
      const stop = applyNoted(rule, run);
      if (stop !== undefined) return stop;
    }
    return undefined;
  }

  /**
   * The records of the applied rules, for people: cached from an earlier body with the same steps, or created in a second run.
   */
  private recordsOf(run: Run, body: Uint8Array, memory: WorkMemory | undefined): Records | undefined {
    if (run.codes.length === 0) return NO_RECORDS;
    const known = run.isSingular ? undefined : this.cache.get(run.codes);
    if (known !== undefined) return known;
    const { run: secondRun, recorder } = this.recordedRun(body, memory);
    this.applyRules(secondRun);
    if (secondRun.draft.isIncomplete) return undefined;
    const records = recorder.finish();
    if (!run.isSingular) this.cache.set(run.codes, records);
    return records;
  }

  private compile(common: Policies, changes: readonly Change[]): readonly CompiledRule[] {
    const rules: CompiledRule[] = [];
    for (const change of changes) {
      const policies = { ...common, ...change.policies };
      for (const rule of change.request) {
        const kind = kindOf(rule);
        if (kind.isIdle?.(rule) === true) continue;
        const base = { change: change.id, rule: rule.rule, code: rules.length * STEPS_OF_RULE, policies };
        rules.push(kind.compile(rule, base, this.names));
      }
    }
    return rules;
  }
}

/** True for a rule that adds a top-level member to the body. */
function makesBody(rule: RequestRule): boolean {
  return kindOf(rule).makesBody?.(rule) === true;
}

/** The change for a request without a body, without the rules that create one. */
function withoutBodies(change: Change): Change {
  return {
    ...change,
    on: 'every',
    request: change.request.filter((rule) => kindOf(rule).unwraps === undefined),
  };
}

function applyNoted(rule: CompiledRule, run: Run): Stop | undefined {
  if (rule.path.length === 0) return rule.apply(run, run.draft.root);
  const before = run.codes.length;
  const stop = applyRule(rule, run, (id, member) => run.settleRepeated(rule, id, member));
  // The records contain the index of an array, which the steps do not.
  if (run.codes.length > before && rule.path.includes(-1)) run.isSingular = true;
  // The same holds for names on the path that no rule lists.
  if (run.codes.length > before && goesAnywhere(rule)) run.readsValues();
  return stop;
}

export interface PerOperation<Compiled> {
  /** Returns the one for `operation`; `undefined` is for requests without an operation in the rule book. */
  of(operation: Operation | undefined): Compiled;
}

/** Compiles the changes that apply to the requests of each operation, on first use. */
export function perOperation<Compiled>(
  book: RuleBook,
  compile: (changes: readonly Change[]) => Compiled,
): PerOperation<Compiled> {
  const changes = new ChangeIndex(book.changes);
  const compiled = new Map<string | undefined, Compiled>();
  return {
    of: (operation) => {
      const known = compiled.get(operation?.id);
      if (known !== undefined) return known;
      const isEvery = operation === undefined || isRewritten(operation.method);
      const made = compile(changes.of(operation?.id, isEvery));
      compiled.set(operation?.id, made);
      return made;
    },
  };
}

/** Compiles the request rules of `book` into plans, each on first use. */
export function compilePlans(book: RuleBook): Plans {
  return perOperation(book, (changes) => new Plan(book, changes));
}
