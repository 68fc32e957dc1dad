import type { VNode } from 'preact';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { ClientsView as Known, Overview, RolloutScreen, RulesView as Rules, State } from '../api.ts';
import { type Asked, useAsked } from './admin-client.ts';
import { shownName } from './clients/client-name.tsx';
import { ClientsView } from './clients/clients-view.tsx';
import { endingOf, huesOf, whoseWords } from './format.ts';
import { HelpDialog, type KeyActions, useKeys, usePreferences } from './help-dialog.tsx';
import { ConditionsBanner, Login, PageHeader, VIEW_NAMES } from './page-header.tsx';
import { linkTo, PERSPECTIVES, type PageState, usePlace, type View, VIEWS } from './page-state.ts';
import { type Announce, classes, EndingContext, type PageTools } from './parts.tsx';
import { useRolloutCommands } from './rollout/rollout-form.tsx';
import { RolloutView } from './rollout/rollout-view.tsx';
import { RulesView } from './rules/rules-view.tsx';
import { OverviewView } from './overview/overview-view.tsx';
import { type Span, SPANS } from './overview/traffic-charts.tsx';
import { LiveEntries, NOTHING_YET } from './traffic/live-entries.ts';
import { ProblemsView } from './traffic/problems-view.tsx';
import { TrafficView } from './traffic/traffic-view.tsx';

const OVERVIEW_EVERY = 5000;
const RULES_EVERY = 5000;
const ROLLOUT_EVERY = 2000;
const CLIENTS_EVERY = 10_000;
const ANNOUNCEMENT_MS = 4000;

/** The whole page. */
export function InspectorPage(): VNode {
  const [place, go] = usePlace();
  const [view, setView] = useState(NOTHING_YET);
  const live = useMemo(() => new LiveEntries(setView), []);
  const [active, setActive] = useState<number | undefined>(place.entry?.seq);
  // Kept here, so that the draft survives a visit to another view.
  const [draft, setDraft] = useState<string | undefined>(undefined);
  const [isHelpOpen, setIsHelpOpen] = useState(false);
  const [preferences, prefer] = usePreferences();
  const { density, listShare, hasLetters } = preferences;
  const [announcement, announce] = useAnnouncement(place.view);
  // The first view does not need the rule book, which would be a fifth of the page's data.
  const rules = useAsked<Rules>(place.view === 'overview' ? undefined : 'rules', RULES_EVERY);
  const [span, setSpan] = useState<Span>(SPANS[0]);
  const overview = useOverview(place.view === 'overview', span, view.state);
  const asked = useAsked<Known>('clients', CLIENTS_EVERY);
  const [named, setNamed] = useState<Known | undefined>(undefined);
  useEffect(() => setNamed(undefined), [asked.response]);
  const clients = named ?? asked.response;
  const commands = useRolloutCommands(rules.response, announce);
  const rollout = useRollout(place.view === 'rollout', commands.changed);
  // The header, too, is of the moment of the view.
  const screen = place.view === 'rollout' ? rollout : overview;
  const state = (screen.failure === undefined ? screen.response?.state : undefined) ?? view.state;
  const hueOf = useMemo(
    () => huesOf(rules.response?.changes.map(({ id }) => id) ?? []),
    [rules.response?.hash],
  );
  const summaryOf = (change: string): string | undefined =>
    rules.response?.changes.find(({ id }) => id === change)?.summary;
  const addressOf: PageTools['addressOf'] = (operation) =>
    rules.response?.operations.find(({ id }) => id === operation)?.to;
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
    // The view of the traffic follows its filter itself.
    if (place.view !== 'traffic' || place.part !== undefined) void live.follow(place.filter);
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
  const { end } = state ?? {};
  // Each state brings the same dates anew.
  const ending = useMemo(() => endingOf(end), [JSON.stringify(end)]);
  if (view.failure?.status === 401 || rules.failure?.status === 401) {
    return <Login onDone={() => location.reload()} />;
  }
  const whose = whoseWords(state?.replica);
  const shared: PageTools = {
    go,
    announce,
    hueOf,
    summaryOf,
    addressOf,
    nameOf: (hash) => shownName(clients, hash),
  };
  return (
    <EndingContext.Provider value={ending}>
      <div class="page">
        <a class="skip" href="#main">
          Skip to the content
        </a>
        <PageHeader place={place} go={go} view={{ ...view, state }} onHelp={() => setIsHelpOpen(true)} />
        <div>
          {state !== undefined && place.view !== 'overview' && (
            <ConditionsBanner
              conditions={conditionsFor(place.view, state.conditions)}
              refused={state.refusedRuleBook}
              here={place.view}
              go={go}
              onCommand={commands.check}
            />
          )}
        </div>
        <main id="main" tabIndex={-1}>
          {place.view === 'overview' && (
            <OverviewView
              go={go}
              nameOf={shared.nameOf}
              whose={whose}
              onCommand={commands.check}
              asked={overview}
              live={state}
              span={span}
              onSpan={setSpan}
            />
          )}
          {place.view === 'traffic' && place.part === 'problems' && (
            <ProblemsView
              go={go}
              nameOf={shared.nameOf}
              filter={place.filter}
              rules={rules.response}
              whose={whose}
            />
          )}
          {place.view === 'traffic' && place.part === undefined && (
            <TrafficView
              {...shared}
              place={place}
              live={live}
              view={view}
              rules={rules.response}
              whose={whose}
              active={active}
              onActive={setActive}
              listShare={listShare}
              onListShare={(share) => prefer({ listShare: share })}
            />
          )}
          {place.view === 'rules' && (
            <RulesView {...shared} asked={rules} link={place.entry} draft={draft} setDraft={setDraft} />
          )}
          {place.view === 'clients' && <ClientsView {...shared} clients={clients} onNamed={setNamed} />}
          {place.view === 'rollout' && (
            <RolloutView go={go} commands={commands} rules={rules.response} asked={rollout} />
          )}
          {commands.dialog}
        </main>
        <p
          class={
            announcement.isSpoken === true ? 'sr-only' : classes('said', announcement.text !== '' && 'shown')
          }
          role="status"
          aria-live="polite"
        >
          {announcement.text}
        </p>
        <HelpDialog
          isOpen={isHelpOpen}
          onClose={() => setIsHelpOpen(false)}
          preferences={preferences}
          prefer={prefer}
        />
      </div>
    </EndingContext.Provider>
  );
}

