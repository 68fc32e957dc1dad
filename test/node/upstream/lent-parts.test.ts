import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { BodyWriter } from '../../../src/node/upstream/connection.ts';
import { socketPair } from '../../support/socket-pair.ts';

const PARTS = 400;
const PART_BYTES = 40_000;

/** Parts that all use the same memory, which is overwritten when the next one is requested. */
async function* lentParts(): AsyncGenerator<Uint8Array> {
  const memory = new Uint8Array(PART_BYTES);
  for (let index = 0; index < PARTS; index += 1) yield memory.fill(index % 251);
  memory.fill(255);
}

// A part whose memory were used again too early would reach V2 as another one.
test.each([
  ['a length', PARTS * PART_BYTES],
  ['chunks', undefined],
])(
  'a part is on its way before the next one is asked for, however slowly V2 reads: %s',
  async (_, length) => {
    const [reader, socket] = await socketPair({ pauseOnConnect: true });
    const writer = new BodyWriter(socket, lentParts(), length, {
      bodyBroke: (cause) => expect.fail(cause),
    });
    const [got, expected] = [createHash('sha256'), createHash('sha256')];
    for (let index = 0; index < PARTS; index += 1) {
      if (length === undefined) expected.update(`${PART_BYTES.toString(16)}\r\n`);
      expected.update(new Uint8Array(PART_BYTES).fill(index % 251));
      if (length === undefined) expected.update('\r\n');
    }
    if (length === undefined) expected.update('0\r\n\r\n');
    const total = PARTS * PART_BYTES + (length === undefined ? PARTS * 8 + 5 : 0);
    let received = 0;
    while (received < total) {
      await pause(1);
      const chunk: unknown = reader.read();
      if (!(chunk instanceof Buffer)) {
        await once(reader, 'readable');
        continue;
      }
      received += chunk.length;
      got.update(chunk);
    }
    expect(got.digest('hex')).toBe(expected.digest('hex'));
    expect(writer.isWhole).toBe(true);
  },
);
