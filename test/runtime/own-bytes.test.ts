import { type EventEmitter, once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import {
  Agent as PlainAgent,
  createServer,
  type IncomingMessage,
  request as plainRequest,
  type ServerResponse,
} from 'node:http';
import { type ClientHttp2Session, type ClientHttp2Stream, connect } from 'node:http2';
import {
  Agent as SecureAgent,
  createServer as createSecureServer,
  request as secureRequest,
} from 'node:https';
import { join } from 'node:path';
import type { Readable, Writable } from 'node:stream';
import { setTimeout as pause } from 'node:timers/promises';
import { gunzipSync, gzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import type { EntriesPage } from '../../src/inspector/api.ts';
import { certificate } from '../support/certificates.ts';
import { fuzzRuns, fuzzTime } from '../support/fuzz.ts';
import { listening } from '../support/listening.ts';
import { ca } from '../support/secure-gateway.ts';
import { spawnGateway } from '../support/spawn-gateway.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

// Memory of bodies is used again by other exchanges. Each exchange has a mark of its own, and all bytes that it sends and gets
// consist of it: a mark of another one, wherever it appears, is another client's data.

const CLIENTS = 24;
const KEPT_BODIES = 3000;
const USUAL_EXCHANGES = 1200;
const MARKS = /~\d{6}~/g;
/** Characters that a message may have besides its marks: names of members, or the gateway's own error. */
const FRAME_CHARACTERS = 500;

const markOf = (number: number): string => `~${String(number).padStart(6, '0')}~`;
const marksIn = (text: string): ReadonlySet<string> => new Set(text.match(MARKS));
const chance = (share: number): boolean => Math.random() < share;
/** So many bytes: mostly few, now and then a megabyte and more. */
const anySize = (): number => Math.floor(2 ** (Math.random() * (chance(0.05) ? 21 : 17)));
const filled = (mark: string, bytes: number): string => mark.repeat(Math.ceil(bytes / mark.length));
/** Bytes that were seen in a wrong place. */
const foreign: string[] = [];
/** Responses that came whole. */
let whole = 0;
/** Bodies of the last requests, and of the responses to those that pass, by their marks. */
const requests = new Map<string, Buffer>();
const responses = new Map<string, Buffer>();
/** The API key of an exchange. */
let keyOf: (mark: string) => string;

function check(where: string, mark: string, text: string): void {
  for (const found of marksIn(text)) if (found !== mark) foreign.push(`${where}: ${found} in ${mark}`);
  const { length } = text.replaceAll(mark, '');
  if (length > FRAME_CHARACTERS) foreign.push(`${where}: ${length} characters besides ${mark}`);
}

/** Compares a body with the one that was sent, where that is still known. */
function checkSame(what: string, sent: Buffer | undefined, received: Buffer): void {
  if (sent === undefined || sent.equals(received)) return;
  const at = sent.findIndex((byte, index) => byte !== received[index]);
  foreign.push(`${what}: ${received.length} bytes where ${sent.length} were sent, others from byte ${at} on`);
}

/** Waits for one of two events. */
function eitherOf(of: EventEmitter, one: string, other: string): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      of.off(one, done).off(other, done);
      resolve();
    };
    of.on(one, done).on(other, done);
  });
}

/** Writes bytes in parts, with waits between some. */
async function writeParts(to: Writable, bytes: Buffer): Promise<void> {
  let at = 0;
  while (at < bytes.length && !to.destroyed) {
    const end = Math.min(bytes.length, at + 1 + Math.floor(Math.random() * (chance(0.5) ? 300_000 : 3000)));
    const isFlowing = to.write(bytes.subarray(at, end));
    at = end;
    if (!isFlowing) await eitherOf(to, 'drain', 'close');
    else if (chance(0.1)) await pause(1);
  }
}

/** Writes bytes at once or in parts, and ends. */
async function writeAll(to: Writable, bytes: Buffer): Promise<void> {
  if (chance(0.5)) {
    to.end(bytes);
    return;
  }
  await writeParts(to, bytes);
  to.end();
}

