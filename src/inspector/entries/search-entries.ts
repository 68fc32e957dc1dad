import type { Capture, KeptExchange } from '../../rewrite-log/capture.ts';
import { isOnPurpose } from '../../rewrite-log/answers.ts';
import { callName, errorName, errorsOf, type Entry, NO_KEY, OTHER_CALLS } from '../../rewrite-log/entry.ts';
import { type FilterTest, isFilterFault, parseFilter } from '../../rewrite-log/filter.ts';
import { errorSentence, responseObject } from '../../rewrite-log/response-findings.ts';
import type { Ring } from '../../rewrite-log/history.ts';
import { filterWithMessage, isOfProblem } from '../problems.ts';
import type {
  EntryHistogram,
  ErrorGroup,
  ErrorGroups,
  NumberedEntry,
  Problem,
  ProblemsView,
} from '../api.ts';

/** The stores that a search reads. */
interface SearchedStores {
  readonly ring: Ring;
  readonly capture: Capture;
}

/** Characters of kept content that are searched between two pauses. */
const CHARACTERS_PER_TURN = 1024 * 1024;

/** Characters whose search costs about as much as reading and testing an entry. */
const CHARACTERS_PER_ENTRY = 2048;

const decoder = new TextDecoder();

/** Widths of a bar in seconds: round in minutes, hours and days. */
const STEPS = [1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1200, 1800, 3600, 7200, 14_400, 43_200, 86_400];
const MAX_BARS = 60;

/** Maximum groups. */
const MAX_GROUPS = 300;

/** Maximum clients that are counted for a group. */
const MAX_CLIENTS = 10_000;

/** Operations and calls of a group that are told apart. */
const MAX_CALLS = 100;

/** Finds up to `limit` entries older than `before` that `accepts` matches, newest first; `pause` is awaited between parts of the work. */
export async function searchEntries(
  { ring, capture }: SearchedStores,
  {
    before,
    limit,
    accepts,
  }: {
    readonly before: number;
    readonly limit: number;
    readonly accepts: (entry: Entry, content: () => string, seq: number) => boolean;
  },
  pause: () => Promise<void>,
): Promise<readonly { readonly seq: number; readonly entry: Entry }[]> {
  const found: { seq: number; entry: Entry }[] = [];
  let searched = 0;
  for (const seq of ring.numbersBefore(before)) {
    const entry = ring.at(seq);
    searched += CHARACTERS_PER_ENTRY;
    const content = (): string => {
      const text = contentOf(capture, seq);
      searched += text.length;
      return text;
    };
    if (entry !== undefined && accepts(entry, content, seq)) found.push({ seq, entry });
    if (found.length === limit) break;
    if (searched < CHARACTERS_PER_TURN) continue;
    searched = 0;
    await pause();
  }
  return found;
}

/** The kept header fields and bodies of an exchange as one text, masked. */
export function contentOf(capture: Capture, seq: number): string {
  const kept = capture.of(seq);
  if (kept === undefined) return '';
  const { v1Request, v2Request, v2Response, clientResponse } = kept;
  return [v1Request, v2Request, v2Response, clientResponse]
    .flatMap((side) => {
      if (side === undefined) return [];
      const body = 'body' in side ? side.body.bytes : undefined;
      return [
        ...side.headers.map(({ name, value }) => `${name}: ${value}`),
        ...(body === undefined ? [] : [decoder.decode(body)]),
      ];
    })
    .join('\n');
}

/** Maximum bytes of a failed response whose errors are read for the list. */
const MAX_ERROR_BYTES = 16 * 1024;

/** The text of the errors in a failed response; undefined if the values of its body are not kept. */
export function reasonIn(
  { status }: Pick<Entry, 'status'>,
  kept: KeptExchange | undefined,
): string | undefined {
  const response = kept?.v2Response;
  const { state, bytes } = response?.body ?? {};
  if (status < 400 || state !== 'values' || bytes === undefined || bytes.length > MAX_ERROR_BYTES)
    return undefined;
  const object = responseObject(bytes);
  return object === undefined ? undefined : errorSentence(object);
}

/** An entry with its number and, if known, the reason that a service gave for a failure. */
export function numbered(seq: number, entry: Entry, capture: Capture): NumberedEntry {
  const reason = reasonIn(entry, capture.of(seq));
  return reason === undefined ? { seq, ...entry } : { seq, ...entry, reason };
}

interface HistogramTests {
  readonly accepts: FilterTest;
  /** Accepts the entries in the time that the histogram spans, by the terms `time:` of the filter; all without such terms. */
  readonly inRange: FilterTest;
}

