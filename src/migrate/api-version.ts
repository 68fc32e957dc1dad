import { isReleaseDate } from '../rules/release-date.ts';

/** How the `x-api-version` of the forwarded request was chosen. */
export type ApiVersionReason = 'absent' | 'invalid' | 'client' | 'pin';

/** The dated release to request from V2, and why. */
export interface ApiVersion {
  readonly sent: string;
  readonly why: ApiVersionReason;
}

/**
 * Chooses the `x-api-version` of a migrated request. A valid one is the client's choice. Without one, V2 would move the client to
 * the latest release without notice, so the gateway sends that of the rule book, or the one pinned for the client or operation.
 * The reason is `invalid` even if a pin replaces the value, since the report lists those clients.
 */
export function chooseApiVersion(
  requested: string | undefined,
  ruleBook: string,
  pinned?: string,
): ApiVersion {
  if (requested !== undefined) {
    if (isReleaseDate(requested)) return { sent: requested, why: 'client' };
    return { sent: pinned ?? ruleBook, why: 'invalid' };
  }
  return pinned === undefined ? { sent: ruleBook, why: 'absent' } : { sent: pinned, why: 'pin' };
}
