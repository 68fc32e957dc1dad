import { generalPointer, tokenName } from '../../json/pointer.ts';
import type { ReportTotals } from '../../report/report-totals.ts';
import type { CompiledRuleBook } from '../../rewrite/compiled-rule-book.ts';
import { inText } from '../../rewrite/form.ts';
import { compilePlans, type Plan } from '../../rewrite/plan.ts';
import { UNMAPPED } from '../../rewrite/query-plan.ts';
import { type EditRecord, isOfQuery, type Rewrite } from '../../rewrite/records.ts';
import type { ResponsePlan } from '../../rewrite/response-plan.ts';
import { printDestination, printMatch } from '../../rules/move.ts';
import {
  type Change,
  ChangeIndex,
  isRewritten,
  type Operation,
  type Policies,
  type RuleBook,
} from '../../rules/rule-book.ts';
import type {
  Path,
  HeaderRule,
  QueryRule,
  RequestRule,
  RequestRuleName,
  ResponseRule,
} from '../../rules/rule.ts';
import {
  doneToFieldWords,
  headerRuleWords,
  scopeWords,
  noQueryEffectWords,
  queryRuleWords,
} from '../../rules/kinds/head-words.ts';
import {
  conversionWords,
  doneWords,
  keepsMember,
  noEffectWords,
  requestRuleWords,
  responseRuleWords,
} from '../../rules/kinds/words.ts';
import { changesValue, headerRuleName } from '../../rules/kinds/kinds.ts';
import type {
  ChangeView,
  Hits,
  OperationView,
  PolicyView,
  RuleOutcome,
  RulesView,
  RuleView,
} from '../api.ts';
import { layOutJson } from '../diff/json-layout.ts';

/** The outcome for a body, or the reason that it was not read. */
export type BodyOutcome =
  | Rewrite
  | { readonly verdict: 'unread'; readonly why: string; readonly note?: string };

/** The outcome for a body, with the bytes that the rules read: decoded, if it has a content coding. */
export interface ExplainedBody {
  readonly outcome: BodyOutcome;
  readonly read: Uint8Array;
  /** The content of a form as JSON text. */
  readonly model?: Uint8Array | undefined;
  /** The JSON that was sent in the media type of a form. */
  readonly json?: Uint8Array | undefined;
}

const POLICIES: readonly { readonly policy: keyof Policies; readonly signs: readonly string[] }[] = [
  { policy: 'flat', signs: ['already-flat', 'not-wrapped'] },
  { policy: 'siblings', signs: ['sibling', 'wrapper-siblings'] },
  { policy: 'conflict', signs: ['conflict', 'conflicting-members'] },
  { policy: 'duplicate', signs: ['duplicate', 'duplicate-member'] },
  { policy: 'wrapper', signs: ['wrapper-not-object'] },
  { policy: 'value', signs: ['value', 'unconvertible-value'] },
  { policy: 'malformed', signs: ['malformed-json', 'malformed-form', 'too-deep'] },
  { policy: 'unsupported', signs: ['unsupported: forward', 'unsupported-charset', 'unsupported-coding'] },
];

/** The request for which rules are reported. */
interface RuledRequest {
  readonly operation: Operation | undefined;
  readonly method: string;
  /** The rule behind each edit of the query. */
  readonly queryRules: readonly QueryRule[];
  /** The rule behind each edit of the header fields. */
  readonly headerRules: readonly HeaderRule[];
}

/** The values of a body, by pointer with `*` for elements. */
interface Names {
  /** The member names of each object. */
  readonly members: ReadonlyMap<string, ReadonlySet<string>>;
  /** The pointers whose values are never objects. */
  readonly notObjects: ReadonlySet<string>;
}

