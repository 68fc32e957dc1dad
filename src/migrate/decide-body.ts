import type { HeaderList } from '../http/header-list.ts';
import { type Coding, readCoding } from '../http/content-coding.ts';
import { readJsonType } from '../http/media-type.ts';
import type { RequestHead } from '../http/request-head.ts';
import type { Policies } from '../rules/rule-book.ts';
import { type Failure, failure } from './failure.ts';
import { bodyTooLarge } from './migrate-body.ts';

/** How the body of a V1 request is handled. */
export type BodyDecision =
  /** Rules apply: the body is collected, decoded and rewritten. */
  | { readonly action: 'rewrite'; readonly coding: Coding | undefined }
  /** The body is forwarded unchanged; `note` says why, where rules would have applied. */
  | { readonly action: 'forward'; readonly note: string | undefined }
  | { readonly action: 'refuse'; readonly failure: Failure };

/** Policies, limit and codings that decide how a body is handled. */
export interface BodyLimits {
  readonly policies: Policies;
  /** Maximum bytes of a body to rewrite. */
  readonly bodyLimit: number;
  readonly codings: readonly Coding[];
}

/** Decides how to handle the body of a V1 request from its head; `hasRules` says whether request rules apply to it. */
export function decideBody(
  {
    hasRules,
    hasBody,
    head,
  }: { readonly hasRules: boolean; readonly hasBody: boolean; readonly head: RequestHead },
  { policies, bodyLimit, codings }: BodyLimits,
): BodyDecision {
  if (!hasBody || !hasRules) return FORWARD;
  const type = readJsonType(head.contentType);
  if (type === 'other') return { action: 'forward', note: 'media-type' };
  if (type === 'ambiguous')
    return { action: 'refuse', failure: failure('ambiguous-media-type', undefined, ACCEPT) };
  if (type === 'charset') {
    if (policies.unsupported === 'forward') return { action: 'forward', note: 'unsupported: forward' };
    return { action: 'refuse', failure: failure('unsupported-charset', undefined, ACCEPT) };
  }
  const coding = readCoding(head.contentEncoding);
  if (coding === 'unsupported' || (coding !== undefined && !codings.includes(coding))) {
    if (policies.unsupported === 'forward') return { action: 'forward', note: 'unsupported: forward' };
    return { action: 'refuse', failure: unsupportedCoding(codings) };
  }
  if (head.contentLength !== undefined && head.contentLength > bodyLimit)
    return { action: 'refuse', failure: bodyTooLarge(bodyLimit) };
  return { action: 'rewrite', coding };
}

/** Returns the content coding to remove before rewriting; an empty body has none, whatever its head says. */
export function codingOf(decision: BodyDecision, body: Uint8Array): Coding | undefined {
  return decision.action === 'rewrite' && body.length > 0 ? decision.coding : undefined;
}

const FORWARD: BodyDecision = { action: 'forward', note: undefined };

/** RFC 9110 §15.5.16. */
const ACCEPT: HeaderList = ['Accept', 'application/json'];

function unsupportedCoding(codings: readonly Coding[]): Failure {
  return failure('unsupported-coding', undefined, ['Accept-Encoding', codings.join(', ') || 'identity']);
}
