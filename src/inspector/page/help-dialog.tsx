import type { VNode } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { FILTER_FIELDS } from '../../rewrite-log/filter.ts';
import { keepValue, keptValue, VIEWS } from './page-state.ts';
import { Checkbox, Button, DEFAULT_SHARE, unbrokenWords } from './parts.tsx';

interface HelpDialogProps {
  readonly isOpen: boolean;
  readonly onClose: () => void;
  readonly preferences: Preferences;
  readonly prefer: Prefer;
}

/** The keys with their actions, for the help. */
const KEYS: readonly (readonly [keys: string, does: string])[] = [
  ['j k or ↓ ↑', 'next and previous exchange'],
  ['Home End', 'newest and oldest exchange in the list'],
  ['Enter', 'open the exchange'],
  ['Esc', 'close, or go live'],
  ['/', 'filter'],
  ['p', 'pause and go live'],
  ['[ ]', 'previous and next perspective'],
  ['c C', 'copy as curl for V1, for V2'],
  ['d', 'compact or comfortable rows'],
  ['1 – 5', 'the views'],
  ['?', 'this help'],
];

const PAGE = 12;

const LIST_KEYS: Readonly<Record<string, Action>> = {
  ArrowDown: ({ move }) => move(1),
  ArrowUp: ({ move }) => move(-1),
  PageDown: ({ move }) => move(PAGE),
  PageUp: ({ move }) => move(-PAGE),
  Home: ({ move }) => move(-Infinity),
  End: ({ move }) => move(Infinity),
  Enter: ({ open }) => open(),
  ' ': ({ open }) => open(),
};

const ALWAYS: Readonly<Record<string, Action>> = { Escape: ({ close }) => close() };

/** The keys, the preferences and the filter language. */
export function HelpDialog({ isOpen, onClose, preferences, prefer }: HelpDialogProps): VNode {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    if (isOpen) dialog.current?.showModal();
    if (!isOpen) dialog.current?.close();
  }, [isOpen]);
  return (
    <dialog ref={dialog} class="help-dialog" aria-labelledby="help-title" onClose={onClose}>
      <header>
        <h2 id="help-title">Help</h2>
        <Button class="button close" aria-label="Close the help" onClick={onClose}>
          ✕
        </Button>
      </header>
      <h3>Keys</h3>
      {terms(KEYS, 'kbd')}
      <h3>Settings</h3>
      <Checkbox
        label="Single-letter keys"
        checked={preferences.hasLetters}
        onChange={(hasLetters) => prefer({ hasLetters })}
      />
      <Checkbox
        label="Compact rows"
        checked={preferences.density === 'compact'}
        onChange={(isCompact) => prefer({ density: isCompact ? 'compact' : 'comfortable' })}
      />
      <h3>Filter</h3>
      <p>
        {'An exchange must match every term; spaces separate terms. '}
        <code>-</code>
        {
          ' negates a term, commas separate alternatives. A word without a field is found in paths, operations, errors, request ids, names of clients, and captured header fields and bodies, of requests and responses ('
        }
        <code>sent:note</code>
        {' finds only requests with a member note).'}
      </p>
      <p class="example">
        <code>{unbrokenWords('op:order_* -status:2xx client:3fa9,77c1')}</code>
      </p>
      {terms(
        Object.entries(FILTER_FIELDS).map(([field, help]) => [`${field}:`, help]),
        'code',
      )}
    </dialog>
  );
}

function terms(list: readonly (readonly [string, string])[], tag: 'kbd' | 'code'): VNode {
  return (
    <dl class="terms">
      {list.map(([term, meaning]) => (
        <div key={term}>
          <dt>{tag === 'kbd' ? keyCaps(term) : <code>{term}</code>}</dt>
          <dd>{meaning}</dd>
        </div>
      ))}
    </dl>
  );
}

/** Shows each key as a key, and the words between keys as words. */
function keyCaps(keys: string): (VNode | string)[] {
  return keys
    .split(' ')
    .flatMap((key) => [key === 'or' || key === '–' ? key : <kbd key={key}>{key}</kbd>, ' ']);
}

