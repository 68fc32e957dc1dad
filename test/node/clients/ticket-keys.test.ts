import { expect, onTestFinished, test } from 'vitest';
import { TICKET_KEYS_MS, TicketKeys } from '../../../src/node/clients/ticket-keys.ts';
import { MemoryState, type SharedState } from '../../../src/rollout/shared-state.ts';

/** Keys of a gateway that looks at the store when a test says so. */
function ticketKeys(
  store: SharedState | undefined,
  time: () => number,
): { readonly tickets: TicketKeys; readonly used: string[] } {
  const used: string[] = [];
  const tickets = new TicketKeys(store, time, (keys) => void used.push(keys.toString('hex')));
  onTestFinished(() => tickets.close());
  return { tickets, used };
}

test('replicas write tickets with the keys of their store, and with new ones twelve hours later', async () => {
  let now = 1_000_000;
  const store = new MemoryState(() => now);
  const [one, other] = [ticketKeys(store, () => now), ticketKeys(store, () => now)];
  const both = async (): Promise<void> => void [await one.tickets.look(), await other.tickets.look()];
  await both();
  expect(one.used[0]).toMatch(/^[0-9a-f]{96}$/);
  expect(one.used).toHaveLength(1);
  expect(other.used).toEqual([expect.not.stringMatching(`^${one.used[0]}$`), one.used[0]]);
  now += TICKET_KEYS_MS - 1;
  await both();
  expect(one.used).toHaveLength(1);
  now += 1;
  await both();
  expect(one.used).toHaveLength(2);
  expect(other.used).toEqual([...other.used.slice(0, 2), one.used[1]]);
});

test('keys are also renewed without a store, and if the text of the store has no keys', async () => {
  let now = 0;
  const alone = ticketKeys(undefined, () => now);
  const store = new MemoryState(() => now);
  await store.compareAndSet('tls-tickets', undefined, '0 c2hvcnQ=');
  const shared = ticketKeys(store, () => now);
  await Promise.all([alone.tickets.look(), shared.tickets.look()]);
  expect([alone.used.length, shared.used.length]).toEqual([1, 1]);
  now += TICKET_KEYS_MS;
  await alone.tickets.look();
  expect(new Set(alone.used).size).toBe(2);
});

// Attack: an attacker who can write to the store would keep its keys in use for ever. So would a replica whose clock is ahead.
test('keys from the future are replaced', async () => {
  const store = new MemoryState(() => 0);
  const ahead = ticketKeys(store, () => 365 * 86_400_000);
  await ahead.tickets.look();
  const { tickets, used } = ticketKeys(store, () => 0);
  await tickets.look();
  expect(used).toHaveLength(1);
  expect(await store.read('tls-tickets')).toMatch(/^0 /);
});

test('a store out of reach leaves a gateway the keys that it has', async () => {
  let isAway = false;
  const store = new MemoryState(() => 0);
  const away: SharedState = Object.assign(Object.create(store), {
    read: (key: string) => (isAway ? Promise.reject(new Error('away')) : store.read(key)),
  });
  const { tickets, used } = ticketKeys(away, () => 0);
  await tickets.look();
  isAway = true;
  await tickets.look();
  expect(used).toHaveLength(1);
});
