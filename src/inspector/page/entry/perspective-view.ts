import type { VNode } from 'preact';
import { useId, useMemo } from 'preact/hooks';
import { statusFrom } from '../../../rewrite-log/entry.ts';
import type { BodyView, EntryDetail, HeaderView, RequestView, ResponseView } from '../../api.ts';
import { failureWords, statusTone } from '../../entries/entry-words.ts';
import { headerMeaning } from '../../entries/header-meanings.ts';
import { bytes } from '../format.ts';
import { type Go, type Perspective, PERSPECTIVES } from '../page-state.ts';
import { classes, el, part, visibleText } from '../parts.ts';
import { CodeLines, markedLines } from './code-lines.ts';

const SIGNS = { added: '+', changed: '±', removed: '−' } as const;

/** One of the four perspectives of an exchange: its first line, headers and body. */
export function PerspectiveView({
  detail,
  perspective,
}: {
  readonly detail: EntryDetail;
  readonly perspective: Exclude<Perspective, 'diff'>;
}): VNode {
  const name = NAMES[originOf(detail)][perspective];
  const view: RequestView | ResponseView | undefined = detail[MESSAGES[perspective]];
  if (view === undefined) return el('p', { class: 'empty' }, whyMissing(detail, perspective));
  return el(
    'div',
    { class: 'perspective' },
    'method' in view ? requestLine(view) : responseLine(view),
    part(HeaderTable, { headers: view.headers }),
    part(BodyPane, { body: view.body, label: `Body of the ${name}` }),
  );
}

/** The service for which the request was, or `webhook` for a subscriber. */
export function originOf({ entry }: EntryDetail): 'v1' | 'v2' | 'webhook' {
  return entry.route === 'webhook' ? 'webhook' : (entry.origin ?? 'v2');
}

type Origin = ReturnType<typeof originOf>;

/** The names of the perspectives, by the service that got the request. */
const OF_V2: Readonly<Record<Perspective, string>> = {
  diff: 'What changed',
  'v1-request': 'V1 request',
  'v2-request': 'V2 request',
  'v2-response': 'V2 response',
  'client-response': 'Response to the client',
};
const NAMES: Readonly<Record<Origin, typeof OF_V2>> = {
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

const MESSAGES = {
  'v1-request': 'v1Request',
  'v2-request': 'v2Request',
  'v2-response': 'v2Response',
  'client-response': 'clientResponse',
} as const;

function responseLine({ status }: ResponseView): VNode {
  return el(
    'p',
    { class: 'first-line' },
    'Status ',
    el('strong', { class: `status status-${statusTone({ status })}` }, status),
  );
}

/** The headers of one side, with marks for differences from the previous side. */
function HeaderTable({ headers }: { readonly headers: readonly HeaderView[] }): VNode {
  if (headers.length === 0) return el('p', { class: 'empty' }, 'No headers.');
  return el(
    'table',
    { class: 'headers' },
    el(
      'thead',
      { class: 'sr-only' },
      el(
        'tr',
        null,
        el('th', { scope: 'col' }, 'Change'),
        el('th', { scope: 'col' }, 'Header'),
        el('th', { scope: 'col' }, 'Value'),
      ),
    ),
    el(
      'tbody',
      null,
      headers.map(({ name, value, masked, change }, index) =>
        el(
          'tr',
          { key: index, class: classes(change !== undefined && `header-${change}`) },
          el(
            'td',
            { class: 'header-change' },
            change === undefined ? '' : el('abbr', { title: change }, SIGNS[change]),
          ),
          el('th', { scope: 'row' }, part(HeaderName, { name })),
          el('td', { class: classes('header-value', masked && 'masked') }, visibleText(value)),
        ),
      ),
    ),
  );
}

/** A body as one side saw it, its structure, or the reason why neither is available. */
function BodyPane({ body, label }: { readonly body: BodyView; readonly label: string }): VNode {
  const lines = useMemo(() => markedLines(body.text ?? '', []), [body.text]);
  return el(
    'section',
    { class: 'body-pane' },
    el('h3', { class: 'pane-title' }, 'Body', el('small', null, bodyWords(body))),
    body.text === undefined
      ? body.note !== undefined && el('p', { class: 'empty' }, body.note)
      : part(CodeLines, { label, lines, marks: [], hueOf: () => 1 }),
  );
}

function bodyWords({ state, bytes: size }: BodyView): string {
  switch (state) {
    case 'none':
      return 'none';
    case 'values':
      return `${bytes(size)}, as captured`;
    case 'structure':
      return `${bytes(size)}, keys and structure only`;
    case 'withheld':
      return `${bytes(size)}, not kept`;
  }
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

/** Tabs as the ARIA practices recommend, with arrow keys that wrap around and one tab in the tab order. */
export function PerspectiveTabs({
  perspective,
  origin,
  go,
}: {
  readonly perspective: Perspective;
  /** The service for which the request was. */
  readonly origin: Origin;
  readonly go: Go;
}): VNode {
  const step = (by: number): void => {
    const next = PERSPECTIVES.at((PERSPECTIVES.indexOf(perspective) + by) % PERSPECTIVES.length) ?? 'diff';
    go({ perspective: next }, 'replace');
    document.getElementById(`tab-${next}`)?.focus();
  };
  return el(
    'div',
    {
      class: 'tabs',
      role: 'tablist',
      'aria-label': 'Perspectives',
      onKeyDown: (event) => {
        if (event.key === 'ArrowRight') step(1);
        if (event.key === 'ArrowLeft') step(-1);
      },
    },
    PERSPECTIVES.map((name) =>
      el(
        'button',
        {
          key: name,
          type: 'button',
          role: 'tab',
          id: `tab-${name}`,
          class: 'tab',
          'aria-selected': name === perspective,
          'aria-controls': 'perspective',
          tabIndex: name === perspective ? 0 : -1,
          onClick: () => go({ perspective: name }, 'replace'),
        },
        NAMES[origin][name],
      ),
    ),
  );
}

/** The name of a header field, explained on hover and focus if its purpose is known. */
export function HeaderName({ name }: { readonly name: string }): VNode {
  const id = useId();
  const meaning = headerMeaning(name);
  if (meaning === undefined) return el('span', { class: 'header-name' }, visibleText(name));
  return el(
    'span',
    { class: 'header-name explained' },
    el('span', { class: 'header-term', tabIndex: 0, 'aria-describedby': id }, visibleText(name)),
    el('span', { class: 'header-meaning', role: 'tooltip', id }, meaning),
  );
}
