import { rulesHash } from '../rules/hash.ts';
import type { Mode, Modes } from '../rules/rollout.ts';
import { count, counted, listed } from '../rules/words.ts';
import type { Comparison } from './comparison-tally.ts';
import type { RolloutTarget } from './rollout-state.ts';
import { movesToV2, type RolloutSubject, withChosen } from './modes-in-force.ts';

/** Maximum pairs of client and operation, and pointers of each, in a sentence. */
const MAX_NAMED = 5;
const MAX_POINTERS = 3;

/** Maximum number of pairs of client and operation, and of pointers of one pair. */
const MAX_PAIRS = 1000;
const MAX_TALLIED_POINTERS = 20;

/** Maximum characters of a place that are kept. */
const MAX_PLACE = 300;

/** The code of a refusal that a command with `force` does not get. */
export const NEEDS_FORCE = 'needs-force';

const COUNTERS = ['valid', 'invalid', 'refusedByBoth', 'unknown', 'bodies', 'refused'] as const;

/**
 * Checks the bodies that V1 accepted and that a command would move to V2. If V2's schema or the gateway refuses more of them than the
 * rollback rule allows, returns sentences on one line, and the clients on the following lines; otherwise undefined. `rulesSince` (RFC 3339):
 * when a reload changed the rules, which began the counts anew.
 */
export function bodyCheckFault(
  counts: readonly BodyCheckCount[],
  command: RolloutTarget & { readonly mode: Mode },
  modes: Modes,
  nameOf: (client: string) => string | undefined,
  rulesSince?: string,
): string | undefined {
  const all = movedCounts(counts, command, modes);
  const concerned = all.filter((one) => !isGone(one));
  const { margin } = modes.rollback;
  const invalid = sum(concerned, 'invalid');
  const checked = invalid + sum(concerned, 'valid');
  const refused = sum(concerned, 'refused');
  const bodies = sum(concerned, 'bodies');
  const faults: string[] = [];
  const pairs: string[] = [];
  let awaited = 0;
  const say = (kind: Kind, part: number, whole: number, what: string): void => {
    if (part === 0 || (part / whole) * 100 <= margin) return;
    faults.push(
      `${what}, although V1 accepted ${part === 1 ? 'it' : 'them'}: more than the ${margin} % that the rollback rule allows.`,
    );
    pairs.push(`${REFUSED_BY[kind]}: ${namedPairs(concerned, kind, nameOf)}.`);
    awaited = Math.max(awaited, Math.ceil((part * 100) / margin) - whole);
  };
  say('invalid', invalid, checked, `V2 would refuse ${moved(invalid, checked, 'checked request')}`);
  say('refused', refused, bodies, `The gateway would refuse ${moved(refused, bodies, 'request')}`);
  if (faults.length === 0) return undefined;
  const gone = sum(all, 'refused') - refused;
  if (gone > 0)
    faults.push(`Not counted: ${counted(gone, 'request')} for operations that the rule book declares gone.`);
  if (rulesSince !== undefined && Number.isFinite(awaited))
    faults.push(
      `The count began anew with the rules at ${rulesSince}: ${counted(awaited, 'more request')} without a refusal would bring it to ${margin} %.`,
    );
  const advice = 'Change the rules or the clients, or insist.';
  return [[...faults, advice].join(' '), ...pairs].join('\n');
}

function moved(part: number, whole: number, noun: string): string {
  return `${count(part)} of ${counted(whole, noun)} that would move to V2`;
}

/** Requests that V2 would refuse, or the gateway. */
type Kind = 'invalid' | 'refused';

const REFUSED_BY: Readonly<Record<Kind, string>> = { invalid: 'By V2', refused: 'By the gateway' };

/** Minimum requests of a client to an operation that must fail, without one that would not, to say that they always fail. */
const LEAST_ALWAYS = 5;

/** Names the calls that would always fail of those in `counts`, with the most first as they are listed there, however small their share is; undefined without any. */
export function alwaysFailSentence(
  counts: readonly BodyCheckCount[],
  nameOf: (client: string) => string | undefined,
): string | undefined {
  const pairs = counts
    .filter((one) => {
      const { failing, judged } = wouldFail([one]);
      return failing >= LEAST_ALWAYS && failing === judged && !isGone(one);
    })
    .map((one) => `${pairName(one, nameOf)}: ${placeWords(faultPlaces([one]), MAX_POINTERS)}`);
  return pairs.length === 0
    ? undefined
    : `These calls would always fail on V2, although V1 accepts them: ${listed(pairs, MAX_NAMED, '; ')}.`;
}

