import { type EditRecord, placesOfEdit } from '../../rewrite/records.ts';
import { inverseConversion } from '../../rules/kinds/convert.ts';
import { lensOf } from '../../rules/kinds/kinds.ts';
import { conversionRemark, ruleRemark } from '../../rules/kinds/words.ts';
import type { MappedValue, QueryRule, RequestRule } from '../../rules/rule.ts';
import type { ResponseMember } from '../client-report.ts';
import type { GuidedChange } from './guide-book.ts';
import { ADDED, type GuideBody, type GuideCall, type GuideResponse } from './guide-document.ts';
import { guideFacts } from './guide-facts.ts';
import { fieldForm, fieldRule, formWords, MASKED } from './guide-fields.ts';
import { lastName } from './guide-values.ts';

/** The remark for an edit with one of these notes, and for the result of a transform. */
const REMARKS: ReadonlyMap<string, string> = new Map([
  ['value', 'this value could not be converted'],
  ['unmapped', 'it contains a word of V1, which V2 gets unchanged'],
  ['byte-order-mark', 'JSON does not allow it'],
  ['transform', "today the operator's own program converts it to V2's form: ask for its logic"],
]);

/** Maximum pairs of a map, and characters of a value, in a remark. */
const MAX_PAIRS = 5;
const MAX_VALUE_CHARACTERS = 40;

/** The destination of each member; several rules on one member make one row. */
export function movesOf(edits: readonly EditRecord[], changes: readonly GuidedChange[]): GuideBody['moves'] {
  const rows = new Map<
    string,
    { readonly from: string; readonly to?: string; readonly remarks: Set<string> }
  >();
  for (const edit of edits) {
    const { note } = edit;
    if (note === 'already-flat') continue;
    const places = placesOfEdit(edit);
    const from = note === 'byte-order-mark' ? 'byte order mark' : (places.from ?? ADDED);
    const form = fieldForm(edit, changes);
    const to = places.path === '' ? '/' : places.path && places.path + (form === MASKED ? '' : ` ${form}`);
    const key = JSON.stringify([from, to]);
    const row = rows.get(key) ?? { from, ...(to === undefined ? {} : { to }), remarks: new Set() };
    rows.set(key, row);
    const remark = remarkOf(edit, changes);
    if (remark !== '') row.remarks.add(remark);
  }
  return [...rows.values()].map(({ remarks, ...row }) => ({ ...row, remark: [...remarks].join('; ') }));
}

/** What the rules say of the responses to a call; nothing if a change has no rules, as in a saved report. */
export function rulesOfResponses(
  call: string,
  changes: readonly GuidedChange[],
): Pick<GuideCall, 'responseRules'> {
  if (changes.some(({ response }) => response === undefined)) return {};
  const own = changes.filter(
    ({ on, response = [] }) => response.length > 0 && (on === 'every' || on?.includes(call) === true),
  );
  const ids = new Set(own.map(({ id }) => id));
  return { responseRules: guideFacts(changes, (id) => ids.has(id)).map(({ summary }) => summary) };
}

/** Members of responses, with the way from V2's value to today's; several rules on one member make one row. */
export function readMembers(
  members: readonly ResponseMember[],
  changes: readonly GuidedChange[],
): readonly GuideResponse[] {
  // The other pointers also come from the operator's program.
  const isMade = members.some(({ v1 }) => v1 === '');
  const rows = new Map<string, GuideResponse & { readonly remarks: Set<string> }>();
  for (const member of members) {
    const key = JSON.stringify([member.v1, member.v2]);
    const known = rows.get(key);
    const remarks = known?.remarks ?? new Set<string>();
    rows.set(key, {
      ...(known ?? member),
      ...(member.hasOtherValues === true || known?.hasOtherValues === true ? { hasOtherValues: true } : {}),
      ...(isMade ? { isMade } : {}),
      remarks,
    });
    const words = member.hasOtherValues === true ? todayWords(member, changes) : '';
    if (words !== '') remarks.add(words);
  }
  return [...rows.values()]
    .map(({ remarks, ...row }) =>
      remarks.size === 0 || isMade ? row : { ...row, remark: [...remarks].join('; ') },
    )
    .sort((one, other) => Number(other.v1 === '') - Number(one.v1 === ''));
}

