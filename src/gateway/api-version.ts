import type { ApiVersionReason } from '../rewrite-log/entry.ts';

/** The dated release to ask V2 for, and why. */
export interface ApiVersion {
  readonly sent: string;
  readonly why: ApiVersionReason;
}

/** The first dated release of V2 there is. */
const firstRelease = '2025-01-01';

/**
 * Chooses the `x-api-version` of a migrated request: a valid one is the client's choice; without one V2 would move the
 * client to the latest release without notice, so it becomes that of the rule book.
 */
export function chooseApiVersion(asked: string | undefined, ruleBook: string): ApiVersion {
  if (asked === undefined) return { sent: ruleBook, why: 'absent' };
  if (isReleaseDate(asked)) return { sent: asked, why: 'client' };
  return { sent: ruleBook, why: 'invalid' };
}

/** True for a real calendar day, `YYYY-MM-DD`, not before the first release. */
export function isReleaseDate(text: string): boolean {
  const match = /^(\d{4})-(\d{2})-(\d{2})$/.exec(text);
  if (match === null || text < firstRelease) return false;
  const [year, month, day] = [Number(match[1]), Number(match[2]), Number(match[3])];
  const date = new Date(Date.UTC(year, month - 1, day));
  return date.getUTCMonth() === month - 1 && date.getUTCDate() === day;
}
