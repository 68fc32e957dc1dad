import { setTimeout as delay } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { rawServer } from '../../support/raw-server.ts';
import { Call, upstreamTo } from './upstream-calls.ts';

const HEAD = 'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n';

/** The maximum number of parts of one response that arrive in one turn of the event loop. */
async function partsInOneTurn(response: string): Promise<readonly [parts: number, bytes: number]> {
  const v2 = await rawServer((socket) => socket.write(response));
  let turn = 0;
  let isOver = false;
  const count = (): void => {
    turn += 1;
    if (!isOver) setImmediate(count);
  };
  const parts = new Map<number, number>();
  const call = new Call(upstreamTo(v2.origin), {}, (event, paused) => {
    // The system collects as much as one turn can bring.
    if (event === '200') {
      paused.pause();
      void delay(100).then(() => {
        count();
        paused.resume();
      });
    }
    if (event === 'data') parts.set(turn, (parts.get(turn) ?? 0) + 1);
  });
  await call.over;
  isOver = true;
  parts.delete(0);
  return [Math.max(...parts.values()), call.body.length];
}

// Attack: V2 responds in chunks of one byte: each costs as much as a large one, and one turn brings 300,000 of them.
test('of a response in chunks of one byte, one turn of the event loop reads no more than the buffer holds', async () => {
  const bytes = 400_000;
  expect(await partsInOneTurn(`${HEAD}${'1\r\n \r\n'.repeat(bytes)}0\r\n\r\n`)).toEqual([1, bytes]);
});
