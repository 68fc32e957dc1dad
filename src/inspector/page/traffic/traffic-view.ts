import type { VNode } from 'preact';
import { useEffect, useMemo } from 'preact/hooks';
import type { NumberedEntry, RulesView } from '../../api.ts';
import type { KnownValues } from '../../../rewrite-log/filter/filter-completion.ts';
import { classes, el, part } from '../parts/element.ts';
import { EntryDetail } from '../entries/entry-detail.ts';
import { EntryList } from '../entries/entry-list.ts';
import { entrySentence } from '../../entries/entry-words.ts';
import { FilterBar } from '../entries/filter-bar.ts';
import { count, counted } from '../parts/format.ts';
import type { HueOf } from './hues.ts';
import type { LiveEntries } from '../entries/live-entries.ts';
import type { LiveView } from '../entries/live-view.ts';
import { PaneSplitter } from '../parts/pane-splitter.ts';
import { TimeBar } from './time-bar.ts';
import { type Go, linkTo, type PageState } from '../page-state.ts';

/** Properties of the traffic. */
export interface TrafficViewProps {
  readonly place: PageState;
  readonly go: Go;
  readonly live: LiveEntries;
  readonly view: LiveView;
  readonly rules: RulesView | undefined;
  readonly active: number | undefined;
  readonly onActive: (seq: number | undefined) => void;
  readonly hueOf: HueOf;
  /** The name of a client, where it has one. */
  readonly nameOf: (client: string | undefined) => string | undefined;
  readonly summaryOf: (change: string) => string | undefined;
  readonly announce: (sentence: string) => void;
  /** Share of the list beside an exchange, in percent. */
  readonly listShare: number;
  readonly onListShare: (share: number) => void;
}

/** The live list of exchanges, and the open one beside it. */
export function TrafficView(props: TrafficViewProps): VNode {
  const { place, go, live, view, rules, active, onActive, hueOf, announce } = props;
  const { filter, entry: open } = place;
  useEffect(() => void live.follow(filter), [filter]);
  useEffect(() => {
    if (open !== undefined) live.pause();
  }, [open]);
  const known = useMemo(() => knownValues(rules, view.rows), [rules, view.paused, open, filter]);
  const openEntry = (entry: NumberedEntry): void => {
    onActive(entry.seq);
    go({ entry: linkTo(entry) }, open === undefined ? 'keep' : 'replace');
    announce(entrySentence(entry));
  };
  return el(
    'div',
    { class: classes('traffic', open !== undefined && 'with-detail') },
    el('h2', { class: 'sr-only' }, 'Traffic'),
    el(
      'div',
      { class: 'toolbar' },
      part(FilterBar, { filter, known, onFilter: (text) => go({ filter: text }, 'replace') }),
      flow(view, live),
      part(TimeBar, {
        filter,
        hasRows: view.rows.length > 0,
        onFilter: (text) => go({ filter: text }, 'replace'),
      }),
    ),
    el(
      'div',
      { class: 'split', style: { '--list-share': `${props.listShare}%` } },
      el(
        'div',
        { class: 'list-box' },
        part(EntryList, {
          rows: view.rows,
          isLive: !view.paused,
          active,
          open,
          hueOf,
          nameOf: props.nameOf,
          empty: emptyWords(view, filter),
          onOpen: openEntry,
          onLeaveTop: () => live.pause(),
          onNearEnd: () => live.loadOlder(),
        }),
      ),
      open !== undefined && part(PaneSplitter, { share: props.listShare, onShare: props.onListShare }),
      open !== undefined &&
        part(EntryDetail, {
          link: open,
          canResend: view.state?.canResend === true,
          perspective: place.perspective,
          go,
          announce,
          hueOf,
          nameOf: props.nameOf,
          summaryOf: props.summaryOf,
        }),
    ),
  );
}

/** The state of the list, and the button that pauses or resumes it. */
function flow(view: LiveView, live: LiveEntries): VNode {
  const { paused, waiting, state } = view;
  const sample = paused ? olderWords(view) : sampleWords(view.strides);
  return el(
    'div',
    { class: 'flow' },
    el(
      'span',
      { class: 'rate' },
      state !== undefined && el('span', { class: 'per-second' }, `${count(state.perSecond)}/s`),
      sample !== '' &&
        el(
          'span',
          {
            class: 'sample',
            title: paused
              ? 'The gateway keeps failures for longer than other exchanges.'
              : 'Only a sample is shown at this rate. Pause or filter to see every exchange.',
          },
          sample,
        ),
    ),
    el(
      'button',
      {
        type: 'button',
        class: classes('button', 'pause', paused && 'held'),
        'aria-keyshortcuts': 'p',
        onClick: () => (paused ? live.resume() : live.pause()),
      },
      el('span', {
        class: classes('sign', paused ? 'sign-live' : 'sign-pause'),
        'aria-hidden': true,
      }),
      paused ? 'Go live' : 'Pause',
      paused && waiting > 0 && el('span', { class: 'waiting' }, `${count(waiting)} new`),
    ),
  );
}

function sampleWords({ failures, others }: LiveView['strides']): string {
  if (failures > 1) return `showing 1 of ${failures} failures, 1 of ${others} others`;
  return others > 1 ? `showing 1 of ${others}, and every failure` : '';
}

function olderWords({ rows, oldest }: LiveView): string {
  const older = rows.filter(({ seq }) => seq < oldest).length;
  return older === 0 ? '' : `the last ${counted(older, 'row')}: failures only`;
}

function emptyWords({ connection, failure }: LiveView, filter: string): string {
  if (failure !== undefined) return failure.message;
  if (connection === 'connecting') return 'Loading exchanges…';
  if (filter !== '') return 'No recent exchange matches this filter. New ones appear here.';
  return 'No exchanges yet. Send a request to the gateway, and it appears here.';
}

/** Completions for filters: from the rule book, and from the current rows. */
function knownValues(rules: RulesView | undefined, rows: readonly NumberedEntry[]): KnownValues {
  const several = (values: readonly (string | undefined)[]): readonly string[] => [
    ...new Set(values.flatMap((value) => value ?? [])),
  ];
  return {
    op: rules?.operations.flatMap(({ id }) => (id === '(other)' ? [] : [id])) ?? [],
    change: rules?.changes.map(({ id }) => id) ?? [],
    client: several(rows.map(({ client }) => client)).slice(0, 20),
    failure: several(rows.map(({ failure, would }) => failure ?? would?.failure)),
    cause: several(rows.map(({ cause }) => cause)),
  };
}
