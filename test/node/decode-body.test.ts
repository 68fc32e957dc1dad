import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import type { Coding } from '../../src/http/content.ts';
import { unlimitedMemory } from '../../src/json/tape.ts';
import type { DecodedBody } from '../../src/migrate/decode-web-body.ts';
import { decodeBody, decodeBodySync } from '../../src/node/decode-body.ts';

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
