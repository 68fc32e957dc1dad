import type { TallyEntry } from '../../../src/report/tally/tally-entry.ts';
import type { Zone } from '../../../src/report/plan/zone.ts';

/** One client of a simulated fleet, whose rhythm is known. */
export interface SimulatedClient {
  readonly hash: string;
  readonly kind: Kind;
  /** The hour of the day with most of its requests, in wall-clock time. */
  readonly peak: number;
  /** The times of its requests, milliseconds since 1970, before and after the plan is made. */
  readonly times: readonly number[];
  readonly operation: string;
  /** The key that this one took the place of. */
  readonly rotatedFrom?: string;
}

export type Kind =
  | 'office'
  | 'holiday'
  | 'around-the-clock'
  | 'nightly'
  | 'nightly-utc'
  | 'weekly'
  | 'monthly'
  | 'sporadic'
  | 'rotated'
  | 'gone'
  | 'newcomer';

const DAY = 86_400_000;
const HOUR = 3_600_000;
const MINUTE = 60_000;

/** A fleet of 300 clients, and what it does from `since` to `end`; `now` is when the log ends. */
export function simulatedFleet(
  seed: number,
  zone: Zone,
  { since, now, end }: { readonly since: number; readonly now: number; readonly end: number },
): readonly SimulatedClient[] {
  const random = randomOf(seed);
  const counts: Readonly<Record<Kind, number>> = {
    office: 90,
    holiday: 30,
    'around-the-clock': 30,
    nightly: 40,
    'nightly-utc': 15,
    weekly: 25,
    monthly: 20,
    sporadic: 20,
    rotated: 10,
    gone: 10,
    newcomer: 10,
  };
  const clients: SimulatedClient[] = [];
  const firstDay = Math.floor(zone.local(since) / DAY) + 1;
  const lastDay = Math.floor(zone.local(end) / DAY);
  const today = Math.floor(zone.local(now) / DAY);
  let number = 0;
  const hash = (): string => (0x1000_0000_0000 + (number += 1)).toString(16).padStart(16, '0');
  for (const [name, count] of Object.entries(counts)) {
    const kind = name as Kind;
    for (let made = 0; made < count; made += 1) {
      const peak =
        kind === 'office' || kind === 'holiday' || kind === 'rotated'
          ? 9 + Math.floor(random() * 8)
          : Math.floor(random() * 24);
      const minute = Math.floor(random() * 50) + 5;
      const weekday = Math.floor(random() * 7);
      const date = 1 + Math.floor(random() * 28);
      const pause = firstDay + 20 + Math.floor(random() * 100);
      const times: number[] = [];
      const at = (day: number, milliseconds: number): void => {
        const time = zone.utc(day * DAY + milliseconds);
        if (time !== undefined) times.push(time);
      };
      for (let day = firstDay; day < lastDay; day += 1) {
        const ofWeek = (day + 4) % 7;
        const isWorkday = ofWeek > 0 && ofWeek < 6;
        switch (kind) {
          case 'office':
          case 'holiday':
          case 'rotated':
            if (!isWorkday || (kind === 'holiday' && day >= pause && day < pause + 21)) break;
            for (let hour = 8; hour < 18; hour += 1)
              for (let n = 0; n < (hour === peak ? 6 : 2); n += 1) at(day, hour * HOUR + random() * HOUR);
            break;
          case 'around-the-clock':
            for (let hour = 0; hour < 24; hour += 1)
              for (let n = 0; n < (hour === peak ? 5 : 2); n += 1) at(day, hour * HOUR + random() * HOUR);
            break;
          case 'nightly':
            at(day, peak * HOUR + minute * MINUTE + random() * 2 * MINUTE);
            break;
          case 'nightly-utc':
            times.push(day * DAY + peak * HOUR + minute * MINUTE + random() * 2 * MINUTE);
            break;
          case 'weekly':
            if (ofWeek === weekday)
              for (let n = 0; n < 8; n += 1) at(day, peak * HOUR + random() * 50 * MINUTE);
            break;
          case 'monthly':
            if (new Date(day * DAY).getUTCDate() === date)
              for (let n = 0; n < 8; n += 1) at(day, peak * HOUR + random() * 50 * MINUTE);
            break;
          case 'sporadic':
            if (random() < 0.3) at(day, random() * DAY);
            break;
          case 'gone':
            if (day < today - 60) at(day, peak * HOUR + random() * HOUR);
            break;
          case 'newcomer':
            if (day > today - 6) at(day, peak * HOUR + random() * HOUR);
            break;
        }
      }
      const operation = `operation_${Math.floor(random() * 6)}`;
      times.sort((one, other) => one - other);
      const own = hash();
      if (kind !== 'rotated') {
        clients.push({ hash: own, kind, peak, times, operation });
        continue;
      }
      // Both keys are of their own operation: who else begins on that day differs in it.
      const change = zone.utcFrom((today - 30 - made * 5) * DAY + 12 * HOUR);
      const old = times.filter((time) => time < change);
      const young = times.filter((time) => time >= change);
      const keyed = `rotating_${made}`;
      const second = hash();
      clients.push({ hash: own, kind: 'gone', peak, times: old, operation: keyed });
      clients.push({ hash: second, kind, peak, times: young, operation: keyed, rotatedFrom: own });
    }
  }
  return clients;
}

/** The entry of the log for a request. */
export function entryAt(time: number, client: string | undefined, operation: string): TallyEntry {
  return {
    time: new Date(time).toISOString(),
    ...(client === undefined ? {} : { client }),
    route: 'migrate',
    operation,
    verdict: 'rewritten',
    status: 201,
    edits: [],
  };
}

/** Numbers from 0 up to 1 (mulberry32). */
export function randomOf(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