/** Reports the effect of each request and query rule of the book, or the reason that it had none. */
export function ruleOutcomes(
  ruleBook: RuleBook,
  request: RuledRequest,
  { outcome, read: body, model, json }: ExplainedBody,
): RuleOutcome[] {
  const read = model ?? json ?? body;
  const hasEdits = 'records' in outcome && outcome.records.length > 0;
  const steps = hasEdits ? stepsOf(ruleBook, request.operation, model !== undefined) : undefined;
  const byRule = steps?.edits(read);
  /** The last rule that edited the body so far, and the names in its result, which are read only when needed. */
  let last: RequestRule | undefined;
  let names: { readonly found: Names | undefined } | undefined;
  const outcomeOf = (
    { id }: Change,
    rule: RuleOutcome['rule'],
    text: string,
    edits: number,
    isElsewhere: boolean,
    whyNone: () => string,
  ): RuleOutcome => {
    const why = edits === 0 ? whyNone() : edits === 1 ? '1 edit.' : `${edits} edits.`;
    const elsewhere = edits === 0 && isElsewhere ? { isElsewhere } : {};
    return { change: id, rule, text, applied: edits > 0, why, ...elsewhere };
  };
  return ruleBook.changes.flatMap((change) => [
    ...(change.query ?? []).map((rule) => {
      const edits = request.queryRules.filter((other) => other === rule).length;
      const whyNone = (): string => whyNotQuery(rule, change, request, outcome);
      return outcomeOf(change, rule.rule, queryRuleWords(rule), edits, !isAbout(change, request), whyNone);
    }),
    ...(change.headers ?? []).map((rule) => {
      const edits = request.headerRules.filter((other) => other === rule).length;
      const isConcerned =
        change.on === 'every' ||
        (request.operation !== undefined && change.on.includes(request.operation.id));
      return outcomeOf(change, headerRuleName(rule), headerRuleWords(rule), edits, !isConcerned, () =>
        isConcerned ? 'The request has nothing for it.' : 'The change is for other operations.',
      );
    }),
    ...change.request.map((rule) => {
      const edits = byRule?.get(rule) ?? 0;
      if (edits > 0) [last, names] = [rule, undefined];
      const seen = (): Names | undefined =>
        (names ??= { found: namesIn(last === undefined ? read : (steps?.after(last, read) ?? read)) }).found;
      const whyNone = (): string => whyNot(rule, change, request, outcome, read, seen);
      const isElsewhere = !isOfBody(change, request, outcome);
      return outcomeOf(change, rule.rule, requestRuleWords(rule), edits, isElsewhere, whyNone);
    }),
  ]);
}

function stepsOf(ruleBook: RuleBook, operation: Operation | undefined, isForm: boolean): RuleSteps {
  const known = stepsByBook.get(ruleBook) ?? new Map<string, RuleSteps>();
  stepsByBook.set(ruleBook, known);
  // Ids contain no space.
  const key = `${operation?.id ?? ''}${isForm ? ' form' : ''}`;
  const steps = known.get(key) ?? new RuleSteps(ruleBook, operation, isForm);
  known.set(key, steps);
  return steps;
}

/**
 * The rules of a book one by one, for the bodies of an operation. A record of the whole plan names its change, the kind of its rule,
 * and the places before the first rule and after the last. This neither distinguishes two rules of a kind, nor identifies a rule for
 * members that another rule renamed. The body therefore goes through the rules once more, each in its own change.
 */
class RuleSteps {
  private readonly ruleBook: RuleBook;
  private readonly operation: Operation | undefined;
  /** One for each rule, in order; the id of each is its index. */
  private readonly changes: readonly Change[];
  private readonly rules: readonly RequestRule[];
  private readonly plans = new Map<number, Plan>();

  /** `isForm` is true for the JSON text of a form, in which all values are texts. */
  constructor(ruleBook: RuleBook, operation: Operation | undefined, isForm: boolean) {
    this.ruleBook = ruleBook;
    this.operation = operation;
    const steps = ruleBook.changes.flatMap((change) => change.request.map((rule) => ({ change, rule })));
    this.rules = steps.map(({ rule }) => rule);
    this.changes = steps.map(({ change, rule }, at): Change => {
      const step = { ...change, id: String(at), request: [rule], query: [] };
      return isForm ? inText(step) : step;
    });
  }

  /** The number of edits of each rule that has any. */
  edits(body: Uint8Array): ReadonlyMap<RequestRule, number> {
    const outcome = this.plan(this.rules.length).rewrite(body);
    const edits = new Map<RequestRule, number>();
    if (outcome.verdict === 'refused') return edits;
    for (const { change, note } of outcome.records) {
      const rule = this.rules[Number(change)];
      if (rule !== undefined && note !== 'already-flat') edits.set(rule, (edits.get(rule) ?? 0) + 1);
    }
    return edits;
  }

  after(rule: RequestRule, body: Uint8Array): Uint8Array {
    const outcome = this.plan(this.rules.indexOf(rule) + 1).rewrite(body);
    return outcome.verdict === 'refused' ? body : outcome.body;
  }

  /** The plan of the first `count` rules. */
  private plan(count: number): Plan {
    const known = this.plans.get(count);
    if (known !== undefined) return known;
    const changes = this.changes.slice(0, count);
    const plan = compilePlans({ ...this.ruleBook, changes }).of(this.operation);
    this.plans.set(count, plan);
    return plan;
  }
}

