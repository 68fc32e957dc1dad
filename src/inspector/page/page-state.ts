import { useEffect, useRef, useState } from 'preact/hooks';

/** The value that the browser has kept for a key; null without one, and in a browser that blocks storage. */
export function keptValue(key: string): string | null {
  try {
    return localStorage.getItem(key);
  } catch {
    return null;
  }
}

/** Keeps a value for the next visit, if the browser allows it. */
export function keepValue(key: string, value: string): void {
  try {
    localStorage.setItem(key, value);
  } catch {
    // Storage is full or blocked: the choice is kept until the page is closed.
  }
}

/** The views of the page, in the order of the navigation. */
export const VIEWS = ['overview', 'traffic', 'clients', 'rules', 'rollout'] as const;

/** A view of the page. */
export type View = (typeof VIEWS)[number];

/** A part of a view with its own address: the problems of the traffic. */
export type ViewPart = 'problems';

/** Successors of former views, because links to their addresses remain in chats and run books. */
const REPLACED: Readonly<Record<string, Pick<PageState, 'view' | 'part'>>> = {
  hour: { view: 'overview', part: undefined },
  errors: { view: 'traffic', part: 'problems' },
  retirement: { view: 'clients', part: undefined },
  end: { view: 'clients', part: undefined },
  explain: { view: 'rules', part: undefined },
};

/** The perspectives of an exchange, in the order of its messages; `diff` shows the first two side by side. */
export const PERSPECTIVES = ['diff', 'v1-request', 'v2-request', 'v2-response', 'client-response'] as const;

/** A perspective of one exchange. */
export type Perspective = (typeof PERSPECTIVES)[number];

/** A link to an exchange by its request id, which outlives a restart; `seq` distinguishes several with the same id. */
export interface EntryLink {
  readonly id: string;
  readonly seq: number | undefined;
}

/** The state of the page, kept in its URL so that it can be sent to a colleague. */
export interface PageState {
  readonly view: View;
  /** Undefined for the whole of the view. */
  readonly part: ViewPart | undefined;
  readonly filter: string;
  /** The open exchange. */
  readonly entry: EntryLink | undefined;
  readonly perspective: Perspective;
}

/** Parses a state from the query of a URL; unknown parameters are ignored. */
export function readPlace(search: string): PageState {
  const query = new URLSearchParams(search);
  const id = query.get('entry') ?? '';
  const seq = Number(query.get('n'));
  const filter = query.get('filter') ?? '';
  const named = query.get('view') ?? '';
  const view = VIEWS.find((one) => one === named) ?? usualView(filter, id);
  const isProblems = view === 'traffic' && query.get('part') === 'problems';
  return {
    ...(REPLACED[named] ?? { view, part: isProblems ? 'problems' : undefined }),
    filter,
    entry: id === '' ? undefined : { id, seq: Number.isSafeInteger(seq) && seq > 0 ? seq : undefined },
    perspective: PERSPECTIVES.find((perspective) => perspective === query.get('show')) ?? 'diff',
  };
}

/** The view of an address that names none; a filter or an exchange belongs to the traffic. */
function usualView(filter: string, entry: string): View {
  return filter === '' && entry === '' ? 'overview' : 'traffic';
}

/** Formats a state as a relative URL; defaults are omitted. */
export function placeAddress(place: PageState): string {
  const query = new URLSearchParams();
  // The filter is that of the traffic: other views do not show it.
  const filter = place.view === 'traffic' ? place.filter : '';
  if (place.view !== usualView(filter, place.entry?.id ?? '')) query.set('view', place.view);
  if (place.part !== undefined) query.set('part', place.part);
  if (filter !== '') query.set('filter', filter);
  if (place.entry !== undefined) query.set('entry', place.entry.id);
  if (place.entry?.seq !== undefined) query.set('n', String(place.entry.seq));
  if (place.entry !== undefined && place.perspective !== 'diff') query.set('show', place.perspective);
  const text = query.toString().replaceAll('%3A', ':').replaceAll('%2C', ',');
  return text === '' ? './' : `./?${text}`;
}

/** Changes parts of the state; `keep` adds a history entry for the browser's Back button. */
export type Go = (change: Partial<PageState>, step?: 'keep' | 'replace') => void;

/** Handles a click on a link to a place of the page: `open` opens it here, unless the click is for another tab or window. */
export function openHere(open: () => void): (event: MouseEvent) => void {
  return (event) => {
    if (event.metaKey || event.ctrlKey || event.shiftKey) return;
    event.preventDefault();
    open();
  };
}

/** Returns a function that opens the list of the exchanges that match a filter. */
export function toExchanges(go: Go, filter: string): () => void {
  return () => go({ view: 'traffic', part: undefined, filter, entry: undefined });
}

/** The link to an exchange of the list. */
export function linkTo({ requestId, seq }: { readonly requestId: string; readonly seq: number }): EntryLink {
  return { id: requestId, seq };
}

/** The address of the detail of an exchange, relative to the page. */
export function findAddress({ id, seq }: EntryLink): string {
  return `entries/find?id=${encodeURIComponent(id)}${seq === undefined ? '' : `&n=${seq}`}`;
}

/** The page's state, kept in its URL. */
export function usePlace(): readonly [PageState, Go] {
  const [place, setPlace] = useState(() => readPlace(location.search));
  // Kept while another view is shown, whose address does not have it.
  const filter = useRef(place.filter);
  const readHere = (): PageState => {
    const read = readPlace(location.search);
    return read.view === 'traffic' ? read : { ...read, filter: filter.current };
  };
  useEffect(() => {
    // Replaces a former address by its successor, which readers then copy.
    if (REPLACED[new URLSearchParams(location.search).get('view') ?? ''] !== undefined)
      history.replaceState(undefined, '', placeAddress(place));
    const follow = (): void => setPlace(readHere());
    addEventListener('popstate', follow);
    return () => removeEventListener('popstate', follow);
  }, []);
  const go: Go = (change, step = 'keep') => {
    const part = change.view === undefined ? {} : { part: undefined };
    const next = { ...readHere(), ...part, ...change };
    filter.current = next.filter;
    const address = placeAddress(next);
    if (step === 'replace') history.replaceState(undefined, '', address);
    if (step === 'keep') history.pushState(undefined, '', address);
    setPlace(next);
  };
  return [place, go];
}
