/**
 * `npm run bench -- clients`: clients as old scripts are, which open a connection for each request and come all at once. The gateway
 * stands beside nginx, a plain proxy in Node, and two joined sockets of Node, which are the least that Node can take.
 */
import type { Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { nginx } from './peers/nginx-peers.ts';
import { gateway, plain, sockets } from './peers/node-peers.ts';
import type { Peer } from './peers/peer.ts';
import { type Bench, type Started, withBench } from './proxies/bench.ts';
import { connectTo, firstResponse, type Lanes, openH1, saturateLanes } from './proxies/lanes.ts';
import { chosenRows, installed } from './proxies/proxies.ts';
import type { Form } from './proxies/rows.ts';
import { accepts } from './running.ts';
import { median, printTable, quantile } from './statistics.ts';
import { worksOf } from './work.ts';

/** What to measure. */
export interface ClientsPlan {
  readonly rounds: number;
  /** Ids of rows; all when empty. */
  readonly rows: readonly string[];
  readonly only: readonly string[];
}

/** A way in which clients come. */
interface ClientRow {
  readonly id: string;
  readonly title: string;
  readonly form: Form;
  /** Whether a peer is measured; all are without. */
  takes?(peer: Peer): boolean;
  /** Measures one round, and returns the cells of `head`. */
  play(one: Started, bench: Bench): Promise<readonly number[]>;
  readonly head: readonly string[];
  readonly goal: string;
}

const CLOSE_HEAD = ['µs of processor time', 'requests a second', 'p50 ms', 'p99 ms'];
const rows: readonly ClientRow[] = [
  {
    id: 'burst',
    title: '1,000 clients connect at once while 32 connections keep the proxy saturated',
    form: 'plain',
    play: burst,
    head: ['p50 ms', 'p99 ms', 'p99 in fair turns', 'unserved after 5 s'],
    goal: 'at most 6 fair turns, none unserved',
  },
  close('close', 'a connection a request', 'plain', false, 'at most 100 µs, twice nginx'),
  close('close-tls', 'a new TLS connection a request', 'clients-tls', false, 'at most 1.3 times nginx'),
  close(
    'close-resumed',
    'a resumed TLS connection a request',
    'clients-tls',
    true,
    'at most 1.5 times nginx',
  ),
  {
    id: 'start',
    title: '32 clients whose requests are the first after a start',
    form: 'plain',
    play: start,
    head: ['ms until it accepts', 'slowest of 32 first responses, ms'],
    goal: 'accepts within 300 ms, and 99 % within 40 ms',
  },
  {
    id: 'idle',
    title: 'connections that had one response, and are kept',
    form: 'plain',
    // Joined sockets have as many connections to V2, and the kernel runs out of ports.
    takes: (peer) => peer !== sockets,
    play: idle,
    head: ['MiB before', 'MiB with 1,000', 'MiB with 8,000'],
    goal: 'not more than before',
  },
];

const LANES = 32;
const NEWCOMERS = 1000;
const PATIENCE_MS = 5000;
const ROUND_MS = 1500;
/** Milliseconds after which memory that is no longer used has gone. */
const SETTLE_MS = 3000;

/** Measures and prints. */
export async function benchClients(plan: ClientsPlan): Promise<void> {
  const chosen = plan.rows.length === 0 ? rows : chosenRows(rows, plan.rows);
  const peers = installed([gateway, nginx, plain, sockets], plan.only);
  await withBench(async (bench) => {
    const all: Started[] = [];
    for (const form of new Set(chosen.map((row) => row.form)))
      for (const peer of peers) if (peer.hasTls || form === 'plain') all.push(await bench.start(peer, form));
    for (const row of chosen) {
      const started = all.filter(({ peer, form }) => form === row.form && (row.takes?.(peer) ?? true));
      const figures = new Map<Started, (readonly number[])[]>(started.map((one) => [one, []]));
      for (let round = 0; round < plan.rounds; round += 1)
        for (const one of round % 2 === 0 ? started : started.toReversed())
          figures.get(one)?.push(await row.play(one, bench));
      console.log(`\n${row.id}: ${row.title} (goal: ${row.goal}); medians of ${plan.rounds} rounds\n`);
      printTable(
        ['proxy', ...row.head],
        [...figures].map(([{ peer }, rounds]) => [
          peer.name,
          ...row.head.map((_, at) => median(rounds.map((cells) => cells[at] ?? Number.NaN)).toFixed(1)),
        ]),
      );
    }
  });
}

const { request } = worksOf(1000).pass;
const ONCE = Buffer.from(
  request.toString('latin1').replace('\r\nHost:', '\r\nConnection: close\r\nHost:'),
  'latin1',
);

/** The first response of each of many clients that connect at the same moment. A fair turn is connections ÷ requests a second. */
async function burst({ running: { port } }: Started): Promise<readonly number[]> {
  const load = await openH1(port, request, LANES, false);
  const before = await saturateLanes(load, ROUND_MS);
  const fairTurn = (NEWCOMERS * ROUND_MS) / before.length;
  const during = saturateLanes(load, PATIENCE_MS + ROUND_MS);
  const began = performance.now();
  const open = new Set<Socket>();
  const waits = await Promise.all(
    Array.from({ length: NEWCOMERS }, () =>
      Promise.race([
        connectTo(port, false).then(async (socket) => {
          open.add(socket);
          await firstResponse(socket, ONCE);
          return performance.now() - began;
        }),
        lateAfter(PATIENCE_MS),
      ]),
    ),
  );
  await during;
  load.close();
  for (const socket of open) socket.destroy();
  const p99 = quantile(waits, 0.99);
  return [quantile(waits, 0.5), p99, p99 / fairTurn, waits.filter((wait) => wait === Infinity).length];
}

function close(id: string, title: string, form: Form, isResumed: boolean, goal: string): ClientRow {
  const isTls = form === 'clients-tls';
  const play = async ({ running }: Started): Promise<readonly number[]> => {
    const session = isResumed ? await ticketOf(running.port) : undefined;
    const open = (): Promise<Socket> =>
      isTls ? openTls(running.port, session) : connectTo(running.port, false);
    const cpu = running.processorTime();
    const took: number[] = [];
    const began = performance.now();
    await Promise.all(
      Array.from({ length: LANES }, async () => {
        while (performance.now() - began < ROUND_MS) {
          const start = performance.now();
          const socket = await open();
          await firstResponse(socket, ONCE);
          socket.destroy();
          took.push(performance.now() - start);
        }
      }),
    );
    const seconds = (performance.now() - began) / 1000;
    const used = running.processorTime() - cpu;
    return [used / took.length, took.length / seconds, quantile(took, 0.5), quantile(took, 0.99)];
  };
  return { id, title, form, play, head: CLOSE_HEAD, goal };
}

/** A second process of the same proxy, from its start to its first responses. */
async function start({ peer, form }: Started, bench: Bench): Promise<readonly number[]> {
  const began = performance.now();
  const fresh = await bench.start(peer, form, accepts);
  const ready = performance.now() - began;
  const load = await openH1(fresh.running.port, request, LANES, false);
  const took = await saturateLanes(load, 0);
  load.close();
  await fresh.running.stop();
  return [ready, Math.max(...took)];
}

/** Resident memory in MiB with more and more connections that wait for their next request. */
async function idle({ peer, form }: Started, bench: Bench): Promise<readonly number[]> {
  const { running } = await bench.start(peer, form);
  const memory = [running.memory() / 2 ** 20];
  const open: Lanes[] = [];
  for (const more of [1000, 7000]) {
    open.push(await openH1(running.port, request, more, false));
    await delay(SETTLE_MS);
    memory.push(running.memory() / 2 ** 20);
  }
  for (const lanes of open) lanes.close();
  await running.stop(PATIENCE_MS);
  return memory;
}

function lateAfter(milliseconds: number): Promise<number> {
  return new Promise((resolve) => {
    setTimeout(() => resolve(Infinity), milliseconds).unref();
  });
}

/** Old clients know X25519 at best, and Debian's nginx no more; Node would agree with the gateway on X25519MLKEM768. */
const TLS = { host: '127.0.0.1', rejectUnauthorized: false, ecdhCurve: 'X25519:P-256' };

async function openTls(port: number, session?: Buffer): Promise<Socket> {
  const socket = connectTls({ ...TLS, port, session });
  await once(socket, 'secureConnect');
  if (session !== undefined && !socket.isSessionReused()) throw new Error('the session was not resumed');
  return socket;
}

/** A session that a later connection resumes; its ticket may come with the end of the handshake. */
async function ticketOf(port: number): Promise<Buffer> {
  const socket = connectTls({ ...TLS, port });
  const ticket = once(socket, 'session') as Promise<[Buffer]>;
  await firstResponse(socket, ONCE);
  const [session] = await ticket;
  socket.destroy();
  return session;
}
