import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { type ClientHttp2Session, connect } from 'node:http2';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { certificate } from '../../test/support/certificates.ts';
import { Client } from '../load.ts';
import { logFile } from '../peers/node-peers.ts';
import type { Peer, TlsFiles } from '../peers/peer.ts';
import { onProcessors, processorsFault } from '../processes.ts';
import { type ReadyCheck, RunningPeer } from '../running-peer.ts';
import { startUpstream, type UpstreamProcess } from '../upstream-process.ts';
import { type Work, type WorkName, worksOf } from '../work.ts';
import { Figures } from './figures.ts';
import { h2Fields, measure, measureBare } from './measure.ts';
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
export interface Started {
  readonly running: RunningPeer;
  readonly form: Form;
  readonly folder: string;
}

/** What peers are measured with: a V2, and a certificate for TLS on either side. */
export interface Bench {
  readonly folder: string;
  readonly tls: TlsFiles;
  readonly upstream: UpstreamProcess;
  /** Starts a peer that serves in a form, and waits until it responds, or until `ready` says so; it ends with the bench. */
  start(peer: Peer, form: Form, ready?: ReadyCheck): Promise<Started>;
}

/**
 * Measures all peers in interleaved rounds, each in a process that has processor 0 for itself; load and V2 share processor 1. Each
 * peer is first held to what V2 and the client must get.
 */
export function playRounds(plan: RoundsPlan): Promise<Figures> {
  return withBench(async (bench) => {
    const started: Started[] = [];
    for (const form of new Set(plan.rows.map((row) => row.form)))
      for (const peer of plan.peers.filter((one) => serves(plan, one, form)))
        started.push(await bench.start(peer, form));
    for (const row of plan.rows) await checkRow(row, started, bench.upstream);
    const { response } = await bench.upstream.last();
    const figures = new Figures();
    sayLength(plan, turns(plan, started, 0));
    for (let round = 0; round < plan.rounds; round += 1) {
      for (const row of plan.rows.filter(({ rate }) => rate !== undefined))
        figures.addBare(row, await measureBare(row, row.works.pass, bench.upstream.port, plan.roundMs));
      await playRound(plan, round, started, Buffer.byteLength(response), figures);
    }
    return figures;
  });
}

/** Starts a V2 beside the load, and ends it and all peers afterwards. */
export async function withBench<Result>(run: (bench: Bench) => Promise<Result>): Promise<Result> {
  const fault = processorsFault();
  if (fault !== undefined) throw new Error(`Not measured: ${fault}`);
  const folder = mkdtempSync(join(tmpdir(), 'bench-'));
  const tls = tlsFiles(folder);
  const started: Started[] = [];
  try {
    return await onProcessors('1', async () => {
      const upstream = await startUpstream('1', [tls.cert, tls.key]);
      const start = async (peer: Peer, form: Form, ready?: ReadyCheck): Promise<Started> => {
        const own = mkdtempSync(join(folder, 'peer-'));
        const one = await startPeer(peer, form, upstream, own, tls, ready);
        started.push(one);
        return one;
      };
      try {
        return await run({ folder, tls, upstream, start });
      } finally {
        for (const { running } of started) await running.stop();
        upstream.stop();
      }
    });
  } finally {
    rmSync(folder, { recursive: true, force: true });
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

async function startPeer(
  peer: Peer,
  form: Form,
  upstream: UpstreamProcess,
  folder: string,
  tls: TlsFiles,
  ready?: ReadyCheck,
): Promise<Started> {
  const isUpstreamTls = form === 'upstream-tls';
  const place = {
    folder,
    upstream: isUpstreamTls ? upstream.tlsPort : upstream.port,
    clientTls: form === 'clients-tls' || form === 'clients-h2' ? tls : undefined,
    upstreamCa: isUpstreamTls ? tls.cert : undefined,
  };
  const first = worksOf(1000)[peer.works[0] ?? 'pass'];
  return { running: await RunningPeer.start(peer, place, first.request, ready), form, folder };
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

/** Sends one request through a peer, and throws when V2 gets another than it should, or the client another response than V2's. */
async function checkPeer(
  peer: RunningPeer,
  work: Work,
  form: Form,
  upstream: UpstreamProcess,
): Promise<void> {
  const response =
    form === 'clients-h2' ? await overH2(peer.port, work) : await overH1(peer.port, work, form);
  const { head, body, response: sent } = await upstream.last();
  const fault = work.fault(head, body) ?? (response === sent ? undefined : 'the response is changed');
  if (fault !== undefined) throw new Error(`${peer.peer.name}, ${work.name}, ${form}: ${fault}`);
}

async function overH1(port: number, work: Work, form: Form): Promise<string> {
  const client = await Client.open(port, form === 'clients-tls');
  const body = await client.request(work.request);
  client.close();
  return body.toString();
}

async function overH2(port: number, work: Work): Promise<string> {
  const session = connect(`https://127.0.0.1:${port}`, { rejectUnauthorized: false });
  try {
    return await sendOverH2(session, work);
  } finally {
    session.destroy();
  }
}

async function sendOverH2(session: ClientHttp2Session, work: Work): Promise<string> {
  const stream = session.request(Object.fromEntries(h2Fields(work)));
  stream.end(work.body);
  const [head] = (await once(stream, 'response')) as [{ readonly ':status'?: number }];
  if (head[':status'] !== 201) throw new Error(`${work.name} over HTTP/2 gets ${head[':status']}`);
  const chunks: Buffer[] = [];
  for await (const chunk of stream) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString();
}
