import { type HeaderList, isFieldValue, isNamed } from '../http/header-list.ts';
import { queryParts, valueOf } from '../http/target.ts';
import { inverseHeaderRule, isInverse } from '../rules/inverse.ts';
import {
  type Change,
  ChangeIndex,
  type Operation,
  type Policies,
  type RuleBook,
} from '../rules/rule-book.ts';
import type { HeaderQueryRule, HeaderRule, MappedValue, ResponseHeaderRule } from '../rules/rule.ts';
import { clientFieldAtV2 } from './client-key.ts';
import type { EditRecord, Refusal } from './records.ts';
import { isAbout } from './response-rules.ts';

/** The header fields of a message after the header rules, and the rules' effects. */
export interface RewrittenHeaders {
  readonly headers: HeaderList;
  /** A record for each field name that a rule concerned, however often it occurs; empty when nothing changed. */
  readonly records: readonly HeaderRecord[];
  /** The rule of each record. */
  readonly rules: readonly HeaderRule[];
}

/** The header fields of a request after the header rules, with its query, from which credentials may have moved. */
export interface RewrittenRequestHeaders extends RewrittenHeaders {
  /** With its question mark, unless it is empty. */
  readonly query: string;
}

/** One edit of the header section, for people. Never contains a value. */
export interface HeaderRecord extends EditRecord {
  readonly rule: Exclude<HeaderRule['rule'], 'query'> | 'move';
  readonly header: string;
}

/** Names whose values are credentials because a rule moves them, whatever they look like; parameters decoded, fields in lower case. */
export interface Secrets {
  readonly parameters: ReadonlySet<string>;
  readonly fields: ReadonlySet<string>;
}

/** The header plans of a rule book. */
export interface HeaderPlans {
  /** Returns the plan for requests of `operation`; undefined when no header rule applies to them or to their responses. */
  of(operation: Operation | undefined): HeaderPlan | undefined;
}

interface CompiledHeaderRule {
  readonly change: string;
  readonly rule: HeaderRule;
  readonly conflict: Policies['conflict'];
}

type RenameHeaderRule = Extract<HeaderRule, { readonly rule: 'rename' }>;

interface CompiledResponseRule extends ResponseHeaderRule {
  readonly change: string;
}

/** A field while rules are applied. */
interface Field {
  name: string;
  value: string;
  /** Its name as received; undefined for one that a rule added. */
  readonly origin: string | undefined;
}

/** The header rules of one operation, in both directions. Fields that no rule names keep their bytes and their order. */
export class HeaderPlan {
  private readonly rules: readonly CompiledHeaderRule[];
  private readonly back: readonly CompiledResponseRule[];

  /** `changes` are those that apply to the operation, in the order of the rule book. */
  constructor(changes: readonly Change[], policies: Policies) {
    this.rules = changes.flatMap(({ id, headers = [], policies: own }) => {
      const { conflict } = { ...policies, ...own };
      return headers.map((rule) => ({ change: id, rule, conflict }));
    });
    this.back = [
      ...changes.toReversed().flatMap((change) => (isInverse(change) ? inverseOf(change) : [])),
      ...changes.flatMap(({ id, responseHeaders = [] }) =>
        responseHeaders.map((rule) => ({ ...rule, change: id })),
      ),
    ];
  }

  /** True where a rule concerns responses; one that renames a field of requests does, since `Vary` has its name. */
  get hasResponseRules(): boolean {
    return this.back.length > 0 || this.rules.some(({ rule }) => rule.rule === 'rename');
  }

  /** Rewrites the header fields of a V1 request with this raw query, or says why it is refused. */
  request(headers: HeaderList, query: string): RewrittenRequestHeaders | Refusal {
    const run = new HeaderRun(headers, query);
    for (const { change, rule, conflict } of this.rules) {
      const refusal = run.apply(change, rule, conflict);
      if (refusal === 'forward') return { headers, query, records: [], rules: [] };
      if (refusal !== undefined) return refusal;
    }
    return { ...run.finish(), query: run.query };
  }