/** The conditions for the banner of a view: Rollout shows roll-backs itself, and Rules is where the faults of a rule book are mended. */
function conditionsFor(view: PageState['view'], conditions: State['conditions']): State['conditions'] {
  if (view === 'rollout') return conditions.filter(({ about }) => about !== 'roll-back');
  if (view !== 'rules') return conditions;
  const isOfBook = ({ about }: State['conditions'][number]): boolean => about === 'rule-book';
  return [...conditions.filter(isOfBook), ...conditions.filter((one) => !isOfBook(one))];
}

/** The overview; the last one while another span of its charts is loaded, and a new one as soon as the header has another verdict. */
function useOverview(isShown: boolean, { by }: Span, live: State | undefined): Asked<Overview> {
  const verdict = live && `${live.verdict.level} ${live.verdict.about}`;
  const first = useRef(verdict);
  first.current ??= verdict;
  const path = isShown ? `overview?by=${by}` : undefined;
  const asked = useAsked<Overview>(path, OVERVIEW_EVERY, verdict === first.current ? undefined : verdict);
  const last = useRef<Overview | undefined>(undefined);
  last.current = isShown ? (asked.response ?? last.current) : undefined;
  return { ...asked, response: last.current };
}

/** The rollout, as `changed` by the last command until a later one is loaded. */
function useRollout(isShown: boolean, changed: RolloutScreen | undefined): Asked<RolloutScreen> {
  const asked = useAsked<RolloutScreen>(isShown ? 'rollout' : undefined, ROLLOUT_EVERY);
  const isNewer = changed !== undefined && changed.revision > (asked.response?.revision ?? 0);
  return isNewer ? { ...asked, response: changed } : asked;
}

/** A sentence for screen readers and, unless the page shows it elsewhere, for the foot of the page. */
interface Announcement {
  readonly text: string;
  readonly isSpoken?: boolean;
}

const SILENCE: Announcement = { text: '' };

/** Announces one sentence at a time as `polite` (ARIA), for a moment; a change of the view removes it. */
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
