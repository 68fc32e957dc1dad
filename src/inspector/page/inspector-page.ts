import type { VNode } from 'preact';
import { useEffect, useMemo, useState } from 'preact/hooks';
import type { ClientsView, RulesView as Rules } from '../api.ts';
import { useAsked } from './admin-client.ts';
import { nameOf } from './client-name.ts';
import { EndView } from './end-view.ts';
import { ErrorsView } from './errors-view.ts';
import { ExplainView } from './explain-view.ts';
import { huesOf, whoseWords } from './format.ts';
import { HelpDialog, type KeyActions, useKeys, usePreferences } from './help-dialog.ts';
import { HourView } from './hour/hour-view.ts';
import { ConditionsBanner, Login, PageHeader, RefusedBanner, VIEW_NAMES } from './page-header.ts';
import { linkTo, PERSPECTIVES, usePlace, type View, VIEWS } from './page-state.ts';
import { type Announce, classes, el, type PageTools, part } from './parts.ts';
import { RetirementView } from './retirement-view.ts';
import { RolloutView } from './rollout-view.ts';
import { RulesView } from './rules-view.ts';
import { OverviewView } from './overview-view.ts';
import { LiveEntries, NOTHING_YET } from './traffic/live-entries.ts';
import { TrafficView } from './traffic/traffic-view.ts';

const RULES_EVERY = 5000;
const CLIENTS_EVERY = 10_000;
const ANNOUNCEMENT_MS = 4000;

