/** Formats a number with thousands separators, as in `2,310`. */
export function count(value: number): string {
  return value.toLocaleString('en');
}

/** A number and its noun, which is plural unless the number is 1: `1 request`, `2,310 requests`. */
export function counted(value: number, noun: string, plural = `${noun}s`): string {
  return `${count(value)} ${value === 1 ? noun : plural}`;
}

/** The first names of a list, and how many more there are: `a, b and 3 more`. */
export function listed(names: readonly string[], most: number, separator = ', '): string {
  const rest = names.length - most;
  return `${names.slice(0, most).join(separator)}${rest > 0 ? ` and ${count(rest)} more` : ''}`;
}