/** Steps by rule book, kept because a replay explains thousands of requests by one rule book. */
const stepsByBook = new WeakMap<RuleBook, Map<string, RuleSteps>>();

function whyNotQuery(rule: QueryRule, change: Change, request: RuledRequest, outcome: BodyOutcome): string {
  if (!isAbout(change, request)) return whyNotAbout(change, request);
  if (outcome.verdict === 'refused') return 'The request was refused.';
  return noQueryEffectWords(rule);
}

function isAbout({ on }: Change, { operation, method }: RuledRequest): boolean {
  if (on === 'every') return isRewritten(method);
  return operation !== undefined && on.includes(operation.id);
}

/** Whether body rules of a change are for a request; one `on: every` is for any whose body was not read. */
function isOfBody(change: Change, request: RuledRequest, outcome: BodyOutcome): boolean {
  return (outcome.verdict === 'unread' && change.on === 'every') || isAbout(change, request);
}

function whyNotAbout({ on }: Change, { operation, method }: RuledRequest): string {
  const concerned = on === 'every' ? 'every POST and PATCH' : on.join(' and ');
  return `The change concerns ${concerned}, not ${operation?.id ?? `this ${method}`}.`;
}

/** Undefined for an empty body. */
function namesIn(body: Uint8Array): Names | undefined {
  const layout = layOutJson(body);
  if (layout === undefined) return undefined;
  const members = new Map<string, Set<string>>();
  const objects = new Set<string>();
  const others = new Set<string>();
  for (const [pointer, places] of layout.places) {
    const general = generalPointer(pointer);
    const around = general.slice(0, Math.max(0, general.lastIndexOf('/')));
    const known = members.get(around) ?? new Set();
    members.set(around, known.add(nameOf(general)));
    for (const { value } of places) (layout.text[value.start] === '{' ? objects : others).add(general);
  }
  for (const pointer of objects) others.delete(pointer);
  return { members, notObjects: others };
}

/** The last name of a pointer, for display. */
function nameOf(pointer: string | undefined): string {
  const last = pointer?.slice(pointer.lastIndexOf('/') + 1) ?? '';
  return last === '' ? 'the body' : tokenName(last);
}

function whyNot(
  rule: RequestRule,
  change: Change,
  request: RuledRequest,
  outcome: BodyOutcome,
  read: Uint8Array,
  seen: () => Names | undefined,
): string {
  if (!isOfBody(change, request, outcome)) return whyNotAbout(change, request);
  if (outcome.verdict === 'unread') return outcome.why;
  if (outcome.verdict === 'refused') return 'The request was refused.';
  if ('note' in outcome && outcome.note !== undefined)
    return `The body was left untouched (${outcome.note}).`;
  if ('omitted' in outcome && outcome.omitted > 0)
    return 'Not known: the body has more edits than can be listed.';
  const names = seen();
  if (names === undefined) return 'The body is empty.';
  const isAnywhere = 'in' in rule && rule.in[0] === '**';
  const isOfList = isAnywhere || ('in' in rule && rule.in[0] === '*');
  if (!isObject(read) && !isOfList) return 'The body is not an object.';
  if (!('in' in rule)) return noEffectWords(rule, 'The body');
  if (isAnywhere) return noEffectWords(rule, 'Each object of the body');
  const place = rule.in.length === 0 ? 'The body' : rule.in.join('.');
  const pointer = rule.in.map((step) => `/${step}`).join('');
  if (rule.in.length > 0 && !names.members.has(pointer) && !isThere(rule.in, names))
    return `There is no ${place}.`;
  if (names.notObjects.has(pointer)) return `${place} is not an object.`;
  return noEffectWords(rule, place);
}

/** True for JSON that is an object: its first byte other than white space (RFC 8259 §2) is a brace. */
function isObject(body: Uint8Array): boolean {
  return body.find((byte) => byte > 0x20) === 0x7b;
}

function isThere(path: Path, { members }: Names): boolean {
  const around = path
    .slice(0, -1)
    .map((step) => `/${step}`)
    .join('');
  return members.get(around)?.has(path.at(-1) ?? '') === true;
}

/** The policies that apply to a request, and which of them decided something. */
export function policyViews(
  ruleBook: RuleBook,
  outcome: BodyOutcome,
  note: string | undefined,
): PolicyView[] {
  const signs = new Set([
    ...('records' in outcome ? outcome.records.map((record) => record.note ?? '') : []),
    'note' in outcome ? (outcome.note ?? '') : '',
    outcome.verdict === 'refused' ? outcome.refusal.code : '',
    note ?? '',
  ]);
  return POLICIES.map(({ policy, signs: own }) => ({
    policy,
    value: ruleBook.policies[policy],
    used: own.some((sign) => signs.has(sign)),
  }));
}

