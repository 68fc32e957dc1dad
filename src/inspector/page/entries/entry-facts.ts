import type { ComponentChildren, VNode } from 'preact';
import type { NumberedEntry } from '../../api.ts';
import { el } from '../parts/element.ts';
import { modeOf } from '../../../rewrite-log/entry-outcome.ts';
import {
  accountOf,
  durationWords,
  failureWords,
  MODE_MEANINGS,
  sentToWords,
  statusTitle,
  statusTone,
  statusWords,
} from '../../entries/entry-words.ts';
import { bytes, clockTime } from '../parts/format.ts';
import type { Go } from '../page-state.ts';
import { visibleText } from './visible-text.ts';

/** What happened, in sentences: who got what, who responded, and what was a dry run. */
export function EntryAccount({ entry }: { readonly entry: NumberedEntry }): VNode {
  return el(
    'ul',
    { class: 'account plain', 'aria-label': 'Account' },
    accountOf(entry).map((sentence) => el('li', { key: sentence }, visibleText(sentence))),
  );
}

/** The facts of an entry, the most requested first. */
export function EntryFacts({
  entry,
  name,
  go,
}: {
  readonly entry: NumberedEntry;
  /** The name of its client, where it has one. */
  readonly name: string | undefined;
  readonly go: Go;
}): VNode {
  const narrow = (term: string): VNode =>
    el(
      'button',
      {
        type: 'button',
        class: 'link',
        title: `Filter by ${term}`,
        onClick: () => go({ filter: term }),
      },
      term.slice(term.indexOf(':') + 1),
    );
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
      fact('Cause', narrow(`cause:${/[\\s",]/.test(entry.cause) ? '*' : entry.cause}`)),
    entry.note !== undefined && fact('Note', entry.note),
    entry.attempts !== undefined && fact('Tries', String(entry.attempts)),
  );
}

/** Further facts of an entry: ids, sizes and versions. */
export function EntryIds({ entry }: { readonly entry: NumberedEntry }): VNode {
  const { apiVersion, rewriteMs, traceId, bytesIn, bytesOut, responseBytes } = entry;
  return el(
    'dl',
    { class: 'facts ids' },
    fact('Bytes', `${bytes(bytesIn)} in, ${bytes(bytesOut)} on, ${bytes(responseBytes)} back`),
    rewriteMs !== undefined && fact('Rewriting', `${rewriteMs.toFixed(2)} ms`),
    apiVersion !== undefined && fact('x-api-version', `${apiVersion.sent} (${WHY[apiVersion.why]})`),
    fact('Request id', el('code', null, visibleText(entry.requestId))),
    traceId !== undefined && fact('Trace', el('code', null, traceId)),
    fact('Rule book', el('code', null, entry.ruleBook)),
  );
}

const WHY = {
  absent: 'the client sent none',
  invalid: 'the client’s was not a date',
  future: 'the client’s was a day still to come',
  client: 'the client’s own',
  pin: 'pinned',
} as const;

function fact(name: string, value: ComponentChildren): VNode {
  return el('div', { class: 'fact' }, el('dt', null, name), el('dd', null, value));
}

/** The total duration as a bar, with the share of the service that responded. */
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
