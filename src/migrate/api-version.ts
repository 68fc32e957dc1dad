import { isReleaseDate } from '../rules/release-date.ts';
import type { RuleBook } from '../rules/rule-book.ts';

/** How the `x-api-version` of the forwarded request was chosen. */
export type ApiVersionReason = 'absent' | 'invalid' | 'future' | 'client' | 'pin';

/** The dated release to request from V2, and why. */
export interface ApiVersion {
  readonly sent: string;
  readonly why: ApiVersionReason;
}

/** Milliseconds by which the first time zone is ahead of UTC: a day has begun once it has begun there. */
const FIRST_ZONE_MS = 14 * 3_600_000;

/**
 * Chooses the `x-api-version` of a migrated request. A valid one is the client's choice. Without one, V2 would move the client to
 * the latest release without notice, so the gateway sends that of the rule book, or the one pinned for the client or operation.
 * A day that is still to come selects the latest release in the same way; the policy `future` decides. The reasons `invalid` and
 * `future` stay even if a pin replaces the value, since the report lists those clients. `now` is in milliseconds since 1970.
 */
export function chooseApiVersion(
  requested: string | undefined,
  { version, policies }: Pick<RuleBook, 'version' | 'policies'>,
  now: number,
  pinned?: string,
): ApiVersion {
  if (requested !== undefined) {
    if (!isReleaseDate(requested)) return { sent: pinned ?? version, why: 'invalid' };
    if (Date.parse(requested) <= now + FIRST_ZONE_MS) return { sent: requested, why: 'client' };
    return { sent: policies.future === 'replace' ? (pinned ?? version) : requested, why: 'future' };
  }
  return pinned === undefined ? { sent: version, why: 'absent' } : { sent: pinned, why: 'pin' };
}
