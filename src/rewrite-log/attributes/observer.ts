import type { HeaderList } from '../../http/header-list.ts';
import type { Entry } from '../entry.ts';

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