/** The refusal of an operation that the rule book declares gone: no correction of the request helps. */
export const GONE = 'operation-gone';

/** Whether the rule book declares the operation gone, which operators have accepted. */
function isGone({ refusals }: BodyCheckCount): boolean {
  return refusals.some(({ reason }) => reason === GONE);
}

function pairName(
  { client, operation }: Pick<BodyCheckCount, 'client' | 'operation'>,
  nameOf: (client: string) => string | undefined,
): string {
  const name = client === undefined ? 'requests without a known key' : `client ${nameOf(client) ?? client}`;
  return `${name}, ${operation ?? 'other operations'}`;
}

/** The counts of the requests that a command would move to V2. */
function movedCounts(
  counts: readonly BodyCheckCount[],
  command: RolloutTarget & { readonly mode: Mode },
  modes: Modes,
): readonly BodyCheckCount[] {
  const after = withChosen(modes, command.mode, command);
  return counts.filter(({ client, operation }) => movesToV2(modes, after, { client, operation }));
}

/** The pairs of client and operation with the most such bodies, each with its places or reasons. */
function namedPairs(
  counts: readonly BodyCheckCount[],
  kind: Kind,
  nameOf: (client: string) => string | undefined,
): string {
  const pairs = counts
    .filter((one) => one[kind] > 0)
    .toSorted((one, other) => other[kind] - one[kind])
    .map((one) => {
      const where = placeWords(faultPlaces([one], kind), MAX_POINTERS);
      // Of a read, it is no place but a status.
      const at = kind === 'invalid' && !/^\d/.test(where) ? 'at ' : '';
      return `${pairName(one, nameOf)}: ${count(one[kind])}, ${at}${where}`;
    });
  return listed(pairs, MAX_NAMED, '; ');
}

/** A place of a fault, or the reason of a refusal with its place. */
interface FaultPlace {
  readonly place: string;
  readonly count: number;
}

/** The places of faults and the reasons of refusals, or one kind of them, the most frequent first. */
export function faultPlaces(
  counts: readonly Pick<BodyCheckCount, 'pointers' | 'refusals'>[],
  kind?: Kind,
): readonly FaultPlace[] {
  const places = new Map<string, number>();
  for (const { pointers, refusals } of counts) {
    const found = [
      ...(kind === 'refused'
        ? []
        : pointers.map(({ at, count: times }) => ({ place: at || 'the body itself', times }))),
      ...(kind === 'invalid'
        ? []
        : refusals.map(({ reason, count: times }) => ({
            place: reason === GONE ? 'gone in V2 (410)' : reason,
            times,
          }))),
    ];
    for (const { place, times } of found) places.set(place, (places.get(place) ?? 0) + times);
  }
  return byCount(places).map(([place, times]) => ({ place, count: times }));
}

/** The first places with their counts: `/name 3×, /zip 1× and 2 more`. */
export function placeWords(places: readonly FaultPlace[], most: number): string {
  return listed(
    places.map(({ place, count: times }) => `${place} ${count(times)}×`),
    most,
  );
}

function sum(counts: readonly BodyCheckCount[], name: 'valid' | 'invalid' | 'refused' | 'bodies'): number {
  return counts.reduce((total, count) => total + count[name], 0);
}

/** Requests that V1 accepted and that would fail after the migration: page, report, guide and command line show the same figure. */
export interface WouldFail {
  readonly failing: number;
  /** Requests with a verdict of a dry run. */
  readonly judged: number;
  /** Those that V1 also refused, so they fail before and after. */
  readonly both: number;
}

/** Sums up the dry runs of a client: its requests that would fail, of those with a verdict. */
export function wouldFail(
  counts: readonly Pick<BodyCheckCount, 'valid' | 'invalid' | 'refusedByBoth' | 'refused'>[],
): WouldFail {
  let [failing, judged, both] = [0, 0, 0];
  for (const { valid, invalid, refusedByBoth, refused } of counts) {
    failing += invalid + refused;
    both += refusedByBoth;
    judged += valid + invalid + refusedByBoth + refused;
  }
  return { failing, judged, both };
}

