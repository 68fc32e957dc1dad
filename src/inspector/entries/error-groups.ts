import { errorName, errorsOf } from '../../rewrite-log/entry-errors.ts';
import type { ErrorGroup, ErrorGroups } from '../api.ts';
import { type SearchedStores, searchEntries } from './search-entries.ts';

/** Maximum groups, and operations of one group. */
const MAX_GROUPS = 300;
const MAX_OPERATIONS = 10;

/** Bound of the clients that one group tells apart. */
const MAX_CLIENTS = 10_000;

interface Group extends Pick<ErrorGroup, 'error'> {
  count: number;
  firstSeen: string;
  lastSeen: string;
  readonly clients: Set<string>;
  readonly operations: Set<string>;
}

/** Groups the errors of the kept entries by who found them, code and place; the most frequent first. */
export async function errorGroups(stores: SearchedStores, pause: () => Promise<void>): Promise<ErrorGroups> {
  const groups = new Map<string, Group>();
  let [exchanges, omitted] = [0, 0];
  const { ring } = stores;
  const visit = (entry: Parameters<typeof errorsOf>[0]): boolean => {
    exchanges += 1;
    const { time, client = '-', operation = '-' } = entry;
    for (const error of errorsOf(entry)) {
      const name = errorName(error);
      const known = groups.get(name);
      if (known === undefined && groups.size >= MAX_GROUPS) {
        omitted += 1;
        continue;
      }
      const group = known ?? {
        error,
        count: 0,
        firstSeen: time,
        lastSeen: time,
        clients: new Set<string>(),
        operations: new Set<string>(),
      };
      groups.set(name, group);
      group.count += 1;
      if (time < group.firstSeen) group.firstSeen = time;
      if (time > group.lastSeen) group.lastSeen = time;
      // A request that could not be read has neither a client nor an operation.
      if (entry.path === '') continue;
      if (group.clients.size < MAX_CLIENTS) group.clients.add(client);
      if (group.operations.size < MAX_OPERATIONS) group.operations.add(operation);
    }
    // Nothing is collected: the search only visits.
    return false;
  };
  await searchEntries(stores, { before: ring.latest + 1, limit: Infinity, accepts: visit }, pause);
  const sorted = [...groups.values()].sort((one, other) => other.count - one.count);
  return {
    exchanges,
    groups: sorted.map(({ clients, operations, ...group }) => ({
      ...group,
      clients: clients.size,
      operations: [...operations],
    })),
    omitted,
  };
}
