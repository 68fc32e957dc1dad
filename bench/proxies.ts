/**
 * `npm run bench -- proxies`: the gateway beside its alternatives, each doing the same work against the same V2.
 * A proxy has processor 0 for itself, load and V2 share processor 1. Rounds are interleaved, so that a noisy minute hits all.
 */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client, pace, saturate } from './load.ts';
import type { Peer } from './peers/peer.ts';
import { peers } from './peers/peers.ts';
import { printProxies, type PeerFigures } from './proxies-table.ts';
import { RunningPeer } from './running-peer.ts';
import { quantile } from './statistics.ts';
import { startUpstream, type UpstreamProcess } from './upstream-process.ts';
import { migrate, pass, type Work, type WorkName } from './work.ts';

/** The works to measure, and for how long. */
export interface ProxiesPlan {
  /** Three short rounds instead of five long ones. */
  readonly isQuick: boolean;
  readonly works: readonly WorkName[];
  /** Parts of names; every peer when empty. */
  readonly only: readonly string[];
}

const CONNECTIONS = 32;
const RATE = 1000;
const HELD = 1000;

/** Measures and prints. */
export async function benchProxies(plan: ProxiesPlan): Promise<void> {
  if (availableParallelism() < 2)
    throw new Error('The bench needs two processors: one for the proxy, one for load and V2.');
  execFileSync('taskset', ['-a', '-c', '-p', '1', String(process.pid)], { stdio: 'ignore' });
  const folder = mkdtempSync(join(tmpdir(), 'bench-'));
  const upstream = await startUpstream();
  const running: RunningPeer[] = [];
  try {
    const works = [pass, migrate].filter(({ name }) => plan.works.includes(name));
    const chosen = peers.filter((peer) => isChosen(peer, plan));
    for (const peer of chosen) {
      const missing = peer.missing();
      if (missing === undefined) running.push(await started(peer, works, upstream, folder));
      else console.log(`missing: ${peer.name} (install ${missing})`);
    }
    const figures = running.map((one) => ({ one, figures: empty(one) }));
    await rounds(works, figures, plan);
    await paced(works, figures, upstream, plan);
    for (const { one, figures: its } of figures) await memory(one, its, works);
    printProxies(
      works,
      figures.map((each) => each.figures),
    );
  } finally {
    for (const one of running) await one.stop();
    upstream.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

function isChosen(peer: Peer, plan: ProxiesPlan): boolean {
  if (!peer.works.some((work) => plan.works.includes(work))) return false;
  const name = peer.name.toLowerCase();
  return plan.only.length === 0 || plan.only.some((part) => name.includes(part.toLowerCase()));
}

/** Starts a peer, and checks the request that reaches V2 through it, and the response that comes back. */
async function started(
  peer: Peer,
  works: readonly Work[],
  upstream: UpstreamProcess,
  folder: string,
): Promise<RunningPeer> {
  const mine = works.filter((work) => peer.works.includes(work.name));
  const one = await RunningPeer.start(
    peer,
    { upstream: upstream.port, folder: join(folder, peer.name.replaceAll(/\W+/g, '-')) },
    (mine[0] ?? pass).request,
  );
  for (const work of mine) {
    const client = await Client.open(one.port);
    const response = await client.request(work.request);
    client.close();
    const { head, body, response: sent } = await upstream.last();
    const fault =
      work.fault(head, body) ?? (response.toString() === sent ? undefined : 'the response is changed');
    if (fault !== undefined) throw new Error(`${peer.name}, ${work.name}: ${fault}`);
  }
  return one;
}

interface Measured {
  readonly one: RunningPeer;
  readonly figures: PeerFigures;
}

function empty(one: RunningPeer): PeerFigures {
  return { name: one.peer.name, start: one.start, idle: one.residentBytes(), loaded: 0, works: new Map() };
}

async function rounds(works: readonly Work[], all: readonly Measured[], plan: ProxiesPlan): Promise<void> {
  const count = plan.isQuick ? 3 : 5;
  const length = plan.isQuick ? 600 : 2000;
  for (let round = 0; round < count; round += 1) {
    for (const work of works) {
      for (const { one, figures } of rotated(all, round)) {
        if (!one.peer.works.includes(work.name)) continue;
        const its = workFigures(figures, work);
        // JIT-compiled code reaches its speed only after some thousands of requests, and memory that was idle for a
        // minute may have to be fetched back.
        await saturate(one.port, work.request, CONNECTIONS, round === 0 ? 2 * length : length / 2);
        const cpu = one.processorTime();
        const began = performance.now();
        const requests = await saturate(one.port, work.request, CONNECTIONS, length);
        const seconds = (performance.now() - began) / 1000;
        const used = one.processorTime() - cpu;
        its.cpu.push((used * 1000) / requests);
        its.perSecond.push(requests / seconds);
        its.busy.push(used / (seconds * 1000));
      }
    }
  }
}

/** Latency at a modest rate, with that of V2 itself taken off. */
async function paced(
  works: readonly Work[],
  all: readonly Measured[],
  upstream: UpstreamProcess,
  plan: ProxiesPlan,
): Promise<void> {
  const count = plan.isQuick ? 1 : 3;
  const length = plan.isQuick ? 1000 : 2500;
  for (let round = 0; round < count; round += 1) {
    for (const work of works) {
      const bare = await pace(upstream.port, work.request, RATE, length);
      for (const { one, figures } of rotated(all, round)) {
        if (!one.peer.works.includes(work.name)) continue;
        const took = await pace(one.port, work.request, RATE, length);
        const its = workFigures(figures, work);
        its.p50.push(quantile(took, 0.5) - quantile(bare, 0.5));
        its.p99.push(quantile(took, 0.99) - quantile(bare, 0.99));
      }
    }
  }
}

async function memory(one: RunningPeer, figures: PeerFigures, works: readonly Work[]): Promise<void> {
  const work = works.find(({ name }) => one.peer.works.includes(name)) ?? pass;
  const clients: Client[] = [];
  while (clients.length < HELD) {
    const client = await Client.open(one.port);
    await client.request(work.request);
    clients.push(client);
  }
  figures.loaded = one.residentBytes();
  for (const client of clients) client.close();
}

function rotated<Item>(items: readonly Item[], by: number): readonly Item[] {
  const at = items.length === 0 ? 0 : by % items.length;
  return [...items.slice(at), ...items.slice(0, at)];
}

function workFigures(figures: PeerFigures, work: Work): NonNullable<ReturnType<PeerFigures['works']['get']>> {
  const known = figures.works.get(work.name) ?? {
    cpu: [],
    perSecond: [],
    busy: [],
    p50: [],
    p99: [],
  };
  figures.works.set(work.name, known);
  return known;
}
