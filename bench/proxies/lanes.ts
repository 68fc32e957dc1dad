import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { responseBody } from '../v2-response.ts';

/** A place for one request at a time: a connection of HTTP/1.1, or one of the streams that a connection of HTTP/2 has open. */
export interface Lane {
  /** Sends the request; `onResponse` is called once its response has arrived whole. */
  send(onResponse: () => void): void;
  close(): void;
}

/** Open connections that all send the same request. */
export interface Lanes {
  readonly lanes: readonly Lane[];
  /** Rejects when a response is another than the first one, or a connection breaks. */
  readonly failed: Promise<never>;
  close(): void;
}

/** Sends requests as fast as responses arrive; returns the milliseconds that each took. */
export function saturateLanes({ lanes, failed }: Lanes, milliseconds: number): Promise<readonly number[]> {
  const took: number[] = [];
  const end = performance.now() + milliseconds;
  const all = lanes.map(
    (lane) =>
      new Promise<void>((resolve) => {
        let began = performance.now();
        const onResponse = (): void => {
          const now = performance.now();
          took.push(now - began);
          if (now >= end) {
            resolve();
            return;
          }
          began = now;
          lane.send(onResponse);
        };
        lane.send(onResponse);
      }),
  );
  return Promise.race([Promise.all(all).then(() => took), failed]);
}

/**
 * Sends `rate` requests a second, whether responses arrive or not; returns the milliseconds that each took. A request that finds no
 * lane free waits for one, and its wait counts.
 */
export function paceLanes(
  { lanes, failed }: Lanes,
  rate: number,
  milliseconds: number,
): Promise<readonly number[]> {
  const took: number[] = [];
  const free = [...lanes];
  const waiting: number[] = [];
  const start = performance.now();
  let sent = 0;
  const launch = (lane: Lane, began: number): void =>
    lane.send(() => {
      took.push(performance.now() - began);
      const next = waiting.shift();
      if (next === undefined) free.push(lane);
      else launch(lane, next);
    });
  const done = new Promise<readonly number[]>((resolve) => {
    const timer = setInterval(() => {
      const now = performance.now();
      if (now - start >= milliseconds) {
        if (took.length < sent) return;
        clearInterval(timer);
        resolve(took);
        return;
      }
      for (; sent < ((now - start) * rate) / 1000; sent += 1) {
        const lane = free.pop();
        if (lane === undefined) waiting.push(now);
        else launch(lane, now);
      }
    }, 1);
    failed.catch(() => clearInterval(timer));
  });
  return Promise.race([done, failed]);
}

/**
 * Opens connections of HTTP/1.1, over TLS or not, each with one request served. Further responses are counted by their bytes, not
 * read, so that the load costs little beside what it measures: each must be as long as the first, and a 201.
 */
export function openH1(port: number, request: Buffer, connections: number, isTls: boolean): Promise<Lanes> {
  return openAll(connections, async (fail) => {
    const socket = await connectTo(port, isTls);
    const expected = await firstResponse(socket, request);
    let arrived = 0;
    let onResponse: () => void = () => {};
    socket.on('error', fail).on('close', () => fail(new Error('the connection was closed')));
    socket.on('data', (chunk: Buffer) => {
      if (arrived === 0 && !chunk.subarray(0, CREATED.length).equals(CREATED))
        fail(new Error(chunk.toString()));
      arrived += chunk.length;
      if (arrived < expected) return;
      if (arrived > expected) fail(new Error(`a response of ${arrived} bytes instead of ${expected}`));
      arrived = 0;
      onResponse();
    });
    return {
      send: (next) => {
        onResponse = next;
        socket.write(request);
      },
      close: () => socket.destroy(),
    };
  });
}

const CREATED = Buffer.from('HTTP/1.1 201');

/** Opens so many connections, some at a time. */
export async function openAll(
  count: number,
  open: (fail: (error: Error) => void) => Promise<Lane>,
): Promise<Lanes> {
  const { promise: failed, reject } = Promise.withResolvers<never>();
  // Whoever waits for responses sees it; until then, nobody has to.
  failed.catch(() => {});
  const lanes: Lane[] = [];
  while (lanes.length < count) {
    const some = Array.from({ length: Math.min(50, count - lanes.length) }, () => open(reject));
    lanes.push(...(await Promise.all(some)));
  }
  return { lanes, failed, close: () => lanes.forEach((lane) => lane.close()) };
}

/** Opens a connection to this machine; over TLS, any certificate will do. */
export async function connectTo(port: number, isTls: boolean): Promise<Socket> {
  const options = { port, host: '127.0.0.1', noDelay: true };
  const socket = isTls ? connectTls({ ...options, rejectUnauthorized: false }) : connect(options);
  await once(socket, isTls ? 'secureConnect' : 'connect');
  return socket;
}

/** Sends the first request of a connection; resolves to the bytes of its response when it is whole: it ends with V2's body. */
export function firstResponse(socket: Socket, request: Buffer): Promise<number> {
  return new Promise((resolve, reject) => {
    let response = '';
    const read = (chunk: Buffer): void => {
      response += chunk.toString('latin1');
      if (response.length >= CREATED.length && !response.startsWith(CREATED.toString()))
        reject(new Error(response));
      if (!response.endsWith(responseBody)) return;
      socket.off('data', read);
      resolve(response.length);
    };
    socket.on('data', read).on('error', reject);
    socket.on('close', () => reject(new Error('the connection was closed')));
    socket.write(request);
  });
}
