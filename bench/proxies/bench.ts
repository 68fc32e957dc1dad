import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from '../client.ts';
import { tlsFiles } from '../gateway-process.ts';
import type { Peer } from '../peers/peer.ts';
import { onProcessors, processorsFault } from '../processes.ts';
import { type Running, startPeer } from '../running.ts';
import { startUpstream, type UpstreamProcess } from '../upstream-process.ts';
import { responseBody } from '../v2-response.ts';
import { type Work, worksOf } from '../work.ts';
import type { Form } from './rows.ts';

/** A peer that serves in one form. */
export interface Started {
  readonly peer: Peer;
  readonly running: Running;
  readonly form: Form;
  readonly folder: string;
}

/** What peers are measured with. */
export interface Bench {
  readonly upstream: UpstreamProcess;
  /** Starts a peer that serves in a form, and waits until it responds, or until `ready` resolves; it ends with the bench. */
  start(peer: Peer, form: Form, ready?: (port: number) => Promise<unknown>): Promise<Started>;
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
      const upstream = await startUpstream(tls);
      const start: Bench['start'] = async (peer, form, ready) => {
        const own = mkdtempSync(join(folder, 'peer-'));
        const isUpstreamTls = form === 'upstream-tls';
        const place = {
          folder: own,
          upstream: isUpstreamTls ? upstream.tlsPort : upstream.port,
          clientTls: form === 'clients-tls' || form === 'clients-h2' ? tls : undefined,
          upstreamCa: isUpstreamTls ? tls.cert : undefined,
        };
        const first = worksOf(1000)[peer.works[0] ?? 'pass'];
        const running = await startPeer(peer, place, ready ?? ((port) => responseTo(first, port, form)));
        const one = { peer, running, form, folder: own };
        started.push(one);
        return one;
      };
      try {
        return await run({ upstream, start });
      } finally {
        for (const { running } of started) await running.stop(5000);
        upstream.stop();
      }
    });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Sends one request through a peer, and throws when V2 gets another than it should, or the client another response than V2's. */
export async function checkPeer(
  { peer, running, form }: Started,
  work: Work,
  { upstream }: Bench,
): Promise<void> {
  const response = await responseTo(work, running.port, form);
  const { head, body } = await upstream.last();
  const fault = work.fault(head, body) ?? (response === responseBody ? undefined : 'the response is changed');
  if (fault !== undefined) throw new Error(`${peer.name}, ${work.name}, ${form}: ${fault}`);
}

async function responseTo({ path, fields, body }: Work, port: number, form: Form): Promise<string> {
  const isTls = form === 'clients-tls' || form === 'clients-h2';
  const client = new Client(`http${isTls ? 's' : ''}://127.0.0.1:${port}`, 1, form === 'clients-h2');
  const response = await client.send({
    method: 'POST',
    path,
    headers: Object.fromEntries(fields),
    body: body.toString(),
  });
  client.close();
  if (typeof response === 'string' || response.status !== 201) throw new Error(JSON.stringify(response));
  return response.text;
}