/** How V1's value of a member follows from V2's, by the rules of its change that name it. */
function todayWords({ change, v1, v2 }: ResponseMember, changes: readonly GuidedChange[]): string {
  const { request = [], response = [] } = changes.find(({ id }) => id === change) ?? {};
  const names = new Set([v1, v2].flatMap((place) => lastName(place) ?? []));
  const declared = response.flatMap((rule) => {
    if (!('path' in rule) || !names.has(rule.path.at(-1) ?? '')) return [];
    if ('conversion' in rule) return conversionRemark(rule.conversion);
    return 'values' in rule ? pairWords(rule.values) : [];
  });
  const undone = request.toReversed().flatMap((rule) => {
    if (!('member' in rule) || !names.has(rule.member)) return [];
    if ('conversion' in rule) {
      const back = inverseConversion(rule.conversion);
      return typeof back === 'string' ? [] : conversionRemark(back);
    }
    if (!('values' in rule)) return [];
    return pairWords(rule.values.map(({ from, to }) => ({ from: to, to: from })));
  });
  const words = response.some(({ rule }) => rule === 'inverse') ? undone : declared;
  return [...new Set(words.filter((one) => one !== ''))].join(', ');
}

/** What happens to a value, with the rule's own numbers, texts and values if only one rule of the rule book fits. */
function remarkOf(edit: EditRecord, changes: readonly GuidedChange[]): string {
  const { change, rule, note, from, path, header } = edit;
  const general = REMARKS.get(note ?? rule) ?? note ?? ruleRemark(rule) ?? '';
  if (header !== undefined) {
    const { as, values = [] } = fieldRule(edit, changes) ?? {};
    const words = values.length > 0 ? pairWords(values) : formWords(as);
    return [note === undefined && words !== '' ? '' : general, words].filter((one) => one !== '').join('; ');
  }
  if (note !== undefined) return general;
  const known = changes.find(({ id }) => id === change);
  const names = new Set([from, path].flatMap((place) => lastName(place) ?? []));
  const isQuery = (from ?? path)?.startsWith('?') === true;
  // A value that a rule adds to a query may be a key: only those in bodies are shown.
  const words = isQuery
    ? (known?.query ?? []).flatMap((one) => {
        if (one.rule !== rule || 'text' in one || !('parameter' in one)) return [];
        return [{ name: one.parameter, words: valueWords(one) }];
      })
    : (known?.request ?? []).flatMap((one) => {
        if (one.rule !== rule || !('member' in one)) return [];
        return [{ name: one.member, words: valueWords(one) }];
      });
  const named = words.filter(({ name }) => names.has(name));
  const [first, ...others] = new Set((named.length > 0 ? named : words).map((one) => one.words));
  return first === undefined || first === '' || others.length > 0 ? general : first;
}

/** Describes for the author of a client how a rule changes a value; empty if the member's places say everything. */
function valueWords(rule: QueryRule | RequestRule): string {
  if ('conversion' in rule) return conversionRemark(rule.conversion);
  if ('values' in rule) return pairWords(rule.values);
  if (!('json' in rule) || rule.json.length > MAX_VALUE_CHARACTERS) return '';
  return lensOf(rule).isForAbsent?.(rule) === true
    ? `V2 needs a value; ${rule.json} is sent for you today`
    : `V2 needs the value ${rule.json}`;
}

function pairWords(values: readonly Pick<MappedValue, 'from' | 'to'>[]): string {
  const pairs = values.slice(0, MAX_PAIRS).map(({ from, to }) => `${from.text} is ${to.text}`);
  return `${pairs.join(', ')}${values.length > MAX_PAIRS ? ', …' : ''}`;
}