/** Counts by time the kept entries that a filter accepts, over the range of the filter or of all kept entries. */
export async function entryHistogram(
  stores: SearchedStores,
  { accepts, inRange }: HistogramTests,
  pause: () => Promise<void>,
): Promise<Omit<EntryHistogram, 'marks'>> {
  const { ring } = stores;
  const seconds = new Map<number, { count: number; failed: number }>();
  let [first, last] = [Infinity, -Infinity];
  const count = (entry: Entry, content: () => string, seq: number): boolean => {
    if (!inRange(entry)) return false;
    const second = Math.floor(Date.parse(entry.time) / 1000);
    [first, last] = [Math.min(first, second), Math.max(last, second)];
    if (!accepts(entry, content)) return false;
    const counted = seconds.get(second) ?? { count: 0, failed: 0 };
    counted.count += 1;
    if (ring.hasFailed(seq)) counted.failed += 1;
    seconds.set(second, counted);
    // Nothing is collected: the search only visits.
    return false;
  };
  await searchEntries(stores, { before: ring.latest + 1, limit: Infinity, accepts: count }, pause);
  const whole = ring.isCut ? ring.at(ring.oldest) : undefined;
  return {
    ...barsOf(seconds, first, last),
    ...(whole === undefined ? {} : { wholeSince: whole.time }),
  };
}

function barsOf(
  seconds: ReadonlyMap<number, { readonly count: number; readonly failed: number }>,
  first: number,
  last: number,
): Pick<EntryHistogram, 'step' | 'bars'> {
  if (first > last) return { step: 1, bars: [] };
  const step = stepFor(last - first + 1);
  const start = Math.floor(first / step) * step;
  const bars = Array.from({ length: Math.floor((last - start) / step) + 1 }, (_, index) => ({
    time: new Date((start + index * step) * 1000).toISOString(),
    count: 0,
    failed: 0,
  }));
  for (const [second, { count, failed }] of seconds) {
    const bar = bars[Math.floor((second - start) / step)];
    if (bar === undefined) continue;
    bar.count += count;
    bar.failed += failed;
  }
  return { step, bars };
}

/** For one bar less than the maximum, since the span may begin in the middle of a bar. */
function stepFor(span: number): number {
  const wanted = span / (MAX_BARS - 1);
  return STEPS.find((step) => step >= wanted) ?? Math.ceil(wanted / 86_400) * 86_400;
}

/**
 * Returns the problems with a kept exchange that `accepts` matches. Each gets the filter of its exchanges and the number that it finds. If
 * no filter can separate them from the exchanges of other problems, the filter finds both, and `isShared` says so.
 */
export async function problemsAmong(
  stores: SearchedStores,
  { problems, ...view }: ProblemsView,
  accepts: FilterTest,
  pause: () => Promise<void>,
): Promise<ProblemsView> {
  const rows = problems.map(soughtProblem);
  const visit = (entry: Entry, content: () => string, seq: number): boolean => {
    if (!accepts(entry, content)) return false;
    const found = rows.filter(
      ({ problem: { service, operation }, isAlike }) =>
        (service !== undefined || operation === entry.operation) && isAlike(entry),
    );
    const told = found.length === 0 ? undefined : reasonIn(entry, stores.capture.of(seq));
    let text: string | undefined;
    const read = (): string => (text ??= content());
    for (const row of found) {
      row.alike += 1;
      if (row.problem.service !== undefined || isOfProblem(row.problem, entry, told)) row.own += 1;
      else if (told === undefined) row.untold += 1;
      if (row.hasWords(entry, read)) row.withWords += 1;
    }
    // Nothing is collected: the search only visits.
    return false;
  };
  await searchEntries(stores, { before: stores.ring.latest + 1, limit: Infinity, accepts: visit }, pause);
  return { ...view, problems: rows.flatMap(foundProblem) };
}

/** A problem with counts of exchanges. */
interface SoughtProblem {
  readonly problem: Problem;
  /** The filter with the words of the message, if there are any. */
  readonly wordFilter: string | undefined;
  readonly isAlike: FilterTest;
  readonly hasWords: FilterTest;
  /** Exchanges that the filter finds: all, those of this problem, those whose message is not kept, and those with the words of its message. */
  alike: number;
  own: number;
  untold: number;
  withWords: number;
}

function soughtProblem(problem: Problem): SoughtProblem {
  const wordFilter = filterWithMessage(problem);
  const [isAlike, hasWords] = [testOf(problem.filter), testOf(wordFilter)];
  return { problem, wordFilter, isAlike, hasWords, alike: 0, own: 0, untold: 0, withWords: 0 };
}

function testOf(text: string | undefined): FilterTest {
  const filter = text === undefined ? undefined : parseFilter(text);
  return filter === undefined || isFilterFault(filter) ? () => false : filter.accepts;
}

