import type { Answer } from './answers.ts';
import { clientOf, type Entry, NO_KEY } from './entry.ts';

/** Requests that one notice of V1's end refused, and the clients with a key that sent them, at most {@link MOST_CLIENTS}. */
export interface NoticeCount {
  readonly requests: number;
  readonly clients: readonly string[];
}

/** By `sunset`, or the id of a brownout. */
export type NoticeCounts = Readonly<Record<string, NoticeCount>>;

/** Maximum clients of a notice that are counted. */
export const MOST_CLIENTS = 100;

/** Adds counts of the same notices. */
export function addNotices(all: readonly NoticeCounts[]): NoticeCounts {
  const byId = Map.groupBy(
    all.flatMap((counts) => Object.entries(counts)),
    ([id]) => id,
  );
  return Object.fromEntries(
    [...byId].map(([id, counts]) => [
      id,
      {
        requests: counts.reduce((sum, [, { requests }]) => sum + requests, 0),
        clients: [...new Set(counts.flatMap(([, { clients }]) => clients))].slice(0, MOST_CLIENTS),
      },
    ]),
  );
}

/** Counts the requests that brownouts and the end of V1 refuse, as the operator wants it. */
export class Notices {
  private readonly known = new Map<string, { requests: number; readonly clients: Set<string> }>();
  private before: NoticeCounts = {};

  add(entry: Pick<Entry, 'failure' | 'note' | 'client'>, answer: Answer): void {
    const { failure, note } = entry;
    const id = failure === 'brownout' ? note : failure;
    if (answer !== 'on-purpose' || id === undefined) return;
    const one = this.known.get(id) ?? { requests: 0, clients: new Set() };
    this.known.set(id, one);
    one.requests += 1;
    const client = clientOf(entry);
    if (client !== NO_KEY && one.clients.size < MOST_CLIENTS) one.clients.add(client);
  }

  /** Adds the counts from before this run. */
  learn(counts: NoticeCounts): void {
    this.before = counts;
  }

  get counts(): NoticeCounts {
    const own = [...this.known].map(([id, { requests, clients }]) => [
      id,
      { requests, clients: [...clients] },
    ]);
    return addNotices([this.before, Object.fromEntries(own)]);
  }
}
