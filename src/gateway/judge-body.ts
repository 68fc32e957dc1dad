import { allCodings, type Coding, readCoding } from '../http/content-coding.ts';
import { readJsonType } from '../http/media-type.ts';
import type { Policies } from '../rules/rule-book.ts';
import type { Arrival } from './arrival.ts';
import { type Failure, failure } from './failure.ts';

/** What is to be done with the body of a V1 request, by its head alone. */
export type BodyWay =
  | { readonly way: 'rewrite'; readonly coding: Coding | undefined }
  /** It crosses as it came; `note` says why, where rules would have applied. */
  | { readonly way: 'forward'; readonly note: string | undefined }
  | { readonly way: 'refuse'; readonly failure: Failure };

/** Judges the body of a V1 request; `limit` is the bytes that are rewritten at the most, `codings` what can be decoded. */
export function judgeBody(
  { exchange, head }: Arrival,
  { unsupported }: Policies,
  limit: number,
  codings: readonly Coding[] = allCodings,
): BodyWay {
  if (exchange.method !== 'POST' && exchange.method !== 'PATCH') return { way: 'forward', note: undefined };
  const type = readJsonType(head.contentType);
  if (type === 'other') return { way: 'forward', note: 'media-type' };
  if (type === 'ambiguous') return { way: 'refuse', failure: failure('ambiguous-media-type') };
  if (type === 'charset') {
    if (unsupported === 'forward') return { way: 'forward', note: 'unsupported: forward' };
    return { way: 'refuse', failure: failure('unsupported-charset') };
  }
  const coding = readCoding(head.contentEncoding);
  if (coding === 'unsupported' || (coding !== undefined && !codings.includes(coding))) {
    if (unsupported === 'forward') return { way: 'forward', note: 'unsupported: forward' };
    const detail =
      codings === allCodings ? undefined : `The Content-Encoding is not one of ${codings.join(', ')}.`;
    return {
      way: 'refuse',
      failure: failure('unsupported-coding', detail, ['Accept-Encoding', codings.join(', ')]),
    };
  }
  if (head.contentLength !== undefined && head.contentLength > limit) {
    return {
      way: 'refuse',
      failure: failure('body-too-large', `The body is larger than ${limit} bytes.`),
    };
  }
  return { way: 'rewrite', coding };
}
