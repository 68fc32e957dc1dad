import type { BodyChecks, Outcome, ResponseMember } from '../client-report.ts';

/** Id and summary of a change. */
export interface GuideChange {
  readonly id: string;
  readonly summary: string;
}

/** The migration guide of one client. It has no value of a body: those are `…`. */
export interface GuideDocument {
  /** The hash, or the digits that were asked for when there is no such client. */
  readonly client: string;
  readonly name?: string;
  /** V1 requests that were examined. */
  readonly requests: number;
  /** The dated V2 release to send as `x-api-version`. */
  readonly version: string;
  /** Changes that concern this client. */
  readonly changes: readonly GuideChange[];
  readonly calls: readonly GuideCall[];
  readonly mistakes: readonly GuideMistake[];
  /** Requests of further kinds, which are not shown. */
  readonly omitted: number;
}

/** One kind of call. */
export interface GuideCall {
  /** Operation id, or method and path. */
  readonly name: string;
  readonly count: number;
  /** RFC 3339. */
  readonly last: string;
  readonly bodies: readonly GuideBody[];
  /** Members of responses that V2 has elsewhere. */
  readonly responses: readonly ResponseMember[];
  /** True when no response to this call was compared with V2's. */
  readonly responsesUnknown: boolean;
  readonly outcomes: readonly Outcome[];
  /** Verdicts of V2's schema on bodies of this call that were not sent to V2; absent when none was checked. */
  readonly bodyChecks?: BodyChecks;
  /** Requests that the gateway did not read in full: the client left in the middle of them, or V1 received them as they were. */
  readonly unread: number;
  /** Requests with bodies of further shapes. */
  readonly omitted: number;
}

/** A request as it is sent today, and as V2 expects it. */
export interface GuideBody {
  readonly count: number;
  readonly last: string;
  readonly before: string;
  readonly after: string;
  /** Members that move, get another name or go; `to` is absent for those that go. */
  readonly moves: readonly { readonly from: string; readonly to?: string; readonly remark: string }[];
  /** True when V2 accepted a body with the members of `after`, or V2's schema accepts all that were checked. */
  readonly isVerified: boolean;
  /** What shows that `after` is right, or why that is not known: a sentence. */
  readonly evidence: string;
}

/** A mistake in requests: what has to be put right whatever the version. */
export interface GuideMistake {
  readonly call: string;
  /** Failure code of the gateway, or status of the service. */
  readonly code: string;
  /** Pointers in the V1 body, of the refusals that have one. */
  readonly pointers: readonly string[];
  readonly count: number;
  readonly last: string;
  readonly remedy: string;
}
