import { type Agent, Agent as HttpAgent, type ClientRequest, type IncomingMessage, request } from 'node:http';
import { Agent as HttpsAgent, request as tlsRequest } from 'node:https';
import { setTimeout as delay } from 'node:timers/promises';
import { parentPort, workerData } from 'node:worker_threads';
import { median } from '../statistics.ts';
import type { Felt, InnocentKind, InnocentOptions } from './innocent.ts';

const INTERVAL_MS = 20;
/** Milliseconds that requests under way at the end may still take. */
const GRACE_MS = 5000;
const BODY = '{"data":{"property":{"suburb":"Enmore","postcode":"2042"},"name":"Harbour Loft"}}';

const { port, isTls, kinds } = workerData as InnocentOptions;
const agent: Agent = isTls
  ? new HttpsAgent({ keepAlive: true, rejectUnauthorized: false })
  : new HttpAgent({ keepAlive: true });
const underWay = new Set<{ readonly began: number }>();
const failures: Record<string, number> = {};
const took: number[] = [];
let count = 0;

const timer = setInterval(() => {
  const kind = kinds[count % kinds.length];
  count += 1;
  if (kind !== undefined) send(kind, `innocent-${count}`);
}, INTERVAL_MS);

parentPort?.once('message', () => {
  clearInterval(timer);
  void finish();
});

function send(kind: InnocentKind, id: string): void {
  const one = { began: performance.now() };
  underWay.add(one);
  const outgoing = outgoingOf(kind, id);
  const over = (failure?: string): void => {
    if (!underWay.delete(one)) return;
    took.push(performance.now() - one.began);
    if (took.length === 1) parentPort?.postMessage('begun');
    if (failure !== undefined) failures[failure] = (failures[failure] ?? 0) + 1;
  };
  outgoing.on('error', (error) => over('code' in error ? String(error.code) : error.message));
  outgoing.on('response', (response) => readResponse(response, id, over));
  outgoing.end(kind.endsWith('write') ? BODY : undefined);
}

function outgoingOf(kind: InnocentKind, id: string): ClientRequest {
  const isWrite = kind.endsWith('write');
  return (isTls ? tlsRequest : request)({
    agent,
    host: '127.0.0.1',
    port,
    method: isWrite ? 'POST' : 'GET',
    path: `/api/${kind.slice(0, 2)}/${isWrite ? 'orders/floor_plans' : 'clients?page=1'}`,
    headers: {
      'x-id': id,
      authorization: 'Bearer innocent',
      ...(isWrite ? { 'content-type': 'application/json', 'content-length': BODY.length } : {}),
    },
  });
}

function readResponse(response: IncomingMessage, id: string, over: (failure?: string) => void): void {
  let text = '';
  response.setEncoding('latin1').on('data', (chunk: string) => (text += chunk));
  response.on('error', () => over('broken response'));
  response.on('end', () => {
    const own = response.headers['x-gateway-error'];
    if (response.statusCode !== 200)
      over(`${response.statusCode}${own === undefined ? '' : ` ${String(own)}`}`);
    else if (!text.includes(`"${id}"`)) over('response of another request');
    else over();
  });
}

async function finish(): Promise<void> {
  const end = performance.now() + GRACE_MS;
  while (underWay.size > 0 && performance.now() < end) await delay(10);
  if (underWay.size > 0) failures['no response'] = underWay.size;
  for (const { began } of underWay) took.push(performance.now() - began);
  const felt: Felt = { requests: count, failures, median: median(took), worst: Math.max(0, ...took) };
  parentPort?.postMessage(felt);
}
