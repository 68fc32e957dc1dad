import { once } from 'node:events';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { BodyMemory } from '../../../../src/node/body-memory.ts';
import { H2Output } from '../../../../src/node/clients/http2/output.ts';
import { until } from '../../../support/until.ts';
import { socketPair } from '../../../support/socket-pair.ts';

/** An output, and what its client receives. */
async function connectedOutput() {
  const [socket, client] = await socketPair();
  const reads: Buffer[] = [];
  client.on('data', (chunk: Buffer) => void reads.push(chunk));
  let taken = 0;
  const output = new H2Output(socket, new BodyMemory(), { onFlushed: () => void (taken += 1) });
  const heard: string[] = [];
  const response = (name: string) => ({
    flushed: () => void heard.push(`${name} flushed`),
    disconnected: () => void heard.push(`${name} disconnected`),
  });
  return { client, heard, output, reads, response, socket, taken: () => taken };
}

test('the frames of a turn of the event loop go out in one write, in their order', async () => {
  const { heard, output, reads, response, taken } = await connectedOutput();
  output.acknowledgeSettings();
  output.data(1, Buffer.from('abc'), true);
  output.end(response('first'));
  output.sendWindowUpdate(3, 70_000);
  expect(output.waitingBytes).toBe(9 + 12 + 13);
  await until(() => reads.length > 0);
  expect(Buffer.concat(reads).toString('hex')).toBe(
    ['000000040100000000', '000003000100000001616263', '00000408000000000300011170'].join(''),
  );
  expect([heard, taken(), output.waitingBytes]).toEqual([['first flushed'], 1, 0]);
});

test('a response whose last frame was written in an earlier turn is flushed as well', async () => {
  const { heard, output, response } = await connectedOutput();
  output.data(1, Buffer.from('abc'), true);
  await until(() => output.waitingBytes === 0);
  output.end(response('late'));
  await until(() => heard.length > 0);
  expect(heard).toEqual(['late flushed']);
});

test('a block of fields and a body larger than a frame are split, and nothing is lost', async () => {
  const { output, reads } = await connectedOutput();
  const block = Buffer.alloc(40_000, 'f');
  output.fields(5, block, true);
  const lengths = [16_384, 16_384, 7232];
  await until(() => Buffer.concat(reads).length === 40_000 + 27);
  let rest = Buffer.concat(reads);
  const frames = lengths.map((length) => {
    const frame = [rest.readUIntBE(0, 3), rest[3], rest[4]];
    rest = rest.subarray(9 + length);
    return frame;
  });
  expect(frames).toEqual([
    [16_384, 1, 1],
    [16_384, 9, 0],
    [7232, 9, 4],
  ]);
});

test('when the connection is closed, the responses in it are disconnected, each once', async () => {
  const { client, heard, output, response, socket } = await connectedOutput();
  client.pause();
  // More than the system takes for a client that does not read.
  for (let count = 0; count < 1000; count += 1) output.data(1, Buffer.alloc(16_000), false);
  output.end(response('written'));
  await nextTurn();
  expect([output.isFull, output.isCongested]).toEqual([true, true]);
  output.data(3, Buffer.from('x'), true);
  output.end(response('unwritten'));
  socket.destroy();
  output.stop();
  await until(() => heard.length === 2);
  await nextTurn();
  expect(heard.toSorted()).toEqual(['unwritten disconnected', 'written disconnected']);
});

test('after its end nothing is written, because that would break a connection whose last frame is on its way', async () => {
  const { client, heard, output, reads, response, socket } = await connectedOutput();
  output.goAway(7, 1);
  output.flush();
  output.stop();
  socket.end();
  output.acknowledgeSettings();
  output.end(response('late'));
  await once(client, 'end');
  expect(Buffer.concat(reads)).toHaveLength(9 + 8);
  expect(heard).toEqual(['late disconnected']);
  expect(socket.errored).toBe(null);
});