async function collect(from: Readable): Promise<Buffer> {
  const parts: Buffer[] = [];
  for await (const part of from) {
    parts.push(part as Buffer);
    if (chance(0.02)) await pause(5);
  }
  return Buffer.concat(parts);
}

/** The body of an order as V1 has it. */
function v1Order(mark: string): Buffer {
  const property = { display_name: mark, street_address: mark, suburb: mark };
  const data = { transition_type: mark, property, notes: filled(mark, anySize()), issues: [{ room: mark }] };
  return Buffer.from(JSON.stringify(chance(0.5) ? { data } : { data: { ...data, notes: mark } }));
}

/** A response of V2 with an order in it. */
function v2Order(mark: string): Buffer {
  const property = { display_name: mark, address: { street_address: mark, suburb: mark } };
  return Buffer.from(
    JSON.stringify({ data: { id: mark, highlight_type: mark, property, notes: filled(mark, anySize()) } }),
  );
}

/** V1 and V2: checks what arrives, and responds with bytes of the same mark, in many ways. */
async function respond(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
  const mark = String(incoming.headers['x-mark']);
  incoming.on('error', () => {});
  outgoing.on('error', () => {});
  if (chance(0.02)) {
    incoming.socket.destroy();
    return;
  }
  if (chance(0.03)) {
    outgoing.writeHead(422, { 'content-type': 'application/json' });
    outgoing.end(JSON.stringify({ errors: [{ detail: mark }] }));
  }
  const received = await collect(incoming).catch(() => undefined);
  if (received === undefined) return;
  const body = incoming.headers['content-encoding'] === 'gzip' ? gunzipSync(received) : received;
  check('request', mark, `${incoming.url ?? ''} ${body.toString('latin1')}`);
  if (incoming.method === 'POST' && incoming.url?.startsWith('/api/v2/orders') === true) {
    const order = JSON.parse(body.toString()) as {
      readonly property?: { readonly address?: { readonly suburb?: string } };
    };
    if (order.property?.address?.suburb !== mark) foreign.push(`request of ${mark} not migrated`);
  } else {
    const early = outgoing.headersSent ? ', after its response' : '';
    checkSame(`${incoming.method} ${incoming.url} of ${mark}${early}`, requests.get(mark), received);
  }
  if (outgoing.headersSent) return;
  if (chance(0.1)) await pause(Math.random() * 30);
  const isZipped = chance(0.2) && incoming.headers['accept-encoding']?.includes('gzip') === true;
  const plain = chance(0.8) ? v2Order(mark) : Buffer.from(filled(mark, anySize()));
  const sent = isZipped ? gzipSync(plain, { level: 1 }) : plain;
  if (incoming.url?.startsWith('/api/v2/files') === true) responses.set(mark, sent);
  outgoing.writeHead(chance(0.1) ? 422 : 201, {
    'content-type': chance(0.8) ? 'application/json' : 'application/octet-stream',
    'x-mark': mark,
    ...(isZipped ? { 'content-encoding': 'gzip' } : {}),
    ...(chance(0.5) ? { 'content-length': sent.length } : {}),
  });
  if (chance(0.03)) {
    await writeParts(outgoing, sent.subarray(0, sent.length >> 1));
    incoming.socket.destroy();
    return;
  }
  await writeAll(outgoing, sent);
}

interface Sent {
  readonly method: 'GET' | 'POST';
  readonly path: string;
  readonly headers: Record<string, string>;
  readonly body: Buffer;
}

function anyRequest(mark: string): Sent {
  const request = newRequest(mark);
  requests.set(mark, request.body);
  return request;
}

