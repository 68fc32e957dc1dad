/** @module-tag wrangler */
import { writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { beforeAll, describe, expect, test } from 'vitest';
import type { Upstream, UpstreamReceiver, UpstreamRequest } from '../../src/gateway/upstream.ts';
import { ok, rawServer } from '../support/raw-server.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { until } from '../support/until.ts';
import { bundleWorker, startWorkerd } from '../support/workerd.ts';
import type { WorkerRequest, Event } from './fetch-upstream-worker.ts';
import { upstreamContract } from './upstream.ts';
import { responseHead } from '../support/response-head.ts';

let file = '';

beforeAll(async () => {
  const config = join(temporaryFolder('upstream'), 'wrangler.json');
  const main = fileURLToPath(new URL('fetch-upstream-worker.ts', import.meta.url));
  writeFileSync(config, JSON.stringify({ name: 'upstream', main, compatibility_date: '2026-10-20' }));
  ({ file } = await bundleWorker(config));
});

describe('the upstream on fetch, in workerd', () => {
  upstreamContract(remote, { rawHeaders: false, rawTarget: false, knowsUnsent: false });

  test('a request that is aborted closes its connection, and reports nothing more', async () => {
    const v2 = await rawServer(() => {});
    const events = await eventsOf({ ...get(v2.origin), abortAfter: 200 });
    await until(() => v2.sockets[0]?.destroyed === true);
    await until(() => events.length > 0);
    expect(events).toEqual([{ kind: 'aborted' }]);
  });

  test('trailers, which the platform cannot send, are not announced', async () => {
    const v2 = await rawServer((socket) => socket.write(ok()));
    const headers = ['Trailer', 'X-Sum', 'X-Other', 'stays'];
    const events = await eventsOf({ ...get(v2.origin), headers });
    await until(() => events.at(-1)?.kind === 'end');
    expect(v2.received.join('')).toMatch(/x-other: stays/i);
    expect(v2.received.join('')).not.toMatch(/trailer/i);
  });

  test('a response that is paused is held back, and goes on when it is resumed', async () => {
    const v2 = await rawServer((socket) => socket.write(ok('x'.repeat(5_000_000))));
    const events = await eventsOf({ ...get(v2.origin), pauseFor: 2000 });
    await until(() => events.some(({ kind }) => kind === 'data'));
    await delay(100);
    expect(events.filter(({ kind }) => kind === 'data')).toHaveLength(1);
    await until(() => events.at(-1)?.kind === 'end');
    expect(textOf(events)).toHaveLength(5_000_000);
  });
});

const get = (origin: string): WorkerRequest => ({
  origin,
  method: 'GET',
  target: '/',
  headers: [],
  body: 'none',
});

/** The events of a request in a separate worker, as they come. */
async function eventsOf(workerRequest: WorkerRequest): Promise<readonly Event[]> {
  const events: Event[] = [];
  sendToWorker(await startWorker(), workerRequest, null, (event) => void events.push(event));
  return events;
}

const startWorker = async (): Promise<number> => (await startWorkerd(file, {})).port;

/** Drives the upstream in workerd: its request goes in as a request to the worker, and its events come out as lines. */
function remote(origin: string): Upstream {
  const port = startWorker();
  return {
    send(sent: UpstreamRequest, receiver: UpstreamReceiver) {
      const { method, target, headers, body, length } = sent;
      const workerRequest: WorkerRequest = {
        origin,
        method,
        target,
        headers,
        body: body === null ? 'none' : body instanceof Uint8Array ? 'whole' : 'parts',
        ...(length === undefined ? {} : { length }),
      };
      void port.then((number) => sendToWorker(number, workerRequest, body, (event) => tell(receiver, event)));
      return { pause: () => {}, resume: () => {}, abort: () => {} };
    },
  };
}

function tell(receiver: UpstreamReceiver, event: Event): void {
  if (event.kind === 'head') receiver.head(responseHead(event.status, event.headers, event.reason));
  if (event.kind === 'data') receiver.data(Buffer.from(event.text, 'latin1'));
  if (event.kind === 'end') receiver.end([]);
  if (event.kind === 'fail') receiver.fail(event.fault);
}

function sendToWorker(
  port: number,
  workerRequest: WorkerRequest,
  body: UpstreamRequest['body'],
  heard: (event: Event) => void,
): void {
  const outgoing = request({
    port,
    host: '127.0.0.1',
    method: 'POST',
    headers: { 'x-worker-request': JSON.stringify(workerRequest) },
  });
  outgoing.on('response', (incoming) => {
    createInterface({ input: incoming }).on('line', (line) => heard(JSON.parse(line) as Event));
  });
  // The body of a client that goes away ends in a reset.
  outgoing.on('error', () =>
    heard({ kind: 'fail', fault: { kind: 'closed', mayHaveArrived: true, cause: 'the worker broke off' } }),
  );
  void write(outgoing, body).catch(() => outgoing.destroy());
}

async function write(outgoing: ReturnType<typeof request>, body: UpstreamRequest['body']): Promise<void> {
  if (body instanceof Uint8Array) outgoing.write(body);
  else if (body !== null) for await (const part of body) outgoing.write(part);
  outgoing.end();
}

function textOf(events: readonly Event[]): string {
  return events.map((event) => (event.kind === 'data' ? event.text : '')).join('');
}
