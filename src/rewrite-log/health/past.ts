import type { RollbackRule } from '../../rules/rollout.ts';
import {
  begun,
  isLasting,
  type Judged,
  type Request,
  type Tallied,
  type Trouble,
  unjudged,
} from './course.ts';
import { Failures } from './failures.ts';
import { type Counts, hasBegunToFail, type Past } from './trouble.ts';

/** Maximum stretches of an operation: with more of them, neighbours in the older half are joined. */
const MAX_STRETCHES = 100;

/** Trouble began with the earliest failure that is as likely its first as the likeliest one: the difference of their log-likelihoods. */
const AS_LIKELY = 2;

/** Requests of the past, in which older ones count less and less. */
const PAST_REQUESTS = 10_000;

/** Only requests to which V2 responded count for a client; `before` are those of all clients before the row. */
interface ClientHealth extends Judged {
  before: Counts;
  compared: Counts;
}

/** Requests to V2 from a failure after a success to the next one: trouble can begin with each. `onV1` are those that V1 served meanwhile. */
interface Stretch {
  /** The start of its first request, which failed. */
  readonly since: number;
  requests: number;
  readonly failures: Failures;
  readonly onV1: Tallied;
}

/** Requests of an operation, or of a call, that are judged together. */
export interface Course extends Judged {
  /** With what the latest requests are compared: all requests to V1 and to V2 before them that were not part of trouble. */
  readonly past: Tallied;
  /** The requests of trouble that is over: they were before a later one, which is not compared with them. */
  readonly over: Tallied;
  /** The requests that V2 has got since the operation went to it. */
  onV2: number;
  /** The latest requests, from a failure on; empty while the operation is in trouble. */
  readonly recent: Stretch[];
  /** Troubles that were over when the next one began, the latest last. */
  readonly earlier: Episode[];
}

/** Trouble of an operation, or of these clients; `whole` is that of other clients as well, which are well again. */
export interface Episode {
  readonly trouble: Trouble;
  readonly clients?: readonly string[];
  readonly whole?: Trouble;
}

/** The requests of an operation, or of a call, to V2. */
export interface Health {
  /** Those to which V2 or the gateway responded. */
  readonly responses: Course;
  /** All of them, where those fail to which V2 did not respond. */
  readonly silence: Course;
  /** By client, the one that failed last at the end: clients whose last request failed, or that were in trouble. */
  readonly clients: Map<string, ClientHealth>;
}

/** Maximum troubles of a course that are over and are still told. */
const MAX_EARLIER = 10;

export function newCourse(time: number): Course {
  return {
    past: { requests: 0, failed: 0 },
    over: { requests: 0, failed: 0 },
    onV2: 0,
    recent: [],
    earlier: [],
    ...unjudged(time),
  };
}

/** Keeps trouble that is over, to be told after another one has begun. */
export function keepEarlier({ earlier }: Course, episode: Episode): void {
  earlier.push(episode);
  if (earlier.length > MAX_EARLIER) earlier.shift();
}

/** Adds requests to the past; older ones, also of earlier trouble, count less and less. */
export function remember({ past, over }: Course, counts: Counts): void {
  addTo(past, counts);
  while (past.requests >= PAST_REQUESTS)
    for (const one of [past, over]) {
      one.requests /= 2;
      one.failed /= 2;
    }
}

/** Adds requests from before this run to the past. */
export function learn(past: Tallied, { requests, failed }: Counts): void {
  const share = Math.min(1, PAST_REQUESTS / 2 / Math.max(1, requests));
  past.requests += requests * share;
  past.failed += failed * share;
}

/** Adds requests to others. */
export function addTo(sum: Tallied, { requests, failed }: Counts): void {
  sum.requests += requests;
  sum.failed += failed;
}

function without(counts: Counts, { requests, failed }: Counts): Counts {
  return { requests: counts.requests - requests, failed: counts.failed - failed };
}

export function sumOf(...all: readonly Counts[]): Counts {
  const sum = { requests: 0, failed: 0 };
  for (const one of all) addTo(sum, one);
  return sum;
}

function countsOf({ requests, failures }: Pick<Stretch, 'requests' | 'failures'>): Counts {
  return { requests, failed: failures.count };
}

/** Counts a response of V1 as the past: if V2 fails meanwhile, as in a canary, it was not before those failures. */
export function countOnV1(course: Course, { failed }: Request): void {
  const counts = course.recent.at(-1)?.onV1;
  const one = { requests: 1, failed: failed ? 1 : 0 };
  if (counts === undefined) remember(course, one);
  else addTo(counts, one);
}

/** All requests before now: those with which the next ones are compared, and those of trouble that is over. */
export function beforeOf(course: Course): { readonly before: Counts; readonly compared: Counts } {
  const { past, over, recent, trouble } = course;
  const latest = [...recent, ...(isLasting(trouble) ? [trouble] : [])];
  const compared = sumOf(past, ...recent.map(({ onV1 }) => onV1), ...latest.map(countsOf));
  return { before: sumOf(compared, over), compared };
}

