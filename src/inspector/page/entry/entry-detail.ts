import type { VNode } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { isUnreadNote, modeOf, outcomeOf } from '../../../rewrite-log/entry.ts';
import { printFilter } from '../../../rewrite-log/filter.ts';
import type { EntryDetail as Detail, NumberedEntry, Resent } from '../../api.ts';
import {
  accountOf,
  bodyCaptions,
  durationWords,
  editsTitle,
  entryName,
  failureWords,
  MODE_MEANINGS,
  sentToWords,
  statusTitle,
  statusTone,
  statusWords,
} from '../../entries/entry-words.ts';
import { postJson, useAsked, useAttempt } from '../admin-client.ts';
import { bytes, clockTime, counted } from '../format.ts';
import { type EntryLink, findAddress, type Go, type Perspective } from '../page-state.ts';
import {
  button,
  CopyButton,
  el,
  fact,
  form,
  linkButton,
  type PageTools,
  part,
  sentenceList,
  VerdictBadge,
  visibleText,
} from '../parts.ts';
import { DiffPane } from './diff-pane.ts';
import { originOf, PerspectiveTabs, PerspectiveView, whyMissing } from './perspective-view.ts';

/** Properties of the detail of an exchange. */
interface EntryDetailProps extends PageTools {
  readonly link: EntryLink;
  /** True where operators may send a kept request to V2 again. */
  readonly canResend: boolean;
  readonly perspective: Perspective;
}

const WHY = {
  absent: 'the client sent none',
  invalid: 'the client sent no valid date',
  future: 'the client sent a future date',
  client: 'sent by the client',
  pin: 'pinned',
} as const;

/** One exchange: its facts and perspectives. */
export function EntryDetail(props: EntryDetailProps): VNode {
  const { link, go } = props;
  const { response, failure } = useAsked<Detail>(findAddress(link));
  const panel = useRef<HTMLElement>(null);
  useEffect(() => panel.current?.scrollTo(0, 0), [link.id, link.seq]);
  return el(
    'section',
    { class: 'detail', 'aria-label': 'Exchange', ref: panel, tabIndex: -1, id: 'detail' },
    el(
      'header',
      { class: 'detail-head' },
      response === undefined ? el('h2', null, `Exchange ${link.id}`) : title(response.entry),
      button('✕', () => go({ entry: undefined }), {
        class: 'button close',
        'aria-label': 'Close the exchange',
        title: 'Close (Esc)',
      }),
    ),
    failure !== undefined &&
      el('p', { class: 'empty' }, unavailableWords(failure.status, failure.message, link.id)),
    response !== undefined && shown(response, props),
  );
}

function title(entry: NumberedEntry): VNode {
  return el('h2', null, part(VerdictBadge, { outcome: outcomeOf(entry) }), ' ', entryName(entry));
}

function shown(detail: Detail, props: EntryDetailProps): VNode {
  const { perspective, go, announce } = props;
  const { curl } = detail;
  return el(
    'div',
    { class: 'detail-body' },
    detail.entry.seq === 0 && detail.note !== undefined && el('p', { class: 'from-log' }, detail.note),
    sentenceList(accountOf(detail.entry), visibleText, { class: 'account plain', 'aria-label': 'Account' }),
    detail.namesakes !== undefined &&
      el(
        'p',
        null,
        `The client used this request id for ${counted(detail.namesakes, 'more exchange')}: `,
        linkButton('show all', () => go({ filter: `id:"${detail.entry.requestId}"` })),
      ),
    entryFacts(detail.entry, props.nameOf(detail.entry.client), go),
    curl !== undefined &&
      el(
        'div',
        { class: 'actions', role: 'group', 'aria-label': 'Export' },
        ...curlButtons({ curl, announce, hasShortcuts: true }),
        el('a', { class: 'button', href: `entries/${detail.entry.seq}/har`, download: true }, 'HAR'),
        detail.entry.route === 'migrate' &&
          el(
            'a',
            { class: 'button', href: `entries/${detail.entry.seq}/case`, target: '_blank' },
            'Text case',
          ),
        detail.entry.route === 'migrate' && button('Explain', () => go({ view: 'explain' })),
        props.canResend && part(ResendForm, { seq: detail.entry.seq, go, announce }),
        el('small', null, 'curl commands have $API_KEY in place of the key'),
      ),
    part(PerspectiveTabs, { perspective, origin: originOf(detail), go }),
    el(
      'div',
      {
        class: 'tab-panel',
        role: 'tabpanel',
        id: 'perspective',
        'aria-labelledby': `tab-${perspective}`,
        tabIndex: 0,
      },
      perspective === 'diff'
        ? part(DiffPane, {
            changed: changedIn(detail),
            hueOf: props.hueOf,
            summaryOf: props.summaryOf,
          })
        : part(PerspectiveView, { detail, perspective }),
    ),
    entryIds(detail.entry),
  );
}

