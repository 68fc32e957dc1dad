import { generalPointer } from '../json/json-pointer.ts';
import type { EditRecord, Rewrite } from '../rewrite/rewrite.ts';
import type { Change, Operation, Policies, RuleBook } from '../rules/rule-book.ts';
import type { Path, RequestRule } from '../rules/rule.ts';
import type { PolicyView, RuleOutcome } from './api.ts';
import { layOutJson } from './json-layout.ts';
import { nameOf, requestRuleWords } from './rule-words.ts';

/** The outcome for a body, or the reason that it was not read. */
export type BodyOutcome =
  | Rewrite
  | { readonly verdict: 'unread'; readonly why: string; readonly note?: string };

/** Reports the effect of each request rule of the book, or the reason that it had none. */
export function ruleOutcomes(
  ruleBook: RuleBook,
  operation: Operation | undefined,
  method: string,
  outcome: BodyOutcome,
): RuleOutcome[] {
  const names = namesIn(outcome);
  return ruleBook.changes.flatMap((change) =>
    change.request.map((rule) => {
      const edits = 'records' in outcome ? editsOf(rule, change, outcome.records) : 0;
      return {
        change: change.id,
        rule: rule.rule,
        text: requestRuleWords(rule),
        applied: edits > 0,
        why:
          edits > 0
            ? `${edits === 1 ? '1 edit' : `${edits} edits`}.`
            : whyNot(rule, change, operation, method, outcome, names),
      };
    }),
  );
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

function concerns(rule: RequestRule, { from, note }: EditRecord): boolean {
  const name = nameOf(from);
  switch (rule.rule) {
    case 'unwrap':
    case 'only':
      return true;
    case 'nest':
      return rule.members.includes(name) || (note === 'conflict' && rule.under === name);
    case 'rename':
      return rule.member === name || rule.to === name;
    case 'strip':
      return rule.members.includes(name);
  }
}

/** The member names of each object of the rewritten body, by pointer with `*` for elements; undefined without a body. */
type Names = ReadonlyMap<string, ReadonlySet<string>>;

function namesIn(outcome: BodyOutcome): Names | undefined {
  const layout = 'body' in outcome ? layOutJson(outcome.body) : undefined;
  if (layout === undefined) return undefined;
  const names = new Map<string, Set<string>>();
  for (const pointer of layout.places.keys()) {
    const general = generalPointer(pointer);
    const around = general.slice(0, Math.max(0, general.lastIndexOf('/')));
    const known = names.get(around) ?? new Set();
    names.set(around, known.add(nameOf(general)));
  }
  return names;
}

function whyNot(
  rule: RequestRule,
  change: Change,
  operation: Operation | undefined,
  method: string,
  outcome: BodyOutcome,
  names: Names | undefined,
): string {
  if (change.on !== 'every' && (operation === undefined || !change.on.includes(operation.id))) {
    return `The change concerns ${change.on.join(' and ')}, not ${operation?.id ?? `this ${method}`}.`;
  }
  if (outcome.verdict === 'unread') return outcome.why;
  if (outcome.verdict === 'refused') return 'The request was refused.';
  if ('note' in outcome && outcome.note !== undefined)
    return `The body was left untouched (${outcome.note}).`;
  if ('members' in rule && rule.members.length === 0) return 'Its list is empty.';
  if (rule.rule === 'unwrap') return `There is no member ${rule.member}: the body is flat already.`;
  if (names === undefined) return 'The body is empty.';
  const place = rule.in.length === 0 ? 'The body' : rule.in.join('.');
  if (rule.in.length > 0 && !names.has(`/${rule.in.join('/')}`) && !isThere(rule.in, names)) {
    return `There is no ${rule.in.join('.')}.`;
  }
  if (rule.rule === 'rename') return `${place} has no member ${rule.member}.`;
  return rule.rule === 'only'
    ? `${place} has no other members.`
    : `${place} has none of ${rule.members.join(', ')}.`;
}

function isThere(path: Path, names: Names): boolean {
  return (
    names
      .get(
        path
          .slice(0, -1)
          .map((step) => `/${step}`)
          .join(''),
      )
      ?.has(path.at(-1) ?? '') === true
  );
}
