/** A row of a table: its cells by column. */
export type Row = Readonly<Record<string, string>>;

/** Reads the lines of a table, `| a | b |`; the first one names the columns. `\|` is a bar within a cell. */
export function readTable(lines: readonly string[]): readonly Row[] {
  const [columns = [], ...rows] = lines.map((line) => cellsOf(line));
  return rows.map((cells) => Object.fromEntries(columns.map((column, at) => [column, cells[at] ?? ''])));
}

/**
 * Joins tables as databases do (natural join): every combination of their rows in which columns of the same name have the same
 * cell.
 */
export function joinTables(tables: readonly (readonly Row[])[]): readonly Row[] {
  let joined: readonly Row[] = [{}];
  for (const table of tables) {
    joined = joined.flatMap((row) =>
      table.filter((other) => agree(row, other)).map((other) => ({ ...row, ...other })),
    );
  }
  return joined;
}

/** Replaces `${column}` by the cell of a row, also within cells; other names stay. */
export function fillIn(text: string, row: Row): string {
  let filled = text;
  for (let depth = 0; depth < MAX_DEPTH; depth += 1) {
    const next = filled.replaceAll(/\$\{([\w-]+)\}/g, (whole, name: string) => row[name] ?? whole);
    if (next === filled) return filled;
    filled = next;
  }
  return filled;
}

/** Cells within cells that are filled in; a cell that names itself would never end. */
const MAX_DEPTH = 8;

function cellsOf(line: string): readonly string[] {
  return line
    .split(/(?<!\\)\|/)
    .slice(1, -1)
    .map((cell) => cell.trim().replaceAll(String.raw`\|`, '|'));
}

function agree(row: Row, other: Row): boolean {
  return Object.entries(other).every(([column, cell]) => row[column] === undefined || row[column] === cell);
}
