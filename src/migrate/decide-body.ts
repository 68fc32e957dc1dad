import { ALL_CODINGS, type Coding, readCoding } from '../http/content-coding.ts';
import { readJsonType } from '../http/media-type.ts';
import type { Policies } from '../rules/rule-book.ts';
import type { ReceivedRequest } from '../gateway/received-request.ts';
import { type Failure, failure } from './failure.ts';

/** What is to be done with the body of a V1 request, by its head alone. */
export type BodyDecision =
  | { readonly action: 'rewrite'; readonly coding: Coding | undefined }
  /** It crosses as it came; `note` says why, where rules would have applied. */
  | { readonly action: 'forward'; readonly note: string | undefined }
  | { readonly action: 'refuse'; readonly failure: Failure };

/** Judges the body of a V1 request; `limit` is the bytes that are rewritten at the most, `codings` what can be decoded. */
export function decideBody(
  { exchange, head }: ReceivedRequest,
  { unsupported }: Policies,
  limit: number,
  codings: readonly Coding[] = ALL_CODINGS,
): BodyDecision {
  if (exchange.method !== 'POST' && exchange.method !== 'PATCH')
    return { action: 'forward', note: undefined };
  const type = readJsonType(head.contentType);
  if (type === 'other') return { action: 'forward', note: 'media-type' };
  if (type === 'ambiguous') return { action: 'refuse', failure: failure('ambiguous-media-type') };
  if (type === 'charset') {
    if (unsupported === 'forward') return { action: 'forward', note: 'unsupported: forward' };
    return { action: 'refuse', failure: failure('unsupported-charset') };
  }
  const coding = readCoding(head.contentEncoding);
  if (coding === 'unsupported' || (coding !== undefined && !codings.includes(coding))) {
    if (unsupported === 'forward') return { action: 'forward', note: 'unsupported: forward' };
    const detail =
      codings === ALL_CODINGS ? undefined : `The Content-Encoding is not one of ${codings.join(', ')}.`;
    return {
      action: 'refuse',
      failure: failure('unsupported-coding', detail, ['Accept-Encoding', codings.join(', ')]),
    };
  }
  if (head.contentLength !== undefined && head.contentLength > limit) {
    return {
      action: 'refuse',
      failure: failure('body-too-large', `The body is larger than ${limit} bytes.`),
    };
  }
  return { action: 'rewrite', coding };
}
