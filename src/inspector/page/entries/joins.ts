import type { Diff, DiffMark, TextSpan } from '../../api.ts';

/** A line between the two sides of a mark, in pixels of the gutter; `to` is absent when V2 has no counterpart. */
export interface Join {
  readonly mark: number;
  readonly from: number | undefined;
  readonly to: number | undefined;
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

/** Indentation differs between the sides. */
function squeezed(text: string, { start, end }: TextSpan): string {
  return text.slice(start, end).replaceAll(/\s+/g, '');
}

/** The path of a join across a gutter of `width`: a curve, or a stub when the other side has no counterpart. */
export function joinPath({ from, to }: Join, width: number): string {
  if (from === undefined) return `M ${width} ${to ?? 0} h ${-width * STUB}`;
  if (to === undefined) return `M 0 ${from} h ${width * STUB}`;
  const bend = width / 2;
  return `M 0 ${from} C ${bend} ${from}, ${width - bend} ${to}, ${width} ${to}`;
}

/** The end of a stub. */
export function stubEnd(
  { from, to }: Join,
  width: number,
): { readonly x: number; readonly y: number } | undefined {
  if (from !== undefined && to === undefined) return { x: width * STUB, y: from };
  if (from === undefined && to !== undefined) return { x: width * (1 - STUB), y: to };
  return undefined;
}

const STUB = 0.4;
