/**
 * The rows of a table in text. The first line of a row stands at the margin; its cells are apart by ` → ` or stand on further lines, which
 * are indented. Backslashes are not escapes.
 */
export function rows(template: TemplateStringsArray, ...values: readonly string[]): string[][] {
  const lines = String.raw(template, ...values)
    .split('\n')
    .filter((line) => line.trim() !== '');
  const margin = Math.min(...lines.map((line) => line.search(/\S/)));
  return lines
    .map((line) => line.slice(margin).trimEnd())
    .join('\n')
    .split(/\n(?! )/)
    .map((row) => row.split(/ → |\n +/));
}

/** The words of a text, as it is spelled. */
export function words(template: TemplateStringsArray): string[] {
  return String.raw(template).trim().split(/\s+/);
}
