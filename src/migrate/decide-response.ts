import { type Coding, readCoding } from '../http/content-coding.ts';
import { type HeaderList, headerValue, headerValues } from '../http/header-list.ts';
import { readJsonType } from '../http/media-type.ts';

/** Reason why a response that a rule applies to is not rewritten, as logged. */
export type ResponseNote =
  | 'response-too-large'
  | 'response-undecodable'
  | 'response-buffer-full'
  | 'response-malformed'
  /** An `inverse` applies, and the response has no `data` for it. */
  | 'response-no-resource'
  | 'response-partial';

/** How the body of a response is handled, to whose status a response rule applies. */
export type ResponseDecision =
  /** It is collected, decoded and rewritten. */
  | { readonly action: 'rewrite'; readonly coding: Coding | undefined }
  /** It is forwarded unchanged; `note` says why, if it could have been rewritten otherwise. */
  | { readonly action: 'forward'; readonly note: ResponseNote | undefined };

/** Decides from its head how to handle the body of a response; at most `limit` bytes are rewritten. */
export function decideResponse(status: number, headers: HeaderList, limit: number): ResponseDecision {
  const type = readJsonType(headerValue(headers, 'content-type'));
  if (type === 'other') return forward(undefined);
  // JSON in another charset, or of a type that readers take for JSON or not.
  if (type !== 'json') return forward('response-undecodable');
  const encoding = headerValues(headers, 'content-encoding');
  const coding = encoding.length === 0 ? undefined : readCoding(encoding.join(','));
  if (coding === 'unsupported') return forward('response-undecodable');
  if (status === 206 || headerValue(headers, 'content-range') !== undefined)
    return forward('response-partial');
  if (Number(headerValue(headers, 'content-length')) > limit) return forward('response-too-large');
  return { action: 'rewrite', coding };
}

/** True for a response in JSON. */
export function isJson(headers: HeaderList): boolean {
  return readJsonType(headerValue(headers, 'content-type')) === 'json';
}

/** The note for a response that could not be decoded. */
export const NOTE_OF_UNDECODED = {
  'too-large': 'response-too-large',
  undecodable: 'response-undecodable',
  'buffer-full': 'response-buffer-full',
} as const;

function forward(note: ResponseNote | undefined): ResponseDecision {
  return { action: 'forward', note };
}
