import { type HeaderList, headerValue } from '../http/header-list.ts';
import type { Secrets } from '../rewrite/header-plan.ts';
import { type Entry, ownText } from './entry.ts';
import { redactTarget } from './masks.ts';

/** The head of a request on one side. All arguments are borrowed: an observer copies what it keeps. */
export interface ObservedHead {
  readonly method: string;
  readonly target: string;
  readonly headers: HeaderList;
}

/** A decoded body, if the gateway had it in memory. */
export interface ObservedBody {
  /** Absent without a body, or when it is withheld. */
  readonly body?: Uint8Array | undefined;
  /** Reason why `body` is absent although there was one: `streamed`, `encoded`, `too-large`, `ordinary`. */
  readonly withheld?: string | undefined;
  /** True when `body` is decoded although the headers, as on the wire, name a content coding. */
  readonly isDecoded?: true;
}

/** A response on one side. */
export interface ObservedResponse extends ObservedBody {
  readonly status: number;
  readonly headers: HeaderList;
}

/** The four messages of one exchange, as far as the gateway had them in memory. */
export interface CapturedExchange {
  /** Address that the client's connection came from. */
  readonly remote?: string | undefined;
  /** Credentials that the rule book names; undefined without any. */
  readonly secrets?: Secrets | undefined;
  readonly v1Request: ObservedHead & ObservedBody;
  /** Absent when nothing was sent. Its body is not captured: the plan makes it again from V1's. */
  readonly v2Request?: ObservedHead | undefined;
  readonly v2Response?: ObservedResponse | undefined;
  /** Absent when the client disconnected before. */
  readonly clientResponse?: ObservedResponse | undefined;
}

/**
 * Amount of an exchange captured in addition to its entry: `structure` for a limited number of exchanges per second; `failure`
 * for all further ones, captured only if they fail; `bodies` only while capture is on.
 */
export type CaptureLevel = 'nothing' | 'failure' | 'structure' | 'bodies';

/**
 * Observes exchanges: `begin` is called once a request's head is accepted, `observe` once its response has ended. Neither throws,
 * waits or calls back.
 */
export interface Observer {
  /** Maximum bytes of a body to capture. */
  readonly bodyLimit: number;
  /** True if patches may contain values of bodies: capture is on, and masks nothing. */
  readonly logsValues?: boolean | undefined;
  begin(): CaptureLevel;
  /** Whether to record spans of a trace; absent without span export. `parent` is the client's own decision. */
  readonly isSampled?: ((traceId: string, parent: boolean | undefined) => boolean) | undefined;
  /** `captured` is absent if `begin` returned `nothing`, or `failure` and the exchange did not fail. The observer then owns the entry. */
  observe(entry: Entry, captured?: CapturedExchange): void;
}

const MAX_CLIENTS = 2000;
const MAX_TRACES = 3;
const MAX_CHARACTERS = 120;

/** Limits of one generation: together with the previous one, at most ten thousand keys and two million characters. */
const GENERATION_KEYS = 5000;
const GENERATION_CHARACTERS = 1_000_000;

/** Data by which people recognise a client without a name. */
export interface ClientTrace {
  /** Its latest `User-Agent` fields, newest first, at most 3, cut to 120 characters. */
  readonly userAgents: readonly string[];
  /** The addresses of its latest connections, newest first, at most 3. */
  readonly addresses: readonly string[];
}

/** Remembers `User-Agent` and address of a limited number of clients whose exchanges were captured, in memory only. */
export class ClientTraces {
  private readonly traces = new Map<string, ClientTrace>();

  /** Traces by client hash; those seen last come last. */
  get all(): ReadonlyMap<string, ClientTrace> {
    return this.traces;
  }

  /** Records a client's request. Beyond the limit, forgets the client that was not seen for the longest time. */
  add(client: string, { headers }: Pick<ObservedHead, 'headers'>, address: string | undefined): void {
    const { userAgents = [], addresses = [] } = this.traces.get(client) ?? {};
    this.traces.delete(client);
    this.traces.set(client, {
      userAgents: withNewest(userAgents, headerValue(headers, 'user-agent')?.slice(0, MAX_CHARACTERS)),
      addresses: withNewest(addresses, address),
    });
    const [oldest] = this.traces.keys();
    if (this.traces.size > MAX_CLIENTS && oldest !== undefined) this.traces.delete(oldest);
  }
}

function withNewest(known: readonly string[], text: string | undefined): readonly string[] {
  if (text === undefined || text === '' || known[0] === text) return known;
  return [ownText(text), ...known.filter((one) => one !== text)].slice(0, MAX_TRACES);
}

/** Returns the API key of an `Authorization` field: the text after `Bearer`; other schemes count whole. */
export function apiKeyOf(authorization: string): string {
  return authorization.replace(/^bearer +/i, '').trim();
}

/**
 * Hashes API keys by `hashOf` and caches the recent hashes. Clients can send any number of new keys: the cache is limited by number and
 * characters, and keys in use stay longer than those that are sent once.
 */
