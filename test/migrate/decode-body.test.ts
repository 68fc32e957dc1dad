import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import type { Coding } from '../../src/http/content.ts';
import { unlimitedMemory } from '../../src/json/tape.ts';
import {
  decodedStream,
  type DecodedBody,
  decodeWebBody,
  type EncodeBody,
  encodeWebBody,
  openWebDecoder,
} from '../../src/migrate/decode-web-body.ts';
import { decodeBody, decodeBodySync, encodeBody } from '../../src/node/decode-body.ts';

const TEXT = 'a text, a text, a text';

const CODED: readonly (readonly [Coding, Uint8Array])[] = [
  ['gzip', gzipSync(TEXT)],
  ['deflate', deflateSync(TEXT)],
  ['deflate', deflateRawSync(TEXT)],
  ['br', brotliCompressSync(TEXT)],
];

/** Web streams do not have Brotli. */
const OF_WEB = CODED.filter(([coding]) => coding !== 'br');

type Decode = (coding: Coding, body: Uint8Array, limit: number) => DecodedBody | Promise<DecodedBody>;

const decodeLater: Decode = (coding, body, limit) =>
  new Promise((resolve) => {
    decodeBody(coding, body, limit, unlimitedMemory, resolve);
  });

const decodeByWeb: Decode = (coding, body, limit) =>
  new Promise((resolve) => {
    decodeWebBody(coding, body, limit, unlimitedMemory, resolve);
  });

describe.each<readonly [string, Decode, typeof CODED]>([
  ['later', decodeLater, CODED],
  ['at once', decodeBodySync, CODED],
  ['by web streams', decodeByWeb, OF_WEB],
])('decoding %s', (_when, decode, coded) => {
  const textOf: (...given: Parameters<Decode>) => Promise<string> = async (...given) => {
    const decoded = await decode(...given);
    return typeof decoded === 'string' ? decoded : Buffer.from(decoded).toString();
  };

  test.each(coded)('%s within its limit', async (coding, body) => {
    expect(await textOf(coding, body, TEXT.length)).toBe(TEXT);
    expect(await textOf(coding, body, TEXT.length - 1)).toBe('too-large');
  });

  // Another reader might take the bytes after the end as a part of the body.
  test.each(coded)('%s that is cut off, or has bytes after its end', async (coding, body) => {
    expect(await textOf(coding, body.subarray(0, -1), 100)).toBe('undecodable');
    for (const rest of ['\0', 'x', 'bytes that are none'])
      expect(await textOf(coding, Buffer.concat([body, Buffer.from(rest)]), 100)).toBe('undecodable');
  });

  test('gzip in several members (RFC 1952 §2.2)', async () => {
    const body = Buffer.concat([gzipSync('one, '), gzipSync('two')]);
    // The streams of the platform take the second for bytes behind the end.
    expect(await textOf('gzip', body, 100)).toBe(decode === decodeByWeb ? 'undecodable' : 'one, two');
  });
});

test.each<readonly [string, EncodeBody, readonly Coding[]]>([
  ['Node', encodeBody, ['gzip', 'deflate', 'br']],
  ['web streams', encodeWebBody, ['gzip', 'deflate']],
])('what is encoded by %s is decoded again', async (_by, encode, codings) => {
  const body = Buffer.from(TEXT.repeat(10_000));
  for (const coding of codings) {
    const encoded = await new Promise<Uint8Array | undefined>((resolve) => {
      encode(coding, body, resolve);
    });
    expect(encoded?.length).toBeLessThan(body.length / 10);
    expect(decodeBodySync(coding, encoded ?? new Uint8Array(), body.length)).toEqual(body);
  }
});

test('web streams have no Brotli', () => {
  let encoded: Uint8Array | undefined = new Uint8Array();
  encodeWebBody('br', Buffer.from(TEXT), (outcome) => {
    encoded = outcome;
  });
  expect(encoded).toBeUndefined();
});

