import type { DiffMark } from '../api.ts';

/** A line between the two sides of a mark, in pixels of the gutter; `to` is absent where V2 has nothing. */
export interface Join {
  readonly mark: number;
  readonly from: number | undefined;
  readonly to: number | undefined;
}

/** Finds where each mark stands on both sides; `gutter` is the strip between them. */
export function findJoins(
  panes: HTMLElement,
  gutter: HTMLElement,
  marks: readonly DiffMark[],
): readonly Join[] {
  const { top } = gutter.getBoundingClientRect();
  const middle = (side: 'before' | 'after', mark: number, part: number): number | undefined => {
    const element = panes.querySelector(`[data-join="${side}-${mark}-${part}"]`);
    if (element === null) return undefined;
    const [first] = element.getClientRects();
    return first === undefined ? undefined : first.top + first.height / 2 - top;
  };
  return marks.flatMap(({ before, after }, mark) => {
    const isOneSided = before.length === 0 || after.length === 0;
    // An object that a rule made has brackets on one side only: they are highlighted, not joined.
    const parts = isOneSided ? before.length + after.length : Math.min(before.length, after.length);
    return Array.from({ length: parts }, (_, part) => ({
      mark,
      from: middle('before', mark, part),
      to: middle('after', mark, part),
    })).filter(({ from, to }) => from !== undefined || to !== undefined);
  });
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