function changedIn(detail: Detail): Parameters<typeof DiffPane>[0]['changed'] {
  const { entry, note } = detail;
  return {
    ...detail,
    edits: entry.edits,
    editsTitle: editsTitle(entry),
    nothingSent: whyMissing(detail, 'v2-request'),
    captions: bodyCaptions(entry),
    missing: missingWords(entry, note),
  };
}

function missingWords(entry: NumberedEntry, note: string | undefined): string {
  const { verdict, failure, would, bytesIn } = entry;
  if (verdict === 'refused')
    return `There is no V2 body: the gateway refused the request (${failure ?? 'no code'}).`;
  if (would?.verdict === 'refused')
    return `There is no V2 body: a migration would have been refused (${failureWords(would) ?? 'no code'}).`;
  const isUnread = isUnreadNote(entry.note);
  if (isUnread || (verdict === 'passed' && would === undefined))
    return 'The body was not read, so there is nothing to compare.';
  if (bytesIn === 0) return 'The request has no body.';
  return note ?? 'The body of this exchange was not captured, so there is nothing to compare.';
}

function unavailableWords(status: number, message: string, id: string): string {
  return status === 404 && !message.startsWith('The replica ')
    ? `The gateway no longer keeps the exchange ${id}. The rewrite log of its day, if kept, has the entry: capture-gateway tail <log> --filter id:${id}`
    : message;
}

/** The facts of an entry, the most important first; `name` is that of its client, if it has one. */
function entryFacts(entry: NumberedEntry, name: string | undefined, go: Go): VNode {
  const narrow = (term: string, text = term.slice(term.indexOf(':') + 1)): VNode =>
    button(visibleText(text), () => go({ filter: term }), { class: 'link', title: `Filter by ${term}` });
  const mode = modeOf(entry);
  const failed = failureWords(entry);
  return el(
    'dl',
    { class: 'facts' },
    fact(
      'Status',
      el(
        'span',
        { class: `status status-${statusTone(entry)}`, title: statusTitle(entry) },
        statusWords(entry),
      ),
    ),
    fact('Time', el('time', { dateTime: entry.time, title: entry.time }, clockTime(entry.time))),
    fact('Client', [
      name !== undefined && [visibleText(name), ' '],
      entry.client === undefined ? 'no key' : narrow(`client:${entry.client}`),
    ]),
    entry.operation !== undefined && fact('Operation', narrow(`op:${entry.operation}`)),
    mode !== undefined && fact('Mode', el('span', { title: MODE_MEANINGS[mode] }, narrow(`mode:${mode}`))),
    fact('Sent to', sentToWords(entry)),
    fact('Duration', durations(entry)),
    failed !== undefined && fact('Failure', el('code', null, visibleText(failed))),
    entry.cause !== undefined &&
      fact(
        'Cause',
        narrow(printFilter([{ negated: false, field: 'cause', values: [entry.cause] }]), entry.cause),
      ),
    entry.note !== undefined && fact('Note', entry.note),
    entry.attempts !== undefined && fact('Tries', String(entry.attempts)),
  );
}

