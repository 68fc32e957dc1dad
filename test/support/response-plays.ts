import { once } from 'node:events';
import { request } from 'node:http';
import { connect, createServer, type Socket } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { NEVER_MS } from './until.ts';

/** The two ways of a request body to V2: with its head, or as it comes. */
export type BodyPath = 'whole' | 'in parts';

/** A V2 that writes one message as the response to every request. */
export interface MessageServer {
  readonly port: number;
  /** Latin-1. */
  message: string;
  /** True when the connection stays open behind the message. */
  staysOpen: boolean;
  close(): void;
}

/** One without a body, or with the one byte that is sent here, framed either way. */
const WHOLE_REQUEST = /^GET [^]*\r\n\r\n$|^POST [^]*\r\n\r\n(?:1\r\na\r\n0\r\n\r\n|a)$/;

/** Starts one on the loopback interface. */
export async function messageServer(): Promise<MessageServer> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.setNoDelay(true);
    socket.on('error', () => {});
    socket.on('close', () => sockets.delete(socket));
    let received = '';
    socket.on('data', (chunk) => {
      received += chunk.toString('latin1');
      if (!WHOLE_REQUEST.test(received)) return;
      received = '';
      const bytes = Buffer.from(v2.message, 'latin1');
      if (v2.staysOpen) socket.write(bytes);
      else socket.end(bytes);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const bound = server.address();
  const v2: MessageServer = {
    port: typeof bound === 'object' && bound !== null ? bound.port : 0,
    message: '',
    staysOpen: false,
    close: () => {
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  };
  return v2;
}

/** What a client read until its response was whole, its connection closed, or it never came. */
interface ClientReading {
  readonly text: string;
  readonly isClosed: boolean;
  readonly isReset: boolean;
}

/**
 * What a client reads through a gateway: `200 ok` is a whole response with its body, `502` one of the gateway's own, `breaks` a response
 * that is cut off and can be told from a whole one, `closes` none, `waits` neither a response nor a close.
 */
export async function readThrough(
  port: number,
  path: BodyPath,
  service: 'v1' | 'v2' = 'v2',
): Promise<string> {
  const { text, isClosed, isReset } = await textThrough(port, path, service);
  const outcome = outcomeOf(text);
  if (outcome !== undefined) return outcome;
  if (!isClosed) return 'waits';
  return text === '' && !isReset ? 'closes' : 'breaks';
}

/** The same, as it stands on the wire, in latin1. */
export async function textThrough(
  port: number,
  path: BodyPath,
  service: 'v1' | 'v2' = 'v2',
): Promise<ClientReading> {
  const socket = connect({ port, host: '127.0.0.1', noDelay: true });
  let text = '';
  let isClosed = false;
  let isReset = false;
  socket.on('data', (chunk) => {
    text += chunk.toString('latin1');
  });
  socket.on('error', () => {
    isReset = true;
  });
  for (const event of ['end', 'close']) {
    socket.on(event, () => {
      isClosed = true;
    });
  }
  if (path === 'whole') socket.write(`GET /api/${service}/x HTTP/1.1\r\nHost: g\r\n\r\n`);
  else {
    socket.write(
      `POST /api/${service}/x HTTP/1.1\r\nHost: g\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n`,
    );
    setTimeout(() => socket.write('0\r\n\r\n'), 20);
  }
  const end = performance.now() + NEVER_MS;
  const isOver = (): boolean => isClosed || outcomeOf(text) !== undefined;
  while (!isOver() && performance.now() < end) {
    await pause(1);
  }
  socket.destroy();
  return { text, isClosed, isReset };
}

/** What Node's own client makes of the message, in the same words; `refuses` is an error before the response. */
export function readByNode(port: number, milliseconds: number): Promise<string> {
  return new Promise((resolve) => {
    let outcome = 'refuses';
    const outgoing = request({ host: '127.0.0.1', port, agent: false });
    const timer = setTimeout(() => {
      resolve('waits');
      outgoing.destroy();
    }, milliseconds);
    outgoing.on('upgrade', (_response, socket) => {
      outcome = 'upgrades';
      socket.destroy();
    });
    outgoing.on('response', (response) => {
      let body = '';
      outcome = 'breaks';
      response.setEncoding('latin1');
      response.on('data', (chunk: string) => {
        body += chunk;
      });
      response.on('error', () => {});
      response.on('end', () => {
        if (response.complete) outcome = `${response.statusCode} ${body}`.trim();
      });
    });
    outgoing.on('error', () => {
      if (/^\d/.test(outcome)) outcome = 'refuses';
    });
    outgoing.on('close', () => {
      clearTimeout(timer);
      resolve(outcome);
    });
    outgoing.end();
  });
}

/** The response that a text is, as `200 ok`; undefined while it is not whole. Interim responses before it count as nothing. */
function outcomeOf(text: string): string | undefined {
  const rest = text.replace(/^(?:HTTP\/1\.1 1\d\d [^]*?\r\n\r\n)*/, '');
  const head = rest.indexOf('\r\n\r\n');
  if (head < 0) return undefined;
  const fields = rest.slice(0, head + 2);
  const status = /^HTTP\/1\.1 (\d{3}) /.exec(fields)?.[1];
  if (status === undefined) return 'nonsense';
  const body = rest.slice(head + 4);
  if (status === '204' || status === '304') return `${status} ${body}`.trim();
  const length = /\r\ncontent-length: *(\d+)\r\n/i.exec(fields)?.[1];
  if (length !== undefined) {
    if (body.length < Number(length)) return undefined;
    if (body.length > Number(length)) return 'nonsense';
    return /\r\nx-gateway-error: /.test(fields) ? status : `${status} ${body}`.trim();
  }
  if (!body.endsWith('0\r\n\r\n') && !/\r\n0\r\n(?:[^\r\n]+\r\n)*\r\n$/.test(`\r\n${body}`)) return undefined;
  return `${status} ${joinChunks(body)}`.trim();
}

function joinChunks(text: string): string {
  let body = '';
  for (let at = 0; ;) {
    const end = text.indexOf('\r\n', at);
    const size = Number.parseInt(text.slice(at, end), 16);
    if (!(size > 0)) return body;
    body += text.slice(end + 2, end + 2 + size);
    at = end + 2 + size + 2;
  }
}