  /** Rewrites the header fields of V2's response with this status for the V1 client. */
  response(status: number, headers: HeaderList): RewrittenHeaders {
    const run = new HeaderRun(headers, '');
    for (const { change, rule, status: about } of this.back) {
      if (about !== undefined && !isAbout(about, status)) continue;
      run.apply(change, rule, 'v1');
      if (rule.rule === 'rename') run.renameIn('access-control-expose-headers', change, rule);
    }
    for (const { change, rule } of this.rules.toReversed())
      if (rule.rule === 'rename') run.renameIn('vary', change, { ...rule, field: rule.to, to: rule.field });
    return run.finish();
  }

  /** The names of fields of a V1 request as V2 gets them; fields that a rule adds are not among them. */
  v2Names(names: readonly string[]): RuledNames {
    let ruled = names;
    const edits: RuledNames['edits'][number][] = [];
    for (const { change, rule } of this.rules) {
      const before = ruled;
      if (rule.rule === 'rename') {
        const [from, to] = [rule.field.toLowerCase(), rule.to.toLowerCase()];
        // Browsers write these names in lower case, sorted (Fetch, CORS-unsafe request-header names).
        ruled = ruled.map((name) => (isNamed(name, from) ? to : name));
      } else if (rule.rule === 'strip') {
        const gone = rule.fields.map((name) => name.toLowerCase());
        ruled = ruled.filter((name) => !gone.some((one) => isNamed(name, one)));
      } else continue;
      const isSame = ruled.length === before.length && ruled.every((name, at) => name === before[at]);
      if (!isSame) edits.push({ change, rule });
    }
    return { names: edits.length === 0 ? names : [...new Set(ruled)], edits };
  }

  /** The names of fields that V2 allows as V1's clients know them, with those that V2 never gets. */
  v1Names(names: readonly string[]): RuledNames {
    const ruled = [...names];
    const edits: RuledNames['edits'][number][] = [];
    for (const { change, rule } of this.rules.toReversed()) {
      if (rule.rule !== 'rename' && rule.rule !== 'strip') continue;
      const has = (name: string): boolean => ruled.some((one) => isNamed(one, name.toLowerCase()));
      const isAllowed = rule.rule === 'strip' || has(rule.to);
      const fields = rule.rule === 'strip' ? rule.fields : [rule.field];
      const added = isAllowed ? fields.filter((name) => !has(name)) : [];
      if (added.length === 0) continue;
      ruled.push(...added);
      edits.push({ change, rule });
    }
    return { names: ruled, edits };
  }
}

/** Names of header fields after the rules, and the rules that concern one of them. */
export interface RuledNames {
  readonly names: readonly string[];
  readonly edits: readonly {
    readonly change: string;
    readonly rule: Extract<HeaderRule, { readonly rule: 'rename' | 'strip' }>;
  }[];
}

/** One run of header rules over one header section. */
class HeaderRun {
  query: string;
  private readonly received: HeaderList;
  private fields: Field[] = [];
  private readonly records: HeaderRecord[] = [];
  private readonly rules: HeaderRule[] = [];

  constructor(headers: HeaderList, query: string) {
    this.received = headers;
    this.query = query;
    for (let at = 0; at < headers.length; at += 2) {
      const name = headers[at] ?? '';
      this.fields.push({ name, value: headers[at + 1] ?? '', origin: name });
    }
  }

  apply(change: string, rule: HeaderRule, conflict: Policies['conflict']): Refusal | 'forward' | undefined {
    const outcome = this.applied(change, rule, conflict);
    while (this.rules.length < this.records.length) this.rules.push(rule);
    return outcome;
  }

  private applied(
    change: string,
    rule: HeaderRule,
    conflict: Policies['conflict'],
  ): Refusal | 'forward' | undefined {
    switch (rule.rule) {
      case 'rename':
        return this.rename(change, rule, conflict);
      case 'query':
        return this.move(change, rule, conflict);
      case 'set':
        this.set(change, rule.field, rule.value);
        return undefined;
      case 'default':
        if (this.named(rule.field).length === 0) this.add(change, rule.rule, rule.field, rule.value);
        return undefined;
      case 'strip':
        for (const name of rule.fields) this.drop(change, 'strip', name);
        return undefined;
      case 'map':
        this.map(change, rule.field, rule.values);
        return undefined;
    }
  }

