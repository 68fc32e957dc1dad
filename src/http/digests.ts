import { DIGEST_FIELDS } from './fields.ts';
import { type HeaderList, headerValues } from './header-list.ts';

/** A hash function that a digest can be checked with, named as the Web Cryptography API names it. */
export type DigestAlgorithm = 'md5' | 'sha-1' | 'sha-256' | 'sha-512';

/** A digest that a client sent with a body. */
export interface BodyDigest {
  /** The field that contains it, in lower case. */
  readonly field: string;
  readonly algorithm: DigestAlgorithm;
  /** In base64, without padding. */
  readonly sum: string;
}

/** The digests that a client sent with a body: of its content and of the representation, which are the same bytes. */
export interface BodyDigests {
  readonly checks: readonly BodyDigest[];
  /** True if there are others that the gateway cannot check: malformed, or of an unknown algorithm. */
  readonly hasOthers: boolean;
}

/** For digests that the gateway cannot check. */
export const UNCHECKED: BodyDigests = { checks: [], hasOthers: true };

/** The algorithms by their names in fields, with the length of a sum. */
const ALGORITHMS: ReadonlyMap<string, readonly [algorithm: DigestAlgorithm, length: number]> = new Map([
  ['md5', ['md5', 22]],
  ['sha', ['sha-1', 27]],
  ['sha-256', ['sha-256', 43]],
  ['sha-512', ['sha-512', 86]],
]);

const MEMBER = /(?:^|,)[ \t]*([\w-]+)[ \t]*=[ \t]*(:?)([A-Za-z0-9+/]+)={0,2}(:?)[ \t]*(?=[,;]|$)/g;

/** Reads the digests of a request: one sum, a list of `algorithm=sum`, and dictionaries of `algorithm=:sum:`. */
export function readDigests(headers: HeaderList): BodyDigests {
  const checks: BodyDigest[] = [];
  let members = 0;
  for (const field of DIGEST_FIELDS) {
    for (const value of headerValues(headers, field)) {
      const text = field === 'content-md5' ? `md5=${value}` : value;
      const isDictionary = field.includes('-d');
      members += text.split(',').length;
      for (const [, name = '', open, sum = '', close] of text.matchAll(MEMBER)) {
        const [algorithm, length] = ALGORITHMS.get(isDictionary ? name : name.toLowerCase()) ?? [];
        const isInForm = isDictionary ? open && close : !open && !close;
        if (algorithm !== undefined && sum.length === length && isInForm)
          checks.push({ field, algorithm, sum });
      }
    }
  }
  return { checks, hasOthers: checks.length < members };
}