function newRequest(mark: string): Sent {
  if (chance(0.15)) {
    const headers = { authorization: `Bearer ${keyOf(mark)}`, 'x-mark': mark };
    return { method: 'GET', path: `/api/v1/orders/floor_plans/${mark}`, headers, body: Buffer.alloc(0) };
  }
  const isV1 = chance(0.7);
  const plain = isV1 ? v1Order(mark) : Buffer.from(filled(mark, anySize()));
  const isZipped = chance(0.2);
  const body = isZipped ? gzipSync(plain, { level: 1 }) : plain;
  return {
    method: 'POST',
    path: isV1 ? '/api/v1/orders/floor_plans' : `/api/v2/files/${mark}`,
    headers: {
      authorization: `Bearer ${keyOf(mark)}`,
      'x-mark': mark,
      'content-type': isV1 ? 'application/json' : 'application/octet-stream',
      ...(isZipped ? { 'content-encoding': 'gzip' } : {}),
      ...(chance(0.5) ? { 'accept-encoding': 'gzip' } : {}),
      ...(chance(0.5) ? { 'content-length': String(body.length) } : {}),
      ...(chance(0.1) ? { expect: '100-continue' } : {}),
    },
    body,
  };
}

/** Checks a response, whole or not. */
function checkResponse(mark: string, headers: Record<string, unknown>, body: Buffer, isWhole: boolean): void {
  check('header', mark, JSON.stringify(headers['x-mark'] ?? ''));
  const isZipped = headers['content-encoding'] === 'gzip';
  if (isZipped && !isWhole) return;
  if (isWhole) whole += 1;
  if (isWhole && headers['x-mark'] !== undefined) checkSame(`response to ${mark}`, responses.get(mark), body);
  check('response', mark, (isZipped ? gunzipSync(body) : body).toString('latin1'));
}

/** Sends a request over HTTP/1.1, and gives up now and then. */
async function exchangeH1(origin: URL, agent: PlainAgent, mark: string): Promise<void> {
  const { method, path, headers, body } = anyRequest(mark);
  const send = origin.protocol === 'https:' ? secureRequest : plainRequest;
  const request = send(new URL(path, origin), { method, agent, headers });
  request.on('error', () => {});
  if (chance(0.05)) setTimeout(() => request.destroy(), Math.random() * 20);
  const responded = Promise.race([once(request, 'response'), once(request, 'close')]).catch(() => undefined);
  // The response may come first.
  void writeAll(request, body);
  const [response] = ((await responded) ?? []) as [IncomingMessage?];
  if (response === undefined) return;
  const read = await collect(response).catch(() => undefined);
  if (read !== undefined) checkResponse(mark, response.headers, read, response.complete);
  if (!request.writableFinished) request.destroy();
}

/** Resets a stream. Node ends its body first, so that what has been sent by then is all of it. */
function giveUp(stream: ClientHttp2Stream, mark: string, code: number): void {
  requests.delete(mark);
  stream.close(code);
}

/** Sends a request on a stream of HTTP/2, and gives up now and then. */
async function exchangeH2(session: ClientHttp2Session, mark: string): Promise<void> {
  const { method, path, headers, body } = anyRequest(mark);
  const stream = session.request(
    { ':method': method, ':path': path, ...headers },
    { endStream: method === 'GET' },
  );
  stream.on('error', () => {});
  if (chance(0.05)) setTimeout(() => giveUp(stream, mark, 8), Math.random() * 20);
  const responded = Promise.race([once(stream, 'response'), once(stream, 'close')]).catch(() => undefined);
  if (method === 'POST') void writeAll(stream, body);
  const [fields] = ((await responded) ?? []) as [Record<string, unknown>?];
  if (fields === undefined) return;
  const read = await collect(stream).catch(() => undefined);
  if (read !== undefined) checkResponse(mark, fields, read, stream.rstCode === 0);
  if (!stream.writableFinished) giveUp(stream, mark, 0);
}

/** How a gateway is set up. */
interface Setup {
  /** Clients use TLS, some of them with HTTP/2. */
  readonly isSecure?: true;
  /** V2 uses TLS. */
  readonly isUpstreamSecure?: true;
  /** All requests are of one client, and wait for each other. */
  readonly isOneClient?: true;
  /** More in the rule book. */
  readonly rules?: string;
  readonly hasV1?: true;
  readonly workers?: '2';
}

