/**
 * `npm run slow-clients [-- name …]`: slow clients that would take all places, connections to V2 or memory, against the gateway, nginx and
 * HAProxy in one run, and what another client gets meanwhile. The gateway has its default settings, HAProxy as many connections to V2,
 * and nginx its own defaults, by which it writes responses to disk. A server that is not installed is left out.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { connect, type TLSSocket } from 'node:tls';
import { Worker } from 'node:worker_threads';
import { freePort } from '../test/support/free-port.ts';
import { openH2, requestHead, RST_STREAM, WINDOW_UPDATE } from '../test/support/h2-wire.ts';
import { startGateway, tlsFiles } from './gateway-process.ts';
import { Running } from './running.ts';
import { printTable } from './statistics.ts';

const ATTACK_MS = 15_000;
/** Milliseconds in which an attack begins: a thousand handshakes take their time. */
const BEGIN_MS = 4000;
const PAUSE_MS = 100;
/** Milliseconds after which a client that lost its connection tries again. */
const AGAIN_MS = 1000;
/** Milliseconds that the other client waits for a response. */
const PATIENCE_MS = 10_000;
const MEBIBYTE = 1024 * 1024;

/** A V2 that responds with as many bytes as the path says, once it has the body. */
const V2 = `
const { parentPort } = require('node:worker_threads');
const server = require('node:http').createServer((request, response) => {
  request.resume().on('end', () => {
    const size = Number(/of.(\\d+)/.exec(request.url)?.[1] ?? 2);
    response.writeHead(200, { 'content-length': size }).end(Buffer.alloc(size, 120));
  }).on('error', () => {});
});
server.listen(0, '127.0.0.1', () => parentPort.postMessage(server.address().port));
`;

/** Opens a connection of TLS; without a protocol it is HTTP/1.1. */
function open(port: number, protocols: string[] = ['http/1.1']): TLSSocket {
  const socket = connect({ port, host: '127.0.0.1', ALPNProtocols: protocols, rejectUnauthorized: false });
  socket.on('error', () => {});
  return socket;
}

/** Reads 5 MB at 2,500 bytes a second, and asks again when the connection closes. */
function slowReader(port: number, isOver: () => boolean): void {
  const socket = open(port);
  socket.write('GET /api/v2/of/5000000 HTTP/1.1\r\nHost: g\r\n\r\n');
  socket.on('data', (bytes: Buffer) => {
    socket.pause();
    setTimeout(() => void socket.resume(), bytes.length / 2.5).unref();
  });
  again(socket, isOver, () => slowReader(port, isOver));
}

/** Sends a body at 300 bytes a second, and another one when it is refused. */
function slowSender(port: number, isOver: () => boolean): void {
  const socket = open(port);
  socket.write('POST /api/v2/x HTTP/1.1\r\nHost: g\r\nContent-Length: 1000000\r\n\r\n');
  const timer = setInterval(() => {
    if (socket.writable) socket.write('x'.repeat(300));
  }, 1000);
  socket.resume().on('close', () => clearInterval(timer));
  again(socket, isOver, () => slowSender(port, isOver));
}

function again(socket: TLSSocket, isOver: () => boolean, begin: () => void): void {
  const end = setInterval(() => {
    if (isOver()) socket.destroy();
  }, PAUSE_MS);
  socket.on('close', () => {
    clearInterval(end);
    setTimeout(() => {
      if (!isOver()) begin();
    }, AGAIN_MS).unref();
  });
}

/** Opens so many streams with a window of some bytes, which it grows by as many a second, and one for each that is reset. */
async function slowStreams(
  port: number,
  isOver: () => boolean,
  { streams, path, bytes }: { readonly streams: number; readonly path: string; readonly bytes: number },
): Promise<void> {
  const socket = open(port, ['h2']);
  const client = await openH2(socket, [[4, bytes]]);
  let next = 1;
  const active = new Set<number>();
  const begin = (): void => {
    client.head(next, requestHead(path));
    active.add(next);
    next += 2;
  };
  for (let count = 0; count < streams; count += 1) begin();
  let seen = 0;
  let grown = performance.now();
  while (!isOver() && socket.writable) {
    for (; seen < client.frames.length; seen += 1) {
      const frame = client.frames[seen];
      if (frame?.type !== RST_STREAM) continue;
      active.delete(frame.stream);
      begin();
    }
    if (bytes > 0 && performance.now() - grown > 1000) {
      grown = performance.now();
      const more = Buffer.alloc(4);
      more.writeUInt32BE(bytes);
      for (const stream of active) client.frame(WINDOW_UPDATE, 0, stream, more);
    }
    await delay(PAUSE_MS);
  }
  socket.destroy();
  if (!isOver()) await slowStreams(port, isOver, { streams, path, bytes });
}

