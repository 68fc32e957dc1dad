import { setTimeout as pause } from 'node:timers/promises';
import type { RolloutView } from '../../../src/rollout/rollout-tally.ts';
import { PROGRAM } from '../../support/product.ts';
import { CountingService } from './counting-service.ts';
import { ReplicaProcess } from './replica-process.ts';
import { Agent, request } from 'node:http';

/** The store of the play. */
export interface PlayedStore {
  readonly url: string;
  kill(): Promise<void>;
  restart(): Promise<void>;
  hang(): void;
  resume(): void;
}

/** What happened to three gateways under load, in the order of the play. */
export interface ReplicasPlay {
  readonly orders: number;
  /** Milliseconds from a command on one replica until it held on all, by their logs. */
  readonly choiceMs: number;
  /** Milliseconds from the first failure of V2 to the moment at which each replica had rolled back, by its log. */
  readonly rollbackMs: readonly number[];
  /** Lines of each replica about the roll-back. */
  readonly rollbackLines: readonly (readonly string[])[];
  readonly rollbacks: RolloutView['rollbacks'];
  /** Requests that reached V2 after every replica had rolled back. */
  readonly afterRollback: number;
  /** Failed requests while the store was killed, started again and stopped. */
  readonly failedWithoutStore: readonly OrderOutcome[];
  /** `/readyz` of a replica while the store was away, and after. */
  readonly ready: readonly string[];
  /** Failed requests through the other replicas while one was killed. */
  readonly failedBesideKilled: readonly OrderOutcome[];
  /** Modes of all replicas at the end, the one that was started again last. */
  readonly modes: readonly string[];
  /** Orders that got 201 and are in no service, or twice in one, or in both. */
  readonly lost: readonly string[];
  readonly twice: readonly string[];
}

/**
 * Plays three gateways on one store under load: a canary, a fault of V2, the loss of the store, a store that hangs for `hangMs`,
 * and the loss of a replica.
 */
export async function playReplicas(
  store: PlayedStore,
  {
    hangMs,
    clients,
    programs = [PROGRAM, PROGRAM, PROGRAM, PROGRAM],
  }: {
    readonly hangMs: number;
    readonly clients: number;
    /** What each gateway runs; the fourth takes the place of the one that is lost. */
    readonly programs?: readonly string[];
  },
): Promise<ReplicasPlay> {
  const [v1, v2] = [new CountingService(), new CountingService()];
  const flags = {
    upstream: await v2.listen(),
    'v1-upstream': await v1.listen(),
    'client-secret': 'the same for every replica',
    store: store.url,
    breaker: 'off',
  };
  const replicas = await Promise.all(
    programs.slice(0, 3).map((program) => ReplicaProcess.start(flags, program)),
  );
  const [first, second, third] = replicas;
  if (first === undefined || second === undefined || third === undefined)
    throw new Error('three are started');
  const loads: OrderLoad[] = [];
  try {
    await first.command({ mode: 'observe' });
    await until(async () => (await modesOf(replicas)).every((mode) => mode === 'observe'));
    const orders = new OrderLoad(
      replicas.map(({ url }) => url),
      clients,
    );
    loads.push(orders);
    await pause(300);

    const chosenAt = Date.now();
    await second.command({ mode: 'canary', share: 20 });
    await until(async () => (await modesOf(replicas)).every((mode) => mode === 'canary'));
    const heard = [first, third].map(({ lines }) =>
      lines.findLast(({ event }) => event === 'rollout-changed'),
    );
    const choiceMs = Math.max(...heard.map((line) => (line?.time ?? Number.NaN) - chosenAt));
    await until(() => v2.requests > 20);

    v2.fails = true;
    const faultAt = Date.now();
    await until(async () => (await modesOf(replicas)).every((mode) => mode === 'observe'));
    await pause(200);
    const before = v2.requests;
    await pause(500);
    const afterRollback = v2.requests - before;
    v2.fails = false;
    const rollbackLines = replicas.map(({ lines }) =>
      lines.filter(({ event }) => event === 'rollout-rolled-back'),
    );
    const { rollbacks } = await third.rollout();

    await third.command({ mode: 'canary', share: 20 });
    await until(async () => (await modesOf(replicas)).every((mode) => mode === 'canary'));
    await pause(200);
    const awayAt = Date.now();
    await store.kill();
    await until(async () => (await first.admin('/readyz')).includes('aloneSince'));
    const ready = [await first.admin('/readyz')];
    await pause(500);
    await store.restart();
    await until(async () => !(await isAnyAlone(replicas)));
    ready.push(await first.admin('/readyz'));
    store.hang();
    await pause(hangMs);
    store.resume();
    await until(async () => !(await isAnyAlone(replicas)));
    await pause(200);
    const failedWithoutStore = orders.failuresSince(awayAt);

    // Requests in flight on a process that is killed are lost; the load balancer sends no further ones.
    const killedAt = Date.now();
    orders.targets = [second.url, third.url];
    await pause(100);
    await first.kill();
    await pause(500);
    const failedBesideKilled = orders.failuresSince(killedAt + 100);
    const again = await ReplicaProcess.start(flags, programs[3]);
    replicas[0] = again;
    orders.targets = replicas.map(({ url }) => url);
    await pause(300);
    const modes = await modesOf([second, third, again]);
    await orders.stop();
    const accepted = orders.outcomes.filter(({ status }) => status === 201).map(({ id }) => id);
    const times = (id: string): number => (v1.orders.get(id) ?? 0) + (v2.orders.get(id) ?? 0);
    return {
      orders: orders.outcomes.length,
      choiceMs,
      rollbackMs: rollbackLines.map(([line]) => (line?.time ?? Number.NaN) - faultAt),
      rollbackLines: rollbackLines.map((lines) => lines.map(({ msg }) => msg)),
      rollbacks,
      afterRollback,
      failedWithoutStore,
      ready,
      failedBesideKilled,
      modes,
      lost: accepted.filter((id) => times(id) === 0),
      twice: orders.outcomes.map(({ id }) => id).filter((id) => times(id) > 1),
    };
  } finally {
    await Promise.all(loads.map((one) => one.stop()));
    await Promise.all(replicas.map((replica) => replica.kill()));
    v1.close();
    v2.close();
  }
}

