import { once } from 'node:events';
import { type ClientHttp2Session, connect } from 'node:http2';
import { Client } from '../load.ts';
import type { RunningPeer } from '../running-peer.ts';
import type { UpstreamProcess } from '../upstream-process.ts';
import type { Work } from '../work.ts';
import { h2Fields } from './measure.ts';
import type { Form } from './rows.ts';

/** Sends one request through a peer, and throws when V2 gets another than it should, or the client another response than V2's. */
export async function checkPeer(
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
