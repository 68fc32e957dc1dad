import type { VNode } from 'preact';
import { useState } from 'preact/hooks';
import type { CaptureState, RefusedRuleBook, State } from '../api.ts';
import type { Condition, ConditionLevel } from '../conditions.ts';
import { send, useAttempt } from './admin-client.ts';
import { bytes, clockTime, count, counted } from './format.ts';
import { type Go, type PageState, placeAddress, type View, VIEWS } from './page-state.ts';
import { button, classes, el, form, linkButton, sentence, sentenceList } from './parts.ts';
import type { LiveView } from './traffic/live-entries.ts';

/** Titles of the views. */
export const VIEW_NAMES: Readonly<Record<View, string>> = {
  overview: 'Overview',
  traffic: 'Traffic',
  hour: 'Last hour',
  rules: 'Rule book',
  retirement: 'Retirement',
  end: 'End of V1',
  explain: 'Explain',
  rollout: 'Rollout',
  errors: 'Errors',
};

/** Properties of the header. */
interface PageHeaderProps {
  readonly place: PageState;
  readonly go: Go;
  readonly view: LiveView;
  readonly onHelp: () => void;
}

const CONNECTIONS = { connecting: 'Connecting', live: 'Connected', lost: 'No response' } as const;

/** The views, the conditions of the gateway, and whether bodies are captured. */
export function PageHeader({ place, go, view, onHelp }: PageHeaderProps): VNode {
  const { state, connection } = view;
  return el(
    'header',
    { class: 'page-header' },
    el(
      'h1',
      { class: 'brand' },
      el(
        'svg',
        { class: 'logo', viewBox: '0 0 28 28', 'aria-hidden': true },
        el('path', { d: 'M3 5h6a5 5 0 0 1 5 5v8a5 5 0 0 0 5 5h6' }),
        el('path', { class: 'arrow', d: 'M21 19l4 4-4 4M3 23h5' }),
      ),
      el('span', null, 'capture-gateway'),
    ),
    navigation(place, go),
    el(
      'div',
      { class: 'states' },
      state !== undefined && conditionsChip(state, go),
      state !== undefined && captureChip(state.capture),
      state !== undefined &&
        el(
          'span',
          { class: 'chip origin', title: `Rule book ${state.ruleBook}, gateway ${state.version}` },
          state.origin.replace(/^https?:\/\//, ''),
        ),
      state !== undefined &&
        state.droppedSpans > 0 &&
        el(
          'span',
          { class: 'chip warn', title: 'The collector did not receive them in time.' },
          `${count(state.droppedSpans)} spans dropped`,
        ),
      el(
        'span',
        { class: classes('chip', 'connection', connection) },
        el('i', { 'aria-hidden': true }),
        view.paused && connection === 'live' ? 'Paused' : CONNECTIONS[connection],
      ),
      state?.canLogOut === true && button('Log out', () => void logOut()),
      button('?', onHelp, {
        class: 'button help',
        'aria-label': 'Help',
        title: 'Help (?)',
        'aria-keyshortcuts': '?',
      }),
    ),
  );
}

/** Logs out and reloads, so that the page keeps nothing of the session. */
async function logOut(): Promise<void> {
  await send('logout', {}).catch(() => undefined);
  location.reload();
}

function navigation(place: PageState, go: Go): VNode {
  return el(
    'nav',
    { class: 'views', 'aria-label': 'Views' },
    VIEWS.map((view, index) =>
      el(
        'a',
        {
          key: view,
          href: placeAddress({ ...place, view, entry: undefined }),
          'aria-current': view === place.view ? 'page' : undefined,
          'aria-keyshortcuts': String(index + 1),
          onClick: (event) => {
            if (event.metaKey || event.ctrlKey || event.shiftKey) return;
            event.preventDefault();
            go({ view, entry: undefined });
          },
        },
        VIEW_NAMES[view],
      ),
    ),
  );
}

/** The words of a level. */
const LEVEL_WORDS: Readonly<Record<ConditionLevel, string>> = {
  bad: 'Bad',
  note: 'Note',
  unknown: 'Not known',
  good: 'Good',
};

/** The verdict in a few words; opened, its sentence and all conditions, with links to the views that show more. */
function conditionsChip({ verdict, conditions }: Pick<State, 'verdict' | 'conditions'>, go: Go): VNode {
  return el(
    'details',
    { class: 'conditions' },
    el(
      'summary',
      { class: classes('chip', 'condition', verdict.level), title: verdict.sentence },
      el('i', { 'aria-hidden': true }),
      verdict.label,
    ),
    el(
      'ul',
      { class: 'plain' },
      conditions.map((condition) =>
        el(
          'li',
          { key: condition.sentence, class: condition.level },
          el('strong', null, `${LEVEL_WORDS[condition.level]}: ${condition.label}`),
          el('p', null, sentence(condition.sentence), ' ', conditionLink(condition, go)),
        ),
      ),
    ),
  );
}

function conditionLink({ place }: Condition, go: Go): VNode | false {
  if (place === undefined) return false;
  const { view, filter = '' } = place;
  return linkButton(filter === '' ? `Open ${VIEW_NAMES[view]}` : 'Show the exchanges', () =>
    go({ view, filter, entry: undefined }),
  );
}

/** Shows, on every view, the conditions that make requests fail now; a refused rule book has its own banner. */
export function ConditionsBanner({
  conditions,
  go,
}: {
  readonly conditions: readonly Condition[];
  readonly go: Go;
}): VNode | null {
  const bad = conditions.filter(({ level, about }) => level === 'bad' && about !== 'rule-book');
  if (bad.length === 0) return null;
  return el(
    'section',
    { class: 'refused-book', role: 'alert' },
    bad.map((condition) =>
      el(
        'p',
        { key: condition.sentence },
        el('strong', null, `${condition.label}. `),
        sentence(condition.sentence),
        ' ',
        conditionLink(condition, go),
      ),
    ),
  );
}

/** Whether values are captured, which nobody must overlook. */
function captureChip({ mode, entries, bytes: usedBytes, maxEntries, maxBytes, masks }: CaptureState): VNode {
  if (mode === 'off') {
    return el(
      'span',
      { class: 'chip capture off', title: 'Only keys and structure of bodies are captured, no values.' },
      el('i', { 'aria-hidden': true }),
      'Capture off',
    );
  }
  const room = `${count(entries)} of ${count(maxEntries)} exchanges, ${bytes(usedBytes)} of ${bytes(maxBytes)}`;
  return el(
    'span',
    {
      class: 'chip capture on',
      title: `${room}; masked: ${masks.length === 0 ? 'nothing' : masks.join(', ')}`,
    },
    el('i', { 'aria-hidden': true }),
    'Capturing bodies',
    el('small', null, `${bytes(usedBytes)} of ${bytes(maxBytes)}`),
  );
}

/** Says that the rule book on disk is not the one in force, until a valid one is read. */
export function RefusedBanner({
  refused,
  inForce,
}: {
  readonly refused: RefusedRuleBook;
  /** Hash of the rule book in force. */
  readonly inForce: string;
}): VNode {
  const { at, faults, omitted } = refused;
  return el(
    'section',
    { class: 'refused-book', role: 'alert' },
    el(
      'p',
      null,
      el('strong', null, 'The new rule book was refused'),
      ` at ${clockTime(at)}. The one before it, ${inForce}, stays in force until the file is corrected.`,
    ),
    el(
      'details',
      null,
      el('summary', null, counted(faults.length + omitted, 'fault')),
      sentenceList(
        [...faults, ...(omitted > 0 ? [`and ${counted(omitted, 'more fault')}, not listed`] : [])],
        (fault) => fault,
      ),
    ),
  );
}

/** Prompts for the admin token; the gateway responds with a cookie, so the page stores nothing. */
export function Login({ onDone }: { readonly onDone: () => void }): VNode {
  const [token, setToken] = useState('');
  const [fault, attempt] = useAttempt();
  const login = (): Promise<boolean> =>
    attempt(async () => {
      await send('login', { token });
      onDone();
    });
  return el(
    'main',
    { class: 'login' },
    form(
      { class: 'card' },
      login,
      el('h1', null, 'capture-gateway'),
      el('p', null, 'Enter the token of the admin listener.'),
      el('label', { for: 'token' }, 'Admin token'),
      el('input', {
        id: 'token',
        type: 'password',
        autocomplete: 'current-password',
        value: token,
        onInput: ({ currentTarget }) => setToken(currentTarget.value),
      }),
      el('button', { type: 'submit', class: 'button primary' }, 'Open the inspector'),
      el('p', { class: 'fault', role: 'alert' }, fault),
    ),
  );
}