/** Says how many of the checked requests would fail after the migration; empty if no verdict is known. */
export function wouldFailWords({ failing, judged, both }: WouldFail): string {
  if (judged === 0) return '';
  if (judged === both)
    return both === 1
      ? 'V1 refuses the one checked request as well'
      : `V1 refuses all ${count(both)} checked requests as well`;
  return `${failing === 0 ? 'none' : count(failing)} of ${counted(judged, 'checked request')} would fail after the migration${exceptBoth(both)}`;
}

/** Says which of the requests that do not fail anew fail as before; empty for none. */
export function exceptBoth(both: number): string {
  return both === 0 ? '' : `, apart from ${count(both)} that V1 refuses as well`;
}

/** Says what is known of the pairs after those that are `shown`, which are sorted by their failures. */
export function omittedWords(shown: readonly BodyCheckCount[], omitted: number): string {
  const isWell = wouldFail(shown.slice(-1)).failing === 0;
  return `${counted(omitted, 'more pair')} of client and operation ${omitted === 1 ? 'is' : 'are'} not counted here: ${isWell ? 'no request of theirs would fail' : 'they have fewer failures'}`;
}

/** Explains to readers of `wouldFailWords` which requests are checked. */
export const CHECKED_WORDS =
  "Requests count as checked if V2's schema covers their body, if shadow compared V2's response, or if the gateway would refuse them.";

/** The dry run of a finished exchange. */
export interface DryRunResult {
  readonly ruleBook: string;
  readonly client?: string | undefined;
  readonly operation?: string | undefined;
  /** The status that the client received. */
  readonly status: number;
  readonly bytesIn: number;
  readonly would?: (Partial<BodyCheck> & WouldRefuse) | undefined;
  /** The comparison with V2's response to the same read. */
  readonly comparison?: Comparison | undefined;
}

/** The gateway's own verdict on a migration; `failure` and `pointer` say why it would refuse the request. */
interface WouldRefuse {
  readonly verdict: 'rewritten' | 'unchanged' | 'refused';
  readonly failure?: string;
  readonly pointer?: string;
}

/** Dry runs of the requests that one client sent to one operation: of bodies, and of reads that shadow compared. */
export interface BodyCheckCount {
  /** Absent for requests that the rule book does not name. */
  readonly operation?: string;
  /** Client hash; absent for requests without a key, and for clients beyond the limit. */
  readonly client?: string;
  readonly valid: number;
  /** Requests that V1 accepted, and that V2's schema refuses, or V2 itself in shadow. */
  readonly invalid: number;
  /** Requests that V2's schema or the gateway refuses, and V1 refused as well. */
  readonly refusedByBoth: number;
  /** Bodies that were not checked, or that V1 refused and V2's schema accepts: V2 itself may refuse those. */
  readonly unknown: number;
  /** All of these requests, including bodies without a check. */
  readonly bodies: number;
  /** Requests that the gateway itself would refuse, and V1 accepted. */
  readonly refused: number;
  /** Places of the first fault of bodies that V1 accepted, and statuses such as `404 instead of 200`, most frequent first. */
  readonly pointers: readonly { readonly at: string; readonly count: number }[];
  /** Codes of the gateway's refusals, with their places, most frequent first. */
  readonly refusals: readonly { readonly reason: string; readonly count: number }[];
}

type Counter = (typeof COUNTERS)[number];

type Count = { -readonly [Name in Counter]: number } & {
  readonly subject: Partial<RolloutSubject>;
  readonly pointers: Map<string, number>;
  readonly refusals: Map<string, number>;
};

/**
 * What V2 makes of a request that V1 served: its schema's verdict on the body, or its response to the same read. Undefined without either.
 * A response with other members is one that clients get, so it counts as valid.
 */
export function verdictOfV2({
  status,
  would,
  comparison,
}: Pick<DryRunResult, 'status' | 'would' | 'comparison'>): BodyCheck | undefined {
  const { v2: ofSchema, at = '' } = would ?? {};
  if (ofSchema !== undefined) return { v2: ofSchema, at };
  if (would === undefined || comparison === undefined || comparison.verdict === 'unknown') return undefined;
  const { v1, v2 } = comparison.status ?? { v1: status, v2: status };
  return v2 >= 400 ? { v2: 'invalid', at: `${v2} instead of ${v1}` } : { v2: 'valid' };
}

