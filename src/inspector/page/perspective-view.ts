import type { VNode } from 'preact';
import type { ResponseView, EntryDetail, RequestView } from '../api.ts';
import { BodyPane, HeaderTable } from './entries/body-pane.ts';
import { el, part } from './parts/element.ts';
import { statusFrom } from '../../rewrite-log/entry-outcome.ts';
import { failureWords, statusTone } from '../entries/entry-words.ts';
import type { Perspective } from './page-state.ts';
import { visibleText } from './entries/visible-text.ts';

/** Returns the name of a perspective; the second response is that of the service which got the request. */
export function perspectiveName(perspective: Perspective, origin: 'v1' | 'v2'): string {
  switch (perspective) {
    case 'diff':
      return origin === 'v1' ? 'What would change' : 'What changed';
    case 'v1-request':
      return 'V1 request';
    case 'v2-request':
      return 'V2 request';
    case 'v2-response':
      return origin === 'v1' ? 'V1 response' : 'V2 response';
    case 'client-response':
      return 'Response to the client';
  }
}

/** One of the four perspectives of an exchange: its first line, headers and body. */
export function PerspectiveView({
  detail,
  perspective,
}: {
  readonly detail: EntryDetail;
  readonly perspective: Exclude<Perspective, 'diff'>;
}): VNode {
  const name = perspectiveName(perspective, detail.entry.origin ?? 'v2');
  const view = viewOf(detail, perspective);
  if (view === undefined) return el('p', { class: 'empty' }, whyMissing(detail, perspective));
  return el(
    'div',
    { class: 'perspective' },
    'method' in view ? requestLine(view) : responseLine(view),
    part(HeaderTable, { headers: view.headers }),
    part(BodyPane, { body: view.body, label: `Body of the ${name}` }),
  );
}

/** The first line of a request, with the API version highlighted. */
export function requestLine({ method, target }: Pick<RequestView, 'method' | 'target'>): VNode {
  const prefix = /^\/api\/v[12](?=\/|$)/.exec(target)?.[0] ?? '';
  return el(
    'p',
    { class: 'first-line' },
    el('strong', null, method),
    ' ',
    el('span', { class: 'api-prefix' }, prefix),
    visibleText(target.slice(prefix.length)),
  );
}

function responseLine({ status }: ResponseView): VNode {
  return el(
    'p',
    { class: 'first-line' },
    'Status ',
    el('strong', { class: `status status-${statusTone({ status })}` }, status),
  );
}

function viewOf(
  detail: EntryDetail,
  perspective: Exclude<Perspective, 'diff'>,
): RequestView | ResponseView | undefined {
  switch (perspective) {
    case 'v1-request':
      return detail.v1Request;
    case 'v2-request':
      return detail.v2Request;
    case 'v2-response':
      return detail.v2Response;
    case 'client-response':
      return detail.clientResponse;
  }
}

/** Says why the message of a perspective is not there. */
export function whyMissing(
  { entry, kept, note }: Pick<EntryDetail, 'entry' | 'kept' | 'note'>,
  perspective: Perspective,
): string {
  const isUpstream = perspective === 'v2-request' || perspective === 'v2-response';
  if (isUpstream && entry.upstreamPath === undefined)
    return entry.status === 0 && entry.failure === undefined
      ? 'Nothing was sent: the exchange with the client ended before.'
      : 'Nothing was sent: the gateway responded itself.';
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
