import { useEffect, useRef } from 'preact/hooks';

/** Actions of the keys, by name. */
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

/** The keys with their actions, for the help. */
export const KEYS: readonly (readonly [keys: string, does: string])[] = [
  ['j k or ↓ ↑', 'next and previous exchange'],
  ['Home End', 'newest and oldest exchange at hand'],
  ['Enter', 'open the exchange'],
  ['Esc', 'close, step back, go live'],
  ['/', 'filter'],
  ['p', 'pause and go live'],
  ['[ ]', 'previous and next perspective'],
  ['c C', 'copy as curl for V1, for V2'],
  ['d', 'compact or comfortable rows'],
  ['1 – 7', 'the views'],
  ['?', 'this help'],
];

const PAGE = 12;

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

/** A field in a dialog that has just closed may keep the focus until the browser redraws. */
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
  1: ({ view }) => view(0),
  2: ({ view }) => view(1),
  3: ({ view }) => view(2),
  4: ({ view }) => view(3),
  5: ({ view }) => view(4),
  6: ({ view }) => view(5),
  7: ({ view }) => view(6),
};
