import type { Coding } from '../http/content-coding.ts';
import type { DecodedBody } from '../migrate/decoded-body.ts';
import type { MigratedRequest, RefusedRequest } from './request-verdict.ts';

/** What an adapter knows of a body before it reads it. */
export interface RequestBodyFacts {
  readonly hasBody: boolean;
  /** The content codings that the adapter decodes. */
  readonly codings: readonly Coding[];
}

/** How to handle a request whose head is known; `action` tells the cases apart. For adapters that stream or decode bodies. */
export type StartedRequest =
  /** It is not for V1. */
  | { readonly action: 'pass' }
  | { readonly action: 'refuse'; readonly refused: RefusedRequest }
  /** The body, if there is one, is sent as received. */
  | { readonly action: 'forward'; readonly request: MigratedRequest }
  | CollectedRequest;

/** A request whose body is needed whole. */
export interface CollectedRequest {
  readonly action: 'collect';
  /** The coding to remove from a body that is not empty. */
  readonly coding: Coding | undefined;
  /** Maximum bytes to collect, and to decode. */
  readonly bodyLimit: number;
  /** Returns the outcome for a body; `received` is the one with its content coding, if it has one. */
  finish(decoded: DecodedBody, received?: Uint8Array): MigratedRequest | RefusedRequest;
  /** Returns the refusal of a body that has more than `bodyLimit` bytes as received. */
  tooLarge(): RefusedRequest;
}
