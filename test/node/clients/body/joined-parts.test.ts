import { Readable } from 'node:stream';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { JoinedParts } from '../../../../src/node/clients/request-body.ts';
import { fuzzRuns } from '../../../support/fuzz.ts';

function readable(onPart: (bytes: number) => void = () => {}) {
  const source = new Readable({ read: () => {}, highWaterMark: 64 * 1024 });
  return { source, joined: new JoinedParts(source, onPart) };
}

test('all bytes arrive in their order, however they are cut', async () => {
  const parts = fc.array(fc.oneof(fc.uint8Array({ maxLength: 4 }), fc.uint8Array({ maxLength: 400 })), {
    maxLength: 300,
  });
  await fc.assert(
    fc.asyncProperty(parts, fc.integer({ min: 1, max: 50 }), async (list, every) => {
      const read: number[] = [];
      const { source, joined } = readable((bytes) => void read.push(bytes));
      for (const [at, part] of list.entries()) {
        source.push(part);
        if (at % every === 0) joined.flush();
      }
      source.push(null);
      const received: Buffer[] = [];
      for await (const chunk of source) received.push(chunk as Buffer);
      expect(Buffer.concat(received)).toEqual(Buffer.concat(list));
      expect(read).toEqual(list.map(({ length }) => length));
    }),
    { numRuns: fuzzRuns(50) },
  );
});

test('tiny parts are reported as one, and larger ones as they are', async () => {
  const { source, joined } = readable();
  const received: number[] = [];
  source.on('data', (chunk: Buffer) => void received.push(chunk.length));
  for (let count = 0; count < 1000; count += 1) source.push(Buffer.from('x'));
  source.push(Buffer.alloc(5000));
  for (let count = 0; count < 100; count += 1) source.push(Buffer.from('x'));
  joined.flush();
  joined.flush();
  await new Promise((resolve) => void setImmediate(resolve));
  expect(received).toEqual([1000, 5000, 100]);
});

test('a stream that nobody reads is full at its limit, tiny parts or not', () => {
  const { source } = readable();
  const part = Buffer.from('x');
  let taken = 0;
  while (source.push(part)) taken += 1;
  expect(taken).toBeLessThanOrEqual(64 * 1024);
  expect(taken).toBeGreaterThan(32 * 1024);
});
