import type { Diff, DiffMark, TextSpan } from '../api.ts';

/** A line between the two sides of a mark, in pixels of the gutter; `to` is absent where V2 has nothing. */
export interface Join {
  readonly mark: number;
  readonly from: number | undefined;
  readonly to: number | undefined;
}

/** Parts of a mark that belong together, by their places among its spans. */
export interface Pair {
  readonly before: number | undefined;
  readonly after: number | undefined;
}

/**
 * Says which spans of a mark belong together. One that has more on the right made the object around it: then the span with the
 * same text is its partner, and the brackets stay alone.
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

/** The path of a join across a gutter of `width`: a curve, or a stub that ends where the other side has nothing. */
export function joinPath({ from, to }: Join, width: number): string {
  if (from === undefined) return `M ${width} ${to ?? 0} h ${-width * STUB}`;
  if (to === undefined) return `M 0 ${from} h ${width * STUB}`;
  const bend = width / 2;
  return `M 0 ${from} C ${bend} ${from}, ${width - bend} ${to}, ${width} ${to}`;
}

/** Where a stub ends. */
export function stubEnd(
  { from, to }: Join,
  width: number,
): { readonly x: number; readonly y: number } | undefined {
  if (from !== undefined && to === undefined) return { x: width * STUB, y: from };
  if (from === undefined && to !== undefined) return { x: width * (1 - STUB), y: to };
  return undefined;
}

const STUB = 0.4;
