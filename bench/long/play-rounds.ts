import { existsSync, mkdtempSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { certificate } from '../../test/support/certificates.ts';
import { logFile } from '../peers/node-peers.ts';
import type { Peer, TlsFiles } from '../peers/peer.ts';
import { RunningPeer } from '../running-peer.ts';
import { onProcessors, processorsFault } from '../scale-processors.ts';
import { startUpstream, type UpstreamProcess } from '../upstream-process.ts';
import { type WorkName, worksOf } from '../work.ts';
import { checkPeer } from './check-peer.ts';
import { Figures } from './figures.ts';
import { measure, measureBare } from './measure.ts';
import type { Form, Row } from './rows.ts';

/** What to measure, and for how long. */
export interface RoundsPlan {
  readonly peers: readonly Peer[];
  readonly rows: readonly Row[];
  /** Whether a peer is measured at a row, beside the works and forms that it has. */
  readonly takes: (peer: Peer, row: Row) => boolean;
  readonly rounds: number;
  /** Milliseconds of a measurement. */
  readonly roundMs: number;
}

const WARM_UP_MS = 300;
/** Code reaches its speed only after some thousands of requests. */
const FIRST_WARM_UP_MS = 2000;
/** Milliseconds that a measurement takes beside its warm-up and its rounds: connections, the tails of long requests. */
const AROUND_MS = 400;

/** A peer that serves in one form. */
interface Started {
  readonly running: RunningPeer;
  readonly form: Form;
  readonly folder: string;
}

/**
 * Measures all peers in interleaved rounds, each in a process that has processor 0 for itself; load and V2 share processor 1. Each
 * peer is first held to what V2 and the client must get.
 */
export async function playRounds(plan: RoundsPlan): Promise<Figures> {
  const fault = processorsFault();
  if (fault !== undefined) throw new Error(`Not measured: ${fault}`);
  const folder = mkdtempSync(join(tmpdir(), 'bench-'));
  try {
    return await onProcessors('1', () => played(plan, folder));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function played(plan: RoundsPlan, folder: string): Promise<Figures> {
  const tls = tlsFiles(folder);
  const upstream = await startUpstream('1', [tls.cert, tls.key]);
  const started: Started[] = [];
  try {
    for (const form of new Set(plan.rows.map((row) => row.form)))
      for (const peer of plan.peers.filter((one) => serves(plan, one, form)))
        started.push(await start(peer, form, upstream, folder, tls));
    for (const row of plan.rows) await checkRow(row, started, upstream);
    const { response } = await upstream.last();
    const figures = new Figures();
    sayLength(plan, turns(plan, started, 0));
    for (let round = 0; round < plan.rounds; round += 1) {
      for (const row of plan.rows.filter(({ rate }) => rate !== undefined))
        figures.addBare(row, await measureBare(row, row.works.pass, upstream.port, plan.roundMs));
      await playRound(plan, round, started, Buffer.byteLength(response), figures);
    }
    return figures;
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

function serves({ rows, takes }: RoundsPlan, peer: Peer, form: Form): boolean {
  return (form === 'plain' || peer.hasTls) && rows.some((row) => row.form === form && takes(peer, row));
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
  readonly one: Started;
}

function turns({ rows, takes }: RoundsPlan, started: readonly Started[], round: number): readonly Turn[] {
  const ordered = round % 2 === 0 ? started : started.toReversed();
  return rows.flatMap((row) =>
    (['pass', 'migrate'] as const).flatMap((work) =>
      ordered
        .filter(
          ({ running: { peer }, form }) => form === row.form && peer.works.includes(work) && takes(peer, row),
        )
        .map((one) => ({ row, work, one })),
    ),
  );
}

function sayLength({ rounds, roundMs }: RoundsPlan, all: readonly Turn[]): void {
  const oneRound = all.reduce((sum, { row }) => sum + row.length * roundMs + WARM_UP_MS + AROUND_MS, 0);
  const milliseconds = rounds * oneRound + all.length * FIRST_WARM_UP_MS;
  console.log(
    `${rounds} rounds of ${all.length} measurements, about ${Math.ceil(milliseconds / 60_000)} minutes on a quiet machine\n`,
  );
}

async function playRound(
  plan: RoundsPlan,
  round: number,
  started: readonly Started[],
  responseBytes: number,
  figures: Figures,
): Promise<void> {
  const warmUp = round === 0 ? FIRST_WARM_UP_MS : WARM_UP_MS;
  for (const { row, work, one } of turns(plan, started, round)) {
    const measured = await measure(row, work, one.running, responseBytes, plan.roundMs, warmUp);
    figures.add(row, work, one.running.peer.name, measured);
    if (existsSync(logFile(one.folder))) truncateSync(logFile(one.folder));
  }
}
