import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import type { Coding } from '../../src/http/content.ts';
import { unlimitedMemory } from '../../src/json/tape.ts';
import { type DecodedBody, type EncodeBody, encodeWebBody } from '../../src/migrate/decode-web-body.ts';
import { decodeBody, decodeBodySync, encodeBody } from '../../src/node/decode-body.ts';

const TEXT = 'a text, a text, a text';

const CODED: readonly (readonly [Coding, Uint8Array])[] = [
  ['gzip', gzipSync(TEXT)],
  ['deflate', deflateSync(TEXT)],
  ['deflate', deflateRawSync(TEXT)],
  ['br', brotliCompressSync(TEXT)],
];

type Decode = (coding: Coding, body: Uint8Array, limit: number) => DecodedBody | Promise<DecodedBody>;

const decodeLater: Decode = (coding, body, limit) =>
  new Promise((resolve) => {
    decodeBody(coding, body, limit, unlimitedMemory, resolve);
  });

describe.each<readonly [string, Decode]>([
  ['later', decodeLater],
  ['at once', decodeBodySync],
])('decoding %s', (_when, decode) => {
  const textOf: (...given: Parameters<Decode>) => Promise<string> = async (...given) => {
    const decoded = await decode(...given);
    return typeof decoded === 'string' ? decoded : Buffer.from(decoded).toString();
  };

  test.each(CODED)('%s within its limit', async (coding, body) => {
    expect(await textOf(coding, body, TEXT.length)).toBe(TEXT);
    expect(await textOf(coding, body, TEXT.length - 1)).toBe('too-large');
  });

  // Another reader might take the bytes after the end as a part of the body.
  test.each(CODED)('%s that is cut off, or has bytes after its end', async (coding, body) => {
    expect(await textOf(coding, body.subarray(0, -1), 100)).toBe('undecodable');
    for (const rest of ['\0', 'x', 'bytes that are none'])
      expect(await textOf(coding, Buffer.concat([body, Buffer.from(rest)]), 100)).toBe('undecodable');
  });

  test('gzip in several members (RFC 1952 §2.2)', async () => {
    expect(await textOf('gzip', Buffer.concat([gzipSync('one, '), gzipSync('two')]), 100)).toBe('one, two');
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
