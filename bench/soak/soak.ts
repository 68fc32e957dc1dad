/**
 * `npm run soak [seconds [h2]]`: mixed V1 and V2 load with faults injected upstream, from clients of HTTP/1.1, or of HTTP/2 with `h2`. At
 * the end every accepted write has reached V2 exactly once or its client got an error, no response was mixed up, and memory and sockets
 * are back at the start.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { count, startFaultyV2 } from './faulty-v2.ts';
import { startGateway } from '../gateway-process.ts';
import { Client } from '../client.ts';

const seconds = Number(process.argv[2] ?? 60);
const isHttp2 = process.argv[3] === 'h2';
const CLIENTS = 40;

/** Outcomes by name. */
const counts = new Map<string, number>();
/** Writes whose client got a 2xx. */
const accepted = new Set<string>();
/** Responses that belong to another request. */
const MIXED: string[] = [];

const folder = mkdtempSync(join(tmpdir(), 'soak-'));
const v2 = await startFaultyV2();
const gateway = await startGateway(
  {
    upstream: v2.origin,
    'log-file': '/dev/null',
    // The inspector's ring is bounded, and would take minutes to fill: with a small one, a leak shows sooner.
    'capture-memory': '4MiB',
    'log-format': 'text',
  },
  folder,
  isHttp2,
  // V8 takes memory from the system for as long as there is some; within a small heap a leak shows, and idle room does not.
  ['--max-old-space-size=192', '--max-semi-space-size=16'],
);

const idle = gateway.sockets();
// Long enough for pools, code and the inspector's ring to reach their size.
await load(Math.max(10, seconds / 3));
await settle();
const before = { memory: gateway.memory(), sockets: gateway.sockets() };
const warm = total();
const began = performance.now();
const uses = { ...v2.uses };
await load(seconds);
const took = (performance.now() - began) / 1000;
const perConnection =
  (v2.uses.requests - uses.requests) / Math.max(1, v2.uses.connections - uses.connections);
const loaded = total() - warm;
// A run of its own, while idle and then under load: from here on no connection is kept.
v2.speakUnasked();
await load(Math.max(2, seconds / 6));
const during = gateway.peak();
await settle();
const after = { memory: gateway.memory(), sockets: gateway.sockets() };
const code = await gateway.stop();
v2.close();
rmSync(folder, { recursive: true });

const twice = [...v2.writes].filter(([, times]) => times > 1);
const missing = [...accepted].filter((id) => v2.writes.get(id) !== 1);
const checks: readonly (readonly [title: string, holds: boolean])[] = [
  [`no write arrived twice (${twice.length})`, twice.length === 0],
  [`every accepted write arrived (${missing.length} missing of ${accepted.size})`, missing.length === 0],
  [`no response was mixed up (${MIXED.length})`, MIXED.length === 0],
  [`no body was wrong at V2 (${v2.wrong.length})`, v2.wrong.length === 0],
  [`sockets are back (${before.sockets} → ${after.sockets})`, after.sockets <= before.sockets],
  [
    `memory is back (${mib(before.memory)} → ${mib(after.memory)}, at most ${mib(during)})`,
    after.memory < before.memory * 1.25 + 2 ** 24,
  ],
  [`no bug was met`, !gateway.stderr().includes('bug:')],
  [`it stopped in order (exit code ${code})`, code === 0],
];

console.log(
  `${loaded} requests in ${took.toFixed(1)} s by ${CLIENTS} clients of HTTP/${isHttp2 ? '2' : '1.1'}`,
);
console.log(`${perConnection.toFixed(1)} requests on each connection to V2`);
printCounts(counts);
console.log('faults played by V2');
printCounts(v2.faults);
for (const [title, holds] of checks) console.log(`${holds ? 'ok    ' : 'FAILED'} ${title}`);
if (twice.length + missing.length + MIXED.length + v2.wrong.length > 0) {
  console.log(
    JSON.stringify({
      twice: twice.slice(0, 5),
      missing: missing.slice(0, 5),
      mixed: MIXED.slice(0, 5),
      wrong: v2.wrong.slice(0, 5),
    }),
  );
}
process.exit(checks.every(([, holds]) => holds) ? 0 : 1);

function printCounts(all: ReadonlyMap<string, number>): void {
  for (const name of [...all.keys()].sort()) console.log(`  ${name.padEnd(36)} ${all.get(name)}`);
}

function total(): number {
  return [...counts.values()].reduce((sum, count) => sum + count, 0);
}

async function load(time: number): Promise<void> {
  const end = performance.now() + time * 1000;
  // Clients of HTTP/2 share four connections.
  const clients = new Client(gateway.origin, isHttp2 ? 4 : CLIENTS, isHttp2);
  await Promise.all(
    Array.from({ length: CLIENTS }, async (_, client) => {
      for (let number = 0; performance.now() < end; number += 1)
        await one(clients, `${client}-${number}-${Math.random()}`);
    }),
  );
  clients.close();
}

/** One request of a random kind, from a client that sometimes goes away. */
async function one(clients: Client, id: string): Promise<void> {
  const kind = Math.floor(Math.random() * 10);
  const isWrite = kind < 7;
  const isV1 = kind % 2 === 0;
  const padding = 'x'.repeat(Math.random() < 0.05 ? 200_000 : 200);
  const flat = JSON.stringify({ id, property: { suburb: 'Enmore' }, padding });
  const body = isV1 ? `{"data":${flat}}` : flat;
  const leaves = Math.random() < 0.02;
  const response = await clients.send({
    method: isWrite ? (kind === 6 ? 'PATCH' : 'POST') : kind === 9 ? 'DELETE' : 'GET',
    path: `/api/v${isV1 ? 1 : 2}/things/${kind}`,
    headers: {
      'x-id': id,
      authorization: `Bearer ${id.split('-')[0]}`,
      ...(isWrite && { 'content-type': 'application/json' }),
      ...(isWrite && kind < 3 && { 'content-length': String(body.length) }),
    },
    body: isWrite ? [body.slice(0, 150), body.slice(150)] : undefined,
    leavesAfter: leaves ? Math.floor(Math.random() * 6) : undefined,
  });
  if (typeof response === 'string') {
    count(counts, leaves ? 'client left' : response);
    return;
  }
  const failure = response.headers['x-gateway-error'];
  if (failure === undefined && !response.text.includes(`"id":"${id}"`))
    MIXED.push(`${id}: ${response.text.slice(0, 100)}`);
  if (response.status < 300 && isWrite) accepted.add(id);
  count(counts, `${response.status}${failure === undefined ? '' : ` ${String(failure)}`}`);
}

/** Waits until kept connections have gone, and memory has come down. */
async function settle(): Promise<void> {
  let last = Infinity;
  for (let round = 0; round < 20; round += 1) {
    await delay(1000);
    if (gateway.sockets() <= idle && gateway.memory() >= last * 0.99) return;
    last = gateway.memory();
  }
}

function mib(bytes: number): string {
  return `${(bytes / 2 ** 20).toFixed(0)} MiB`;
}
