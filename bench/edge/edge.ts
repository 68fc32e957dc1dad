/**
 * `npm run bench -- edge`: the worker in workerd beside a worker on Hono and one written by hand, which check and log nothing. The
 * platform bills processor time: rows are microseconds a request, `start` and `memory` what an isolate costs.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { installPackage } from '../../config/install-packages.ts';
import { type Bench, type Started, withBench } from '../proxies/bench.ts';
import type { Figures } from '../proxies/figures.ts';
import { openH1, saturateLanes } from '../proxies/lanes.ts';
import { chosenRows } from '../proxies/proxies.ts';
import { playRounds } from '../proxies/rounds.ts';
import type { Row } from '../proxies/rows.ts';
import { median, printTable } from '../statistics.ts';
import { worksOf } from '../work.ts';
import { type EdgePeer, makeEdgePeers, NAMES } from './edge-peers.ts';

/** What to measure. */
export interface EdgePlan {
  readonly rounds: number;
  /** Ids of rows; all when empty. */
  readonly rows: readonly string[];
  /** Parts of names of workers beside the gateway; all when empty. */
  readonly only: readonly string[];
}

const WORKS = ['pass', 'migrate'] as const;
/** The worker that a work is held to, and the most times its processor time. */
const RIVALS = { pass: NAMES.hono, migrate: NAMES.hand } as const;
const GOALS = { pass: 1.3, migrate: 1.5 } as const;
/** The most times Hono's memory and time to the first response, and the most bytes of the first module. */
const MEMORY_GOAL = 1.3;
const START_GOAL = 1.5;
const BUNDLE_GOAL = 110 * 1024;
const ROUND_MS = 1500;
/** Requests after which memory is read. */
const REQUESTS = [20_000, 100_000];

const sizes = [
  { id: '1kb', title: '1 KB', works: worksOf(1000) },
  { id: '100kb', title: '100 KB', works: worksOf(100_000) },
  { id: '1mb', title: '1 MB', works: worksOf(1_181_000) },
];

const requestRows: readonly Row[] = sizes.flatMap(({ id, title, works }) =>
  [1, 16].map((lanes) => ({
    id: `${id}-${lanes}`,
    title: `${title}, ${lanes === 1 ? 'one connection' : `${lanes} connections`}`,
    form: 'plain' as const,
    works,
    lanes,
    length: 1,
    goals: GOALS,
  })),
);

const [smallest] = requestRows;
const isolateRows = [{ id: 'start' }, { id: 'memory' }] as const;