/** Counts dry runs under the rules in force; starts again under others, which make other bodies. */
export class BodyCheckTally {
  private readonly counts = new Map<string, Count>();
  /** See {@link rulesHash}. */
  private rules = '';

  /** Adds an exchange, unless V1's status (0, 5xx) says nothing about the body. */
  add(entry: DryRunResult): void {
    const { ruleBook, client, operation, status, bytesIn, would } = entry;
    const verdict = verdictOfV2(entry);
    if (would === undefined) return;
    if (bytesIn === 0 && would.verdict !== 'refused' && verdict === undefined) return;
    this.begin(ruleBook);
    if (status === 0 || status >= 500) return;
    const count = this.countOf({ client, operation });
    count.bodies += 1;
    if (would.verdict === 'refused') {
      if (status >= 400) {
        count.refusedByBoth += 1;
        return;
      }
      count.refused += 1;
      const { failure = 'refused', pointer } = would;
      increment(count.refusals, pointer === undefined ? failure : `${failure} at ${pointer}`, 1);
      return;
    }
    if (verdict === undefined) return;
    const { v2, at = '' } = verdict;
    if (v2 !== 'invalid') {
      count[status >= 400 ? 'unknown' : v2] += 1;
      return;
    }
    if (status >= 400) {
      count.refusedByBoth += 1;
      return;
    }
    count.invalid += 1;
    increment(count.pointers, at, 1);
  }

  /** Adds the counts of another tally under the same rules. */
  merge(ruleBook: string, counts: readonly BodyCheckCount[]): void {
    this.begin(ruleBook);
    for (const { operation, client, pointers, refusals, ...numbers } of counts) {
      const count = this.countOf({ operation, client });
      for (const name of COUNTERS) count[name] += numbers[name];
      for (const { at, count: times } of pointers) increment(count.pointers, at, times);
      for (const { reason, count: times } of refusals) increment(count.refusals, reason, times);
    }
  }

  /** Counts under the rules of the book with this hash, those with the most faults first. */
  list(ruleBook: string): readonly BodyCheckCount[] {
    if (rulesHash(ruleBook) !== this.rules) return [];
    return [...this.counts.values()]
      .map(({ subject: { operation, client }, pointers, refusals, ...count }) => ({
        ...(operation === undefined ? {} : { operation }),
        ...(client === undefined ? {} : { client }),
        ...count,
        pointers: byCount(pointers).map(([at, times]) => ({ at, count: times })),
        refusals: byCount(refusals).map(([reason, times]) => ({ reason, count: times })),
      }))
      .sort((one, other) => other.invalid + other.refused - one.invalid - one.refused);
  }

  private begin(ruleBook: string): void {
    const rules = rulesHash(ruleBook);
    if (rules === this.rules) return;
    this.counts.clear();
    this.rules = rules;
  }

  private countOf({ operation, client }: RolloutSubject): Count {
    const key = `${client ?? ''} ${operation ?? ''}`;
    const known = this.counts.get(key);
    if (known !== undefined) return known;
    if (client !== undefined && this.counts.size >= MAX_PAIRS)
      return this.countOf({ operation, client: undefined });
    const count = {
      subject: { operation, client },
      valid: 0,
      invalid: 0,
      refusedByBoth: 0,
      unknown: 0,
      bodies: 0,
      refused: 0,
      pointers: new Map<string, number>(),
      refusals: new Map<string, number>(),
    };
    this.counts.set(key, count);
    return count;
  }
}

/** Counts a place. Clients choose them, so their number and length are limited. */
function increment(places: Map<string, number>, place: string, times: number): void {
  const name = place.slice(0, MAX_PLACE);
  if (places.has(name) || places.size < MAX_TALLIED_POINTERS)
    places.set(name, (places.get(name) ?? 0) + times);
}

function byCount(places: ReadonlyMap<string, number>): (readonly [place: string, count: number])[] {
  return [...places].sort(([, one], [, other]) => other - one);
}

/** Whether V2's schema accepts the body that a migration would have sent; nothing was sent to V2. */
export interface BodyCheck {
  readonly v2: 'valid' | 'invalid' | 'unknown';
  /** RFC 6901 pointer into the body for V2, of the first fault; `invalid` only. */
  readonly at?: string;
  /** Reason for `unknown`, such as `no-schema`, `too-slow` or `budget`. */
  readonly why?: string;
}
