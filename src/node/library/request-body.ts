import { Buffer } from 'node:buffer';
import type { IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import { ByteCollector } from '../../http/byte-collector.ts';

/** True for a body that was read, at least in part, before the migration. */
export function wasRead(incoming: IncomingMessage): boolean {
  return !isStream(incoming) || incoming.readableDidRead || incoming.readableEnded;
}

/** True for a body that other code is still reading. */
export function isBeingRead(incoming: IncomingMessage): boolean {
  return isStream(incoming) && incoming.readableFlowing === true && !incoming.readableEnded;
}

/** False for the requests of platforms that have a body but no stream: adapters of cloud functions. */
export function isStream(incoming: object): boolean {
  return incoming instanceof Readable;
}

/**
 * Reads a body to its end, even if other code reads it as well; `too-large` from `limit` bytes on, undefined if the client disconnects
 * first.
 */
export function collectBody(
  incoming: IncomingMessage,
  limit: number,
): Promise<Uint8Array | 'too-large' | undefined> {
  if (!isStream(incoming) || incoming.readableEnded) return Promise.resolve(new Uint8Array());
  if (incoming.destroyed) return Promise.resolve(undefined);
  const { promise, resolve } = Promise.withResolvers<Uint8Array | 'too-large' | undefined>();
  const body = new ByteCollector(Math.min(Number(incoming.headers['content-length'] ?? 0), limit));
  const take = (chunk: Uint8Array | string): void => {
    body.add(bytesOf(incoming, chunk));
    if (body.length <= limit) return;
    incoming.off('data', take);
    // Drops the rest until the server closes the connection after the response.
    incoming.resume();
    resolve('too-large');
  };
  incoming.on('data', take);
  incoming.once('end', () => resolve(body.take()));
  incoming.once('close', () => resolve(undefined));
  incoming.on('error', () => {});
  // A paused stream, for example by middleware that waited for something.
  incoming.resume();
  return promise;
}

/** Gives a request whose body was read a new one for the following handlers. */
export function putBody(incoming: IncomingMessage, body: Uint8Array): void {
  if (!isStream(incoming)) return;
  // They have already received the client's body and its end.
  for (const event of ['data', 'end', 'readable']) incoming.removeAllListeners(event);
  renew(incoming, () => {});
  incoming.complete = true;
  if (body.length > 0) fill(incoming, body);
  fill(incoming, null);
}

/** Gives a request an empty body, and drops the client's while it arrives. */
export function dropBody(incoming: IncomingMessage): void {
  if (!isStream(incoming)) return;
  const receive = divert(incoming, () => true);
  renew(incoming, () => {});
  fill(incoming, null);
  receive();
}

/** Takes the client's body out of a request while it arrives. The request then has the body of `putBody` or `putStream`. */
export function takeStream(incoming: IncomingMessage): Readable {
  const source: Readable = new Readable({ read: () => receive() });
  const receive = divert(incoming, (chunk) => source.push(chunk));
  for (;;) {
    const chunk: unknown = incoming.read();
    if (typeof chunk !== 'string' && !(chunk instanceof Uint8Array)) break;
    source.push(bytesOf(incoming, chunk));
  }
  renew(incoming, () => {});
  incoming.once('close', () => source.destroy());
  return source;
}

/** Gives a request a body that is produced on demand; if that fails, the body breaks off as if the client had disconnected. */
export function putStream(incoming: IncomingMessage, body: AsyncIterable<Uint8Array>): void {
  const parts = body[Symbol.asyncIterator]();
  renew(incoming, () => {
    parts.next().then(
      ({ done, value }) => fill(incoming, done === true ? null : new Uint8Array(value)),
      (error: unknown) => void incoming.destroy(error instanceof Error ? error : new Error(String(error))),
    );
  });
}

/** Sends bytes that arrive from now on to `take` instead of the stream's readers; returns a function that requests more. */
function divert(incoming: IncomingMessage, take: (chunk: unknown) => boolean): () => void {
  const read = incoming._read.bind(incoming);
  // An own property: Node's parser and platforms with their own requests push received bytes through it.
  incoming.push = take;
  return () => read(incoming.readableHighWaterMark);
}

/**
 * Replaces the stream of a request with a new one that was not read. The request stays the same object, with all properties that
 * middleware has added, because frameworks pass on only the object that they received.
 */
function renew(incoming: IncomingMessage, read: () => void): void {
  const { readableHighWaterMark, readableEncoding } = incoming;
  Reflect.apply(Readable, incoming, [{ autoDestroy: false, highWaterMark: readableHighWaterMark, read }]);
  if (readableEncoding !== null) incoming.setEncoding(readableEncoding);
}

function fill(incoming: IncomingMessage, chunk: Uint8Array | null): void {
  // oxlint-disable-next-line typescript/unbound-method -- bound here; the request's own method may divert what arrives.
  Reflect.apply(Readable.prototype.push, incoming, [chunk]);
}

/** The bytes of a chunk, which is a text after `setEncoding`. */
function bytesOf(incoming: IncomingMessage, chunk: Uint8Array | string): Uint8Array {
  return typeof chunk === 'string' ? Buffer.from(chunk, incoming.readableEncoding ?? 'utf8') : chunk;
}
