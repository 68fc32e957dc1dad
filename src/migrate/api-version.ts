import { isReleaseDate } from '../rules/release-date.ts';

/** Why the `x-api-version` that is sent is what it is. */
export type ApiVersionReason = 'absent' | 'invalid' | 'client' | 'pin';

/** The dated release to ask V2 for, and why. */
export interface ApiVersion {
  readonly sent: string;
  readonly why: ApiVersionReason;
}

/**
 * Chooses the `x-api-version` of a migrated request: a valid one is the client's choice; without one V2 would move the
 * client to the latest release without notice, so it becomes that of the rule book, or the one pinned for the client or
 * operation. `invalid` is said of a pinned one too: the report lists those clients.
 */
export function chooseApiVersion(asked: string | undefined, ruleBook: string, pinned?: string): ApiVersion {
  if (asked !== undefined) {
    if (isReleaseDate(asked)) return { sent: asked, why: 'client' };
    return { sent: pinned ?? ruleBook, why: 'invalid' };
  }
  return pinned === undefined ? { sent: ruleBook, why: 'absent' } : { sent: pinned, why: 'pin' };
}
