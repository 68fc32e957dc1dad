import type { ComponentChildren, VNode } from 'preact';
import type { NumberedEntry } from '../api.ts';
import { el } from './element.ts';
import { statusTone, statusWords } from './entry-words.ts';
import { bytes, clockTime, milliseconds } from './format.ts';
import type { Go } from './page-state.ts';

/** The facts of an entry, the most requested first. */
export function EntryFacts({ entry, go }: { readonly entry: NumberedEntry; readonly go: Go }): VNode {
  const narrow = (term: string): VNode =>
    el(
      'button',
      { type: 'button', class: 'link', title: `Filter by ${term}`, onClick: () => go({ filter: term }) },
      term.slice(term.indexOf(':') + 1),
    );
  return el(
    'dl',
    { class: 'facts' },
    fact(
      'Status',
      el('span', { class: `status status-${statusTone(entry.status)}` }, statusWords(entry.status)),
    ),
    fact('Time', el('time', { dateTime: entry.time, title: entry.time }, clockTime(entry.time))),
    fact('Client', entry.client === undefined ? 'no key' : narrow(`client:${entry.client}`)),
    entry.operation !== undefined && fact('Operation', narrow(`op:${entry.operation}`)),
    fact('Duration', durations(entry)),
    entry.failure !== undefined && fact('Failure', failure(entry)),
    entry.note !== undefined && fact('Note', entry.note),
    entry.attempts !== undefined && fact('Sent to V2', `${entry.attempts} times`),
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
    fact('Request id', el('code', null, entry.requestId)),
    traceId !== undefined && fact('Trace', el('code', null, traceId)),
    fact('Rule book', el('code', null, entry.ruleBook)),
  );
}

const WHY = {
  absent: 'the client sent none',
  invalid: 'the client’s was not a date',
  client: 'the client’s own',
  pin: 'pinned',
} as const;

function fact(name: string, value: ComponentChildren): VNode {
  return el('div', { class: 'fact' }, el('dt', null, name), el('dd', null, value));
}

/** The total duration as a bar, with V2's share of it. */
function durations({ totalMs, upstreamMs }: NumberedEntry): VNode {
  const share = upstreamMs === undefined || totalMs <= 0 ? 0 : Math.min(1, upstreamMs / totalMs);
  const words = upstreamMs === undefined ? '' : `, V2 ${milliseconds(upstreamMs)} ms`;
  return el(
    'span',
    { class: 'duration' },
    `${milliseconds(totalMs)} ms${words}`,
    upstreamMs !== undefined &&
      el(
        'svg',
        { class: 'duration-bar', viewBox: '0 0 100 4', preserveAspectRatio: 'none', 'aria-hidden': true },
        el('rect', { class: 'whole', width: 100, height: 4 }),
        el('rect', { class: 'upstream', width: share * 100, height: 4 }),
      ),
  );
}

function failure({ failure: code, pointer, position }: NumberedEntry): VNode {
  return el(
    'span',
    null,
    el('code', null, code ?? ''),
    pointer !== undefined && [' at ', el('code', null, pointer === '' ? '/' : pointer)],
    position !== undefined && ` at byte ${position.offset}, line ${position.line}, column ${position.column}`,
  );
}
