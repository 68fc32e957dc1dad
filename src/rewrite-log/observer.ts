import type { Entry } from './entry.ts';

/** A raw header list: name, value, name, value, … in the order of the wire. */
export type HeaderList = readonly string[];

/** A request as one side saw it. Its bytes are borrowed: an observer copies what it keeps. */
export interface ObservedRequest {
  readonly method: string;
  readonly target: string;
  readonly headers: HeaderList;
  /** Absent when there was none or when it was streamed unread. */
  readonly body?: Uint8Array;
  /** Why `body` is absent although there was one, or is short: `streamed`, `too-large`. */
  readonly withheld?: string;
}

/** An answer as one side saw it. */
export interface ObservedAnswer {
  readonly status: number;
  readonly headers: HeaderList;
  readonly body?: Uint8Array;
  readonly withheld?: string;
}

/** The four perspectives of one exchange, as far as the gateway had them in memory. */
export interface Material {
  readonly v1Request: ObservedRequest;
  /** Absent when nothing was sent. */
  readonly v2Request?: ObservedRequest;
  readonly v2Answer?: ObservedAnswer;
  /** Absent when the client went away before one. */
  readonly clientAnswer?: ObservedAnswer;
}

/**
 * How much of an exchange is kept beside its entry. `structure` is asked for a bounded number of exchanges a
 * second, `bodies` only while capture is on: then up to `Observer.bodyLimit` bytes of each answer are wanted too.
 */
export type Wanted = 'nothing' | 'structure' | 'bodies';

/**
 * What the gateway tells of its exchanges: `begin` once a request's head is accepted, `observe` once its answer
 * has ended. Neither throws, waits or calls back; both cost well under a microsecond when nothing is wanted.
 */
export interface Observer {
  /** Bytes of an answer's body to keep for `bodies`. */
  readonly bodyLimit: number;
  begin(): Wanted;
  /** `material` is passed when `begin` wanted any; the entry belongs to the observer from here on. */
  observe(entry: Entry, material?: Material): void;
}