  /**
   * Renames a field in the list of another field: a cache before the gateway would ignore a name in `Vary` that no V1 request has
   * (RFC 9110 §12.5.5), and a script could not read a field that is exposed under another name.
   */
  renameIn(list: string, change: string, rule: RenameHeaderRule): void {
    const from = rule.field.toLowerCase();
    let first: Field | undefined;
    for (const field of this.named(list)) {
      const value = field.value.replaceAll(/[^\s,]+/g, (name) => (isNamed(name, from) ? rule.to : name));
      if (value !== field.value) first ??= field;
      field.value = value;
    }
    if (first === undefined) return;
    this.records.push({ change, rule: 'rename', header: first.origin ?? first.name, to: first.name });
    this.rules.push(rule);
  }

  finish(): RewrittenHeaders {
    const { records, rules } = this;
    if (records.length === 0) return { headers: this.received, records, rules };
    return { headers: this.fields.flatMap(({ name, value }) => [name, value]), records, rules };
  }

  private named(name: string): readonly Field[] {
    const lower = name.toLowerCase();
    return this.fields.filter((field) => isNamed(field.name, lower));
  }

  /** V1 knew only the old name, so fields with the new one are dropped. */
  private rename(
    change: string,
    { field, to, as }: RenameHeaderRule,
    policy: Policies['conflict'],
  ): Refusal | 'forward' | undefined {
    const renamed = this.named(field);
    const [first] = renamed;
    if (first === undefined) return undefined;
    if (renamed.length > 1 && isSingleton(to)) return repeated(first.name);
    const settled = this.settle(change, 'rename', { to, by: `The header field ${field}`, policy });
    if (typeof settled === 'object' || settled === 'forward') return settled;
    const header = first.origin ?? first.name;
    for (const one of renamed) {
      one.name = to;
      if (as !== undefined) one.value = filled(as, one.value);
    }
    this.records.push({ change, rule: 'rename', header, to, ...noteOf(settled) });
    return undefined;
  }

  /** Moves a credential out of the query, because other parties' logs would keep it there. */
  private move(
    change: string,
    { parameter, to, as }: HeaderQueryRule,
    policy: Policies['conflict'],
  ): Refusal | 'forward' | undefined {
    if (this.query === '') return undefined;
    const parts = queryParts(this.query.slice(1));
    const [first, second] = parts.filter(({ name }) => name === parameter);
    if (first === undefined) return undefined;
    if (second !== undefined) return refusal('bad-request', `The query parameter ${parameter} occurs twice.`);
    const value = valueOf(first) ?? '';
    if (value === '' || value !== value.trim() || !isFieldValue(value))
      return refusal(
        'bad-request',
        `The query parameter ${parameter} has no value that a header field can carry.`,
      );
    const by = `The query parameter ${parameter}`;
    const settled = this.settle(change, 'move', { to, by, policy });
    if (typeof settled === 'object' || settled === 'forward') return settled;
    const left = parts.filter((part) => part !== first);
    this.query = left.length === 0 ? '' : `?${left.map(({ raw }) => raw).join('&')}`;
    this.fields.push({ name: to, value: filled(as, value), origin: undefined });
    this.records.push({ change, rule: 'move', header: to, from: `?${parameter}`, to, ...noteOf(settled) });
    return undefined;
  }

  /** Applies the policy `conflict` to fields that have the new name already; true where some were dropped. */
  private settle(
    change: string,
    rule: 'rename' | 'move',
    { to, by, policy }: { readonly to: string; readonly by: string; readonly policy: Policies['conflict'] },
  ): Refusal | 'forward' | boolean {
    if (this.named(to).length === 0) return false;
    if (policy === 'forward') return 'forward';
    if (policy === 'refuse')
      return refusal(
        'conflicting-fields',
        `${by} and the header field ${to} mean the same: send one of them.`,
        422,
      );
    this.drop(change, rule, to, 'conflict');
    return true;
  }

  private set(change: string, name: string, value: string): void {
    const [first, ...others] = this.named(name);
    if (first === undefined) {
      this.add(change, 'set', name, value);
      return;
    }
    if (others.length === 0 && first.value === value) return;
    first.value = value;
    this.fields = this.fields.filter((field) => !others.includes(field));
    this.records.push({ change, rule: 'set', header: first.name, to: first.name });
  }

