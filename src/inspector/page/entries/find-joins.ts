import type { Join, Pair } from './joins.ts';

/** Finds the position of each mark on both sides; `gutter` is the strip between them. */
export function findJoins(
  panes: HTMLElement,
  gutter: HTMLElement,
  pairs: readonly (readonly Pair[])[],
): readonly Join[] {
  const { top } = gutter.getBoundingClientRect();
  const middle = (side: 'before' | 'after', mark: number, part: number): number | undefined => {
    const element = panes.querySelector(`[data-join="${side}-${mark}-${part}"]`);
    if (element === null) return undefined;
    const [first] = element.getClientRects();
    return first === undefined ? undefined : first.top + first.height / 2 - top;
  };
  return pairs.flatMap((ofMark, mark) =>
    ofMark
      .map(({ before, after }) => ({
        mark,
        from: before === undefined ? undefined : middle('before', mark, before),
        to: after === undefined ? undefined : middle('after', mark, after),
      }))
      .filter(({ from, to }) => from !== undefined || to !== undefined),
  );
}
