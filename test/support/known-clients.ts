import { CLIENTS } from '../../src/rollout/known-clients.ts';
import type { SharedState, StateCall } from '../../src/rollout/shared-state.ts';

/** A list of clients as a store has it. */
export interface StoredList {
  /** The hash that names the list. */
  readonly list: string;
  /** When it began, in milliseconds since 1970. */
  readonly since: number;
  readonly clients: readonly string[];
}

/** Puts a list into a store, as a process that has ended left it. */
export async function storeKnownClients(
  state: SharedState,
  { list, since, clients }: StoredList,
): Promise<void> {
  const shards = Map.groupBy(clients, (client) => client.slice(0, 2));
  const put = [
    { key: `${CLIENTS}${list}/since`, text: `${since}` },
    ...[...shards].map(([shard, known]) => ({ key: `${CLIENTS}${list}/${shard}`, text: known.join('\n') })),
  ];
  const { life } = await state.exchange(call({}));
  await state.exchange(call({ life, number: 1, put, leaves: true }));
}

/** The clients in a store, once for each process that has them, and all times at which their list began. */
export async function storedKnownClients(
  state: SharedState,
): Promise<{ readonly clients: readonly string[]; readonly since: readonly number[] }> {
  const { texts } = await state.exchange(call({ owner: 'reader' }));
  const ofLists = texts.filter(({ key, text }) => key.startsWith(CLIENTS) && text !== '');
  const [times, clients] = [true, false].map((isTime) =>
    ofLists.filter(({ key }) => key.endsWith('/since') === isTime).flatMap(({ text }) => text.split('\n')),
  );
  return { clients: (clients ?? []).sort(), since: (times ?? []).map(Number) };
}

function call(more: Partial<StateCall>): StateCall {
  return {
    topic: 'rollout',
    life: '',
    isBehind: false,
    owner: 'ended',
    number: 0,
    put: [],
    takes: [],
    ends: [],
    leaves: false,
    after: 0,
    keepMs: 1e10,
    ...more,
  };
}