/** Measures and prints. */
export async function benchEdge({ rounds, rows, only }: EdgePlan): Promise<void> {
  if (installPackage('deploy/edge') !== 0) throw new Error('Wrangler and workerd could not be installed.');
  const ids = rows.length === 0 ? [...requestRows, ...isolateRows].map(({ id }) => id) : rows;
  chosenRows([...requestRows, ...isolateRows], ids);
  const folder = mkdtempSync(join(tmpdir(), 'edge-workers-'));
  try {
    const peers = (await makeEdgePeers(folder)).filter(
      ({ name }) => name === NAMES.gateway || only.length === 0 || only.some((part) => name.includes(part)),
    );
    const chosen = requestRows.filter(({ id }) => ids.includes(id));
    if (chosen.length > 0)
      printRequests(
        chosen,
        await playRounds({ peers, rows: chosen, takes: () => true, rounds, roundMs: ROUND_MS }),
      );
    if (ids.includes('start')) await withBench((bench) => benchStart(peers, rounds, bench));
    if (ids.includes('memory')) await withBench((bench) => benchMemory(peers, bench));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function printRequests(rows: readonly Row[], figures: Figures): void {
  console.log('\nMicroseconds of processor time a request, medians of rounds\n');
  printTable(
    ['row', 'work', ...Object.values(NAMES), 'ratio by round (bounds)', 'goal'],
    rows.flatMap((row) =>
      WORKS.map((work) => {
        const { of, least, most } = figures.ratio([row, work, NAMES.gateway], [row, work, RIVALS[work]]);
        return [
          `\`${row.id}\` ${row.title}`,
          work,
          ...Object.values(NAMES).map((name) => figures.median(row, work, name, 'cpu').toFixed(0)),
          `${of.toFixed(2)} (${least.toFixed(2)}–${most.toFixed(2)}) of ${RIVALS[work]}`,
          goalText(of, GOALS[work]),
        ];
      }),
    ),
  );
}

function goalText(ratio: number, most: number): string {
  return `≤ ${most}: ${ratio <= most ? 'met' : '**not met**'}`;
}

/** From the start of the process to its first whole response, and what its modules weigh. */
async function benchStart(peers: readonly EdgePeer[], rounds: number, bench: Bench): Promise<void> {
  const measured = new Map(peers.map((peer) => [peer, { ms: [] as number[], cpu: [] as number[] }]));
  for (let round = 0; round < rounds; round += 1) {
    for (const peer of peers) {
      const began = performance.now();
      const { running } = await bench.start(peer, 'plain');
      measured.get(peer)?.ms.push(performance.now() - began);
      measured.get(peer)?.cpu.push(running.processorTime() / 1000);
      await running.stop(0);
    }
  }
  console.log('\nFrom the start of workerd to the first response, medians of starts\n');
  const hono = median(measuredOf(NAMES.hono)?.cpu ?? []);
  printTable(
    [
      'worker',
      'ms',
      'ms of processor time',
      `goal: ≤ ${START_GOAL} of Hono`,
      'KiB gzipped',
      'KiB on demand',
      'goal',
    ],
    [...measured].map(([{ name, gzipped }, { ms, cpu }]) => [
      name,
      median(ms).toFixed(0),
      median(cpu).toFixed(0),
      (median(cpu) / hono).toFixed(2),
      (gzipped.first / 1024).toFixed(1),
      (gzipped.others / 1024).toFixed(1),
      name === NAMES.gateway
        ? `≤ ${BUNDLE_GOAL / 1024}: ${gzipped.first <= BUNDLE_GOAL ? 'met' : '**not met**'}`
        : '',
    ]),
  );

  function measuredOf(wanted: string): { readonly cpu: readonly number[] } | undefined {
    return [...measured].find(([{ name }]) => name === wanted)?.[1];
  }
}

/** Resident memory after so many requests of 1 KB on 16 connections, half of them to each version. */
async function benchMemory(peers: readonly EdgePeer[], bench: Bench): Promise<void> {
  const lines: (readonly [name: string, ...mebibytes: number[]])[] = [];
  for (const peer of peers) {
    const one = await bench.start(peer, 'plain');
    const mebibytes: number[] = [];
    let sent = 0;
    for (const requests of REQUESTS) {
      for (; sent < requests;) sent += await sendSome(one);
      mebibytes.push(one.running.memory() / 2 ** 20);
    }
    lines.push([peer.name, ...mebibytes]);
    await one.running.stop(0);
  }
  const hono = lines.find(([name]) => name === NAMES.hono)?.[1] ?? Number.NaN;
  console.log('\nResident memory in MiB, half of the requests passed and half migrated\n');
  printTable(
    [
      'worker',
      ...REQUESTS.map((requests) => `after ${requests.toLocaleString('en')} requests`),
      `of Hono, goal ≤ ${MEMORY_GOAL}`,
    ],
    lines.map(([name, ...mebibytes]) => [
      name,
      ...mebibytes.map((each) => each.toFixed(0)),
      ((mebibytes[0] ?? Number.NaN) / hono).toFixed(2),
    ]),
  );
}

async function sendSome({ running }: Started): Promise<number> {
  if (smallest === undefined) return 0;
  let sent = 0;
  for (const work of WORKS) {
    const lanes = await openH1(running.port, smallest.works[work].request, 16, false);
    sent += (await saturateLanes(lanes, 500)).length;
    lanes.close();
  }
  return sent;
}
