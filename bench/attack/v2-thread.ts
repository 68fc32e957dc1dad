import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { parentPort } from 'node:worker_threads';

type Play = (incoming: IncomingMessage, outgoing: ServerResponse, url: URL) => void;

const HINT = Buffer.from('HTTP/1.1 103 Early Hints\r\nLink: </a.css>; rel=preload\r\n\r\n'.repeat(1000));
const MEBIBYTE = Buffer.alloc(2 ** 20, 'x');

/** Chunks of one byte each, and the bytes of one. */
const TINY_COUNT = 10_000;
const TINY = Buffer.from(inChunks('x'.repeat(TINY_COUNT)));
const TINY_BYTES = TINY.length / TINY_COUNT;

/** The behaviour on a path below `/api/v2/`; elsewhere the id of the request is sent back. */
const plays: Readonly<Record<string, Play>> = {
  /** Writes the bytes that the path says. */
  raw: ({ socket }, outgoing, url) => {
    socket.write(Buffer.from(url.pathname.slice('/api/v2/raw/'.length), 'base64url'));
    if (url.searchParams.has('closes')) socket.end();
    else letGo(outgoing);
  },
  /** Responds with a field or an error that is a run of one piece, as the query says. */
  run: playRun,
  silent: () => {},
  slow: (_incoming, outgoing, url) => void setTimeout(() => outgoing.end('{"data":{}}'), number(url, 'ms')),
  /** Streams bytes for as long as they are read. */
  large: (_incoming, outgoing, url) => void writeAll(outgoing, number(url, 'mebibytes')),
  /** JSON in chunks of one byte each. */
  tiny: ({ socket }, outgoing, url) => {
    void writeTiny(socket, number(url, 'bytes')).then(() => letGo(outgoing));
  },
  /** Early hints for as long as they are read. */
  hints: ({ socket }) => writeHints(socket),
};

const server = createServer((incoming, outgoing) => {
  incoming.on('error', () => {});
  outgoing.on('error', () => {});
  const url = new URL(incoming.url ?? '/', 'http://v2');
  if (url.pathname === '/api/v2/early-413') refuseEarly(incoming);
  else incoming.on('end', () => respond(incoming, outgoing, url)).resume();
});
const silent = createServer((incoming) => void incoming.on('error', () => {}).resume());
parentPort?.postMessage({ port: await listen(server), silentPort: await listen(silent) });

function respond(incoming: IncomingMessage, outgoing: ServerResponse, url: URL): void {
  const play = plays[url.pathname.split('/')[3] ?? ''];
  if (play !== undefined) {
    play(incoming, outgoing, url);
    return;
  }
  const body = JSON.stringify({ data: { id: String(incoming.headers['x-id'] ?? '') } });
  outgoing.writeHead(200, { 'content-type': 'application/json', 'content-length': body.length }).end(body);
}

/** The query has the name, start, piece, end and bytes of a field, or the piece and bytes of the texts of an error. */
function playRun({ socket, method }: IncomingMessage, outgoing: ServerResponse, url: URL): void {
  const given = url.searchParams.get('play') ?? '';
  const parts = (given === '' ? [] : JSON.parse(Buffer.from(given, 'base64url').toString())) as string[];
  const bytes = Number(parts.at(-1) ?? 0);
  if (parts.length === 2) {
    const text = repeated(parts[0] ?? '', bytes);
    const source =
      method === 'GET' ? '{"parameter":"highlight_type"}' : `{"pointer":"/highlight_type/${text}"}`;
    const body = Buffer.from(`{"errors":[{"detail":"${text}","source":${source}}]}`);
    outgoing.writeHead(422, { 'content-type': 'application/json', 'content-length': body.length }).end(body);
    return;
  }
  const [name, start = '', piece = '', end = ''] = parts;
  const field = name === undefined ? '' : `${name}: ${start}${repeated(piece, bytes)}${end}\r\n`;
  const type = name === 'Content-Type' ? '' : 'Content-Type: application/json\r\n';
  socket.write(
    Buffer.from(`HTTP/1.1 200 OK\r\n${type}${field}Content-Length: 11\r\n\r\n{"data":{}}`, 'latin1'),
  );
  letGo(outgoing);
}

function repeated(piece: string, length: number): string {
  return piece.repeat(Math.floor(length / piece.length));
}

/** A service that does not want the upload, and resets instead of reading it. */
function refuseEarly({ socket }: IncomingMessage): void {
  socket.write('HTTP/1.1 413 Content Too Large\r\nContent-Length: 3\r\nConnection: close\r\n\r\nbig', () =>
    socket.resetAndDestroy(),
  );
}

/** Marks the hand-written bytes as the response for Node's server, so that the next one on this connection has its turn. */
function letGo(outgoing: ServerResponse): void {
  outgoing.emit('finish');
}

async function writeAll(outgoing: ServerResponse, mebibytes: number): Promise<void> {
  outgoing.writeHead(200, { 'content-length': mebibytes * MEBIBYTE.length });
  for (let k = 0; k < mebibytes && !outgoing.destroyed; k += 1) {
    if (!outgoing.write(MEBIBYTE)) await drainedOrClosed(outgoing);
  }
  outgoing.end();
}

/** Leaves no listener behind, and no promise that an error of the gateway's connection would reject. */
function drainedOrClosed(sink: Socket | ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    const over = (): void => {
      sink.off('drain', over).off('close', over);
      resolve();
    };
    sink.on('drain', over).on('close', over);
  });
}

/** In pieces that were made before: what V2 takes long for, others would seem to wait for in the gateway. */
async function writeTiny(socket: Socket, bytes: number): Promise<void> {
  socket.write('HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n');
  socket.write(inChunks('{"data":{"highlight_type":"'));
  for (let left = bytes - 32; left > 0 && !socket.destroyed; left -= TINY_COUNT) {
    if (!socket.write(TINY.subarray(0, Math.min(left, TINY_COUNT) * TINY_BYTES)))
      await drainedOrClosed(socket);
  }
  socket.write(`${inChunks('"}}')}0\r\n\r\n`);
}

/** The text in chunks of one character each. */
function inChunks(text: string): string {
  return text.replaceAll(/./g, '1\r\n$&\r\n');
}

function writeHints(socket: Socket): void {
  const more = (): void => {
    while (!socket.destroyed && socket.write(HINT));
    socket.once('drain', more);
  };
  more();
}

function number(url: URL, name: string): number {
  return Number(url.searchParams.get(name) ?? 0);
}

async function listen(one: Server): Promise<number> {
  one.requestTimeout = 0;
  one.keepAliveTimeout = 75_000;
  one.on('clientError', (_error, socket) => socket.destroy());
  one.listen(0, '127.0.0.1', 4096);
  await once(one, 'listening');
  const bound = one.address();
  return typeof bound === 'object' && bound !== null ? bound.port : 0;
}
