import type { Coding } from '../http/content-coding.ts';
import type { DecodedBody } from '../migrate/decoded-body.ts';
import type { ResponseVerdict, UnchangedResponseVerdict } from './response-verdict.ts';

/** How to handle a response whose head is known; `action` tells the cases apart. For adapters that stream or decode bodies. */
export type StartedResponse = ForwardedResponse | CollectedResponse;

/** A response that no rule concerns, or that cannot be rewritten. */
export interface ForwardedResponse {
  readonly action: 'forward';
  /** The response without its body. */
  readonly unchanged: UnchangedResponseVerdict;
}

/** A response whose body is needed whole. */
export interface CollectedResponse {
  readonly action: 'collect';
  /** The coding to remove from a body that is not empty. */
  readonly coding: Coding | undefined;
  /** Maximum bytes to collect, and to decode; a larger response is sent as it is. */
  readonly limit: number;
  /** The response without rewriting, and without its body. */
  readonly unchanged: UnchangedResponseVerdict;
  /** Returns the outcome for a body; `received` is the one with its content coding, if it has one. */
  finish(decoded: DecodedBody, received?: Uint8Array): ResponseVerdict;
}
