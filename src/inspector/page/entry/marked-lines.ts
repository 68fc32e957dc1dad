import type { Diff, DiffMark, TextSpan } from '../../api.ts';

const TOKEN = /"(?:[^"\\]|\\.)*"?|-?\d[\d.eE+-]*|\b(?:true|false|null)\b/g;

/** A span of a text that belongs to a mark; `part` counts the spans of one mark on one side. */
export interface MarkedSpan extends TextSpan {
  readonly mark: number;
  readonly part: number;
  /** False for brackets around a moved member: the number is shown at the member. */
  readonly isNumbered: boolean;
}

/** A piece of a line in one style. */
export interface Piece {
  readonly text: string;
  readonly kind: TokenKind | undefined;
  readonly span: MarkedSpan | undefined;
  /** True at the beginning of its span, where the number of the mark is shown. */
  readonly opens: boolean;
}

/** A line of a body, numbered from 1. */
export interface MarkedLine {
  readonly number: number;
  readonly pieces: readonly Piece[];
  /** Marks that touch the line. */
  readonly marks: readonly number[];
}

/** Splits a text into lines, and lines at the boundaries of tokens and spans; among nested spans, the innermost applies. */
export function markedLines(text: string, spans: readonly MarkedSpan[]): readonly MarkedLine[] {
  let from = 0;
  return text.split('\n').map((line, index) => {
    const start = from;
    const end = start + line.length;
    from = end + 1;
    const here = spans.filter((span) => span.start <= end && span.end >= start && touches(span, start, end));
    const pieces = cut(line, start, here);
    return { number: index + 1, pieces, marks: [...new Set(here.map(({ mark }) => mark))] };
  });
}

/** Lines that are omitted between two drawn ones. */
export interface Fold {
  readonly folded: number;
  readonly from: number;
}

/** Omits long runs of lines without a mark; `around` lines next to a marked one are kept. */
export function foldLines(lines: readonly MarkedLine[], around: number): readonly (MarkedLine | Fold)[] {
  const stays = lines.map(() => false);
  lines.forEach(({ marks }, index) => {
    if (marks.length === 0) return;
    for (let near = Math.max(0, index - around); near <= index + around; near += 1) stays[near] = true;
  });
  const folded: (MarkedLine | Fold)[] = [];
  for (let at = 0; at < lines.length;) {
    let next = at;
    while (next < lines.length && stays[next] !== true) next += 1;
    const run = lines.slice(at, next);
    if (run.length > around) folded.push({ folded: run.length, from: at + 1 });
    if (run.length <= around) folded.push(...run);
    const line = lines[next];
    if (line !== undefined) folded.push(line);
    at = next + 1;
  }
  return folded;
}

/** A span that ends with a line break does not include the line after it. */
function touches(span: MarkedSpan, start: number, end: number): boolean {
  if (span.start === span.end) return true;
  return span.end > start && (span.start < end || (span.start === end && span.end === end + 1));
}

function cut(line: string, offset: number, spans: readonly MarkedSpan[]): readonly Piece[] {
  const tokens = jsonTokens(line);
  const cuts = new Set([0, line.length]);
  for (const { start, end } of tokens) cuts.add(start).add(end);
  for (const { start, end } of spans) cuts.add(clamp(start - offset, line)).add(clamp(end - offset, line));
  const places = [...cuts].toSorted((one, other) => one - other);
  const pieces: Piece[] = [];
  for (const [index, start] of places.entries()) {
    pieces.push(...points(spans, offset + start));
    const end = places[index + 1];
    if (end === undefined) break;
    const kind = tokens.find((token) => token.start <= start && end <= token.end)?.kind;
    const span = innermost(spans, offset + start, offset + end);
    pieces.push({
      text: line.slice(start, end),
      kind,
      span,
      opens: span?.isNumbered === true && span.start === offset + start,
    });
  }
  return pieces;
}

/** The empty spans at a place, which mark that everything was removed there. */
function points(spans: readonly MarkedSpan[], at: number): readonly Piece[] {
  return spans
    .filter((span) => span.start === at && span.end === at)
    .map((span) => ({ text: '', kind: undefined, span, opens: true }));
}

function innermost(spans: readonly MarkedSpan[], start: number, end: number): MarkedSpan | undefined {
  return spans
    .filter((span) => span.start <= start && end <= span.end)
    .toSorted((one, other) => one.end - one.start - (other.end - other.start))[0];
}

function clamp(at: number, line: string): number {
  return Math.min(Math.max(at, 0), line.length);
}

/** The kind of a token of formatted JSON; `type` is a value that was replaced by its type. */
type TokenKind = 'key' | 'string' | 'number' | 'literal' | 'type';

/** A token of one line, in UTF-16 code units of the line. */
interface Token {
  readonly kind: TokenKind;
  readonly start: number;
  readonly end: number;
}

/** Finds the tokens in a line of formatted JSON, in which strings never span lines. Punctuation is omitted. */
function jsonTokens(line: string): readonly Token[] {
  return [...line.matchAll(TOKEN)].map((match) => ({
    kind: kindOf(match[0], line.slice(match.index + match[0].length)),
    start: match.index,
    end: match.index + match[0].length,
  }));
}

function kindOf(text: string, rest: string): TokenKind {
  if (!text.startsWith('"')) return /^[-\d]/.test(text) ? 'number' : 'literal';
  if (/^\s*:/.test(rest)) return 'key';
  return /^"‹.*›"$/.test(text) ? 'type' : 'string';
}

/** Corresponding parts of a mark, by index among its spans. */
export interface Pair {
  readonly before: number | undefined;
  readonly after: number | undefined;
}

/**
 * Pairs the corresponding spans of a mark. A mark with more spans on the right created the object around its member: then the
 * span with the same text is the counterpart, and the brackets stay unpaired.
 */
export function pairsOf(diff: Diff, { before, after }: DiffMark): readonly Pair[] {
  if (after.length === 0) return before.map((_, part) => ({ before: part, after: undefined }));
  if (before.length === 0) return after.map((_, part) => ({ before: undefined, after: part }));
  if (before.length === after.length) return before.map((_, part) => ({ before: part, after: part }));
  const [source] = before;
  const text = source === undefined ? '' : squeezed(diff.before, source);
  const same = after.findIndex((span) => squeezed(diff.after ?? '', span) === text);
  return [{ before: 0, after: Math.max(0, same) }];
}

/** The text of a span without white space, because indentation differs between the sides. */
function squeezed(text: string, { start, end }: TextSpan): string {
  return text.slice(start, end).replaceAll(/\s+/g, '');
}
