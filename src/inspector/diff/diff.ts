import { isUnwrapping, lensNamed } from '../../rules/kinds/kinds.ts';
import {
  type EditRecord,
  type PatchOperation,
  type Refusal,
  refusalText,
  type Rewrite,
} from '../../rewrite/records.ts';
import type { Change, RuleBook } from '../../rules/rule-book.ts';
import type { Diff, DiffMark, TextSpan } from '../api.ts';
import { editReason } from '../explain/explain-rules.ts';
import { type JsonLayout, layOutJson, layOutText, type Place, SHOWN_LIMITS } from './json-layout.ts';

const decoder = new TextDecoder('utf-8', { ignoreBOM: true });

/**
 * Compares a V1 body with its V2 result. Both texts are laid out in the same way, and each edit record becomes a mark with its spans
 * on both sides; folded parts have none. `layOut` may cache layouts.
 */
export function makeDiff(
  body: Uint8Array,
  outcome: Rewrite,
  ruleBook: RuleBook,
  layOut: (bytes: Uint8Array) => JsonLayout | undefined = layOutJson,
): Diff {
  const before = layOut(body);
  if (outcome.verdict === 'refused') return refusedDiff(body, before, outcome.refusal);
  const after = layOut(outcome.body);
  if (before === undefined || after === undefined) {
    return { before: layOutText(body), after: layOutText(outcome.body), marks: [] };
  }
  const patch = outcome.verdict === 'rewritten' ? outcome.patch : [];
  const changes = new Map(ruleBook.changes.map((change) => [change.id, change]));
  const sides = { before, after, changes, seen: new Map<string, number>() };
  const marks = outcome.records.map((record, index) => mark(record, index, sides));
  return {
    before: before.text,
    after: after.text,
    marks: withCreatedObjects(marks, outcome.records, patch, after),
  };
}

interface Sides {
  readonly before: JsonLayout;
  readonly after: JsonLayout;
  readonly changes: ReadonlyMap<string, Change>;
  /** Number of records so far for each pointer: each record of a repeated member has its own place. */
  readonly seen: Map<string, number>;
}

function mark(record: EditRecord, index: number, { before, after, changes, seen }: Sides): DiffMark {
  const change = changes.get(record.change);
  const { from, path, note } = record;
  const nth = from === undefined ? 0 : (seen.get(from) ?? 0);
  if (from !== undefined) seen.set(from, nth + 1);
  const places = from === undefined ? undefined : before.places.get(from);
  const source = places?.[nth] ?? places?.at(-1);
  const target = path === undefined ? undefined : after.places.get(path)?.at(-1);
  const isWrapper = isUnwrapping(record.rule);
  return {
    index,
    change: record.change,
    rule: record.rule,
    reason: editReason(record, change),
    ...(note === undefined ? {} : { note }),
    before: note === 'already-flat' || source === undefined ? [] : spansOf(record, source),
    after: isWrapper || target === undefined ? [] : spansOf(record, target),
  };
}

function spansOf({ rule }: EditRecord, place: Place): TextSpan[] {
  if (isUnwrapping(rule)) return bracketsOf(place);
  if (lensNamed(rule)?.isOfName === true && place.key.end > place.key.start) return [place.key];
  return [{ start: place.key.start, end: place.value.end }];
}

/** The spans of a container's opening, with its key, and of its closing. */
function bracketsOf({ key, value }: Place): TextSpan[] {
  return [
    { start: key.start, end: value.start + 1 },
    { start: value.end - 1, end: value.end },
  ];
}

/** Marks the brackets of created objects, which have no record: the first member that moved into an object gets them. */
function withCreatedObjects(
  marks: readonly DiffMark[],
  records: readonly EditRecord[],
  patch: readonly PatchOperation[],
  after: JsonLayout,
): DiffMark[] {
  const created = patch.filter((operation) => operation.op === 'add');
  const all = [...marks];
  for (const { path } of created) {
    const first = records.findIndex(
      ({ from, path: to }) => from !== undefined && to?.startsWith(`${path}/`) === true,
    );
    const place = after.places.get(path)?.at(-1);
    const found = all[first];
    if (found !== undefined && place !== undefined) {
      all[first] = {
        ...found,
        after: [...bracketsOf(place), ...found.after].sort((one, other) => one.start - other.start),
      };
    }
  }
  return all;
}

function refusedDiff(body: Uint8Array, layout: JsonLayout | undefined, refusal: Refusal): Diff {
  const text = layout?.text ?? layOutText(body);
  const span = layout === undefined ? spanAt(body, refusal) : spanOfPointer(layout, refusal);
  const place: DiffMark = {
    index: -1,
    change: '',
    rule: 'refusal',
    reason: refusalText(refusal),
    before: span === undefined ? [] : [span],
    after: [],
  };
  return { before: text, marks: [place] };
}

function spanOfPointer(layout: JsonLayout, { pointer }: Refusal): TextSpan | undefined {
  const place = pointer === undefined ? undefined : layout.places.get(pointer)?.at(-1);
  return place && { start: place.key.start, end: place.value.end };
}

function spanAt(body: Uint8Array, { position }: Refusal): TextSpan | undefined {
  if (position === undefined) return undefined;
  if (position.offset > SHOWN_LIMITS.characters) return undefined;
  const start = decoder.decode(body.subarray(0, position.offset)).length;
  return { start, end: start + 1 };
}
