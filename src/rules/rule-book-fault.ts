/** A path in a rule book's source: keys and indexes from the root. */
export type SourcePath = readonly (string | number)[];

/** A fault located by its path in the source. */
export interface SourceFault {
  readonly path: SourcePath;
  /** Whether the key or the value at `path` is wrong. */
  readonly blame: 'key' | 'value';
  readonly message: string;
}

/** A fault of a rule book. The message says which part is wrong, its value and how to fix it. */
export interface RuleBookFault {
  readonly file: string;
  /** Line, from 1. */
  readonly line: number;
  /** Column, from 1, in UTF-16 units, as editors count. */
  readonly column: number;
  readonly message: string;
}

/** Prints a fault as `file:line:column message`, which terminals and editors turn into a link. */
export function printFault(fault: RuleBookFault): string {
  return `${fault.file}:${fault.line}:${fault.column} ${fault.message}`;
}
