import { MAX_RECORDS, type ResponseRecord, type RewrittenResponse } from './response-rules.ts';

/** What one group of rules did to a response, before the next group reads the result. */
export interface ResponseStep {
  readonly outcome: RewrittenResponse;
  /** The pointer of the list whose elements the rules are about; undefined where they are about no elements. */
  readonly list: string | undefined;
}

/** A place on the other side of a step; no `place` where the value is not there. */
interface Followed {
  readonly place: string | undefined;
}

/** One end of an edit, and the other. */
interface Ends {
  readonly here: string | undefined;
  readonly there: string | undefined;
}

/** Rules that leave nothing in the old place, and rules that leave V2's value in it. */
const MOVES = new Set<ResponseRecord['rule']>(['rename', 'unnest', 'move']);
const COPIES = new Set<ResponseRecord['rule']>(['alias', 'flatten']);

/**
 * Joins the outcomes of groups of rules that were applied one after the other. A record's pointers are those of its own group:
 * they are followed back through the groups before it, and on through those behind it. A record is left out, and counted, where a
 * place cannot be followed, since another record is missing.
 */
export function joinSteps(steps: readonly ResponseStep[], body: Uint8Array): RewrittenResponse {
  const records: ResponseRecord[] = [];
  let omitted = 0;
  for (const [at, { outcome }] of steps.entries()) {
    omitted += outcome.omitted;
    for (const { from, path, ...record } of outcome.records) {
      const source = follow(from, steps.slice(0, at).toReversed(), ledBack);
      const target = follow(path, steps.slice(at + 1), ledOn);
      if (source === undefined || target === undefined || records.length === MAX_RECORDS) omitted += 1;
      else
        records.push({
          ...record,
          ...(source.place !== undefined && { from: source.place }),
          ...(target.place !== undefined && { path: target.place }),
        });
    }
  }
  // Each patch begins where the one before ends.
  const patches = steps.map(({ outcome }) => outcome.patch);
  const patch = omitted > 0 || patches.some((each) => each.length === 0) ? [] : patches.flat();
  return { verdict: 'rewritten', body, edits: [], records, omitted, patch };
}

/** Follows a place through steps; undefined where that is not possible. */
function follow(
  place: string | undefined,
  steps: readonly ResponseStep[],
  through: (place: string, step: ResponseStep) => Followed | undefined,
): Followed | undefined {
  let at: Followed | undefined = { place };
  for (const step of steps) if (at?.place !== undefined) at = through(at.place, step);
  return at;
}

function ledOn(place: string, step: ResponseStep): Followed | undefined {
  return led(place, step, ({ rule, from, path, note }) => ({
    // Of members with one name, the last is left.
    here: note === 'duplicate' ? undefined : from,
    there: COPIES.has(rule) ? from : path,
  }));
}

function ledBack(place: string, step: ResponseStep): Followed | undefined {
  return led(place, step, ({ from, path }) => ({ here: path, there: from }));
}

/** Leads a place through a step by the record of the innermost value around it that was edited. */
function led(
  place: string,
  { outcome, list }: ResponseStep,
  endsOf: (record: ResponseRecord) => Ends,
): Followed | undefined {
  let innermost: { readonly record: ResponseRecord; readonly here: string } | undefined;
  for (const record of outcome.records) {
    const { here } = endsOf(record);
    if (here === undefined || !isIn(place, here)) continue;
    if (innermost === undefined || here.length > innermost.here.length) innermost = { record, here };
  }
  if (innermost === undefined) {
    const isKnown = outcome.omitted === 0 || (list !== undefined && !isIn(place, list));
    return isKnown ? { place } : undefined;
  }
  const { record, here } = innermost;
  const { there } = endsOf(record);
  if (there === undefined) return { place: undefined };
  const rest = place.slice(here.length);
  // The parts of a converted value have other places.
  const isWhole = rest === '' || here === there || MOVES.has(record.rule) || COPIES.has(record.rule);
  return isWhole ? { place: there + rest } : undefined;
}

function isIn(place: string, around: string): boolean {
  return place === around || place.startsWith(`${around}/`);
}