export function rememberedHash<Hash>(
  hashOf: (apiKey: string) => Hash,
): (authorization: string) => Hash | Awaited<Hash> {
  let current = new Map<string, Hash | Awaited<Hash>>();
  let previous = current;
  let characters = 0;
  return (authorization) => {
    const hit = current.get(authorization);
    if (hit !== undefined) return hit;
    const hash = previous.get(authorization) ?? hashOf(apiKeyOf(authorization));
    if (current.size >= GENERATION_KEYS || characters + authorization.length > GENERATION_CHARACTERS) {
      previous = current;
      current = new Map();
      characters = 0;
    }
    const key = ownText(authorization);
    current.set(key, hash);
    if (hash instanceof Promise)
      hash.then(
        // The next request does not have to wait for it.
        (known: Awaited<Hash>) => {
          for (const generation of [current, previous]) if (generation.has(key)) generation.set(key, known);
        },
        // The next request tries again if the hash could not be made.
        () => {
          current.delete(key);
          previous.delete(key);
        },
      );
    characters += authorization.length;
    return hash;
  };
}

/** The entry of an exchange in progress. `closeEntry` completes it. */
export type OpenEntry = { -readonly [Name in keyof Entry]: Entry[Name] };

/** The facts about an exchange when it begins. */
type FirstFacts = Pick<Entry, 'route' | 'method' | 'requestId' | 'ruleBook' | 'verdict'>;

/** The facts about an exchange when it is over. */
interface LastFacts {
  /** Milliseconds since 1970 when the head of the request was complete. */
  readonly time: number;
  /** Raw, as the client sent it. */
  readonly target: string;
  /** Raw, as the origin received it; undefined when nothing was sent. */
  readonly upstreamTarget: string | undefined;
  /** Number of times the request was sent. */
  readonly attempts: number;
}

/** Begins an entry, with all members from the start: adding them one by one takes longer. */
export function openEntry({ route, method, requestId, ruleBook, verdict }: FirstFacts): OpenEntry {
  return {
    time: '',
    level: 'info',
    requestId,
    traceId: undefined,
    spanId: undefined,
    spanOfClient: undefined,
    parentSpanId: undefined,
    isSampled: undefined,
    client: undefined,
    route,
    side: undefined,
    method,
    path: '',
    upstreamMethod: undefined,
    upstreamPath: undefined,
    operation: undefined,
    apiVersion: undefined,
    mode: undefined,
    origin: undefined,
    would: undefined,
    comparison: undefined,
    heldMs: undefined,
    newcomer: undefined,
    verdict,
    edits: [],
    patch: undefined,
    editsOmitted: undefined,
    responseEdits: undefined,
    responsePatch: undefined,
    responseEditsOmitted: undefined,
    responseNote: undefined,
    lookups: undefined,
    responseWould: undefined,
    errorPointers: undefined,
    deprecated: undefined,
    unechoed: undefined,
    note: undefined,
    failure: undefined,
    cause: undefined,
    sent: undefined,
    pointer: undefined,
    position: undefined,
    bytesIn: 0,
    bytesOut: 0,
    responseBytes: 0,
    status: 0,
    upstreamStatus: undefined,
    incomplete: undefined,
    upstreamMs: undefined,
    totalMs: 0,
    rewriteMs: undefined,
    attempts: undefined,
    attributes: undefined,
    ruleBook,
  };
}

/**
 * Completes an entry, which never changes afterwards. Its texts may be parts of the request's head, and keep all of that in memory: what is
 * kept for long is its line (`PackedEntries`).
 */
export function closeEntry(entry: OpenEntry, { time, target, upstreamTarget, attempts }: LastFacts): Entry {
  entry.time = timeText(time);
  entry.level = levelOf(entry);
  entry.path = redactTarget(target);
  // V2's own traffic has the same path on both sides.
  if (upstreamTarget !== undefined)
    entry.upstreamPath = upstreamTarget === target ? entry.path : redactTarget(upstreamTarget);
  if (attempts > 1) entry.attempts = attempts;
  entry.heldMs = rounded(entry.heldMs);
  entry.upstreamMs = rounded(entry.upstreamMs);
  entry.totalMs = rounded(entry.totalMs);
  entry.rewriteMs = rounded(entry.rewriteMs);
  return entry;
}

let lastTime = -1;
let lastText = '';

/** RFC 3339; cached, since many exchanges begin in the same millisecond. */
function timeText(time: number): string {
  if (time !== lastTime) {
    lastText = new Date(time).toISOString();
    lastTime = time;
  }
  return lastText;
}

function levelOf({ failure, cause, status }: OpenEntry): Entry['level'] {
  if (failure === undefined) return cause === undefined ? 'info' : 'warn';
  return status >= 500 || failure === 'upstream-broken' ? 'error' : 'warn';
}

/** Rounds to microseconds. */
function rounded<Milliseconds extends number | undefined>(milliseconds: Milliseconds): Milliseconds | number {
  return milliseconds === undefined ? milliseconds : Math.round(milliseconds * 1000) / 1000;
}
