import type { Buffer } from 'node:buffer';
import { connect, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { WireReader } from './wire-reader.ts';

/** A kept connection with one request at a time. */
export class Client {
  private readonly socket: Socket;
  private onResponse: ((head: string, body: Buffer) => void) | undefined;
  private onFailure: ((error: Error) => void) | undefined;

  private constructor(socket: Socket) {
    this.socket = socket;
    const reader = new WireReader((head, body) => {
      if (!head.startsWith('HTTP/1.1 201')) {
        this.onFailure?.(new Error(`${head}${body.toString()}`));
        return;
      }
      this.onResponse?.(head, body);
    });
    socket.on('data', (chunk: Buffer) => reader.read(chunk));
    socket.on('error', (error) => this.onFailure?.(error));
    socket.on('close', () => this.onFailure?.(new Error('the connection was closed')));
  }

  static async open(port: number, isTls = false): Promise<Client> {
    return new Client(await connectTo(port, isTls));
  }

  /** Sends a request; `onResponse` is called with each response from now on. */
  on(onResponse: (head: string, body: Buffer) => void, onFailure: (error: Error) => void): void {
    this.onResponse = onResponse;
    this.onFailure = onFailure;
  }

  send(request: Buffer): void {
    this.socket.write(request);
  }

  /** Sends a request and waits for its response. */
  request(request: Buffer): Promise<Buffer> {
    return new Promise((resolve, reject) => {
      this.on((_, body) => resolve(body), reject);
      this.send(request);
    });
  }

  close(): void {
    this.onFailure = undefined;
    this.socket.destroy();
  }
}

/** Opens a connection to this machine; over TLS, any certificate will do. */
export function connectTo(port: number, isTls: boolean): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const options = { port, host: '127.0.0.1', noDelay: true };
    const socket = isTls ? connectTls({ ...options, rejectUnauthorized: false }) : connect(options);
    socket.once('error', reject);
    socket.once(isTls ? 'secureConnect' : 'connect', () => {
      socket.off('error', reject);
      resolve(socket);
    });
  });
}

/** Sends requests as fast as responses arrive, on `connections` connections; returns how many responses came in `milliseconds`. */
export async function saturate(
  port: number,
  request: Buffer,
  connections: number,
  milliseconds: number,
): Promise<number> {
  const clients = await Promise.all(Array.from({ length: connections }, () => Client.open(port)));
  let count = 0;
  const end = performance.now() + milliseconds;
  try {
    await Promise.all(
      clients.map(
        (client) =>
          new Promise<void>((resolve, reject) => {
            client.on(() => {
              count += 1;
              if (performance.now() < end) client.send(request);
              else resolve();
            }, reject);
            client.send(request);
          }),
      ),
    );
  } finally {
    for (const client of clients) client.close();
  }
  return count;
}

/** Sends `rate` requests a second, whether responses arrive or not; returns the milliseconds that each took, in order. */
export async function pace(
  port: number,
  request: Buffer,
  rate: number,
  milliseconds: number,
): Promise<readonly number[]> {
  const idle: Client[] = [];
  const all: Client[] = [];
  const took: number[] = [];
  let fault: Error | undefined;
  const underWay = new Set<Promise<void>>();
  const start = performance.now();
  let sent = 0;
  const one = async (): Promise<void> => {
    try {
      let client = idle.pop();
      if (client === undefined) {
        client = await Client.open(port);
        all.push(client);
      }
      const began = performance.now();
      await client.request(request);
      took.push(performance.now() - began);
      idle.push(client);
    } catch (error) {
      fault = error instanceof Error ? error : new Error(String(error));
    }
  };
  for (;;) {
    const now = performance.now() - start;
    if (now >= milliseconds) break;
    for (; sent < (now * rate) / 1000; sent += 1) {
      const pending = one();
      underWay.add(pending);
      void pending.then(() => underWay.delete(pending));
    }
    await new Promise((resolve) => {
      setTimeout(resolve, 1);
    });
  }
  await Promise.all(underWay);
  for (const client of all) client.close();
  if (fault !== undefined) throw fault;
  return took.toSorted((a, b) => a - b);
}
