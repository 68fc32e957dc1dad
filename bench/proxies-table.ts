import { median } from './statistics.ts';
import type { Work, WorkName } from './work.ts';

/** The measurements of one peer doing one work, one per round. */
export interface WorkFigures {
  /** Microseconds of processor time a request. */
  readonly cpu: number[];
  readonly perSecond: number[];
  /** The share of its processor that the proxy used: below nine tenths, the load was the limit. */
  readonly busy: number[];
  /** Milliseconds beyond those of V2 itself. */
  readonly p50: number[];
  readonly p99: number[];
}

/** The measurements of one peer. */
export interface PeerFigures {
  readonly name: string;
  /** Milliseconds to the first response. */
  readonly start: number;
  /** Resident bytes after the first responses, and at the end with 1,000 connections. */
  readonly idle: number;
  loaded: number;
  readonly works: Map<WorkName, WorkFigures>;
}

/** The targets of the gateway: its work, the peer's, and the maximum ratio of processor time. */
const REACH: readonly (readonly [work: WorkName, against: string, of: WorkName, most: number])[] = [
  ['migrate', 'Hono proxy()', 'migrate', 0.2],
  ['migrate', 'Express + http-proxy-middleware', 'migrate', 0.4],
  ['migrate', 'Fastify + @fastify/http-proxy', 'migrate', 0.6],
  ['migrate', 'nginx + Lua + cjson', 'migrate', 2.2],
  ['pass', 'Caddy', 'pass', 0.75],
  ['pass', 'nginx proxy_pass', 'pass', 4.5],
  ['migrate', 'capture-gateway', 'pass', 1.25],
];

/** Prints the tables. */
export function printProxies(works: readonly Work[], all: readonly PeerFigures[]): void {
  for (const { name } of works) printWork(name, all);
  console.log('\nmemory and start\n\n| proxy | resident | with 1,000 connections | first response after |');
  console.log('|---|---|---|---|');
  for (const { name, idle, loaded, start } of all)
    console.log(`| ${name} | ${mib(idle)} | ${mib(loaded)} | ${start.toFixed(0)} ms |`);
  printReach(all);
}

function printWork(work: WorkName, all: readonly PeerFigures[]): void {
  const ours = cpuOf(all, 'capture-gateway', work);
  console.log(
    `\n${work}: medians of rounds; processor time a request with least and most, added latency at 1,000 requests a second\n`,
  );
  console.log('| proxy | CPU a request | spread | gateway / it | requests/s on one core | p50 | p99 |');
  console.log('|---|---|---|---|---|---|---|');
  for (const { name, works } of all) {
    const figures = works.get(work);
    if (figures === undefined) continue;
    const cpu = median(figures.cpu);
    const spread = `${Math.min(...figures.cpu).toFixed(1)}–${Math.max(...figures.cpu).toFixed(1)}`;
    const isLimited = median(figures.busy) < 0.9;
    console.log(
      `| ${name} | ${cpu.toFixed(1)} µs | ${spread} | ${ours === undefined ? '–' : (ours / cpu).toFixed(2)} | ${isLimited ? '≥ ' : ''}${median(figures.perSecond).toFixed(0)} | ${median(figures.p50).toFixed(2)} ms | ${median(figures.p99).toFixed(2)} ms |`,
    );
  }
  console.log('\n≥: the load was the limit, not the proxy.');
}

function printReach(all: readonly PeerFigures[]): void {
  const rows = REACH.flatMap(([work, against, of, most]) => {
    const ours = cpuOf(all, 'capture-gateway', work);
    const theirs = cpuOf(all, against, of);
    if (ours === undefined || theirs === undefined) return [];
    const ratio = ours / theirs;
    const name = against === 'capture-gateway' ? `its own ${of}` : against;
    return [
      `| ${work} | ${name} | ${ratio.toFixed(2)} | ${most} | ${ratio <= most ? 'reached' : 'NOT REACHED'} |`,
    ];
  });
  if (rows.length === 0) return;
  console.log('\nprocessor time a request, ratio of medians\n\n| work | against | ratio | at most | |');
  console.log(`|---|---|---|---|---|\n${rows.join('\n')}`);
}

function cpuOf(all: readonly PeerFigures[], name: string, work: WorkName): number | undefined {
  const figures = all.find((one) => one.name === name)?.works.get(work);
  return figures === undefined ? undefined : median(figures.cpu);
}

function mib(bytes: number): string {
  return `${(bytes / 2 ** 20).toFixed(0)} MiB`;
}
