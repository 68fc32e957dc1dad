/** Formats a number with thousands separators, as in `2,310`. */
export function count(value: number): string {
  // Not proven linear: a number has few digits.
  return String(value).replaceAll(/\B(?=(?:\d{3})+$)/g, ',');
}

/** A number and its noun, which is plural unless the number is 1: `1 request`, `2,310 requests`. */
export function counted(value: number, noun: string, plural = `${noun}s`): string {
  return `${count(value)} ${value === 1 ? noun : plural}`;
}

/** A length of time in whole units, as in `90 minutes`, `47 hours` or `3 days`; the smaller unit where the larger one would be 1. */
export function lengthWords(milliseconds: number): string {
  const minutes = Math.round(milliseconds / 60_000);
  if (minutes < 120) return counted(minutes, 'minute');
  const hours = Math.floor(minutes / 60);
  return hours < 48 ? counted(hours, 'hour') : counted(Math.floor(hours / 24), 'day');
}
