/**
 * `npm run bench -- proxies --long`: the gateway beside nginx and its kind at the sizes, rates and forms of TLS that users have. A proxy
 * has processor 0 for itself, load and V2 share processor 1. Rounds are interleaved, so that a noisy minute hits all.
 */
import { mkdtempSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { certificate } from '../../test/support/certificates.ts';
import { gateway, gatewayLogFile, logFile } from '../peers/node-peers.ts';
import { nginx, nginxJs, nginxLua } from '../peers/nginx-peers.ts';
import { caddy, haproxy } from '../peers/plain-peers.ts';
import type { Peer, TlsFiles } from '../peers/peer.ts';
import { RunningPeer } from '../running-peer.ts';
import { onProcessors, processorsFault } from '../scale-processors.ts';
import { startUpstream, type UpstreamProcess } from '../upstream-process.ts';
import { type WorkName, worksOf } from '../work.ts';
import { checkPeer } from './check-peer.ts';
import { Figures } from './figures.ts';
import { printLong } from './long-tables.ts';
import { measure, measureBare } from './measure.ts';
import { type Form, type Row, rows } from './rows.ts';

/** What to measure, and for how long. */
export interface LongPlan {
  readonly rounds: number;
  /** Ids of rows; all of them when empty. */
  readonly rows: readonly string[];
  /** Parts of names of peers; all that are installed when empty. The gateway is always there. */
  readonly only: readonly string[];
}

const ROUND_MS = 1000;
const WARM_UP_MS = 300;
/** Code reaches its speed only after some thousands of requests. */
const FIRST_WARM_UP_MS = 1500;

const peers: readonly Peer[] = [gateway, gatewayLogFile, nginx, nginxLua, nginxJs, haproxy, caddy];

/** A peer that serves in one form. */
interface Started {
  readonly running: RunningPeer;
  readonly form: Form;
  readonly folder: string;
}

/** Measures and prints. */
export async function benchLong(plan: LongPlan): Promise<void> {
  const fault = processorsFault();
  if (fault !== undefined) throw new Error(`Not measured: ${fault}`);
  const chosen = rows.filter(({ id }) => plan.rows.length === 0 || plan.rows.includes(id));
  if (chosen.length === 0) throw new Error(`no such row; there are ${rows.map(({ id }) => id).join(', ')}`);
  const folder = mkdtempSync(join(tmpdir(), 'bench-'));
  try {
    await onProcessors('1', () => measured(plan, chosen, folder));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function measured(plan: LongPlan, chosen: readonly Row[], folder: string): Promise<void> {
  const tls = tlsFiles(folder);
  const upstream = await startUpstream('1', [tls.cert, tls.key]);
  const started: Started[] = [];
  try {
    const there = installed(plan.only);
    for (const form of new Set(chosen.map((row) => row.form)))
      for (const peer of there.filter((one) => serves(one, form)))
        started.push(await start(peer, form, upstream, folder, tls));
    for (const row of chosen) await checkRow(row, started, upstream);
    const { response } = await upstream.last();
    const figures = new Figures();
    const perRound = turns(chosen, started, 0).length;
    console.log(
      `${plan.rounds} rounds of ${perRound} measurements, about ${Math.ceil(((plan.rounds * 1.7 + 2) * perRound + 20) / 60)} minutes\n`,
    );
    for (let round = 0; round < plan.rounds; round += 1)
      await playRound(round, chosen, started, upstream.port, Buffer.byteLength(response), figures);
    printLong(chosen, figures);
  } finally {
    for (const { running } of started) await running.stop();
    upstream.stop();
  }
}

function tlsFiles(folder: string): TlsFiles {
  const files = { cert: join(folder, 'cert.pem'), key: join(folder, 'key.pem') };
  const { cert, key } = certificate({ name: 'bench', hosts: ['localhost', '127.0.0.1'] });
  writeFileSync(files.cert, cert);
  writeFileSync(files.key, key);
  return files;
}

function installed(only: readonly string[]): readonly Peer[] {
  return peers.filter((peer) => {
    const name = peer.name.toLowerCase();
    const isWanted = only.length === 0 || only.some((part) => name.includes(part.toLowerCase()));
    if (!isWanted && peer !== gateway) return false;
    const missing = peer.missing();
    if (missing !== undefined) console.log(`missing: ${peer.name} (install ${missing})`);
    return missing === undefined;
  });
}

function serves(peer: Peer, form: Form): boolean {
  return form === 'plain' || (peer.hasTls && peer.name !== gatewayLogFile.name);
}

async function start(
  peer: Peer,
  form: Form,
  upstream: UpstreamProcess,
  root: string,
  tls: TlsFiles,
): Promise<Started> {
  const folder = join(root, `${peer.name.replaceAll(/\W+/g, '-')}-${form}`);
  const isUpstreamTls = form === 'upstream-tls';
  const place = {
    folder,
    upstream: isUpstreamTls ? upstream.tlsPort : upstream.port,
    clientTls: form === 'clients-tls' || form === 'clients-h2' ? tls : undefined,
    upstreamCa: isUpstreamTls ? tls.cert : undefined,
  };
  const first = worksOf(1000)[peer.works[0] ?? 'pass'];
  return { running: await RunningPeer.start(peer, place, first.request), form, folder };
}

async function checkRow(row: Row, started: readonly Started[], upstream: UpstreamProcess): Promise<void> {
  for (const { running, form } of started) {
    if (form !== row.form) continue;
    for (const work of running.peer.works) await checkPeer(running, row.works[work], form, upstream);
  }
}

/** One measurement of a round. */
interface Turn {
  readonly row: Row;
  readonly work: WorkName;
  readonly started: Started;
}

function turns(chosen: readonly Row[], started: readonly Started[], round: number): readonly Turn[] {
  const ordered = round % 2 === 0 ? started : started.toReversed();
  return chosen.flatMap((row) =>
    (['pass', 'migrate'] as const).flatMap((work) =>
      ordered
        .filter(({ running, form }) => form === row.form && running.peer.works.includes(work))
        // A file or a pipe makes a difference at the most lines a second.
        .filter(({ running }) => running.peer !== gatewayLogFile || row.id === '1kb')
        .map((one) => ({ row, work, started: one })),
    ),
  );
}

async function playRound(
  round: number,
  chosen: readonly Row[],
  started: readonly Started[],
  bare: number,
  responseBytes: number,
  figures: Figures,
): Promise<void> {
  for (const row of chosen.filter(({ rate }) => rate !== undefined))
    figures.addBare(row, await measureBare(row, row.works.pass, bare, ROUND_MS));
  const warmUp = round === 0 ? FIRST_WARM_UP_MS : WARM_UP_MS;
  for (const { row, work, started: one } of turns(chosen, started, round)) {
    const { running, folder } = one;
    figures.add(
      row,
      work,
      running.peer.name,
      await measure(row, work, running, responseBytes, ROUND_MS, warmUp),
    );
    if (running.peer === gatewayLogFile) truncateSync(logFile(folder));
  }
}