const observed: Setup = { hasV1: true, rules: 'modes: { default: observe }' };
const shadowed: Setup = {
  hasV1: true,
  rules: 'modes: { default: shadow, operations: { order_floor_plan: { canary: 50 } } }',
};
const shielded: Setup = {
  isOneClient: true,
  rules: 'shield: { requests: 400, per: 1s, wait: 10s, queue: 100 }',
};
const setups: readonly (readonly [name: string, setup: Setup])[] = [
  ['HTTP/1.1', {}],
  ['TLS', { isSecure: true }],
  ['TLS to V2', { isUpstreamSecure: true }],
  ['observe', observed],
  ['shadow and canary', shadowed],
  ['shadow and canary, with TLS', { ...shadowed, isSecure: true }],
  ['requests that wait', shielded],
  ['two workers', { workers: '2' }],
];

const own = certificate({ name: 'gateway', hosts: ['localhost'], issuer: ca });

function flagsOf(setup: Setup, upstream: string): Record<string, string> {
  const folder = temporaryFolder('own-bytes');
  const file = (name: string, text: string): string => {
    writeFileSync(join(folder, name), text);
    return join(folder, name);
  };
  const rules = `${readFileSync('config/rules.yaml', 'utf8')}\n${setup.rules ?? ''}\n`;
  return {
    upstream,
    'upstream-connections': '8',
    capture: 'bodies',
    'log-file': 'off',
    rules: file('rules.yaml', rules),
    workers: setup.workers ?? '1',
    ...(setup.hasV1 ? { 'v1-upstream': upstream } : {}),
    ...(setup.isUpstreamSecure ? { 'upstream-ca': file('ca.pem', ca.cert) } : {}),
    ...(setup.isSecure
      ? { 'tls-cert': file('cert.pem', own.cert), 'tls-key': file('key.pem', own.key) }
      : {}),
  };
}

test.each(setups)('every byte of an exchange is its own: %s', fuzzTime(), async (_name, setup) => {
  foreign.length = 0;
  whole = 0;
  requests.clear();
  responses.clear();
  keyOf = setup.isOneClient ? () => 'key-of-all' : (mark) => `key-of-${mark}`;
  const serve = (incoming: IncomingMessage, outgoing: ServerResponse): void =>
    void respond(incoming, outgoing);
  const port = await listening(setup.isUpstreamSecure ? createSecureServer(own, serve) : createServer(serve));
  const gateway = await spawnGateway(
    flagsOf(setup, setup.isUpstreamSecure ? `https://localhost:${port}` : `http://127.0.0.1:${port}`),
  );
  const { isSecure = false } = setup;
  const origin = new URL(isSecure ? `https://localhost:${gateway.port}` : `http://127.0.0.1:${gateway.port}`);
  const agent = isSecure
    ? new SecureAgent({ keepAlive: true, ca: ca.cert })
    : new PlainAgent({ keepAlive: true });
  const sessions = isSecure ? [0, 1].map(() => connect(origin, { ca: ca.cert }).on('error', () => {})) : [];
  let number = 0;
  await Promise.all(
    Array.from({ length: CLIENTS }, async (_, client) => {
      while (number < fuzzRuns(USUAL_EXCHANGES) && foreign.length === 0) {
        number += 1;
        const mark = markOf(number);
        requests.delete(markOf(number - KEPT_BODIES));
        responses.delete(markOf(number - KEPT_BODIES));
        const session = sessions[client % 4];
        if (session === undefined) await exchangeH1(origin, agent, mark);
        else await exchangeH2(session, mark);
      }
    }),
  );
  agent.destroy();
  for (const session of sessions) session.destroy();
  expect(foreign).toEqual([]);
  expect(whole).toBeGreaterThan(number * 0.7);
  const admin = `http://127.0.0.1:${gateway.adminPort}`;
  const page = (await (await fetch(`${admin}/entries?limit=500`)).json()) as EntriesPage;
  const played = fuzzRuns(USUAL_EXCHANGES);
  expect(page.entries.length).toBeGreaterThan(Math.min(400, played * 0.7));
  let captured = 0;
  for (const { seq } of page.entries) {
    const marks = marksIn(await (await fetch(`${admin}/entries/${seq}`)).text());
    if (marks.size > 1) foreign.push(`entry ${seq}: ${[...marks].join(' ')}`);
    captured += marks.size;
  }
  expect(foreign).toEqual([]);
  expect(captured).toBeGreaterThan(played / 12);
});