/** A response rule in words, or the word `inverse`. */
export function anyResponseRuleWords(rule: ResponseRule): string {
  if (rule.rule !== 'inverse') return responseRuleWords(rule);
  return `undo the request rules${rule.members === undefined ? '' : ', with null for what V2 leaves out of a nest'}`;
}

/** The effect of an edit and the reason for it, in one or two sentences for display. */
export function editReason(edit: EditRecord, change: Change | undefined): string {
  const done = doneBy(edit, change);
  return change === undefined ? done : `${done} ${change.summary}`;
}

/** The conversion of an edit as a phrase; undefined if the edit is not a conversion, or the change has no such rule. */
function conversionOf({ rule, from, path }: EditRecord, change: Change | undefined): string | undefined {
  const names = new Set([nameOf(from), nameOf(path)]);
  for (const one of change?.request ?? [])
    if ('conversion' in one && one.rule === rule && names.has(one.member))
      return conversionWords(one.conversion, nameOf(from));
  return undefined;
}

function doneBy(edit: EditRecord, change: Change | undefined): string {
  const { rule, from, path, note } = edit;
  if (edit.header !== undefined) return doneToField(edit, edit.header);
  if (isOfQuery(edit)) return doneToQuery(edit);
  const name = nameOf(from);
  if (note === 'already-flat') return 'The body has no wrapper; nothing to remove.';
  if (note === 'byte-order-mark') return 'The byte order mark is removed, because JSON does not allow one.';
  if (note === 'sibling')
    return `${name} is beside the wrapper, where V1 ignores it; the gateway removes it.`;
  if (note === 'value') return `The value of ${name} cannot be converted (${rule}); it stays.`;
  if (note === 'more') return `Not all of ${name} has a place in V2 (${rule}); the rest is removed.`;
  if (note === 'duplicate') return `${name} occurs more than once; the last one counts, this one is removed.`;
  if (note === 'conflict' && path === undefined) {
    return `${name} is the V2 name of an attribute that is present under its V1 name; V1 ignores it, so it is removed.`;
  }
  const conflictNote = note === 'conflict' ? ' The V2 name is there as well; the V1 value wins.' : '';
  if (rule === 'transform') return 'The module of the operation made another body.';
  const done = doneWords(rule, {
    name,
    to: nameOf(path),
    around: nameOf(parentOf(path)),
    place: dottedPlace(path),
    isAdded: from === undefined,
    how: conversionOf(edit, change),
  });
  return done + conflictNote;
}

function dottedPlace(pointer: string | undefined): string {
  return (pointer ?? '').split('/').slice(1).map(tokenName).join('.');
}

function doneToQuery({ rule, from = '', path, note }: EditRecord): string {
  if (from === '') return `The query parameter ${path?.slice(1) ?? ''} is added.`;
  if (note === 'value') return `The value of ${from.slice(1)} cannot be converted (${rule}); it stays.`;
  const name = `The query parameter ${from.slice(1)}`;
  if (note === UNMAPPED)
    return `${name} reaches V2 with a word of V1: no rule turns it. If it has a list, give a query map with: ','.`;
  if (note === 'conflict' && path === undefined) {
    return `${name} is the V2 name of one that is present under its V1 name; V1 ignores it, so it is removed.`;
  }
  if (path === undefined) return `${name} is removed.`;
  if (keepsMember(rule)) return `${name} is copied to ${path.slice(1)}.`;
  if (rule === 'transform')
    return `The module of the operation gives ${name.charAt(0).toLowerCase()}${name.slice(1)} another value.`;
  if (changesValue(rule))
    return `A value of ${name.charAt(0).toLowerCase()}${name.slice(1)} becomes V2's value for it.`;
  return `${name} is now called ${path.slice(1)}.${note === 'conflict' ? ' The V2 name is there as well; the V1 value wins.' : ''}`;
}

function doneToField({ rule, from, to, note }: EditRecord, header: string): string {
  const name = `The header field ${header}`;
  if (note === 'conflict' && to === undefined)
    return `${name} is the V2 name of one that is present under its V1 name; V1 ignores it, so it is removed.`;
  if (to === undefined) return `${name} is removed.`;
  const conflictNote = note === 'conflict' ? ' The V2 name is there as well; the V1 value wins.' : '';
  return doneToFieldWords(rule, { name, from: (from ?? '').slice(1), to }) + conflictNote;
}

