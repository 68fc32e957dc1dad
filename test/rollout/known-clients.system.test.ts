/** @module-tag redis */
import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { FileStore } from '../../src/node/rollout/file-store.ts';
import { RedisStore } from '../../src/node/rollout/redis-store.ts';
import { createClientHash } from '../../src/node/runtime.ts';
import { KnownClients } from '../../src/rollout/known-clients.ts';
import type { SharedState } from '../../src/rollout/shared-state.ts';
import { CountingService } from '../runtime/replicas/counting-service.ts';
import { ReplicaProcess } from '../runtime/replicas/replica-process.ts';
import { playedRedis } from '../support/played-redis.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { until } from '../support/until.ts';

const DAY = 86_400_000;
const SECRET = 'the same for every replica';
const hashOf = createClientHash(SECRET);
const LIST = `clients-${hashOf('capture-gateway: known clients')}`;
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
      onStranger: () => {},
    });
    return { setting: url, store, others: () => [] };
  },
};

/** A connection of its own each: whichever worker it comes to answers. */
async function statusOf({ url }: ReplicaProcess, key: string): Promise<number> {
  const response = await fetch(`${url}/api/v1/clients`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', connection: 'close' },
    body: '{"data":{"name":"order-1"}}',
  });
  await response.arrayBuffer();
  return response.status;
}

/** The clients on the list, each as often as it stands there. */
async function listed(store: SharedState): Promise<readonly string[]> {
  const texts = await Promise.all(
    Array.from('0123456789abcdef').map((digit) => store.read(`${LIST}-${digit}`)),
  );
  return texts.flatMap((text) => (text === undefined ? [] : text.split('\n').slice(1))).sort();
}

test.for(Object.keys(places))(
  'on %s two gateways of two workers learn one list, and every worker refuses whoever is not on it',
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
    for (const digit of '0123456789abcdef')
      await store.compareAndSet(`${LIST}-${digit}`, undefined, `since ${Date.now() - 60 * DAY}`);

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
      return String(await listed(store)) === String(hashes);
    });
    await Promise.all(before.map((replica) => replica.stop()));
    expect(others().filter((file) => /counts/.test(file))).toEqual([]);

    const after = await start(Date.now() - DAY);
    for (const replica of after)
      for (let round = 0; round < 4; round += 1) {
        for (const key of KEYS.slice(0, 10)) expect(await statusOf(replica, key)).toBe(201);
        expect(await statusOf(replica, `new-${round}`)).toBe(403);
      }
    expect(await listed(store)).toEqual(hashes);
  },
);

test(
  'a real Redis server that evicts keys makes nobody new who was learned',
  { timeout: 120_000 },
  async () => {
    const { url } = await playedRedis(['--maxmemory', '4mb', '--maxmemory-policy', 'allkeys-random']);
    const store = await RedisStore.open({
      url,
      password: () => undefined,
      ca: undefined,
      name: 'capture-gateway',
      onStranger: () => {},
    });
    onTestFinished(() => store.close());
    const begun = Date.now() - 60 * DAY;
    const listAt = (now: number): KnownClients =>
      new KnownClients({
        store,
        time: () => now,
        after: (ms, run) => void setTimeout(run, ms),
        clientOf: hashOf,
      });
    const clients = KEYS.map((key) => hashOf(`Bearer ${key}`));
    const learning = listAt(begun);
    for (const client of clients) {
      await learning.standing(client);
      learning.learn(client);
    }
    await learning.settled();
    expect(await listed(store)).toEqual(clients.toSorted());
    // Other texts need the room, until some of the list are gone and some are left.
    const left = async (): Promise<number> => new Set((await listed(store)).map((client) => client[0])).size;
    const digits = await left();
    for (let at = 0; (await left()) > digits / 2; at += 1)
      await store.compareAndSet(`other-${at}`, undefined, 'x'.repeat(20_000));
    const after = listAt(Date.now());
    const judged = await Promise.all(
      clients.map(async (client) => [await after.standing(client), after.sinceOf(client) === begun]),
    );
    expect(judged.filter(([standing, isOld]) => standing === 'new' && isOld === true)).toEqual([]);
    expect(
      judged.filter(([standing, isOld]) => standing === 'new' && isOld === false).length,
    ).toBeGreaterThan(0);
  },
);
