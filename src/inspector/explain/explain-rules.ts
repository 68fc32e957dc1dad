import { generalPointer } from '../../json/json-pointer.ts';
import type { EditRecord, Rewrite } from '../../rewrite/rewrite.ts';
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

/** The request whose rules are reported. */
export interface RuledRequest {
  readonly operation: Operation | undefined;
  readonly method: string;
  /** The query rule of each edit of its query. */
  readonly queryRules: readonly QueryRule[];
}

/** Reports the effect of each request and query rule of the book, or the reason that it had none. */
export function ruleOutcomes(ruleBook: RuleBook, request: RuledRequest, outcome: BodyOutcome): RuleOutcome[] {
  const names = namesIn(outcome);
  return ruleBook.changes.flatMap((change) => [
    ...(change.query ?? []).map((rule): RuleOutcome => {
      const edits = request.queryRules.filter((other) => other === rule).length;
      const why = edits > 0 ? editCount(edits) : whyNotQuery(rule, change, request, outcome);
      return { change: change.id, rule: rule.rule, text: queryRuleWords(rule), applied: edits > 0, why };
    }),
    ...change.request.map((rule): RuleOutcome => {
      const edits = 'records' in outcome ? editsOf(rule, change, outcome.records) : 0;
      const why = edits > 0 ? editCount(edits) : whyNot(rule, change, request, outcome, names);
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

function editsOf(rule: RequestRule, change: Change, records: readonly EditRecord[]): number {
  return records.filter((record) => {
    if (record.change !== change.id || record.note === 'already-flat') return false;
    if (record.note === 'sibling') return rule.rule === 'unwrap';
    return record.rule === rule.rule && concerns(rule, record);
  }).length;
}

function concerns(rule: RequestRule, { from, path, note }: EditRecord): boolean {
  const name = nameOf(from);
  switch (rule.rule) {
    case 'unwrap':
    case 'only':
      return true;
    case 'nest':
      return rule.members.includes(name) || (note === 'conflict' && rule.under === name);
    case 'rename':
      return rule.member === name || rule.to === name;
    case 'map':
      return rule.member === name || rule.member === nameOf(path);
    case 'strip':
      return rule.members.includes(name);
  }
}

/** The values of the rewritten body, by pointer with `*` for elements. */
interface Names {
  /** The member names of each object. */
  readonly members: ReadonlyMap<string, ReadonlySet<string>>;
  /** Where no value is an object. */
  readonly notObjects: ReadonlySet<string>;
}

/** Undefined without a body. */
function namesIn(outcome: BodyOutcome): Names | undefined {
  const layout = 'body' in outcome ? layOutJson(outcome.body) : undefined;
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
  names: Names | undefined,
): string {
  const isUnread = outcome.verdict === 'unread' && change.on === 'every';
  if (!isUnread && !isAbout(change, request)) return whyNotAbout(change, request);
  if (outcome.verdict === 'unread') return outcome.why;
  if (outcome.verdict === 'refused') return 'The request was refused.';
  if ('note' in outcome && outcome.note !== undefined)
    return `The body was left untouched (${outcome.note}).`;
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
