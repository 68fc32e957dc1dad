import { generalPointer } from '../../json/json-pointer.ts';
import { compilePlans, type Plan } from '../../rewrite/plan.ts';
import type { Rewrite } from '../../rewrite/rewrite.ts';
import { isRewritten } from '../../rules/rewritten-methods.ts';
import type { Change, Operation, Policies, RuleBook } from '../../rules/rule-book.ts';
import type { Path, QueryRule, RequestRule } from '../../rules/rule.ts';
import type { PolicyView, RuleOutcome } from '../api.ts';
import { layOutJson } from '../diff/json-layout.ts';
import { nameOf, queryRuleWords, requestRuleWords } from './rule-words.ts';

/** The outcome for a body, or the reason that it was not read. */
export type BodyOutcome =
  | Rewrite
  | { readonly verdict: 'unread'; readonly why: string; readonly note?: string };

/** The outcome for a body, with the bytes that the rules read: decoded, if it has a content coding. */
export interface ExplainedBody {
  readonly outcome: BodyOutcome;
  readonly read: Uint8Array;
}

/** The request whose rules are reported. */
export interface RuledRequest {
  readonly operation: Operation | undefined;
  readonly method: string;
  /** The query rule of each edit of its query. */
  readonly queryRules: readonly QueryRule[];
}

/** Reports the effect of each request and query rule of the book, or the reason that it had none. */
export function ruleOutcomes(
  ruleBook: RuleBook,
  request: RuledRequest,
  { outcome, read }: ExplainedBody,
): RuleOutcome[] {
  const hasEdits = 'records' in outcome && outcome.records.length > 0;
  const steps = hasEdits ? stepsOf(ruleBook, request.operation) : undefined;
  const byRule = steps?.edits(read);
  /** The last rule that edited the body, and the names that the rules behind it found; read when one of them is to be told why. */
  let last: RequestRule | undefined;
  let names: { readonly found: Names | undefined } | undefined;
  return ruleBook.changes.flatMap((change) => [
    ...(change.query ?? []).map((rule): RuleOutcome => {
      const edits = request.queryRules.filter((other) => other === rule).length;
      const why = edits > 0 ? editCount(edits) : whyNotQuery(rule, change, request, outcome);
      return { change: change.id, rule: rule.rule, text: queryRuleWords(rule), applied: edits > 0, why };
    }),
    ...change.request.map((rule): RuleOutcome => {
      const edits = byRule?.get(rule) ?? 0;
      if (edits > 0) [last, names] = [rule, undefined];
      const seen = (): Names | undefined =>
        (names ??= { found: namesIn(last === undefined ? read : (steps?.after(last, read) ?? read)) }).found;
      const why = edits > 0 ? editCount(edits) : whyNot(rule, change, request, outcome, seen);
      return { change: change.id, rule: rule.rule, text: requestRuleWords(rule), applied: edits > 0, why };
    }),
  ]);
}

function editCount(edits: number): string {
  return edits === 1 ? '1 edit.' : `${edits} edits.`;
}

function whyNotQuery(rule: QueryRule, change: Change, request: RuledRequest, outcome: BodyOutcome): string {
  if (!isAbout(change, request)) return whyNotAbout(change, request);
  if (outcome.verdict === 'refused') return 'The request was refused.';
  if (rule.rule === 'map') return `The query has no ${rule.parameter} with one of these values.`;
  const names = rule.rule === 'strip' ? rule.parameters : [rule.parameter];
  return `The query has no ${names.join(', ')}.`;
}

function isAbout({ on }: Change, { operation, method }: RuledRequest): boolean {
  if (on === 'every') return isRewritten(method);
  return operation !== undefined && on.includes(operation.id);
}

