/** The first dated release of V2: that of the specification. */
export const FIRST_RELEASE = '2025-01-01';

/**
 * The release that an `x-api-version` header selects: the newest one that is not later than the date. An absent header, a value
 * that is not a calendar day `YYYY-MM-DD`, or a day before the first release selects the latest.
 */
export function resolveRelease(header: string | null | undefined, known: readonly string[]): string {
  const latest = known.at(-1) ?? '';
  if (header === null || header === undefined || !isCalendarDay(header)) return latest;
  return known.findLast((release) => release <= header) ?? latest;
}

function isCalendarDay(text: string): boolean {
  if (!/^\d{4}-\d{2}-\d{2}$/.test(text)) return false;
  const day = new Date(`${text}T00:00:00Z`);
  return !Number.isNaN(day.getTime()) && day.toISOString().startsWith(text);
}
