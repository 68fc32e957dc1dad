/** Prints a Markdown table; its cells are Markdown already (`markdownText`, `markdownCode`). */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  return [...tableLines(head, rows)].join('\n');
}

/** Generates the lines of a Markdown table; none without rows. */
export function* tableLines(
  head: readonly string[],
  rows: Iterable<readonly string[]>,
): Generator<string, void, undefined> {
  let isFirst = true;
  for (const row of rows) {
    if (isFirst) yield `${line(head)}\n|${' --- |'.repeat(head.length)}`;
    isFirst = false;
    yield line(row);
  }
}

function line(cells: readonly string[]): string {
  return `| ${cells.join(' | ')} |`;
}
