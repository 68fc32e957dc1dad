import { statusFrom } from '../../../rewrite-log/entry.ts';
import type { EntryDetail } from '../../api.ts';
import { failureWords } from '../../entries/entry-words.ts';
import type { Perspective } from '../page-state.ts';

/** The service for which the request was, or `webhook` for a subscriber. */
export function originOf({ entry }: EntryDetail): 'v1' | 'v2' | 'webhook' {
  return entry.route === 'webhook' ? 'webhook' : (entry.origin ?? 'v2');
}

/** The service for which a request was. */
export type Origin = ReturnType<typeof originOf>;

const OF_V2: Readonly<Record<Perspective, string>> = {
  diff: 'What changed',
  'v1-request': 'V1 request',
  'v2-request': 'V2 request',
  'v2-response': 'V2 response',
  'client-response': 'Response to the client',
};

/** The names of the perspectives, by the service that got the request. */
export const NAMES: Readonly<Record<Origin, typeof OF_V2>> = {
  v2: OF_V2,
  v1: { ...OF_V2, diff: 'What would change', 'v2-response': 'V1 response' },
  webhook: {
    diff: 'What changed',
    'v1-request': "V2's webhook",
    'v2-request': 'Delivery',
    'v2-response': 'Response of the subscriber',
    'client-response': 'Response to V2',
  },
};

/** The message of a detail that each perspective shows. */
export const MESSAGES = {
  'v1-request': 'v1Request',
  'v2-request': 'v2Request',
  'v2-response': 'v2Response',
  'client-response': 'clientResponse',
} as const;

/** Says why the message of a perspective is missing. */
export function whyMissing(
  { entry, kept, note }: Pick<EntryDetail, 'entry' | 'kept' | 'note'>,
  perspective: Perspective,
): string {
  const isUpstream = perspective === 'v2-request' || perspective === 'v2-response';
  if (isUpstream && entry.upstreamPath === undefined)
    return entry.status === 0 && entry.failure === undefined
      ? 'Nothing was sent: the exchange with the client ended before that.'
      : 'Nothing was sent: the gateway itself responded.';
  if (perspective === 'v2-request' && entry.origin === 'v1')
    return entry.comparison === undefined
      ? 'Nothing was sent to V2: the mode sends this request to V1.'
      : 'The mode sends this request to V1. The copy of the read for the comparison is not kept.';
  if (perspective === 'v2-response' && statusFrom(entry) === 'gateway' && entry.upstreamMs === undefined)
    return `There is no response: ${failureWords(entry) ?? 'no cause is known'}.`;
  if (note !== undefined) return note;
  return kept === 'nothing'
    ? 'Only the log entry of this exchange was kept.'
    : 'The gateway has no record of this side.';
}
