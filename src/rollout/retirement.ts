import type { HeaderList } from '../http/header-list.ts';
import type { Brownout, Rollout } from '../rules/rollout.ts';
import { isInScope, type RolloutSubject } from './scope.ts';

/** Refusal of a V1 request because V1 is being retired. */
export interface RetirementRefusal {
  readonly code: 'brownout' | 'sunset';
  readonly status: number;
  readonly title: string;
  readonly detail: string;
  /** Header fields of the response, such as `Retry-After`. */
  readonly headers: HeaderList;
  /** For the log: the id of the brownout, or `sunset`. */
  readonly note: string;
}

/** Returns the refusal if the sunset or a brownout applies to a request; `random` is a number from 0 up to 1. */
export function retirementRefusal(
  rollout: Rollout,
  subject: RolloutSubject,
  time: number,
  random: number,
): RetirementRefusal | undefined {
  const { gone, signals, brownouts } = rollout;
  if (
    gone !== undefined &&
    signals?.sunset !== undefined &&
    time >= signals.sunset &&
    isInScope(gone, subject)
  ) {
    const detail = `V1 ended on ${dayOf(signals.sunset)}; use V2 under /api/v2.${hint(rollout)}`;
    return { code: 'sunset', status: 410, title: 'Gone', detail, headers: [], note: 'sunset' };
  }
  for (const brownout of brownouts) {
    if (!isOn(brownout, time) || !isInScope(brownout, subject) || random * 100 >= brownout.share) continue;
    return brownoutRefusal(brownout, rollout, time);
  }
  return undefined;
}

function isOn({ from, until }: Brownout, time: number): boolean {
  return (from === undefined || time >= from) && (until === undefined || time < until);
}

function brownoutRefusal(brownout: Brownout, rollout: Rollout, time: number): RetirementRefusal {
  const { id, status, message, until, share } = brownout;
  const end = rollout.signals?.sunset;
  const when = end === undefined ? 'V1 is being retired' : `V1 ends on ${dayOf(end)}`;
  const detail =
    message ??
    `${when}, and is switched off for a while as a reminder; use V2 under /api/v2.${hint(rollout)}`;
  // Of a share, the next request may pass.
  const retryAt = share < 100 ? time : until;
  const isTimed = status === 503 && retryAt !== undefined;
  const headers = isTimed ? ['Retry-After', String(Math.max(1, Math.ceil((retryAt - time) / 1000)))] : [];
  const title = status === 410 ? 'Gone' : 'Service unavailable';
  return { code: 'brownout', status, title, detail, headers, note: id };
}

function hint({ signals }: Rollout): string {
  const page = signals?.links.find(([relation]) => relation !== 'successor-version')?.[1];
  return page === undefined ? '' : ` See ${page}`;
}

function dayOf(time: number): string {
  return new Date(time).toISOString().slice(0, 10);
}
