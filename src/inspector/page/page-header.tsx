import type { VNode } from 'preact';
import { useState } from 'preact/hooks';
import type { RolloutRequest } from '../../rollout/rollout-tally.ts';
import type { CaptureState, RefusedRuleBook, State } from '../api.ts';
import type { Condition, ConditionLevel } from '../condition.ts';
import { send, useAttempt } from './admin-client.ts';
import { bytes, count, counted } from './format.ts';
import { type Go, openHere, type PageState, placeAddress, type View, VIEWS } from './page-state.ts';
import {
  Button,
  classes,
  Form,
  LinkButton,
  sentence,
  SentenceList,
  ShortTime,
  visibleText,
} from './parts.tsx';
import type { LiveView } from './traffic/live-entries.ts';

/** Titles of the views. */
export const VIEW_NAMES: Readonly<Record<View, string>> = {
  overview: 'Overview',
  traffic: 'Traffic',
  clients: 'Clients',
  rules: 'Rules',
  rollout: 'Rollout',
};

interface PageHeaderProps {
  readonly place: PageState;
  readonly go: Go;
  readonly view: LiveView;
  readonly onHelp: () => void;
}

const LOGO = (
  <svg class="logo" viewBox="0 0 28 28" aria-hidden>
    <path d="M3 5h6a5 5 0 0 1 5 5v8a5 5 0 0 0 5 5h6" />
    <path class="arrow" d="M21 19l4 4-4 4M3 23h5" />
  </svg>
);

const CONNECTIONS = { connecting: 'Connecting', live: 'Connected', lost: 'No response' } as const;

