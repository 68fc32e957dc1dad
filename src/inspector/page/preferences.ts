import { useEffect, useState } from 'preact/hooks';
import { DEFAULT_SHARE } from './parts/pane-splitter.ts';

/** How much room a row takes. */
export type Density = 'comfortable' | 'compact';

/** What an operator has chosen for this browser. */
export interface Preferences {
  readonly density: Density;
  /** Share of the list beside an exchange, in percent. */
  readonly listShare: number;
  /** False where single letters are no keys. */
  readonly hasLetters: boolean;
}

/** Changes some of the preferences. */
export type Prefer = (change: Partial<Preferences>) => void;

const [DENSITY, SHARE, LETTERS] = [
  'capture-gateway.density',
  'capture-gateway.list-share',
  'capture-gateway.letters',
];

/** The preferences, kept in the browser; the document carries the density for the style sheet. */
export function usePreferences(): readonly [Preferences, Prefer] {
  const [preferences, setPreferences] = useState(readPreferences);
  const { density } = preferences;
  useEffect(() => {
    document.documentElement.dataset['density'] = density;
    // Rows are measured again.
    dispatchEvent(new Event('resize'));
  }, [density]);
  const prefer: Prefer = (change) => {
    const next = { ...preferences, ...change };
    localStorage.setItem(DENSITY, next.density);
    localStorage.setItem(SHARE, String(next.listShare));
    localStorage.setItem(LETTERS, next.hasLetters ? 'on' : 'off');
    setPreferences(next);
  };
  return [preferences, prefer];
}

function readPreferences(): Preferences {
  const share = Number(localStorage.getItem(SHARE));
  return {
    density: localStorage.getItem(DENSITY) === 'compact' ? 'compact' : 'comfortable',
    listShare: share >= 15 && share <= 75 ? share : DEFAULT_SHARE,
    hasLetters: localStorage.getItem(LETTERS) !== 'off',
  };
}
