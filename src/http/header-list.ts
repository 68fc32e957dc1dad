/**
 * A header section exactly as on the wire: name, value, name, value, … with order, repetition and spelling preserved. Values are
 * latin1: one character per byte.
 */
export type HeaderList = readonly string[];

/** The value of the first field named `name`, which must be in lower case. */
export function headerValue(headers: HeaderList, name: string): string | undefined {
  for (let at = 0; at < headers.length; at += 2) {
    if (isNamed(headers[at], name)) return headers[at + 1];
  }
  return undefined;
}

/** Every value of the fields named `name` (lower case), in order. */
export function headerValues(headers: HeaderList, name: string): string[] {
  const values: string[] = [];
  for (let at = 0; at < headers.length; at += 2) {
    if (isNamed(headers[at], name)) values.push(headers[at + 1] ?? '');
  }
  return values;
}

/** True when `name` is the field name `lower`, which must be in lower case. Most names already differ in length. */
export function isNamed(name: string | undefined, lower: string): boolean {
  return name !== undefined && name.length === lower.length && name.toLowerCase() === lower;
}

/** A set of field names, given in lower case, that finds them in any case. */
export class FieldNames {
  private readonly names: ReadonlySet<string>;
  /** True at the length of each name, which rules out most other names. */
  private readonly lengths: boolean[] = [];

  constructor(names: readonly string[]) {
    this.names = new Set(names);
    for (const { length } of names) this.lengths[length] = true;
  }

  has(name: string): boolean {
    return this.lengths[name.length] === true && this.names.has(name.toLowerCase());
  }
}

/** Returns a new list without the fields whose names are in `names`. */
export function withoutFields(headers: HeaderList, names: FieldNames): string[] {
  const kept: string[] = [];
  for (let at = 0; at < headers.length; at += 2) {
    const name = headers[at] ?? '';
    if (!names.has(name)) kept.push(name, headers[at + 1] ?? '');
  }
  return kept;
}
