import type { DiffMark } from '../../api.ts';

/** Assigns each change of the rule book its colour, 1 to 6, the same everywhere on the page. */
export type HueOf = (change: string) => number;

const HUES = 6;

/** The class of a mark: the colour of its change, or that of a refusal. */
export function markClass(mark: DiffMark, hueOf: HueOf): string {
  return mark.index < 0 ? 'hue-refused' : `hue-${hueOf(mark.change)}`;
}

/** Colours follow the order of the rule book; changes of an older book, which a log may still name, are coloured by name. */
export function huesOf(changes: readonly string[]): HueOf {
  const order = new Map(changes.map((change, index) => [change, (index % HUES) + 1]));
  return (change) => order.get(change) ?? (hash(change) % HUES) + 1;
}

function hash(text: string): number {
  let sum = 0;
  for (const character of text) sum = (sum * 31 + (character.codePointAt(0) ?? 0)) >>> 0;
  return sum;
}