function parentOf(pointer: string | undefined): string | undefined {
  return pointer?.slice(0, Math.max(0, pointer.lastIndexOf('/')));
}

interface RulesViewParts {
  readonly rules: CompiledRuleBook;
  /** Time at which it came into force, in milliseconds since 1970. */
  readonly since: number;
  /** The source text of the file. */
  readonly text: string;
  readonly totals: ReportTotals;
}

/** Shows a rule book with its effects. */
export function rulesView({ rules, since, text, totals }: RulesViewParts): RulesView {
  const { ruleBook } = rules;
  /** The changes for requests or responses, in the order of the book. */
  const changesOf = (ofRequests: readonly Change[], plans: readonly ResponsePlan[]): readonly string[] =>
    ruleBook.changes
      .filter((change) => ofRequests.includes(change) || plans.some((plan) => plan.changes.has(change.id)))
      .map(({ id }) => id);
  const uses = totals.uses();
  const index = new ChangeIndex(ruleBook.changes);
  const ofFields = ruleBook.changes.filter(
    ({ on, headers = [], responseHeaders = [] }) =>
      on === 'every' && headers.length + responseHeaders.length > 0,
  );
  const named = ruleBook.operations.map((operation): OperationView => {
    const { id, method, to, gone, assumed } = operation;
    const template = printMatch(operation).slice(method.length + 1);
    const changes = changesOf(
      [...index.of(id, isRewritten(method)), ...ofFields],
      [rules.responsePlan(operation, method)],
    );
    const told = {
      ...(to === undefined ? {} : { to: printDestination(to) }),
      ...(gone === undefined ? {} : { gone }),
    };
    return { id, method, template, ...told, assumed, changes, ...hits(uses.operations, id) };
  });
  const other: OperationView = {
    id: '(other)',
    method: '*',
    template: '/*',
    assumed: false,
    changes: changesOf(
      index.of(undefined, true),
      ['POST', 'GET'].map((method) => rules.responsePlan(undefined, method)),
    ),
    ...hits(uses.operations, '(other)'),
  };
  return {
    hash: ruleBook.hash,
    ...(ruleBook.version === undefined ? {} : { version: ruleBook.version }),
    from: ruleBook.from,
    to: ruleBook.to,
    loadedAt: new Date(since).toISOString(),
    policies: ruleBook.policies,
    operations: [...named, other],
    changes: ruleBook.changes.map((change) => changeView(change, uses)),
    assumptions: assumptionsOf(ruleBook),
    counts: totals.coverage().sentence,
    text,
  };
}

type Uses = ReturnType<ReportTotals['uses']>;

function hits(spans: Uses['changes'], name: string): Hits {
  const span = spans.get(name);
  return span === undefined ? { hits: 0 } : { hits: span.count, lastHit: span.last };
}

function changeView(change: Change, uses: Uses): ChangeView {
  const { id, summary, assumed, on, query = [], headers = [], responseHeaders = [] } = change;
  const ruleView = (rule: RequestRuleName, inside: Path, text: string): RuleView => ({
    rule,
    in: inside,
    text,
  });
  const request = [
    ...query.map((rule) => ruleView(rule.rule, [], queryRuleWords(rule))),
    ...headers.map((rule) => ruleView(headerRuleName(rule), [], `${headerRuleWords(rule)} (header)`)),
    ...change.request.map((rule) => ruleView(rule.rule, 'in' in rule ? rule.in : [], requestRuleWords(rule))),
  ];
  const response = [
    ...change.response.map((rule) => ({ rule: rule.rule, text: anyResponseRuleWords(rule) })),
    ...responseHeaders.map(({ rule }) => ({ rule: rule.rule, text: `${headerRuleWords(rule)} (header)` })),
  ];
  return {
    id,
    summary,
    assumed,
    on,
    scope: scopeWords(change),
    request,
    response,
    ...hits(uses.changes, id),
    // Where no rule edits responses, V2's differ from V1's without one.
    responses: response.length === 0 ? { hits: 0 } : hits(uses.editedResponses, id),
  };
}

/** Describes, in sentences, behaviour that neither the specification nor the documentation shows. */
export function assumptionsOf({ operations, changes }: RuleBook): string[] {
  return [
    ...operations
      .filter(({ assumed }) => assumed)
      .map(({ id, method, template }) => `The path of ${id}, ${method} ${template}, is assumed.`),
    ...changes
      .filter(({ assumed }) => assumed)
      .map(({ id }) => `Where or whether ${id} applies is assumed in part.`),
  ];
}