/** The views, the conditions of the gateway, and whether bodies are captured. */
export function PageHeader({ place, go, view, onHelp }: PageHeaderProps): VNode {
  const { state, connection } = view;
  return (
    <header class="page-header">
      <h1 class="brand">
        {LOGO}
        <span>capture-gateway</span>
      </h1>
      {navigation(place, go)}
      <div class="states">
        {state !== undefined && conditionsChip(state, go)}
        {state !== undefined && captureChip(state.capture)}
        {state !== undefined && (
          <span
            class="chip origin"
            title={`V2 is at ${state.origin}; rule book ${state.ruleBook}, gateway ${state.version}`}
          >
            V2 <code>{state.origin.replace(/^https?:\/\//, '')}</code>
          </span>
        )}
        {state !== undefined && state.droppedSpans > 0 && (
          <span class="chip warn" title="The collector did not receive them in time.">
            {`${count(state.droppedSpans)} spans dropped`}
          </span>
        )}
        <span class={classes('chip', 'connection', connection)}>
          <i aria-hidden />
          <span>
            {place.view === 'traffic' && view.paused && connection === 'live'
              ? 'Paused'
              : CONNECTIONS[connection]}
          </span>
        </span>
        {state?.canLogOut === true && <Button onClick={() => void logOut()}>Log out</Button>}
        <Button class="button help" aria-label="Help" title="Help (?)" aria-keyshortcuts="?" onClick={onHelp}>
          ?
        </Button>
      </div>
    </header>
  );
}

/** Logs out and reloads, so that the page keeps nothing of the session. */
async function logOut(): Promise<void> {
  await send('logout', {}).catch(() => undefined);
  location.reload();
}

function navigation(place: PageState, go: Go): VNode {
  return (
    <nav class="views" aria-label="Views">
      {VIEWS.map((view, index) => (
        <a
          key={view}
          href={placeAddress({ ...place, view, part: undefined, entry: undefined })}
          aria-current={view === place.view ? 'page' : undefined}
          aria-keyshortcuts={String(index + 1)}
          onClick={openHere(() => go({ view, entry: undefined }))}
        >
          {VIEW_NAMES[view]}
        </a>
      ))}
    </nav>
  );
}

const LEVEL_WORDS: Readonly<Record<ConditionLevel, string>> = {
  bad: 'Bad',
  note: 'Note',
  unknown: 'Not known',
  good: 'Good',
};

/** The verdict in a few words; opened, its sentence and all conditions, with links to the views that show more. */
function conditionsChip({ verdict, conditions }: Pick<State, 'verdict' | 'conditions'>, go: Go): VNode {
  return (
    <details class="conditions">
      <summary class={classes('chip', 'condition', verdict.level)} title={verdict.sentence}>
        <i aria-hidden />
        <span>
          {verdict.label.split(/(?= for |; )/).map((part) => (
            <span key={part}>{part}</span>
          ))}
        </span>
      </summary>
      <ul class="plain">
        {conditions.map((condition) => (
          <li key={condition.sentence} class={condition.level}>
            <strong>
              {LEVEL_WORDS[condition.level]}
              {!condition.sentence.startsWith(condition.label) && `: ${condition.label}`}
            </strong>
            <p>
              {sentence(condition.sentence)} {conditionLink(condition, go)}
            </p>
          </li>
        ))}
      </ul>
    </details>
  );
}

export function conditionLink({ place }: Pick<Condition, 'place'>, go: Go): VNode | false {
  if (place === undefined) return false;
  const { view, part, filter = '' } = place;
  return (
    <LinkButton onClick={() => go({ view, part, filter, entry: undefined })}>
      {part === 'problems'
        ? 'Show the problems'
        : filter === ''
          ? `Open ${VIEW_NAMES[view]}`
          : 'Show the exchanges'}
    </LinkButton>
  );
}

/** Checks a command, and asks the operator to confirm it. */
export type OnCommand = (request: RolloutRequest) => void;

interface ActionButtonProps {
  /** The action that ends a condition; undefined if none is known. */
  readonly action: Condition['action'];
  readonly onCommand: OnCommand;
  /** True for the one thing to do. */
  readonly isMain?: boolean;
}

/** A button that ends a condition, after a confirmation. */
export function ActionButton({ action, onCommand, isMain }: ActionButtonProps): VNode | false {
  if (action === undefined) return false;
  return (
    <Button class={classes('button', isMain && 'primary')} onClick={() => onCommand(action.request)}>
      {action.title}
    </Button>
  );
}

/** The label of a condition, and its sentence without the words that repeat it. */
export function ConditionWords({ label, sentence: words }: Condition): VNode {
  const isNamed = words.startsWith(label);
  return (
    <>
      <strong>{visibleText(label)}</strong>
      {isNamed ? '' : '. '}
      {sentence(isNamed ? words.slice(label.length) : words)}
    </>
  );
}

/** Shows, above every view but Overview, the worst condition that makes requests fail now; the others are counted, and on Overview. */
export function ConditionsBanner({
  conditions,
  refused,
  here,
  go,
  onCommand,
}: {
  readonly conditions: readonly Condition[];
  /** The refused rule book, whose faults are listed. */
  readonly refused: RefusedRuleBook | undefined;
  /** The view below the banner. */
  readonly here: View;
  readonly go: Go;
  readonly onCommand: OnCommand;
}): VNode | null {
  const [worst, ...others] = conditions.filter(({ level }) => level === 'bad');
  if (worst === undefined) return null;
  const { about } = worst;
  const isHere = about === 'rule-book' && here === 'rules';
  return (
    <section class="refused-book" role="alert">
      <p>
        <ConditionWords {...worst} /> {!isHere && conditionLink(worst, go)}{' '}
        <ActionButton action={worst.action} onCommand={onCommand} />
      </p>
      {about === 'rule-book' && refused !== undefined && <RefusedFaults refused={refused} />}
      {others.length > 0 && (
        <p>
          <LinkButton onClick={() => go({ view: 'overview', entry: undefined })}>
            {`And ${count(others.length)} more`}
          </LinkButton>
          {visibleText(`: ${others.map((one) => one.label).join('; ')}`)}
        </p>
      )}
    </section>
  );
}

/** The state of value capture, which must be easy to see. */
function captureChip({ mode, entries, bytes: usedBytes, maxEntries, maxBytes, masks }: CaptureState): VNode {
  if (mode === 'off') {
    return (
      <span class="chip capture off" title="Only keys and structure of bodies are captured, no values.">
        <i aria-hidden />
        Capture off
      </span>
    );
  }
  const room = `${count(entries)} of ${count(maxEntries)} exchanges, ${bytes(usedBytes)} of ${bytes(maxBytes)}`;
  return (
    <span
      class="chip capture on"
      title={`${room}; masked: ${masks.length === 0 ? 'nothing' : masks.join(', ')}`}
    >
      <i aria-hidden />
      <span>
        Capturing<span class="more"> bodies</span>
      </span>
      <small>{`${bytes(usedBytes)} of ${bytes(maxBytes)}`}</small>
    </span>
  );
}

/** Faults that stand open: with more, what follows them would be out of sight. */
const OPEN_FAULTS = 3;

/** The faults of a refused rule book, and since when it has been refused. */
export function RefusedFaults({
  refused: { at, faults, omitted },
}: {
  readonly refused: RefusedRuleBook;
}): VNode {
  return (
    <details open={faults.length <= OPEN_FAULTS}>
      <summary>
        {`${counted(faults.length + omitted, 'fault')} since `}
        <ShortTime at={at} />
      </summary>
      <SentenceList
        sentences={[...faults, ...(omitted > 0 ? [`and ${counted(omitted, 'more fault')}, not listed`] : [])]}
        shown={(fault) => fault}
      />
    </details>
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
  return (
    <main class="login">
      <Form class="card" onSubmit={login}>
        <h1 class="brand">{LOGO} capture-gateway</h1>
        <p>Enter the token of the admin listener.</p>
        <label for="token">Admin token</label>
        <input
          id="token"
          type="password"
          autocomplete="current-password"
          autofocus
          value={token}
          onInput={({ currentTarget }) => setToken(currentTarget.value)}
        />
        <button type="submit" class="button primary">
          Open the inspector
        </button>
        <p class="fault" role="alert">
          {fault}
        </p>
      </Form>
    </main>
  );
}