async function modesOf(replicas: readonly ReplicaProcess[]): Promise<readonly string[]> {
  const views = await Promise.all(replicas.map((replica) => replica.rollout()));
  return views.map((view) => view.default.mode);
}

async function isAnyAlone(replicas: readonly ReplicaProcess[]): Promise<boolean> {
  const views = await Promise.all(replicas.map((replica) => replica.rollout()));
  return views.some(({ replica }) => replica?.aloneSince !== undefined);
}

async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  const end = Date.now() + 20_000;
  while (!(await condition())) {
    if (Date.now() > end) throw new Error(`it never happened: ${String(condition)}`);
    await pause(5);
  }
}

/** The outcome of one order. */
interface OrderOutcome {
  readonly id: string;
  /** Undefined when the connection broke. */
  readonly status: number | undefined;
  readonly at: number;
}

/** Clients that place orders, one after the other each, through replicas in turn. */
class OrderLoad {
  readonly outcomes: OrderOutcome[] = [];
  /** Addresses of replicas that a load balancer would send to. */
  targets: readonly string[];
  private readonly agent = new Agent({ keepAlive: true });
  private readonly loops: Promise<void>[];
  private hasEnded = false;
  private placed = 0;

  constructor(targets: readonly string[], clients: number) {
    this.targets = targets;
    this.loops = Array.from({ length: clients }, (_, client) => this.run(client));
  }

  /** Resolves when the orders under way are finished. */
  async stop(): Promise<void> {
    this.hasEnded = true;
    await Promise.all(this.loops);
    this.agent.destroy();
  }

  /** Outcomes from a time on that are not 201. */
  failuresSince(time: number): readonly OrderOutcome[] {
    return this.outcomes.filter(({ at, status }) => at >= time && status !== 201);
  }

  private async run(client: number): Promise<void> {
    for (let turn = client; !this.hasEnded; turn += 1) {
      this.placed += 1;
      const id = `order-${this.placed}`;
      const target = this.targets[turn % this.targets.length] ?? '';
      const at = Date.now();
      this.outcomes.push({ id, status: await this.place(target, `key-${client}`, id), at });
      await pause(10);
    }
  }

  private place(target: string, key: string, id: string): Promise<number | undefined> {
    const body = `{"data":{"name":"${id}"}}`;
    return new Promise((resolve) => {
      const sent = request(
        `${target}/api/v1/clients`,
        {
          method: 'POST',
          agent: this.agent,
          headers: {
            authorization: `Bearer ${key}`,
            'content-type': 'application/json',
            'content-length': body.length,
          },
        },
        (response) => {
          response.resume();
          response.on('end', () => resolve(response.statusCode));
          response.on('error', () => resolve(undefined));
        },
      );
      sent.on('error', () => resolve(undefined));
      sent.end(body);
    });
  }
}
