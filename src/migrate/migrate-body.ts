import type { Rewrite } from '../rewrite/rewrite.ts';
import type { DecodedBody } from './decoded-body.ts';
import { type Failure, failure, failureOf } from './failure.ts';

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
  if (decoded === 'too-large') return { verdict: 'refused', failure: decodedTooLarge(bodyLimit) };
  if (decoded === 'undecodable') return { verdict: 'refused', failure: failure('undecodable-body') };
  if (decoded.length === 0) return { verdict: 'unchanged', body: decoded, records: [] };
  const outcome = plan.rewrite(decoded);
  if (outcome.verdict !== 'refused') return outcome;
  return { verdict: 'refused', failure: failureOf(outcome.refusal) };
}

/** The failure for a body of more than `bodyLimit` bytes, as received. */
export function bodyTooLarge(bodyLimit: number): Failure {
  return failure('body-too-large', `The body is larger than ${bodyLimit} bytes.`);
}

function decodedTooLarge(bodyLimit: number): Failure {
  return failure('body-too-large', `The decoded body is larger than ${bodyLimit} bytes.`);
}