function whyNotAbout({ on }: Change, { operation, method }: RuledRequest): string {
  const concerned = on === 'every' ? 'every POST and PATCH' : on.join(' and ');
  return `The change concerns ${concerned}, not ${operation?.id ?? `this ${method}`}.`;
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

const POLICIES: readonly { readonly policy: keyof Policies; readonly signs: readonly string[] }[] = [
  { policy: 'flat', signs: ['already-flat', 'not-wrapped'] },
  { policy: 'siblings', signs: ['sibling', 'wrapper-siblings'] },
  { policy: 'conflict', signs: ['conflict', 'conflicting-members'] },
  { policy: 'duplicate', signs: ['duplicate', 'duplicate-member'] },
  { policy: 'wrapper', signs: ['wrapper-not-object'] },
  { policy: 'malformed', signs: ['malformed-json', 'too-deep'] },
  { policy: 'unsupported', signs: ['unsupported: forward', 'unsupported-charset', 'unsupported-coding'] },
];

/**
 * The rules of a book one by one, for the bodies of an operation. A record of the whole plan names its change, the kind of its rule,
 * and places before the first rule and after the last: not enough to tell two rules of a kind from each other, nor to know a rule
 * by its names when another one renamed them. So the body goes through the rules once more, each in a change of its own.
 */
class RuleSteps {
  private readonly ruleBook: RuleBook;
  private readonly operation: Operation | undefined;
  /** In order; the id of each change is its index. */
  private readonly changes: readonly Change[];
  private readonly rules: readonly RequestRule[];
  private readonly plans = new Map<number, Plan>();

  constructor(ruleBook: RuleBook, operation: Operation | undefined) {
    this.ruleBook = ruleBook;
    this.operation = operation;
    const steps = ruleBook.changes.flatMap((change) => change.request.map((rule) => ({ change, rule })));
    this.rules = steps.map(({ rule }) => rule);
    this.changes = steps.map(({ change, rule }, at): Change => {
      return { ...change, id: String(at), request: [rule], query: [] };
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

  /** The body as a rule left it. */
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

/** Kept for as long as their rule book: a replay explains thousands of requests by one. */
const stepsByBook = new WeakMap<RuleBook, Map<string, RuleSteps>>();

function stepsOf(ruleBook: RuleBook, operation: Operation | undefined): RuleSteps {
  const known = stepsByBook.get(ruleBook) ?? new Map<string, RuleSteps>();
  stepsByBook.set(ruleBook, known);
  const id = operation?.id ?? '';
  const steps = known.get(id) ?? new RuleSteps(ruleBook, operation);
  known.set(id, steps);
  return steps;
}

/** The values of a body, by pointer with `*` for elements. */
interface Names {
  /** The member names of each object. */
  readonly members: ReadonlyMap<string, ReadonlySet<string>>;
  /** Where no value is an object. */
  readonly notObjects: ReadonlySet<string>;
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

function whyNot(
  rule: RequestRule,
  change: Change,
  request: RuledRequest,
  outcome: BodyOutcome,
  seen: () => Names | undefined,
): string {
  const isUnread = outcome.verdict === 'unread' && change.on === 'every';
  if (!isUnread && !isAbout(change, request)) return whyNotAbout(change, request);
  if (outcome.verdict === 'unread') return outcome.why;
  if (outcome.verdict === 'refused') return 'The request was refused.';
  if ('note' in outcome && outcome.note !== undefined)
    return `The body was left untouched (${outcome.note}).`;
  if ('omitted' in outcome && outcome.omitted > 0)
    return 'Not known: the body has more edits than can be listed.';
  const names = seen();
  if (names === undefined) return 'The body is empty.';
  if (!isObject(outcome.body)) return 'The body is no object.';
  if (rule.rule === 'unwrap') return `There is no member ${rule.member}: the body is flat already.`;
  const place = rule.in.length === 0 ? 'The body' : rule.in.join('.');
  const pointer = rule.in.map((step) => `/${step}`).join('');
  if (rule.in.length > 0 && !names.members.has(pointer) && !isThere(rule.in, names))
    return `There is no ${place}.`;
  if (names.notObjects.has(pointer)) return `${place} is no object.`;
  if (rule.rule === 'rename') return `${place} has no member ${rule.member}.`;
  if (rule.rule === 'map') return `${place} has no ${rule.member} with one of these values.`;
  return rule.rule === 'only'
    ? `${place} has no other members.`
    : `${place} has none of ${rule.members.join(', ')}.`;
}

/** True for JSON whose first byte other than white space (RFC 8259 §2) opens an object. */
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