test('web streams have no Brotli to decode, and stop where the memory does', async () => {
  expect(await decodeByWeb('br', brotliCompressSync(TEXT), 100)).toBe('undecodable');
  const outcome = new Promise((resolve) => {
    decodeWebBody('gzip', gzipSync(TEXT), 100, { take: () => false }, resolve);
  });
  expect(await outcome).toBe('buffer-full');
});

describe('a body that arrives in parts, by web streams', () => {
  interface Decoded {
    readonly text: string;
    readonly ended: 'end' | 'fail';
  }

  /** Decodes parts one by one: each is pushed once there is room for it. */
  async function decodedFrom(coding: Coding, parts: readonly Uint8Array[]): Promise<Decoded> {
    const bytes: Uint8Array[] = [];
    const { promise, resolve } = Promise.withResolvers<Decoded['ended']>();
    let room = Promise.withResolvers<void>();
    const decoder = openWebDecoder(coding, {
      data: (part) => bytes.push(part),
      drained: () => room.resolve(),
      end: () => resolve('end'),
      fail: () => resolve('fail'),
    });
    for (const part of parts) {
      room = Promise.withResolvers();
      if (!decoder.push(part)) await Promise.race([room.promise, promise]);
    }
    decoder.end();
    const ended = await promise;
    // Nothing follows.
    expect(decoder.push(new Uint8Array([1]))).toBe(ended === 'fail');
    decoder.close();
    return { text: Buffer.concat(bytes).toString(), ended };
  }

  test.each(OF_WEB)('of %s decodes to the same bytes as in one piece', async (coding, body) => {
    const single = Array.from(body, (byte) => new Uint8Array([byte]));
    for (const parts of [
      [body],
      [new Uint8Array(), body],
      single.length > 2 ? [body.subarray(0, 2), body.subarray(2)] : single,
    ])
      expect(await decodedFrom(coding, parts)).toEqual({ text: TEXT, ended: 'end' });
    expect(await decodedFrom(coding, [body.subarray(0, -1)])).toMatchObject({ ended: 'fail' });
    expect(await decodedFrom(coding, [body, new Uint8Array([1])])).toMatchObject({ ended: 'fail' });
    expect(await decodedFrom(coding, [])).toEqual({ text: '', ended: 'end' });
  });

  test('of a coding that the platform does not know fails at its first byte', async () => {
    expect(await decodedFrom('br', [brotliCompressSync(TEXT)])).toEqual({ text: '', ended: 'fail' });
  });

  test('waits while it is paused, and reports nothing once it is closed', async () => {
    const told: string[] = [];
    const { promise, resolve } = Promise.withResolvers<void>();
    const receiver = {
      data: (part: Uint8Array) => told.push(Buffer.from(part).toString()),
      drained: () => {},
      end: () => resolve(),
      fail: () => told.push('fail'),
    };
    const held = openWebDecoder('gzip', receiver);
    held.pause();
    held.push(gzipSync(TEXT));
    held.end();
    await new Promise(setImmediate);
    expect(told).toEqual([]);
    held.resume();
    await promise;
    expect(told).toEqual([TEXT]);
    const closed = openWebDecoder('gzip', receiver);
    closed.push(gzipSync(TEXT));
    closed.close();
    closed.close();
    closed.end();
    await new Promise(setImmediate);
    expect(told).toEqual([TEXT]);
  });

  test('is a stream without its coding', async () => {
    const stream = (): ReadableStream<Uint8Array<ArrayBuffer>> => new Blob([gzipSync(TEXT)]).stream();
    const first = gzipSync(TEXT);
    expect(await new Response(decodedStream('gzip', first, stream())).text()).toBe(TEXT);
    expect(decodedStream('br', first, stream())).toBeUndefined();
    expect(decodedStream(undefined, first, stream())).toBeUndefined();
  });
});
