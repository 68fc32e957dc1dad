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

/** Lines of context around a difference, as in `diff -u`. */
const CONTEXT = 3;

/** Marks a last line without a line feed, so that it differs from one with it. The character occurs in no text file. */
const UNENDED = '\u0000';

const NO_LINES = `${UNENDED}${UNENDED}`;

/** Maximum lines of a text to compare, because the table of lengths grows with the product of both. */
const MAX_LINES = 2000;

/** Prints the differences of two texts as a unified diff for `patch` and `git apply`; empty when they are equal. */
export function unifiedDiff(file: string, before: string, after: string): string {
  if (before === after) return '';
  const lines = numbered(lineDiff(linesOf(before), linesOf(after)).filter(({ text }) => text !== NO_LINES));
  return `--- a/${file}\n+++ b/${file}\n${hunksOf(lines).map(printHunk).join('')}`;
}

function linesOf(text: string): string {
  if (text === '') return NO_LINES;
  return text.endsWith('\n') ? text.slice(0, -1) : `${text}${UNENDED}`;
}

interface NumberedLine extends DiffLine {
  /** Numbers of the line in both texts, from 1; in a text without it, that of the next line. */
  readonly old: number;
  readonly now: number;
}

function numbered(lines: readonly DiffLine[]): readonly NumberedLine[] {
  let [old, now] = [1, 1];
  return lines.map((line) => {
    const at = { ...line, old, now };
    if (line.sign !== '+') old += 1;
    if (line.sign !== '-') now += 1;
    return at;
  });
}

function hunksOf(lines: readonly NumberedLine[]): readonly (readonly NumberedLine[])[] {
  const hunks: { from: number; to: number }[] = [];
  for (const [at, { sign }] of lines.entries()) {
    if (sign === ' ') continue;
    const [from, to] = [Math.max(0, at - CONTEXT), Math.min(lines.length, at + CONTEXT + 1)];
    const last = hunks.at(-1);
    if (last !== undefined && from <= last.to) last.to = to;
    else hunks.push({ from, to });
  }
  return hunks.map(({ from, to }) => lines.slice(from, to));
}

function printHunk(lines: readonly NumberedLine[]): string {
  const [first] = lines;
  const old = range(first?.old ?? 1, lines.filter(({ sign }) => sign !== '+').length);
  const now = range(first?.now ?? 1, lines.filter(({ sign }) => sign !== '-').length);
  const printed = lines.map(({ sign, text }) =>
    text.endsWith(UNENDED)
      ? `${sign}${text.slice(0, -1)}\n\\ No newline at end of file\n`
      : `${sign}${text}\n`,
  );
  return `@@ -${old} +${now} @@\n${printed.join('')}`;
}

/** An empty range is named by the line before it. */
function range(start: number, length: number): string {
  return `${length === 0 ? start - 1 : start},${length}`;
}

/** A line of a diff, which is in both texts or only in the old or the new one. */
interface DiffLine {
  readonly sign: ' ' | '-' | '+';
  readonly text: string;
}

type SameLine = (one: string | undefined, other: string | undefined) => boolean;

/** Compares two lines of JSON regardless of a comma at the end, which depends on the next line. */
export function isSameJsonLine(one: string | undefined, other: string | undefined): boolean {
  return one === other || one?.replace(/,$/, '') === other?.replace(/,$/, '');
}

/** Compares two texts line by line (longest common subsequence); lines are the same if `isSame` says so. */
export function lineDiff(
  before: string,
  after: string,
  isSame: SameLine = (one, other) => one === other,
): readonly DiffLine[] {
  const old = before.split('\n');
  const now = after.split('\n');
  if (old.length > MAX_LINES || now.length > MAX_LINES) {
    return [
      ...old.map((text) => ({ sign: '-' as const, text })),
      ...now.map((text) => ({ sign: '+' as const, text })),
    ];
  }
  const lengths = table(old, now, isSame);
  const lines: DiffLine[] = [];
  let [i, j] = [0, 0];
  while (i < old.length || j < now.length) {
    if (i < old.length && j < now.length && isSame(old[i], now[j])) {
      lines.push({ sign: ' ', text: now[j] ?? '' });
      i += 1;
      j += 1;
    } else if (
      j >= now.length ||
      (i < old.length && (lengths[i + 1]?.[j] ?? 0) >= (lengths[i]?.[j + 1] ?? 0))
    ) {
      lines.push({ sign: '-', text: old[i] ?? '' });
      i += 1;
    } else {
      lines.push({ sign: '+', text: now[j] ?? '' });
      j += 1;
    }
  }
  return lines;
}

function table(old: readonly string[], now: readonly string[], isSame: SameLine): Uint16Array[] {
  const lengths = Array.from({ length: old.length + 1 }, () => new Uint16Array(now.length + 1));
  for (let i = old.length - 1; i >= 0; i -= 1) {
    const row = lengths[i] ?? new Uint16Array();
    const below = lengths[i + 1];
    for (let j = now.length - 1; j >= 0; j -= 1) {
      row[j] = isSame(old[i], now[j])
        ? (below?.[j + 1] ?? 0) + 1
        : Math.max(below?.[j] ?? 0, row[j + 1] ?? 0);
    }
  }
  return lengths;
}