function foundProblem({ problem, wordFilter, alike, own, untold, withWords }: SoughtProblem): Problem[] {
  if (own + untold === 0) return [];
  if (own === alike) return [{ ...problem, matching: own }];
  if (wordFilter !== undefined && own > 0 && own === withWords)
    return [{ ...problem, filter: wordFilter, matching: own }];
  return [{ ...problem, matching: alike, isShared: true }];
}

interface Group extends Pick<ErrorGroup, 'error'> {
  count: number;
  firstSeen: string;
  lastSeen: string;
  readonly clients: Set<string>;
  readonly operations: Map<string, number>;
  /** The lowest place in {@link RANKS}. */
  rank: number;
}

/** The time at which an exchange ended; problems and verdict also give a failure this time. */
function endOf({ time, totalMs }: Entry): string {
  return new Date(Date.parse(time) + Math.round(totalMs)).toISOString();
}

const RANKS = ['severe', 'refused', 'dry-run', 'on-purpose'] as const;

function rankOf({ by, code }: ErrorGroup['error'], { status }: Entry): number {
  const rank =
    by === 'would' || by === 'schema'
      ? 'dry-run'
      : isOnPurpose(code)
        ? 'on-purpose'
        : status >= 500
          ? 'severe'
          : 'refused';
  return RANKS.indexOf(rank);
}

function onlyClient(clients: ReadonlySet<string>): Pick<ErrorGroup, 'client'> {
  const [client] = clients;
  return clients.size === 1 && client !== undefined && client !== NO_KEY ? { client } : {};
}

interface ErrorGroupsOptions {
  readonly accepts?: FilterTest;
  readonly ruleBook?: string;
}

/**
 * Groups the errors of the kept entries that a filter accepts by finder, code and place, in the order of {@link RANKS}; of each the most
 * frequent first. With the hash of a rule book, dry runs count only under that rule book, and only where V1 accepted a request that a
 * migration would refuse.
 */
export async function errorGroups(
  stores: SearchedStores,
  pause: () => Promise<void>,
  { accepts = () => true, ruleBook }: ErrorGroupsOptions = {},
): Promise<ErrorGroups> {
  const groups = new Map<string, Group>();
  let [exchanges, omitted] = [0, 0];
  const { ring } = stores;
  const visit = (entry: Entry, content?: () => string): boolean => {
    if (!accepts(entry, content)) return false;
    exchanges += 1;
    const { client = NO_KEY, operation, method, path } = entry;
    const isHarmless = ruleBook !== undefined && (entry.ruleBook !== ruleBook || entry.status >= 400);
    const errors = errorsOf(entry);
    const time = errors.length === 0 ? '' : endOf(entry);
    for (const error of errors) {
      if (isHarmless && (error.by === 'would' || error.by === 'schema')) continue;
      const key = errorName(error);
      const known = groups.get(key);
      if (known === undefined && groups.size >= MAX_GROUPS) {
        omitted += 1;
        continue;
      }
      const group = known ?? {
        error,
        count: 0,
        firstSeen: time,
        lastSeen: time,
        clients: new Set<string>(),
        operations: new Map<string, number>(),
        rank: RANKS.length,
      };
      groups.set(key, group);
      group.count += 1;
      group.rank = Math.min(group.rank, rankOf(error, entry));
      if (time < group.firstSeen) group.firstSeen = time;
      if (time > group.lastSeen) group.lastSeen = time;
      // A request that could not be read has neither a client nor an operation.
      if (path === '') continue;
      if (group.clients.size < MAX_CLIENTS) group.clients.add(client);
      const call = callName(operation, method, path);
      const name = group.operations.size < MAX_CALLS || group.operations.has(call) ? call : OTHER_CALLS;
      group.operations.set(name, (group.operations.get(name) ?? 0) + 1);
    }
    // Nothing is collected: the search only visits.
    return false;
  };
  await searchEntries(stores, { before: ring.latest + 1, limit: Infinity, accepts: visit }, pause);
  const sorted = [...groups.values()].sort((one, other) => one.rank - other.rank || other.count - one.count);
  return {
    exchanges,
    ...(ring.isCut ? { isCut: true as const } : {}),
    groups: sorted.map(({ error, count, firstSeen, lastSeen, clients, operations }) => ({
      error,
      count,
      firstSeen,
      lastSeen,
      clients: clients.size - Number(clients.has(NO_KEY)),
      ...onlyClient(clients),
      ...(clients.has(NO_KEY) ? { isKeyless: true as const } : {}),
      operations: [...operations].sort(([, one], [, other]) => other - one).map(([operation]) => operation),
    })),
    omitted,
  };
}
