/** Formats a number with thousands separators, as in `2,310`. */
export function count(value: number): string {
  return String(value).replaceAll(/\B(?=(?:\d{3})+$)/g, ',');
}

/** A number and its noun, which is plural unless the number is 1: `1 request`, `2,310 requests`. */
export function counted(value: number, noun: string, plural = `${noun}s`): string {
  return `${count(value)} ${value === 1 ? noun : plural}`;
}
