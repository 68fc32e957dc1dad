/** Formats a number with thousands separators, as in `2,310`. */
export function count(value: number): string {
  return String(value).replaceAll(/\B(?=(?:\d{3})+$)/g, ',');
}
