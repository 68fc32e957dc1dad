import { setTimeout as delay } from 'node:timers/promises';
import { parentPort, workerData } from 'node:worker_threads';
import { Client } from '../client.ts';
import { median } from '../statistics.ts';
import type { Felt, InnocentKind, InnocentOptions } from './innocent.ts';

const INTERVAL_MS = 20;
/** Milliseconds that requests under way at the end may still take. */
const GRACE_MS = 5000;
const BODY = '{"data":{"property":{"suburb":"Enmore","postcode":"2042"},"name":"Harbour Loft"}}';

const { origin, kinds, patience = GRACE_MS } = workerData as InnocentOptions;
const client = new Client(origin, 1000);
const underWay = new Set<{ readonly began: number }>();
const failures: Record<string, number> = {};
const took: number[] = [];
let count = 0;

const timer = setInterval(() => {
  const kind = kinds[count % kinds.length];
  count += 1;
  if (kind !== undefined) void send(kind, `innocent-${count}`);
}, INTERVAL_MS);

parentPort?.once('message', () => {
  clearInterval(timer);
  void finish();
});

async function send(kind: InnocentKind, id: string): Promise<void> {
  const one = { began: performance.now() };
  underWay.add(one);
  const failure = await failureOf(kind, id);
  underWay.delete(one);
  took.push(performance.now() - one.began);
  if (took.length === 1) parentPort?.postMessage('begun');
  if (failure !== undefined) failures[failure] = (failures[failure] ?? 0) + 1;
}

async function failureOf(kind: InnocentKind, id: string): Promise<string | undefined> {
  const isWrite = kind.endsWith('write');
  const response = await client.send({
    method: isWrite ? 'POST' : 'GET',
    path: `/api/${kind.slice(0, 2)}/${isWrite ? 'orders/floor_plans' : 'clients?page=1'}`,
    headers: {
      'x-id': id,
      authorization: 'Bearer innocent',
      ...(isWrite && { 'content-type': 'application/json' }),
    },
    ...(isWrite && { body: BODY }),
  });
  if (typeof response === 'string') return response;
  const { status, headers, text } = response;
  if (status !== 200) return `${status} ${String(headers['x-gateway-error'] ?? '')}`;
  return text.includes(`"${id}"`) ? undefined : 'response of another request';
}

async function finish(): Promise<void> {
  const end = performance.now() + patience;
  while (underWay.size > 0 && performance.now() < end) await delay(10);
  if (underWay.size > 0) failures['no response in time'] = underWay.size;
  for (const { began } of underWay) took.push(performance.now() - began);
  const felt: Felt = { requests: count, failures, median: median(took), worst: Math.max(0, ...took) };
  parentPort?.postMessage(felt);
}
