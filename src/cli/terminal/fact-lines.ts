import { wrapLines } from './wrap-text.ts';

/** A name and what is to be said of it; an empty name goes on with the fact before. */
export type Fact = readonly [name: string, text: string];

/** Prints facts under each other, the names in a column of `width` characters. A text that is too long for a line goes on below itself. */
export function factLines(
  facts: readonly Fact[],
  width: number,
  columns: number | undefined,
): readonly string[] {
  return facts.map(([name, text]) =>
    wrapLines(`  ${name.padEnd(width)}${text}`, columns, name === '' ? 0 : width),
  );
}
