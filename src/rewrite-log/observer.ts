import { type HeaderList, headerValue } from '../http/header-list.ts';
import type { Secrets } from '../rewrite/header-plan.ts';
import type { Entry } from './entry.ts';

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
  /** True if patches may have values of bodies: capture is on, and masks nothing. */
  readonly logsValues?: boolean | undefined;
  begin(): CaptureLevel;
  /** Whether to record spans of a trace; absent without span export. `parent` is the client's own decision. */
  readonly isSampled?: ((traceId: string, parent: boolean | undefined) => boolean) | undefined;
  /**
   * `captured` is absent where `begin` returned `nothing`, or `failure` and the exchange did not fail. The observer owns the entry
   * from here on.
   */
  observe(entry: Entry, captured?: CapturedExchange): void;
}

/** Minimum level of the entries to write. */
type LogThreshold = Entry['level'] | 'silent';

const SEVERITIES: Readonly<Record<LogThreshold, number>> = { info: 0, warn: 1, error: 2, silent: 3 };

const MAX_CLIENTS = 2000;
const MAX_TRACES = 3;
const MAX_CHARACTERS = 120;

/** Limits of one generation: together with the previous one, at most ten thousand keys and two million characters. */
const GENERATION_KEYS = 5000;
const GENERATION_CHARACTERS = 1_000_000;

/** Minimum length from which V8 makes a substring a view of the whole string instead of a copy. */
const MIN_VIEW_LENGTH = 13;

/** Returns a function that writes the entries from a level on. */
export function logWriter(from: LogThreshold, write: (entry: Entry) => void): (entry: Entry) => void {
  const threshold = SEVERITIES[from];
  return (entry) => {
    if (SEVERITIES[entry.level] >= threshold) write(entry);
  };
}

/** What a client that has no name yet is recognised by. */
export interface ClientTrace {
  /** Its latest `User-Agent` fields, newest first, at most 3, cut to 120 characters. */
  readonly userAgents: readonly string[];
  /** The addresses that its latest connections came from, newest first, at most 3. */
  readonly addresses: readonly string[];
}

/** Remembers `User-Agent` and address of the clients whose exchanges were captured: in memory only, of a limited number of clients. */
export class ClientTraces {
  private readonly traces = new Map<string, ClientTrace>();

  /** Traces by client hash; those seen last come last. */
  get all(): ReadonlyMap<string, ClientTrace> {
    return this.traces;
  }

  /** Records the request of a client. Beyond the limit the client that was not seen for the longest time is forgotten. */
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
 * Hashes API keys by `hashOf` and caches the recent hashes. Anybody can send ever new keys: the cache is limited by number and
 * characters, and keys in use outlive those that are sent once.
 */
export function rememberedHash<Hash>(hashOf: (apiKey: string) => Hash): (authorization: string) => Hash {
  let current = new Map<string, Hash>();
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
    // A hash that could not be made is made again for the next request.
    if (hash instanceof Promise)
      hash.catch(() => {
        current.delete(key);
        previous.delete(key);
      });
    characters += authorization.length;
    return hash;
  };
}

/**
 * Copies a text so that it shares no memory with others. A substring of a request's head keeps the whole head in memory: 10,000
 * entries with heads of 12 KiB held 120 MiB.
 */
export function ownText(text: string): string {
  // Concatenated and sliced, the text is a view of its own copy with one more character.
  return text.length < MIN_VIEW_LENGTH ? text : ` ${text}`.slice(1);
}

/** Copies an entry that is kept for long: it shares no memory with the head of its request. */
export function ownEntry(entry: Entry): Entry {
  const { traceId, spanId, upstreamPath } = entry;
  return {
    ...entry,
    requestId: ownText(entry.requestId),
    traceId: traceId && ownText(traceId),
    spanId: spanId && ownText(spanId),
    method: ownText(entry.method),
    path: ownText(entry.path),
    upstreamPath: upstreamPath && ownText(upstreamPath),
  };
}