export interface KeyActions {
  readonly move: (by: number) => void;
  readonly open: () => void;
  readonly close: () => void;
  readonly filter: () => void;
  readonly pause: () => void;
  readonly help: () => void;
  readonly density: () => void;
  readonly view: (index: number) => void;
  readonly perspective: (by: number) => void;
  readonly copy: (version: 'v1' | 'v2') => void;
}

/**
 * Handles the keys of the page. Single letters can be switched off, for speech input (WCAG 2.1.4), and never apply while text is
 * typed; a focused control keeps its own keys.
 */
export function useKeys(actions: KeyActions, hasLetters: boolean): void {
  const latest = useRef({ actions, hasLetters });
  latest.current = { actions, hasLetters };
  useEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
      if (document.querySelector('dialog[open]') !== null) return;
      const target = shown(event.target);
      const isTyping = target instanceof Element && target.closest('input, textarea, select') !== null;
      if (isTyping && event.key !== 'Escape') return;
      if (act(event.key, isOnList(target), latest.current)) event.preventDefault();
    };
    addEventListener('keydown', onKey);
    return () => removeEventListener('keydown', onKey);
  }, []);
}

/** The target, unless it is invisible: a field in a dialog that has just closed may keep the focus until the browser redraws. */
function shown(target: EventTarget | null): EventTarget | null {
  return target instanceof Element && target.checkVisibility() ? target : document.body;
}

function isOnList(target: EventTarget | null): boolean {
  return target === document.body || (target instanceof Element && target.id === 'entries');
}

/** Runs the action of a key; false when it has none. */
function act(
  key: string,
  isOnList: boolean,
  { actions, hasLetters }: { readonly actions: KeyActions; readonly hasLetters: boolean },
): boolean {
  const onList = isOnList ? LIST_KEYS[key] : undefined;
  const action = onList ?? (hasLetters ? LETTERS[key] : undefined) ?? ALWAYS[key];
  action?.(actions);
  return action !== undefined;
}

type Action = (actions: KeyActions) => void;

const LETTERS: Readonly<Record<string, Action>> = {
  j: ({ move }) => move(1),
  k: ({ move }) => move(-1),
  '/': ({ filter }) => filter(),
  p: ({ pause }) => pause(),
  '?': ({ help }) => help(),
  d: ({ density }) => density(),
  '[': ({ perspective }) => perspective(-1),
  ']': ({ perspective }) => perspective(1),
  c: ({ copy }) => copy('v1'),
  C: ({ copy }) => copy('v2'),
  ...Object.fromEntries(VIEWS.map((_, index): [number, Action] => [index + 1, ({ view }) => view(index)])),
};

type Density = 'comfortable' | 'compact';

/** An operator's choices for this browser. */
interface Preferences {
  readonly density: Density;
  /** Share of the list beside an exchange, in percent. */
  readonly listShare: number;
  /** False where the page does not handle single letters. */
  readonly hasLetters: boolean;
}

/** Changes some of the preferences. */
type Prefer = (change: Partial<Preferences>) => void;

const [DENSITY, SHARE, LETTERS_KEY] = [
  'capture-gateway.density',
  'capture-gateway.list-share',
  'capture-gateway.letters',
];

/** The preferences, saved in the browser; the document has the density for the style sheet. */
export function usePreferences(): readonly [Preferences, Prefer] {
  const [preferences, setPreferences] = useState(readPreferences);
  const { density } = preferences;
  useEffect(() => {
    document.documentElement.dataset['density'] = density;
    // Makes the list measure its rows again.
    dispatchEvent(new Event('resize'));
  }, [density]);
  const prefer: Prefer = (change) => {
    const next = { ...preferences, ...change };
    keepValue(DENSITY, next.density);
    keepValue(SHARE, String(next.listShare));
    keepValue(LETTERS_KEY, next.hasLetters ? 'on' : 'off');
    setPreferences(next);
  };
  return [preferences, prefer];
}

function readPreferences(): Preferences {
  const share = Number(keptValue(SHARE));
  return {
    density: keptValue(DENSITY) === 'compact' ? 'compact' : 'comfortable',
    listShare: share >= 15 && share <= 75 ? share : DEFAULT_SHARE,
    hasLetters: keptValue(LETTERS_KEY) !== 'off',
  };
}