/** Further facts of an entry: ids, sizes and versions. */
function entryIds(entry: NumberedEntry): VNode {
  const { apiVersion, rewriteMs, traceId, bytesIn, bytesOut, responseBytes } = entry;
  return el(
    'dl',
    { class: 'facts ids' },
    fact('Bytes', `${bytes(bytesIn)} in, ${bytes(bytesOut)} on, ${bytes(responseBytes)} back`),
    rewriteMs !== undefined && fact('Rewriting', `${rewriteMs.toFixed(2)} ms`),
    apiVersion !== undefined &&
      fact(apiVersion.field ?? 'x-api-version', `${apiVersion.sent} (${WHY[apiVersion.why]})`),
    fact('Request id', el('code', null, visibleText(entry.requestId))),
    traceId !== undefined && fact('Trace', el('code', null, traceId)),
    fact('Rule book', el('code', null, entry.ruleBook)),
  );
}

/** The duration in words and as a bar, with the share of the service. */
function durations(entry: NumberedEntry): VNode {
  const { totalMs, upstreamMs } = entry;
  const share = upstreamMs === undefined || totalMs <= 0 ? 0 : Math.min(1, upstreamMs / totalMs);
  return el(
    'span',
    { class: 'duration' },
    durationWords(entry),
    upstreamMs !== undefined &&
      el(
        'svg',
        {
          class: 'duration-bar',
          viewBox: '0 0 100 4',
          preserveAspectRatio: 'none',
          'aria-hidden': true,
        },
        el('rect', { class: 'whole', width: 100, height: 4 }),
        el('rect', { class: 'upstream', width: share * 100, height: 4 }),
      ),
  );
}

/** Properties of the buttons that copy a request as curl. */
interface CurlButtonsProps {
  readonly curl: NonNullable<Detail['curl']>;
  readonly announce: (sentence: string) => void;
  /** True where keys of the page trigger them. */
  readonly hasShortcuts?: boolean;
}

/** Buttons that copy a request as curl: for V1, and for V2 where it was sent there. */
export function curlButtons({ curl, announce, hasShortcuts = false }: CurlButtonsProps): (VNode | false)[] {
  return [
    part(CopyButton, {
      text: curl.v1,
      label: 'Copy curl for V1',
      done: 'Copied: the V1 request as curl.',
      announce,
      ...(hasShortcuts ? { shortcut: 'c' } : {}),
    }),
    curl.v2 !== undefined &&
      part(CopyButton, {
        text: curl.v2,
        label: 'Copy curl for V2',
        done: 'Copied: the V2 request as curl.',
        announce,
        ...(hasShortcuts ? { shortcut: 'Shift+C' } : {}),
      }),
  ];
}

/** Properties of the form. */
interface ResendFormProps extends Pick<PageTools, 'go' | 'announce'> {
  readonly seq: number;
}

/** Sends the V2 request of an exchange again, after asking for confirmation and for the key, which is never kept. */
function ResendForm({ seq, go, announce }: ResendFormProps): VNode {
  const [isOpen, setIsOpen] = useState(false);
  const [key, setKey] = useState('');
  const [fault, attempt] = useAttempt();
  if (!isOpen) return button('Send to V2 again', () => setIsOpen(true));
  const send = (): Promise<boolean> =>
    attempt(async () => {
      const path = `entries/${seq}/resend`;
      const { requestId, status } = await postJson<Resent>(path, key === '' ? {} : { key });
      announce(
        status === undefined
          ? 'Sent again, without a complete response.'
          : `Sent again: the gateway responded with ${status}.`,
      );
      setIsOpen(false);
      setKey('');
      go({ entry: { id: requestId, seq: undefined }, filter: '' });
    });
  return form(
    { class: 'resend' },
    send,
    el('span', null, 'V2 will carry out the request again. '),
    el('input', {
      type: 'password',
      'aria-label': 'API key',
      placeholder: 'API key',
      autocomplete: 'off',
      value: key,
      onInput: ({ currentTarget }) => setKey(currentTarget.value),
      onKeyDown: (event) => event.stopPropagation(),
    }),
    el('button', { type: 'submit', class: 'button' }, 'Send'),
    button('Cancel', () => setIsOpen(false)),
    fault !== '' && el('span', { class: 'fault', role: 'alert' }, fault),
  );
}
