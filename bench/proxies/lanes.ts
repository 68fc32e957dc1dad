import { Buffer } from 'node:buffer';
import type { Socket } from 'node:net';
import { connectTo } from '../load.ts';
import { WireReader } from '../wire-reader.ts';

/** A place for one request at a time: a connection of HTTP/1.1, or one of the streams that a connection of HTTP/2 has open. */
export interface Lane {
  /** Sends the request; `onResponse` is called once its response has arrived whole. */
  send(onResponse: () => void): void;
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
  let underWay = 0;
  const done = new Promise<readonly number[]>((resolve) => {
    const launch = (lane: Lane, began: number): void => {
      lane.send(() => {
        took.push(performance.now() - began);
        const next = waiting.shift();
        if (next !== undefined) {
          launch(lane, next);
          return;
        }
        free.push(lane);
        underWay -= 1;
      });
    };
    const timer = setInterval(() => {
      const now = performance.now();
      if (now - start >= milliseconds) {
        if (underWay > 0) return;
        clearInterval(timer);
        resolve(took);
        return;
      }
      for (; sent < ((now - start) * rate) / 1000; sent += 1) {
        const lane = free.pop();
        if (lane === undefined) {
          waiting.push(now);
          continue;
        }
        underWay += 1;
        launch(lane, now);
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
export async function openH1(
  port: number,
  request: Buffer,
  connections: number,
  isTls: boolean,
): Promise<Lanes> {
  let fail: (error: Error) => void = () => {};
  const failed = new Promise<never>((_, reject) => {
    fail = reject;
  });
  // Whoever waits for responses sees it; until then, nobody has to.
  failed.catch(() => {});
  const lanes: CountedConnection[] = [];
  while (lanes.length < connections) {
    const some = Math.min(50, connections - lanes.length);
    const opened = await Promise.all(
      Array.from(
        { length: some },
        async () => new CountedConnection(await connectTo(port, isTls), request, fail),
      ),
    );
    await Promise.race([Promise.all(opened.map((one) => one.learn())), failed]);
    lanes.push(...opened);
  }
  return {
    lanes,
    failed,
    close() {
      for (const lane of lanes) lane.close();
    },
  };
}

class CountedConnection implements Lane {
  private readonly socket: Socket;
  private readonly request: Buffer;
  private readonly onFailure: (error: Error) => void;
  private onResponse: () => void = () => {};
  /** Bytes of a response, and those of the present one that have arrived. */
  private expected = 0;
  private arrived = 0;

  constructor(socket: Socket, request: Buffer, onFailure: (error: Error) => void) {
    this.socket = socket;
    this.request = request;
    this.onFailure = onFailure;
    socket.on('error', onFailure);
    socket.on('close', () => onFailure(new Error('the connection was closed')));
  }

  /** Sends the first request, and learns from its response how long responses are. */
  learn(): Promise<void> {
    return new Promise((resolve) => {
      let bytes = 0;
      const reader = new WireReader((head, body) => {
        if (!isCreated(Buffer.from(head))) this.onFailure(new Error(`${head}${body.toString()}`));
        this.expected = bytes;
        this.socket.off('data', read);
        this.socket.on('data', (chunk: Buffer) => this.count(chunk));
        resolve();
      });
      const read = (chunk: Buffer): void => {
        bytes += chunk.length;
        reader.read(chunk);
      };
      this.socket.on('data', read);
      this.socket.write(this.request);
    });
  }

  send(onResponse: () => void): void {
    this.onResponse = onResponse;
    this.socket.write(this.request);
  }

  close(): void {
    this.socket.removeAllListeners('close');
    this.socket.destroy();
  }

  private count(chunk: Buffer): void {
    if (this.arrived === 0 && !isCreated(chunk)) this.onFailure(new Error(chunk.toString()));
    this.arrived += chunk.length;
    if (this.arrived < this.expected) return;
    if (this.arrived > this.expected)
      this.onFailure(new Error(`a response of ${this.arrived} bytes instead of ${this.expected}`));
    this.arrived = 0;
    this.onResponse();
  }
}

/** True of `HTTP/1.1 201`. */
function isCreated(bytes: Buffer): boolean {
  return bytes[9] === 0x32 && bytes[10] === 0x30 && bytes[11] === 0x31;
}
