import type { ClientClass } from '../../report/client-report.ts';
import { count } from '../../report/text/number-text.ts';
import type { Report } from '../../report/report.ts';
import type { Stage } from './tour-stage.ts';

/** A step of the tour. */
export interface TourStep {
  readonly title: string;
  /** Place of the page to look at, relative to the admin listener. */
  readonly page: string;
  /** Carries the step out, and says in sentences what has happened, with the gateway's own numbers. */
  readonly play: (stage: Stage) => Promise<readonly string[]>;
}

/** Names of clients in a sentence: `Acacia Estates, Blue Gum Living and Jetty Road`. */
export function listed(names: readonly string[]): string {
  const sorted = [...names].toSorted();
  const last = sorted.pop();
  if (last === undefined) return 'nobody';
  return sorted.length === 0 ? last : `${sorted.join(', ')} and ${last}`;
}

/** What the report knows of the clients that use V1, as a sentence; classes without a client are left out. */
export function classSentence({ classes }: Report): string {
  const parts = CLASS_PARTS.flatMap(([name, words]) => {
    const clients = classes[name];
    return clients === 0 ? [] : [`${count(clients)} ${words}`];
  });
  return `The report says of the clients: ${parts.join(', ')}.`;
}

const CLASS_PARTS: readonly (readonly [name: ClientClass, words: string])[] = [
  ['field-work', 'with work on fields'],
  ['unwrap-only', 'that only drop the wrapper'],
  ['url-only', 'that only need a new URL'],
  ['unknown', 'not known yet'],
];

/** Waits until the gateway has an entry of every request that the fleet sent. */
export async function settle({ admin, fleet }: Stage): Promise<void> {
  await admin.until(
    () => admin.latest(),
    (latest) => latest >= fleet.sent,
  );
}

/** Names of the clients whose requests were migrated since the entry with the number `after`, with a status if one is given. */
export async function migratedSince(
  { admin, names }: Stage,
  after: number,
  filter = 'route:v1',
): Promise<readonly string[]> {
  const entries = await admin.entriesAfter(after, filter);
  const hashes = new Set(
    entries.filter(({ origin }) => origin === undefined).map(({ client }) => client ?? ''),
  );
  return [...hashes].map((hash) => names.get(hash) ?? hash);
}
