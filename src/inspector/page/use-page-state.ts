import { useEffect, useState } from 'preact/hooks';
import { type Go, type PageState, placeAddress, readPlace } from './page-state.ts';

/** The page's state, kept in its URL. */
export function usePlace(): readonly [PageState, Go] {
  const [place, setPlace] = useState(() => readPlace(location.search));
  useEffect(() => {
    const follow = (): void => setPlace(readPlace(location.search));
    addEventListener('popstate', follow);
    return () => removeEventListener('popstate', follow);
  }, []);
  const go: Go = (change, step = 'keep') => {
    const next = { ...readPlace(location.search), ...change };
    const address = placeAddress(next);
    if (step === 'replace') history.replaceState(undefined, '', address);
    if (step === 'keep') history.pushState(undefined, '', address);
    setPlace(next);
  };
  return [place, go];
}