  private add(change: string, rule: 'set' | 'default', name: string, value: string): void {
    this.fields.push({ name, value, origin: undefined });
    this.records.push({ change, rule, header: name, to: name });
  }

  private drop(change: string, rule: HeaderRecord['rule'], name: string, note?: string): void {
    const dropped = this.named(name);
    const [first] = dropped;
    if (first === undefined) return;
    this.fields = this.fields.filter((field) => !dropped.includes(field));
    this.records.push({
      change,
      rule,
      header: first.origin ?? first.name,
      ...(note === undefined ? {} : { note }),
    });
  }

  private map(change: string, name: string, values: readonly MappedValue[]): void {
    let first: Field | undefined;
    for (const field of this.named(name)) {
      const found = values.find(({ from }) => from.text === field.value);
      if (found === undefined) continue;
      field.value = found.to.text;
      first ??= field;
    }
    if (first !== undefined)
      this.records.push({ change, rule: 'map', header: first.origin ?? first.name, to: first.name });
  }
}

function noteOf(isConflict: boolean): { readonly note?: string } {
  return isConflict ? { note: 'conflict' } : {};
}

/** Puts a value in the place of the braces. */
function filled(template: string, value: string): string {
  return template.replace('{}', () => value);
}

/** Fields of which two lines are two requests to two readers (RFC 9110 §5.3). */
function isSingleton(name: string): boolean {
  return isNamed(name, 'authorization');
}

function repeated(name: string): Refusal {
  return refusal('bad-request', `The header ${name.toLowerCase()} occurs twice.`);
}

function refusal(code: string, detail: string, status = 400): Refusal {
  return { code, status, detail };
}

/** The rules that undo those of a change in responses: the last first. */
function inverseOf({ id, headers = [] }: Change): readonly CompiledResponseRule[] {
  return headers.toReversed().flatMap((rule): readonly CompiledResponseRule[] => {
    const undone = inverseHeaderRule(rule);
    return undone === undefined ? [] : [{ change: id, rule: undone, status: undefined }];
  });
}

/** Compiles the header rules of `book`, each plan on first use. A change `on: every` applies to every V1 request, whatever its method. */
export function compileHeaderPlans(book: RuleBook): HeaderPlans {
  const concerned = book.changes.filter(
    ({ headers = [], responseHeaders = [] }) => headers.length + responseHeaders.length > 0,
  );
  if (concerned.length === 0) return { of: () => undefined };
  const changes = new ChangeIndex(concerned);
  const plans = new Map<string | undefined, HeaderPlan | undefined>();
  return {
    of: (operation) => {
      const id = operation?.id;
      if (plans.has(id)) return plans.get(id);
      const applied = changes.of(id, true);
      const plan = applied.length === 0 ? undefined : new HeaderPlan(applied, book.policies);
      plans.set(id, plan);
      return plan;
    },
  };
}

/** The names of credentials that header rules of a book move, and of the key of its clients; undefined without any. */
export function secretsOf(book: Pick<RuleBook, 'changes' | 'client'>): Secrets | undefined {
  const { changes, client } = book;
  const ofClient = client === undefined ? [] : [client, clientFieldAtV2(book)];
  const rules = changes.flatMap(({ headers = [] }) => headers);
  const moves = rules.filter((rule) => rule.rule === 'query');
  const fills = rules.filter((rule) => rule.rule === 'rename' && rule.as !== undefined);
  if (moves.length + fills.length + ofClient.length === 0) return undefined;
  return {
    parameters: new Set([
      ...moves.map(({ parameter }) => parameter),
      ...ofClient.flatMap((field) => ('query' in field ? [field.query] : [])),
    ]),
    fields: new Set(
      [
        ...moves.map(({ to }) => to),
        ...ofClient.flatMap((field) => ('header' in field ? [field.header] : [])),
        ...fills.flatMap((rule) => (rule.rule === 'rename' ? [rule.field, rule.to] : [])),
      ].map((name) => name.toLowerCase()),
    ),
  };
}
