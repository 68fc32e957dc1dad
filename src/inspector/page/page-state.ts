/** The views of the page, in the order of the navigation. */
export const VIEWS = ['traffic', 'hour', 'rules', 'retirement', 'explain', 'rollout'] as const;

/** A view of the page. */
export type View = (typeof VIEWS)[number];

/** The perspectives of one exchange, in the order of its journey; `diff` is the first two side by side. */
export const PERSPECTIVES = ['diff', 'v1-request', 'v2-request', 'v2-response', 'client-response'] as const;

/** A perspective of one exchange. */
export type Perspective = (typeof PERSPECTIVES)[number];

/** The place of the operator, kept in the address of the page so that it can be sent to a colleague. */
export interface PageState {
  readonly view: View;
  readonly filter: string;
  /** The `seq` of the open exchange. */
  readonly entry: number | undefined;
  readonly perspective: Perspective;
}

/** Reads a place from the query of an address; unknown parameters are ignored. */
export function readPlace(search: string): PageState {
  const query = new URLSearchParams(search);
  const entry = Number(query.get('entry'));
  return {
    view: VIEWS.find((view) => view === query.get('view')) ?? 'traffic',
    filter: query.get('filter') ?? '',
    entry: Number.isSafeInteger(entry) && entry > 0 ? entry : undefined,
    perspective: PERSPECTIVES.find((perspective) => perspective === query.get('show')) ?? 'diff',
  };
}

/** Prints a place as a relative address; defaults are left out. */
export function placeAddress(place: PageState): string {
  const query = new URLSearchParams();
  if (place.view !== 'traffic') query.set('view', place.view);
  if (place.filter !== '') query.set('filter', place.filter);
  if (place.entry !== undefined) query.set('entry', String(place.entry));
  if (place.entry !== undefined && place.perspective !== 'diff') query.set('show', place.perspective);
  const text = query.toString().replaceAll('%3A', ':').replaceAll('%2C', ',');
  return text === '' ? './' : `./?${text}`;
}

/** Changes parts of the place; `keep` makes a step that the browser's Back returns from. */
export type Go = (change: Partial<PageState>, step?: 'keep' | 'replace') => void;
