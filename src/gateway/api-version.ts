import type { ApiVersionReason } from '../rewrite-log/entry.ts';
import { isReleaseDate } from '../rules/release-date.ts';

/** The dated release to ask V2 for, and why. */
export interface ApiVersion {
  readonly sent: string;
  readonly why: ApiVersionReason;
}

/**
 * Chooses the `x-api-version` of a migrated request: a valid one is the client's choice; without one V2 would move the
 * client to the latest release without notice, so it becomes that of the rule book.
 */
export function chooseApiVersion(asked: string | undefined, ruleBook: string): ApiVersion {
  if (asked === undefined) return { sent: ruleBook, why: 'absent' };
  if (isReleaseDate(asked)) return { sent: asked, why: 'client' };
  return { sent: ruleBook, why: 'invalid' };
}
