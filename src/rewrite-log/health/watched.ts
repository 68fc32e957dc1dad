import type { Request } from './course.ts';
import { Failures } from './failures.ts';
import { beforeOf, type Course } from './past.ts';
import { type Counts, NONE, type OperationTrouble } from './trouble.ts';

/** Requests of an operation that fails at another replica, since then. Times are milliseconds since 1970. */
export interface WatchedOperation
  extends Counts, Pick<OperationTrouble, 'operation' | 'isRefusal' | 'isOutage' | 'since' | 'before'> {
  /** The last failure; absent without one. */
  readonly last?: number | undefined;
}

export interface Watch {
  requests: number;
  readonly failures: Failures;
  since: number;
  last: number | undefined;
  readonly before: Counts;
}

export function watchFrom(course: Course | undefined, time: number): Watch {
  if (course === undefined)
    return { requests: 0, failures: new Failures(), since: time, last: undefined, before: NONE };
  const { row } = course;
  const { before } = beforeOf(course);
  const [requests, since] = row.failed ? [row.requests, row.since] : [0, undefined];
  return {
    requests,
    failures: Failures.of([row.failures]),
    since: since ?? time,
    last: since,
    before: { requests: before.requests - requests, failed: before.failed - requests },
  };
}

export function watch(counts: Watch | undefined, { entry, failed, began, time }: Request): void {
  if (counts === undefined) return;
  counts.requests += 1;
  if (!failed) return;
  if (counts.failures.count === 0) counts.since = began;
  counts.failures.add(entry);
  counts.last = time;
}

export function watchedOf(
  operation: string,
  { failures, ...counts }: Watch,
  isOutage: boolean,
): WatchedOperation {
  const { count: failed, isRefusal } = failures;
  return { operation, ...counts, failed, isRefusal, isOutage };
}
