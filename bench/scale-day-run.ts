/**
 * The process in which `scale-day.ts` has a day of entries kept: `scale-day-run.ts <entries a second> <of how many minutes one is fed>`.
 */
import { fileURLToPath } from 'node:url';
import { type LoadedRuleBook, loadRuleBook } from '../src/node/rule-books.ts';
import { heldBytes, sendResult } from './scale-apart.ts';
import { DayView, midnight, MINUTE, RING_SIZE } from './scale-day-view.ts';

/** The measurements of one day. */
export interface DayFigures {
  readonly perSecond: number;
  readonly fed: number;
  /** Microseconds of processor time an entry, by hour. */
  readonly hours: readonly number[];
  /** Bytes that the view holds when its ring is full, and at the end. */
  readonly held: { readonly full: number; readonly end: number };
  /** Milliseconds of each request to a route, when the ring is full and at the end. */
  readonly routes: readonly { readonly name: string; readonly full: number[]; readonly end: number[] }[];
}

const perSecond = Number(process.argv[2]);
const every = Number(process.argv[3]);
/** Entries that are made, then observed: only the observing is counted. */
const BATCH = 2000;

const book = await loadRuleBook(fileURLToPath(new URL('../config/rules.yaml', import.meta.url)));
if ('faults' in book) throw new Error(book.faults.join('\n'));

/** The API routes of the inspector that show kept entries. */
function routes({ view }: DayView): readonly (readonly [name: string, path: string])[] {
  const client = view.ring.at(view.ring.latest)?.client ?? '';
  return [
    ['/entries', '/entries?limit=100'],
    ['/entries?limit=500', '/entries?limit=500'],
    ['/entries?filter=status:502', '/entries?limit=500&filter=status:502'],
    ['/entries/:seq', `/entries/${view.ring.latest}`],
    ['/state', '/state'],
    ['/history', '/history'],
    ['/metrics', '/metrics'],
    ['/report', '/report'],
    ['/report?format=md', '/report?format=md'],
    ['/report?client=', `/report?client=${client}`],
    ['/rules', '/rules'],
  ];
}

/** When the exchanges of a minute begin, in batches. */
function* batches(from: number, until: number): Generator<readonly number[]> {
  let times: number[] = [];
  for (let minute = from; minute < until; minute += every) {
    for (let k = 0; k < perSecond * 60; k += 1) {
      times.push(midnight + minute * MINUTE + (k * 1000) / perSecond);
      if (times.length < BATCH) continue;
      yield times;
      times = [];
    }
  }
  if (times.length > 0) yield times;
}

async function warmedUp(loaded: LoadedRuleBook): Promise<void> {
  const other = new DayView(loaded);
  await other.open();
  for (let round = 0; round < 20; round += 1) {
    other.feed(Array.from({ length: BATCH }, (_, k) => midnight + (round * BATCH + k) * 10));
  }
  for (const [, path] of routes(other)) await other.get(path);
  await other.close();
}

async function day(loaded: LoadedRuleBook): Promise<DayFigures> {
  const before = await heldBytes();
  const view = new DayView(loaded);
  await view.open();
  let full = 0;
  const shown: { readonly name: string; readonly full: number[]; readonly end: number[] }[] = [];
  for (let hour = 0; hour < 24; hour += 1) {
    for (const times of batches(hour * 60, hour * 60 + 60)) {
      view.feed(times);
      if (full > 0 || view.fed < RING_SIZE) continue;
      full = (await heldBytes()) - before;
      for (const [name, path] of routes(view)) {
        shown.push({ name, full: await view.get(path), end: [] });
      }
    }
  }
  const end = (await heldBytes()) - before;
  for (const [at, [, path]] of routes(view).entries()) {
    shown[at]?.end.push(...(await view.get(path)));
  }
  await view.close();
  const hours = view.hours.map(({ microseconds, entries }) => microseconds / entries);
  return { perSecond, fed: view.fed, hours, held: { full, end }, routes: shown };
}

await warmedUp(book);
sendResult(await day(book));
