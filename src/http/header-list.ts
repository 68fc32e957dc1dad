/**
 * A header section as it stood on the wire: name, value, name, value, … with order, repetition and spelling
 * kept. Values are latin1: one character a byte.
 */
export type HeaderList = readonly string[];

/** The value of the first field called `name`, which is given in lower case. */
export function headerValue(headers: HeaderList, name: string): string | undefined {
  for (let at = 0; at < headers.length; at += 2) {
    if (isNamed(headers[at], name)) return headers[at + 1];
  }
  return undefined;
}

/** Every value of the fields called `name` (lower case), in order. */
export function headerValues(headers: HeaderList, name: string): string[] {
  const values: string[] = [];
  for (let at = 0; at < headers.length; at += 2) {
    if (isNamed(headers[at], name)) values.push(headers[at + 1] ?? '');
  }
  return values;
}

/** True when two spellings of a field name are the same name; `lower` is in lower case. Most names differ in length already. */
export function isNamed(name: string | undefined, lower: string): boolean {
  return name !== undefined && name.length === lower.length && name.toLowerCase() === lower;
}

/** A new list without the fields whose lower-case names are in `names`. */
export function withoutFields(headers: HeaderList, names: ReadonlySet<string>): string[] {
  const kept: string[] = [];
  for (let at = 0; at < headers.length; at += 2) {
    const name = headers[at] ?? '';
    if (!names.has(name.toLowerCase())) kept.push(name, headers[at + 1] ?? '');
  }
  return kept;
}
