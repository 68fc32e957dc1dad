/** Where a value stands in a rule book's source: keys and indexes from the root. */
export type SourcePath = readonly (string | number)[];

/** A fault at a place of the source that is still named by its path. */
export interface SourceFault {
  readonly path: SourcePath;
  /** Whether the key or the value at `path` is to blame. */
  readonly blame: 'key' | 'value';
  readonly message: string;
}

/** A fault of a rule book. The message names the thing, the value and the way out. */
export interface RuleBookFault {
  readonly file: string;
  /** From 1. */
  readonly line: number;
  /** From 1, in UTF-16 units, as editors count. */
  readonly column: number;
  readonly message: string;
}

/** Prints a fault as `file:line:column message`, which terminals and editors make a link of. */
export function printFault(fault: RuleBookFault): string {
  return `${fault.file}:${fault.line}:${fault.column} ${fault.message}`;
}