/** The whole page. */
export function InspectorPage(): VNode {
  const [place, go] = usePlace();
  const [view, setView] = useState(NOTHING_YET);
  const live = useMemo(() => new LiveEntries(setView), []);
  const [active, setActive] = useState<number | undefined>(place.entry?.seq);
  // Here, so that it survives a visit to another view.
  const [draft, setDraft] = useState<string | undefined>(undefined);
  const [isHelpOpen, setIsHelpOpen] = useState(false);
  const [preferences, prefer] = usePreferences();
  const { density, listShare, hasLetters } = preferences;
  const [announcement, announce] = useAnnouncement(place.view);
  // The first view does not need the rule book, which would be a fifth of the page's data.
  const rules = useAsked<Rules>(place.view === 'overview' ? undefined : 'rules', RULES_EVERY);
  const asked = useAsked<ClientsView>('clients', CLIENTS_EVERY);
  const [named, setNamed] = useState<ClientsView | undefined>(undefined);
  useEffect(() => setNamed(undefined), [asked.response]);
  const clients = named ?? asked.response;
  const hueOf = useMemo(
    () => huesOf(rules.response?.changes.map(({ id }) => id) ?? []),
    [rules.response?.hash],
  );
  const summaryOf = (change: string): string | undefined =>
    rules.response?.changes.find(({ id }) => id === change)?.summary;
  useEffect(() => {
    const rest = (): void => (document.hidden ? live.sleep() : live.wake());
    document.addEventListener('visibilitychange', rest);
    return () => {
      document.removeEventListener('visibilitychange', rest);
      live.stop();
    };
  }, []);
  useEffect(() => {
    document.title = `${VIEW_NAMES[place.view]} – capture-gateway inspector`;
  }, [place.view]);
  useEffect(() => {
    if (place.view !== 'traffic') void live.follow(place.filter);
  }, []);
  const move = (by: number): void => {
    live.pause();
    const { rows } = view;
    const at = rows.findIndex(({ seq }) => seq === active);
    const next = rows[Math.min(Math.max(at < 0 ? 0 : at + by, 0), rows.length - 1)];
    if (next === undefined) return;
    setActive(next.seq);
    document.getElementById('entries')?.focus({ preventScroll: true });
    if (place.entry !== undefined) go({ entry: linkTo(next) }, 'replace');
  };
  const close = (): void => {
    document.getElementById('entries')?.focus({ preventScroll: true });
    if (place.entry !== undefined) return go({ entry: undefined });
    setActive(undefined);
    live.resume();
  };
  const actions: KeyActions = {
    move,
    open: () => {
      const row = view.rows.find(({ seq }) => seq === active);
      if (row !== undefined) go({ entry: linkTo(row) });
    },
    close,
    filter: () => document.getElementById('filter')?.focus(),
    pause: () => (view.paused ? live.resume() : live.pause()),
    help: () => setIsHelpOpen(true),
    density: () => prefer({ density: density === 'compact' ? 'comfortable' : 'compact' }),
    view: (index) => go({ view: VIEWS[index] ?? 'overview', entry: undefined }),
    perspective: (by) => {
      const at = PERSPECTIVES.indexOf(place.perspective) + by;
      go({ perspective: PERSPECTIVES.at(at % PERSPECTIVES.length) ?? 'diff' }, 'replace');
    },
    copy: (version) =>
      document
        .querySelector<HTMLElement>(`.detail [aria-keyshortcuts="${version === 'v1' ? 'c' : 'Shift+C'}"]`)
        ?.click(),
  };
  useKeys(actions, hasLetters);
  if (view.failure?.status === 401 || rules.failure?.status === 401) {
    return part(Login, { onDone: () => location.reload() });
  }
  const whose = whoseWords(view.state?.replica);
  const shared: PageTools = { go, announce, hueOf, summaryOf, nameOf: (hash) => nameOf(clients, hash) };
  return el(
    'div',
    { class: 'page' },
    el('a', { class: 'skip', href: '#main' }, 'Skip to the content'),
    part(PageHeader, { place, go, view, onHelp: () => setIsHelpOpen(true) }),
    el(
      'div',
      null,
      view.state !== undefined && part(ConditionsBanner, { conditions: view.state.conditions, go }),
      view.state?.refusedRuleBook !== undefined &&
        part(RefusedBanner, { refused: view.state.refusedRuleBook, inForce: view.state.ruleBook }),
    ),
    el(
      'main',
      { id: 'main', tabIndex: -1 },
      place.view === 'overview' && part(OverviewView, { go }),
      place.view === 'traffic' &&
        part(TrafficView, {
          ...shared,
          place,
          live,
          view,
          rules: rules.response,
          whose,
          active,
          onActive: setActive,
          listShare,
          onListShare: (share) => prefer({ listShare: share }),
        }),
      place.view === 'errors' && part(ErrorsView, { go, whose }),
      place.view === 'hour' && part(HourView, { go, whose }),
      place.view === 'rules' && part(RulesView, { asked: rules, go, hueOf, announce, draft, setDraft }),
      place.view === 'retirement' && part(RetirementView, { ...shared, clients, onNamed: setNamed }),
      place.view === 'end' && part(EndView, { go }),
      place.view === 'rollout' &&
        part(RolloutView, {
          go,
          announce,
          rules: rules.response,
          conditions: view.state?.conditions ?? [],
        }),
      place.view === 'explain' && part(ExplainView, { rules: rules.response, link: place.entry, ...shared }),
    ),
    el(
      'p',
      {
        class:
          announcement.isSpoken === true ? 'sr-only' : classes('said', announcement.text !== '' && 'shown'),
        role: 'status',
        'aria-live': 'polite',
      },
      announcement.text,
    ),
    part(HelpDialog, {
      isOpen: isHelpOpen,
      onClose: () => setIsHelpOpen(false),
      preferences,
      prefer,
    }),
  );
}

/** A sentence for screen readers and, unless the page shows it elsewhere, for the foot of the page. */
interface Announcement {
  readonly text: string;
  readonly isSpoken?: boolean;
}

const SILENCE: Announcement = { text: '' };

/** Announces one sentence at a time, politely, for a moment at most; a change of the view removes it. */
function useAnnouncement(view: View): readonly [Announcement, Announce] {
  const [announcement, setAnnouncement] = useState(SILENCE);
  useEffect(() => setAnnouncement(SILENCE), [view]);
  useEffect(() => {
    if (announcement.text === '') return undefined;
    const timer = setTimeout(() => setAnnouncement(SILENCE), ANNOUNCEMENT_MS);
    return () => clearTimeout(timer);
  }, [announcement]);
  return [announcement, (text, isSpoken = false) => setAnnouncement({ text, isSpoken })];
}
