import type { VNode } from 'preact';
import type { ResponseView, EntryDetail, RequestView } from '../api.ts';
import { BodyPane, HeaderTable } from './body-pane.ts';
import { el, part } from './element.ts';
import { statusTone } from './entry-words.ts';
import type { Perspective } from './page-state.ts';

/** The name of each perspective, and the side that saw it. */
export const PERSPECTIVE_NAMES: Readonly<Record<Perspective, string>> = {
  diff: 'What changed',
  'v1-request': 'V1 request',
  'v2-request': 'V2 request',
  'v2-response': 'V2 response',
  'client-response': 'Response to the client',
};

/** One of the four perspectives of an exchange: its first line, headers and body. */
export function PerspectiveView({
  detail,
  perspective,
}: {
  readonly detail: EntryDetail;
  readonly perspective: Exclude<Perspective, 'diff'>;
}): VNode {
  const name = PERSPECTIVE_NAMES[perspective];
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
    target.slice(prefix.length),
  );
}

function responseLine({ status }: ResponseView): VNode {
  return el(
    'p',
    { class: 'first-line' },
    'Status ',
    el('strong', { class: `status status-${statusTone(status)}` }, status),
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

function whyMissing({ entry, kept, note }: EntryDetail, perspective: Perspective): string {
  const isFromV2 = perspective === 'v2-request' || perspective === 'v2-response';
  if (isFromV2 && entry.upstreamPath === undefined)
    return 'Nothing was sent to V2: the gateway responded itself.';
  if (note !== undefined) return note;
  return kept === 'nothing'
    ? 'Only the log entry of this exchange was kept.'
    : 'The gateway has no record of this side.';
}
