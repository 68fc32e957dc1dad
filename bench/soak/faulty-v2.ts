import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';

/** A V2 that fails now and then, and remembers which writes reached it. */
export interface FaultyV2 {
  readonly origin: string;
  /** How often each write arrived whole, by its id. */
  readonly writes: ReadonlyMap<string, number>;
  /** How often each fault was played. */
  readonly faults: ReadonlyMap<string, number>;
  /** Bodies that did not look as they should. */
  readonly wrong: readonly string[];
  /** Connections so far, and the requests on them. */
  readonly uses: { readonly connections: number; readonly requests: number };
  /**
   * Writes a response without a request on every open connection, and from then on behind responses now and then. Call it when no
   * request is under way: on a connection that has one, HTTP/1.1 cannot tell such a response from the right one, and neither can a
   * gateway. For the same reason those behind a response go out in one write with it. Once met with any, the gateway keeps no connection
   * for a minute, so it is for the end of a run.
   */
  speakUnasked(): void;
  close(): void;
}

type Fault = (outgoing: ServerResponse, response: string, socket: Socket) => void;

/** The faults, each with its share of a thousand requests. */
const table: readonly (readonly [name: string, perMille: number, play: Fault])[] = [
  ['reset before the head', 10, (_outgoing, _response, socket) => socket.resetAndDestroy()],
  ['closed before the head', 10, (_outgoing, _response, socket) => socket.destroy()],
  ['reset in the head', 5, resetInHead],
  ['cut in the body', 10, cutInBody],
  ['cut in a chunk', 10, cutInChunk],
  ['slow', 20, (outgoing, response) => void setTimeout(() => outgoing.end(response), 150)],
  ['dripping', 10, drip],
  ['500', 10, (outgoing, response) => outgoing.writeHead(500).end(response)],
  ['429', 10, (outgoing, response) => outgoing.writeHead(429, { 'retry-after': '1' }).end(response)],
  ['says close', 10, (outgoing, response) => outgoing.writeHead(200, { connection: 'close' }).end(response)],
  ['closes the kept connection', 10, closeBehind],
];
const unaskedBehind: (typeof table)[number] = ['unasked bytes behind a response', 10, speakBehind];
/** The response without a request. */
const UNASKED = 'HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\npoison';

/** Starts it on a free port. */
export async function startFaultyV2(): Promise<FaultyV2> {
  const writes = new Map<string, number>();
  const faults = new Map<string, number>();
  const wrong: string[] = [];
  const uses = { connections: 0, requests: 0 };
  const open = new Set<Socket>();
  let faultTable = table;
  const server = createServer((incoming, outgoing) => {
    let body = '';
    outgoing.on('error', () => {});
    incoming.on('error', () => {});
    incoming.setEncoding('latin1');
    incoming.on('data', (chunk: string) => {
      body += chunk;
    });
    incoming.on('end', () => {
      uses.requests += 1;
      const id = String(incoming.headers['x-id']);
      if (incoming.method === 'POST' || incoming.method === 'PATCH') {
        count(writes, id);
        if (!body.includes(`"id":"${id}"`) || body.includes('"data"'))
          wrong.push(`${id}: ${body.slice(0, 100)}`);
      }
      const response = JSON.stringify({ data: { id, method: incoming.method, target: incoming.url } });
      const [name, , play] = draw(faultTable) ?? [];
      if (name !== undefined) count(faults, name);
      (play ?? respond)(outgoing, response, incoming.socket);
    });
  });
  server.on('connection', (socket) => {
    uses.connections += 1;
    open.add(socket);
    socket.on('close', () => open.delete(socket));
  });
  // Longer than the gateway keeps a connection, as a server in use does: the soak tests kept connections.
  server.keepAliveTimeout = 5000;
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    writes,
    faults,
    wrong,
    uses,
    speakUnasked: () => {
      faultTable = [...table, unaskedBehind];
      for (const socket of open) {
        count(faults, 'unasked bytes on an idle connection');
        socket.write(UNASKED);
      }
    },
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}

/** Counts one more of a name. */
export function count(counts: Map<string, number>, name: string): void {
  counts.set(name, (counts.get(name) ?? 0) + 1);
}

function draw(faultTable: typeof table): (typeof table)[number] | undefined {
  let left = Math.random() * 1000;
  return faultTable.find(([, perMille]) => (left -= perMille) < 0);
}

function respond(outgoing: ServerResponse, response: string): void {
  const head = { 'content-type': 'application/json', 'content-length': response.length };
  outgoing.writeHead(200, head).end(response);
}

function resetInHead(_outgoing: ServerResponse, _response: string, socket: Socket): void {
  socket.write('HTTP/1.1 200 O', () => socket.resetAndDestroy());
}

function cutInBody(outgoing: ServerResponse, response: string, socket: Socket): void {
  outgoing.writeHead(200, { 'content-length': response.length + 100 });
  cutInChunk(outgoing, response, socket);
}

function cutInChunk(outgoing: ServerResponse, response: string, socket: Socket): void {
  outgoing.write(response);
  setTimeout(() => socket.destroy(), 5);
}

function drip(outgoing: ServerResponse, response: string): void {
  outgoing.write(response.slice(0, 5));
  setTimeout(() => outgoing.end(response.slice(5)), 50);
}

function closeBehind(outgoing: ServerResponse, response: string, socket: Socket): void {
  outgoing.end(response);
  setTimeout(() => socket.destroy(), Math.random() * 20);
}

function speakBehind(_outgoing: ServerResponse, response: string, socket: Socket): void {
  socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${response.length}\r\n\r\n${response}${UNASKED}`);
}
