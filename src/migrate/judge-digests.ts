import type { BodyDigest, BodyDigests, DigestAlgorithm } from '../http/digests.ts';
import { type Failure, failure } from './failure.ts';

/** Returns the hash of a body; undefined where the runtime has no such algorithm. */
export type HashBody = (
  algorithm: DigestAlgorithm,
  body: Uint8Array,
) => Uint8Array | undefined | Promise<Uint8Array | undefined>;

/** What the digests of a body say of it: `wrong` is the first that does not match. */
export interface Judgement {
  readonly wrong: BodyDigest | undefined;
  /** True where all of them were checked. */
  readonly isComplete: boolean;
}

/** That of digests which nobody checked. */
export const UNJUDGED: Judgement = { wrong: undefined, isComplete: false };

/** Judges digests by the bytes that the client sent: at once, unless `hash` returns promises. */
export function judgeDigests(
  { checks, hasOthers }: BodyDigests,
  body: Uint8Array,
  hash: HashBody,
): Judgement | Promise<Judgement> {
  const judged = (sums: readonly (Uint8Array | undefined)[]): Judgement => ({
    wrong: checks.find(({ sum }, at) => sums[at] !== undefined && base64(sums[at]) !== sum),
    isComplete: !hasOthers && !sums.includes(undefined),
  });
  const sums = checks.map(({ algorithm }) => hash(algorithm, body));
  const known = sums.filter((sum): sum is Uint8Array | undefined => !(sum instanceof Promise));
  return known.length === sums.length
    ? judged(known)
    : Promise.all(sums.map((sum) => Promise.resolve(sum))).then(judged);
}

/** Without padding. */
function base64(sum: Uint8Array): string {
  return btoa(String.fromCharCode(...sum)).replace(/=+$/, '');
}

/** The failure for a body that is not what its client sent. */
export function digestMismatch({ field, algorithm }: BodyDigest): Failure {
  return failure('digest-mismatch', `The body does not match its ${field} (${algorithm}).`);
}

/** Hashes with the platform's own functions; Workers know MD5 as well. */
export async function hashOnWeb(
  algorithm: DigestAlgorithm,
  body: Uint8Array,
): Promise<Uint8Array | undefined> {
  try {
    return new Uint8Array(await crypto.subtle.digest(algorithm.toUpperCase(), new Uint8Array(body)));
  } catch {
    return undefined;
  }
}
