/** @module-tag redis */
import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { FileStore } from '../../src/node/rollout/file-store.ts';
import { RedisStore } from '../../src/node/rollout/redis-store.ts';
import { createClientHash, SYSTEM_CLOCK } from '../../src/node/runtime.ts';
import { parsedJson } from '../../src/rewrite-log/attributes.ts';
import { KnownClients } from '../../src/rollout/known-clients.ts';
import { RateLimitQueue } from '../../src/rollout/rate-limit.ts';
import { Replica } from '../../src/rollout/replica.ts';
import { RolloutControl } from '../../src/rollout/rollout-control.ts';
import type { SharedState } from '../../src/rollout/shared-state.ts';
import { CountingService } from '../runtime/replicas/counting-service.ts';
import { ReplicaProcess } from '../runtime/replicas/replica-process.ts';
import { storedKnownClients, storeKnownClients } from '../support/known-clients.ts';
import { playedRedis } from '../support/played-redis.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { until } from '../support/until.ts';

const DAY = 86_400_000;
const SECRET = 'the same for every replica';
const hashOf = createClientHash(SECRET);
const LIST = hashOf('capture-gateway: known clients');
const KEYS = Array.from({ length: 60 }, (_, at) => `client-${at}`);

/** A store under test, as replicas name it, and a handle of the test on it. */
interface Place {
  readonly setting: string;
  readonly store: SharedState;
  /** Names of files beside those of the list. */
  readonly others: () => readonly string[];
}

const places: Readonly<Record<string, () => Promise<Place>>> = {
  'a file': async () => {
    const folder = temporaryFolder('known-clients');
    const path = join(folder, 'rollout.json');
    const store = new FileStore(path);
    const others = (): readonly string[] => readdirSync(folder).filter((name) => !name.includes(LIST));
    return { setting: `file:${path}`, store, others };
  },
  'a real Redis server': async () => {
    const { url } = await playedRedis();
    const store = await RedisStore.open({
      url,
      password: () => undefined,
      ca: undefined,
      name: 'capture-gateway',
      onForeign: () => {},
    });
    return { setting: url, store, others: () => [] };
  },
};

/** A new connection for each request, so that any worker may respond. */
async function statusOf({ url }: ReplicaProcess, key: string): Promise<number> {
  const response = await fetch(`${url}/api/v1/clients`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', connection: 'close' },
    body: '{"data":{"name":"order-1"}}',
  });
  await response.arrayBuffer();
  return response.status;
}

test.for(Object.keys(places))(
  'on %s two gateways of two workers learn one list, and every worker refuses clients that are not on it',
  { timeout: 240_000 },
  async (name) => {
    const { setting, store, others } = await (places[name] ?? expect.fail(name))();
    onTestFinished(() => store.close());
    const v2 = new CountingService();
    const upstream = await v2.listen();
    onTestFinished(() => v2.close());
    const rules = join(temporaryFolder('known-clients-rules'), 'rules.yaml');
    const start = async (from: number): Promise<readonly ReplicaProcess[]> => {
      writeFileSync(
        rules,
        `version: 2025-06-30
operations:
  create_client: POST /clients
changes:
  - id: a
    summary: The body has no data.
    on: every
    request:
      - unwrap: $body
newcomers: { from: ${new Date(from).toISOString()} }
# The windows of a canary are counted beside the list.
modes: { canary: 50 }
`,
      );
      const flags = {
        upstream,
        'v1-upstream': upstream,
        rules,
        store: setting,
        workers: '2',
        'client-secret': SECRET,
      };
      const one = await ReplicaProcess.start(flags);
      onTestFinished(() => one.kill());
      const other = await ReplicaProcess.start(flags);
      onTestFinished(() => other.kill());
      return [one, other];
    };
    // The list was begun long ago.
    await storeKnownClients(store, { list: LIST, since: Date.now() - 60 * DAY, clients: [] });

    const listed = async (): Promise<readonly string[]> => [
      ...new Set((await storedKnownClients(store)).clients),
    ];
    const before = await start(Date.now() + 30 * DAY);
    for (let at = 0; at < KEYS.length; at += 10)
      await Promise.all(
        KEYS.slice(at, at + 10).flatMap((key) =>
          before.map(async (replica) => expect(await statusOf(replica, key)).toBe(201)),
        ),
      );
    const hashes = KEYS.map((key) => hashOf(`Bearer ${key}`)).sort();
    // Where the store was too slow for one of them, a later request of anybody stores it.
    await until(async () => {
      for (const replica of before) expect(await statusOf(replica, 'client-0')).toBe(201);
      return String(await listed()) === String(hashes);
    });
    await Promise.all(before.map((replica) => replica.stop()));
    expect(others().filter((file) => /counts/.test(file))).toEqual([]);

    const after = await start(Date.now() - DAY);
    for (const replica of after)
      for (let round = 0; round < 4; round += 1) {
        // Until a process has read the clients that others learned, it refuses none.
        await until(async () => (await statusOf(replica, `new-${round}`)) === 403);
        for (const key of KEYS.slice(0, 10)) expect(await statusOf(replica, key)).toBe(201);
      }
    expect(await listed()).toEqual(hashes);
  },
);

test('a real Redis server that evicts keys makes no learned client new', async () => {
  const { url } = await playedRedis(['--maxmemory', '4mb', '--maxmemory-policy', 'allkeys-random']);
  const store = await RedisStore.open({
    url,
    password: () => undefined,
    ca: undefined,
    name: 'capture-gateway',
    onForeign: () => {},
  });
  onTestFinished(() => store.close());
  const clients = KEYS.map((key) => hashOf(`Bearer ${key}`)).sort();
  const begun = Date.now() - 60 * DAY;
  const join = async (): Promise<KnownClients> => {
    const known = new KnownClients({ time: Date.now, clientOf: hashOf });
    const replica = new Replica({
      control: new RolloutControl({ time: Date.now, onNotice: () => {} }),
      store,
      name: 'one',
      clock: SYSTEM_CLOCK,
      parse: parsedJson,
      onNotice: () => {},
    });
    replica.share({
      queue: new RateLimitQueue({ ...SYSTEM_CLOCK, now: Date.now }),
      shieldOf: () => undefined,
      counts: [known],
    });
    await replica.start();
    onTestFinished(() => replica.close());
    await until(() => known.standing('0123456789abcdef') !== 'not-known');
    return known;
  };
  const evict = async (): Promise<void> => {
    // Other texts need the room.
    for (let at = 0; at < 400; at += 1)
      await store.compareAndSet(`other-${Math.random()}`, undefined, 'x'.repeat(20_000));
  };
  await storeKnownClients(store, { list: LIST, since: begun, clients });
  const running = await join();
  for (const client of clients) expect(running.standing(client)).toBe('known');
  for (let round = 0; round < 5; round += 1) {
    await evict();
    const young = await join();
    const judged = clients.map((client) => [young.standing(client), young.begun === begun]);
    expect(judged.filter(([standing, isOld]) => standing === 'new' && isOld === true)).toEqual([]);
  }
  // The process that knew them stores them again, as soon as it has taken over what another left.
  await until(async () => new Set((await storedKnownClients(store)).clients).size === clients.length);
  for (const client of clients) expect(running.standing(client)).toBe('known');
});
