import type { VNode } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import type { EntryDetail as Detail, NumberedEntry } from '../../api.ts';
import { useAsked } from '../admin-client.ts';
import { curlButtons } from './curl-buttons.ts';
import { DiffPane } from './diff-pane.ts';
import { el, part } from '../parts/element.ts';
import { outcomeOf } from '../../../rewrite-log/entry-outcome.ts';
import {
  bodyCaptions,
  editsTitle,
  entryName,
  failureWords as refusalWords,
} from '../../entries/entry-words.ts';
import { EntryAccount, EntryFacts, EntryIds } from './entry-facts.ts';
import { counted } from '../parts/format.ts';
import type { HueOf } from '../traffic/hues.ts';
import { PerspectiveTabs } from '../perspective-tabs.ts';
import { PerspectiveView, whyMissing } from '../perspective-view.ts';
import { type EntryLink, findAddress, type Go, type Perspective } from '../page-state.ts';
import { ResendForm } from './resend-form.ts';
import { VerdictBadge } from '../parts/verdict-badge.ts';

/** Properties of the detail of an exchange. */
export interface EntryDetailProps {
  readonly link: EntryLink;
  /** True where operators may send a kept request to V2 again. */
  readonly canResend: boolean;
  readonly perspective: Perspective;
  readonly go: Go;
  readonly announce: (sentence: string) => void;
  readonly hueOf: HueOf;
  readonly nameOf: (client: string | undefined) => string | undefined;
  readonly summaryOf: (change: string) => string | undefined;
}

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
      el(
        'button',
        {
          type: 'button',
          class: 'button close',
          'aria-label': 'Close the exchange',
          title: 'Close (Esc)',
          onClick: () => go({ entry: undefined }),
        },
        '✕',
      ),
    ),
    failure !== undefined &&
      el('p', { class: 'empty' }, failureWords(failure.status, failure.message, link.id)),
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
    part(EntryAccount, { entry: detail.entry }),
    detail.namesakes !== undefined &&
      el(
        'p',
        null,
        `The client used this request id for ${counted(detail.namesakes, 'more exchange')}: `,
        el(
          'button',
          { type: 'button', class: 'link', onClick: () => go({ filter: `id:"${detail.entry.requestId}"` }) },
          'show all',
        ),
      ),
    part(EntryFacts, { entry: detail.entry, name: props.nameOf(detail.entry.client), go }),
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
        detail.entry.route === 'migrate' &&
          el(
            'button',
            { type: 'button', class: 'button', onClick: () => go({ view: 'explain' }) },
            'Explain',
          ),
        props.canResend && part(ResendForm, { seq: detail.entry.seq, go, announce }),
        el('small', null, 'curl has $API_KEY in the place of the key'),
      ),
    part(PerspectiveTabs, { perspective, origin: detail.entry.origin ?? 'v2', go }),
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
    part(EntryIds, { entry: detail.entry }),
  );
}

function changedIn({
  entry,
  kept,
  note,
  v1Request,
  v2Request,
  diff,
}: Detail): Parameters<typeof DiffPane>[0]['changed'] {
  return {
    edits: entry.edits,
    editsTitle: editsTitle(entry),
    nothingSent: whyMissing({ entry, kept, ...(note === undefined ? {} : { note }) }, 'v2-request'),
    captions: bodyCaptions(entry),
    ...(v1Request === undefined ? {} : { v1Request }),
    ...(v2Request === undefined ? {} : { v2Request }),
    ...(diff === undefined ? {} : { diff }),
    missing: missingWords(entry, note),
  };
}

function missingWords(entry: NumberedEntry, note: string | undefined): string {
  const { verdict, failure, would, bytesIn } = entry;
  if (verdict === 'refused')
    return `There is no V2 body: the gateway refused the request (${failure ?? 'no code'}).`;
  if (would?.verdict === 'refused')
    return `There is no V2 body: a migration would have been refused (${refusalWords(would) ?? 'no code'}).`;
  const isUnread = entry.note === 'media-type' || entry.note === 'unsupported: forward';
  if (isUnread || (verdict === 'passed' && would === undefined))
    return 'The body was not read, so there is nothing to compare.';
  if (bytesIn === 0) return 'The request has no body.';
  return note ?? 'The body of this exchange was not captured, so there is nothing to compare.';
}

function failureWords(status: number, message: string, id: string): string {
  return status === 404
    ? `The gateway no longer keeps the exchange ${id}. If the rewrite log of its day is kept, it has the entry: gateway tail <log> --filter id:${id}`
    : message;
}
