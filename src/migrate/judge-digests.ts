import type { BodyDigest, BodyDigests, DigestAlgorithm } from '../http/digests.ts';
import { type Failure, failure } from './failure.ts';

/** Returns the hash of a body; undefined where the runtime has no such algorithm. */
export type HashBody = (
  algorithm: DigestAlgorithm,
  body: Uint8Array,
) => Uint8Array | undefined | Promise<Uint8Array | undefined>;

/** The outcome of checking the digests of a body: the first that does not match, or `right` if all do; undefined if none was checked. */
export type Judgement = BodyDigest | 'right' | undefined;

/** Checks digests against the bytes that the client sent: at once, unless `hash` returns promises. */
export function judgeDigests(
  { checks, hasOthers }: BodyDigests,
  body: Uint8Array,
  hash: HashBody,
): Judgement | Promise<Judgement> {
  const judged = (sums: readonly (Uint8Array | undefined)[]): Judgement =>
    checks.find(({ sum }, at) => sums[at] !== undefined && base64(sums[at]) !== sum) ??
    (hasOthers || sums.includes(undefined) ? undefined : 'right');
  const sums = checks.map(({ algorithm }) => hash(algorithm, body));
  const known = sums.filter((sum): sum is Uint8Array | undefined => !(sum instanceof Promise));
  return known.length === sums.length
    ? judged(known)
    : Promise.all(sums.map((sum) => Promise.resolve(sum))).then(judged);
}

/** Without padding. */
function base64(sum: Uint8Array): string {
  return btoa(String.fromCharCode(...sum)).replaceAll('=', '');
}

/** The failure for a body that does not match its digest. */
export function digestMismatch({ field, algorithm }: BodyDigest): Failure {
  return failure('digest-mismatch', `The body does not match its ${field} (${algorithm}).`);
}

/** Hashes with the platform's own functions; Workers also have MD5. */
export function hashOnWeb(algorithm: DigestAlgorithm, body: Uint8Array): Promise<Uint8Array | undefined> {
  const sum = crypto.subtle.digest(algorithm, new Uint8Array(body));
  return sum.then(
    (bytes) => new Uint8Array(bytes),
    () => undefined,
  );
}