const ATTACKS: Readonly<Record<string, (port: number, isOver: () => boolean) => void>> = {
  '200 readers of 5 MB at 2,500 bytes/s': (port, isOver) => {
    for (let count = 0; count < 200; count += 1) slowReader(port, isOver);
  },
  '2 × 128 streams of 400 kB at 600 bytes/s': (port, isOver) => {
    const kind = { streams: 128, path: '/api/v2/of/400000', bytes: 600 };
    for (let count = 0; count < 2; count += 1) slowStreams(port, isOver, kind).catch(ignore);
  },
  '9 × 120 streams with a window of 0': (port, isOver) => {
    const kind = { streams: 120, path: '/api/v2/of/300', bytes: 0 };
    for (let count = 0; count < 9; count += 1) slowStreams(port, isOver, kind).catch(ignore);
  },
  '1,080 uploads at 300 bytes/s': (port, isOver) => {
    for (let count = 0; count < 1080; count += 1) slowSender(port, isOver);
  },
};

function ignore(): void {}

/** What one request of somebody else got: the milliseconds, or undefined if it failed. */
function ask(port: number): Promise<number | undefined> {
  return new Promise((resolve) => {
    const began = performance.now();
    const socket = open(port);
    let text = '';
    const timer = setTimeout(() => socket.destroy(), PATIENCE_MS);
    socket.write(
      'GET /api/v2/x HTTP/1.1\r\nHost: g\r\nAuthorization: Bearer other\r\nConnection: close\r\n\r\n',
    );
    socket.on('data', (bytes: Buffer) => (text += bytes.toString('latin1')));
    socket.on('close', () => {
      clearTimeout(timer);
      resolve(/^HTTP\/1\.1 200 [^]*xx$/.test(text) ? performance.now() - began : undefined);
    });
  });
}

const folder = mkdtempSync(join(tmpdir(), 'slow-clients-'));
const files = tlsFiles(folder);
writeFileSync(join(folder, 'both.pem'), readFileSync(files.cert, 'utf8') + readFileSync(files.key, 'utf8'));

/** Starts each server in front of V2. */
const SERVERS: Readonly<Record<string, (v2: number) => Promise<Running>>> = {
  gateway: (v2) => startGateway({ upstream: `http://127.0.0.1:${v2}` }, folder, true),
  nginx: async (v2) => {
    const port = await freePort();
    const conf = join(folder, 'nginx.conf');
    const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
      .map((name) => `${name}_temp_path ${folder}/${name};`)
      .join(' ');
    writeFileSync(
      conf,
      `daemon off; worker_processes 1; pid ${folder}/pid; error_log /dev/null;
events { worker_connections 4096; }
http { access_log off; ${temporary}
upstream v2 { server 127.0.0.1:${v2}; keepalive 128; }
server { listen 127.0.0.1:${port} ssl http2; ssl_certificate ${files.cert}; ssl_certificate_key ${files.key};
location / { proxy_pass http://v2; proxy_http_version 1.1; proxy_set_header Connection ''; } } }`,
    );
    return new Running(port, { file: 'nginx', args: ['-p', folder, '-c', conf] });
  },
  HAProxy: async (v2) => {
    const port = await freePort();
    const conf = join(folder, 'haproxy.cfg');
    writeFileSync(
      conf,
      `global
  maxconn 4000
defaults
  mode http
  timeout client 60s
  timeout server 60s
  timeout connect 5s
  timeout queue 60s
frontend clients
  bind 127.0.0.1:${port} ssl crt ${folder}/both.pem alpn h2,http/1.1
  default_backend v2
backend v2
  server v2 127.0.0.1:${v2} maxconn 128
`,
    );
    return new Running(port, { file: 'haproxy', args: ['-f', conf] });
  },
};

const names = process.argv.slice(2);
const rows: string[][] = [];
for (const [attack, play] of Object.entries(ATTACKS)) {
  for (const [name, start] of Object.entries(SERVERS)) {
    if (names.length > 0 && !names.includes(name)) continue;
    const worker = new Worker(V2, { eval: true });
    const port = await new Promise<number>((resolve) => void worker.once('message', resolve));
    const server = await start(port).catch(() => undefined);
    const isUp = await server?.untilReady(ready).then(
      () => true,
      () => false,
    );
    if (server === undefined || isUp !== true) {
      rows.push([attack, name, 'not installed', '', '', '']);
      await worker.terminate();
      continue;
    }
    let isOver = false;
    play(server.port, () => isOver);
    await delay(BEGIN_MS);
    const times: (number | undefined)[] = [];
    const end = performance.now() + ATTACK_MS;
    while (performance.now() < end) {
      times.push(await ask(server.port));
      await delay(PAUSE_MS);
    }
    isOver = true;
    const served = times.filter((time) => time !== undefined);
    rows.push([
      attack,
      name,
      `${served.length} of ${times.length}`,
      served.length === 0 ? '–' : Math.max(...served).toFixed(0),
      served.length === 0
        ? '–'
        : (served.toSorted((left, right) => left - right)[served.length >> 1] ?? 0).toFixed(0),
      (server.peak() / MEBIBYTE).toFixed(0),
    ]);
    console.log(rows.at(-1)?.join(' | '));
    await server.stop(5000);
    await worker.terminate();
    await delay(500);
  }
}
rmSync(folder, { recursive: true, force: true });
console.log('');
printTable(['attack', 'server', 'served', 'worst ms', 'median ms', 'peak MiB'], rows);
process.exit(0);

async function ready(port: number): Promise<void> {
  if ((await ask(port)) === undefined) throw new Error('not ready');
}
