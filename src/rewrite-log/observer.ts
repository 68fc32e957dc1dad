import type { HeaderList } from '../http/header-list.ts';
import type { Entry } from './entry.ts';

/** The head of a request as one side saw it. What is handed in is borrowed: an observer copies what it keeps. */
export interface ObservedHead {
  readonly method: string;
  readonly target: string;
  readonly headers: HeaderList;
}

/** A body as far as the gateway had it in memory, decoded. */
export interface ObservedBody {
  /** Absent when there was none, or when it is withheld. */
  readonly body?: Uint8Array | undefined;
  /** Why `body` is not here although there was one: `streamed`, `encoded`, `too-large`. */
  readonly withheld?: string | undefined;
  /** True when `body` is decoded though the headers name a content coding: they are those of the wire. */
  readonly isDecoded?: true;
}

/** A response as one side saw it. */
export interface ObservedResponse extends ObservedBody {
  readonly status: number;
  readonly headers: HeaderList;
}

/** The four perspectives of one exchange, as far as the gateway had them in memory. */
export interface CapturedExchange {
  readonly v1Request: ObservedHead & ObservedBody;
  /** Absent when nothing was sent. Its body is not asked for: the plan makes it again from that of V1. */
  readonly v2Request?: ObservedHead | undefined;
  readonly v2Response?: ObservedResponse | undefined;
  /** Absent when the client went away before one. */
  readonly clientResponse?: ObservedResponse | undefined;
}

/**
 * How much of an exchange is kept beside its entry. `structure` is asked for a bounded number of exchanges a second, `failure`
 * for some more: it is wanted of them only if they fail. `bodies` is asked for only while capture is on.
 */
export type CaptureLevel = 'nothing' | 'failure' | 'structure' | 'bodies';

/**
 * What the gateway tells of its exchanges: `begin` once a request's head is accepted, `observe` once its response
 * has ended. Neither throws, waits or calls back; both cost well under a microsecond when nothing is wanted.
 */
export interface Observer {
  /** Bytes of a body beyond which nothing of it is wanted. */
  readonly bodyLimit: number;
  begin(): CaptureLevel;
  /** Says whether spans of a trace are wanted; absent where none ever are. `parent` is the client's own decision. */
  readonly isSampled?: ((traceId: string, parent: boolean | undefined) => boolean) | undefined;
  /** `material` is passed when `begin` wanted any; the entry belongs to the observer from here on. */
  observe(entry: Entry, material?: CapturedExchange): void;
}
