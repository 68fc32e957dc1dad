import { counted } from '../text/number-text.ts';
import type { TallyEntry } from './tally-entry.ts';

/** What V2 made of the requests of one call. Times are RFC 3339, empty for never. */
export interface V2Verdicts {
  lastAccepted: string;
  lastRefused: string;
  /** Status of the last response that was none of success, and the first place that its errors point at; empty without one. */
  status: number;
  at: string;
}

/** A call whose last request V2 did not accept. */
export interface PendingRefusal extends Readonly<Pick<V2Verdicts, 'status' | 'at'>> {
  readonly call: string;
  /** True when V2 refused members, and accepted no request of the call in the same time. */
  readonly isOfMembers: boolean;
}

/** Statuses with which a service refuses the content of a request. */
const CONTENT_REFUSED: ReadonlySet<number> = new Set([400, 422]);

/** Maximum calls that are told apart in sentences. */
const MAX_SHOWN = 5;

/** Verdicts on nothing. */
export function noVerdicts(): V2Verdicts {
  return { lastAccepted: '', lastRefused: '', status: 0, at: '' };
}

/** Notes V2's own response to a request; those of V1 and of the gateway say nothing about V2. */
export function noteVerdict(verdicts: V2Verdicts, entry: TallyEntry): void {
  const { time, status, origin, failure, errorPointers } = entry;
  if (origin !== undefined || failure !== undefined || status === 0) return;
  if (status < 400) mergeVerdicts(verdicts, { ...noVerdicts(), lastAccepted: time });
  else mergeVerdicts(verdicts, { lastAccepted: '', lastRefused: time, status, at: errorPointers?.[0] ?? '' });
}

/** Adds verdicts to others, the same in any order. */
export function mergeVerdicts(into: V2Verdicts, from: Readonly<V2Verdicts>): void {
  if (from.lastAccepted > into.lastAccepted) into.lastAccepted = from.lastAccepted;
  const order = compare(from.lastRefused, into.lastRefused) || from.status - into.status;
  if ((order || compare(from.at, into.at)) <= 0) return;
  into.lastRefused = from.lastRefused;
  into.status = from.status;
  into.at = from.at;
}

/**
 * The calls whose last request since `from` V2 did not accept. Where it accepted others since then, only a refusal of the content
 * counts: a missing resource or an overload is none of the client's work.
 */
export function pendingRefusals(
  calls: ReadonlyMap<string, { readonly v2: Readonly<V2Verdicts> }>,
  from: string,
): readonly PendingRefusal[] {
  return [...calls]
    .flatMap(([call, { v2 }]) => {
      const { lastAccepted, lastRefused, status, at } = v2;
      if (lastRefused < from || lastRefused <= lastAccepted) return [];
      const isOfContent = CONTENT_REFUSED.has(status);
      const isAlways = lastAccepted < from;
      if (!isOfContent && !isAlways) return [];
      return [{ call, status, at, isOfMembers: isOfContent && isAlways && at !== '' }];
    })
    .sort((one, other) => compare(one.call, other.call));
}

/** Says which calls V2 did not accept last, in sentences. */
export function refusalSentences(refusals: readonly PendingRefusal[]): string[] {
  const sentences = refusals
    .slice(0, MAX_SHOWN)
    .map(
      ({ call, status, at }) =>
        `V2 did not accept the last ${call}: ${status}${at === '' ? '' : ` at ${at}`}.`,
    );
  const more = refusals.length - MAX_SHOWN;
  return more <= 0 ? sentences : [...sentences, `The same applies to ${counted(more, 'more call')}.`];
}

function compare(one: string, other: string): number {
  return one === other ? 0 : one < other ? -1 : 1;
}
