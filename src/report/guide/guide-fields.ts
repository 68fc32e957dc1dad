import type { EditRecord } from '../../rewrite/records.ts';
import { addsField } from '../../rules/kinds/head-words.ts';
import { headerKindOf, headerRuleName } from '../../rules/kinds/kinds.ts';
import type { Change } from '../../rules/rule-book.ts';
import type { MappedValue } from '../../rules/rule.ts';

/** Used for a value that the log does not have. */
export const MASKED = '…';

/** A text around a value that has no other text. */
const PLAIN = '{}';

/** What a rule does to a header field: which one it reads, the text around the value in V2, and V2's values by V1's. */
interface FieldRule {
  /** Absent for a value that comes from the query. */
  readonly field?: string;
  readonly as: string;
  readonly values?: readonly MappedValue[];
}

type FieldEdit = Pick<EditRecord, 'change' | 'rule' | 'from' | 'header' | 'to'>;

/** Changes with their header rules; absent in a saved report. */
type FieldChanges = readonly (Pick<Change, 'id'> & Partial<Pick<Change, 'headers'>>)[];

/** The rule that made an edit of a header field, by its names; undefined if the rule book has none, and for any other edit. */
export function fieldRule(
  { change, rule, from, header, to }: FieldEdit,
  changes: FieldChanges,
): FieldRule | undefined {
  if (header === undefined || to === undefined) return undefined;
  const rules = changes.find(({ id }) => id === change)?.headers ?? [];
  const places = rules
    .filter((one) => headerRuleName(one) === rule)
    .flatMap((one): readonly FieldRule[] => {
      if ('values' in one)
        return isSame(one.field, to) ? [{ field: one.field, as: PLAIN, values: one.values }] : [];
      return (headerKindOf(one).moves?.(one) ?? []).flatMap(
        ({ from: place, to: target = '', as = PLAIN }) => {
          if (!isSame(target, to)) return [];
          if ('header' in place) return [{ field: place.header, as }];
          return from === `?${place.query}` ? [{ as }] : [];
        },
      );
    });
  // A field that an earlier rule renamed is recorded under its first name.
  return places.find(({ field }) => field === undefined || isSame(field, header)) ?? places[0];
}

function isSame(one: string, other: string): boolean {
  return one.toLowerCase() === other.toLowerCase();
}

/** The form of the value that V2 gets after an edit of a header field: `Bearer …`. The text around a key is the rule book's, and no secret. */
export function fieldForm(edit: FieldEdit, changes: FieldChanges): string {
  return inForm(fieldRule(edit, changes)?.as, MASKED);
}

function inForm(as: string | undefined, value: string): string {
  return (as ?? PLAIN).replace(PLAIN, () => value);
}

/** What to put around a key, in words; empty if nothing. */
export function formWords(as = PLAIN): string {
  const [before = '', after = ''] = as.split(PLAIN, 2);
  const steps = [
    ...(before === '' ? [] : [`"${before}" before`]),
    ...(after === '' ? [] : [`"${after}" after`]),
  ];
  return steps.length === 0 ? '' : `put ${steps.join(' and ')} the key`;
}

/** The header lines that a client sends today and that V2 gets otherwise, without their values. */
export function fieldsOfV1(edits: readonly EditRecord[]): string {
  const sent = edits.flatMap(({ rule, header }) => (header === undefined || addsField(rule) ? [] : header));
  return lines(sent.map((name) => [name, MASKED]));
}

/** The header lines that V2 gets, each with the form of its value. */
export function fieldsAtV2(edits: readonly EditRecord[], changes: FieldChanges): string {
  const fields = new Map<string, readonly [name: string, form: string]>();
  for (const edit of edits) {
    const { header, to } = edit;
    if (header === undefined) continue;
    const { field = header, as = PLAIN } = fieldRule(edit, changes) ?? {};
    const [, form] = fields.get(field.toLowerCase()) ?? [field, MASKED];
    fields.delete(field.toLowerCase());
    if (to !== undefined) fields.set(to.toLowerCase(), [to, inForm(as, form)]);
  }
  return lines([...fields.values()]);
}

function lines(fields: readonly (readonly [name: string, form: string])[]): string {
  return [...new Set(fields.map(([name, form]) => `\n${name}: ${form}`))].join('');
}