/** Adds a request of an operation that is not in trouble. */
export function addToRecent(course: Course, { entry, failed, began }: Request): void {
  const { recent } = course;
  const open = recent.at(-1);
  if (failed && (open === undefined || open.requests > open.failures.count)) {
    if (recent.length >= MAX_STRETCHES) joinNeighbours(recent);
    const failures = new Failures();
    recent.push({ since: began, requests: 0, failures, onV1: { requests: 0, failed: 0 } });
  }
  const last = recent.at(-1);
  if (last === undefined) {
    remember(course, { requests: 1, failed: 0 });
    return;
  }
  last.requests += 1;
  if (failed) last.failures.add(entry);
}

/** The first stretches become the past; all of them by default. */
export function forget(course: Course, stretches = course.recent.length): void {
  for (const one of course.recent.splice(0, stretches)) remember(course, sumOf(countsOf(one), one.onV1));
}

/** The failures of a client no longer count for the operation: no trouble began with them. */
export function dropRecent(course: Course, client: string): void {
  const { recent } = course;
  const kept: Stretch[] = [];
  for (const one of recent.splice(0)) {
    one.requests -= one.failures.drop(client);
    if (one.failures.count > 0) {
      kept.push(one);
      continue;
    }
    const earlier = kept.at(-1);
    if (earlier === undefined) remember(course, sumOf(countsOf(one), one.onV1));
    else {
      earlier.requests += one.requests;
      addTo(earlier.onV1, one.onV1);
    }
  }
  recent.push(...kept);
}

function joinNeighbours(recent: Stretch[]): void {
  const all = recent.splice(0, MAX_STRETCHES / 2);
  const joined: Stretch[] = [];
  for (let at = 0; at < all.length; at += 2) {
    const [one, next] = all.slice(at, at + 2);
    if (one === undefined) continue;
    joined.push(
      next === undefined
        ? one
        : {
            ...one,
            requests: one.requests + next.requests,
            failures: Failures.of([one.failures, next.failures]),
            onV1: { ...sumOf(one.onV1, next.onV1) },
          },
    );
  }
  recent.unshift(...joined);
}

export function recentOf({ recent }: Course): Counts {
  return sumOf(...recent.map((one) => countsOf(one)));
}

/** Number of a client's latest failures. */
export function recentFailuresOf({ recent }: Course, client: string): number {
  return recent.reduce((sum, { failures }) => sum + failures.of(client), 0);
}

/** Requests since a failure with which trouble may have begun, and those that they are compared with. */
interface Beginning {
  readonly at: number;
  readonly compared: Past;
  readonly present: Counts;
  readonly likelihood: number;
}

/** For each of the latest stretches, how likely the share that fails changed with its first request. */
function beginningsOf({ recent, past, onV2 }: Course): readonly Beginning[] {
  const compared = { ...sumOf(past, ...recent.map(({ onV1 }) => onV1)) };
  const present = { ...sumOf(...recent.map((one) => countsOf(one))) };
  return recent.map((one, at) => {
    const beginning = {
      at,
      compared: { ...compared, onV2: Math.max(0, onV2 - present.requests) },
      present: { ...present },
      likelihood: likelihoodOf(compared, present),
    };
    addTo(compared, countsOf(one));
    Object.assign(present, without(present, countsOf(one)));
    return beginning;
  });
}

/** By how much it is likelier that the share that fails has grown than that it is the same: the logarithm. */
function likelihoodOf(before: Counts, now: Counts): number {
  if (now.failed * before.requests <= before.failed * now.requests) return 0;
  return surprise(sumOf(before, now)) - surprise(before) - surprise(now);
}

function surprise({ requests, failed }: Counts): number {
  return term(failed, requests) + term(requests - failed, requests);
}

function term(part: number, whole: number): number {
  return part <= 0 ? 0 : part * Math.log(whole / part);
}

/**
 * The trouble that the latest request shows, which failed, if that is more than before: several failures in a row, or a larger share. It
 * began with the failure since which the share has most likely been larger; its requests and failures are all those since then.
 */
export function troubleShown(course: Course, { time }: Request, rule: RollbackRule): Trouble | undefined {
  const { past, over, recent } = course;
  const likely = beginningsOf(course).findIndex(({ likelihood }) => likelihood > 0);
  // Since these no larger share failed than before.
  forget(course, Math.min(likely < 0 ? Number.POSITIVE_INFINITY : likely, recent.length - 1));
  const beginnings = beginningsOf(course);
  const best = beginnings.reduce<Beginning | undefined>(
    (found, one) => (found === undefined || one.likelihood > found.likelihood ? one : found),
    undefined,
  );
  const row = beginnings.at(-1);
  if (best === undefined || row === undefined) return undefined;
  if (![best, row].some(({ compared, present }) => hasBegunToFail(compared, present, rule))) return undefined;
  const first = beginnings.find(({ likelihood }) => likelihood >= best.likelihood - AS_LIKELY) ?? best;
  forget(course, first.at);
  const since = recent[0]?.since ?? time;
  const failures = Failures.of(recent.map((one) => one.failures));
  const before = sumOf(past, over);
  const { requests } = recentOf(course);
  const kind = failures.count === requests ? 'always' : 'more';
  const { compared } = first;
  for (const { onV1 } of recent.splice(0)) remember(course, onV1);
  return begun({ kind, requests, failures, since, before, compared }, time);
}

/** Adds the requests of trouble that has ended to what was before the next one. */
export function settle(course: Course): void {
  const { trouble } = course;
  if (trouble?.later === undefined) return;
  remember(course, trouble.later);
  addTo(course.over, countsOf(trouble));
  trouble.later = undefined;
}
