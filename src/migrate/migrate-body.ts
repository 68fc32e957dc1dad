import type { Rewrite } from '../rewrite/rewrite.ts';
import type { DecodedBody } from './decoded-body.ts';
import { bufferFull, type Failure, failure, failureOf } from './failure.ts';

/** The outcome for a body that rules apply to. */
export type MigratedBody =
  | Exclude<Rewrite, { readonly verdict: 'refused' }>
  | { readonly verdict: 'refused'; readonly failure: Failure };

/** A compiled plan: the rules of one operation for a body. */
export interface BodyPlan {
  rewrite(body: Uint8Array): Rewrite;
}

/** Applies `plan` to a decoded body of at most `bodyLimit` bytes; an empty one has nothing to rewrite. */
export function migrateBody(plan: BodyPlan, decoded: DecodedBody, bodyLimit: number): MigratedBody {
  if (typeof decoded === 'string') return { verdict: 'refused', failure: undecoded(decoded, bodyLimit) };
  const outcome = plan.rewrite(decoded);
  if (outcome.verdict !== 'refused') return outcome;
  return { verdict: 'refused', failure: failureOf(outcome.refusal) };
}

/** The failure for a body that could not be decoded, up to `bodyLimit` bytes. */
export function undecoded(fault: Exclude<DecodedBody, Uint8Array>, bodyLimit: number): Failure {
  switch (fault) {
    case 'too-large':
      return failure('body-too-large', `The decoded body is larger than ${bodyLimit} bytes.`);
    case 'undecodable':
      return failure('undecodable-body');
    case 'buffer-full':
      return bufferFull();
  }
}

/** The failure for a body of more than `bodyLimit` bytes, as received. */
export function bodyTooLarge(bodyLimit: number): Failure {
  return failure('body-too-large', `The body is larger than ${bodyLimit} bytes.`);
}
