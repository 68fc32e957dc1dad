import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { MinimumRate, unacknowledgedBytes } from '../../../src/node/clients/rates.ts';
import { bytesFlushed } from '../../../src/node/node-internals.ts';
import { socketPair } from '../../support/socket-pair.ts';
import { until } from '../../support/until.ts';

interface Measured {
  readonly rate: MinimumRate;
  /** Bytes come, or are taken. */
  readonly move: (bytes: number) => void;
  readonly slow: () => number;
}

/** A transfer at 240 bytes a second after 5 s, on a clock of the test. */
function measured(minDataRate = 240): Measured {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  let transferred = 0;
  let slow = 0;
  const rate = new MinimumRate(
    { minDataRate, minDataRateGrace: 5000 },
    {
      get transferred() {
        return transferred;
      },
      tooSlow: () => (slow += 1),
    },
  );
  return { rate, move: (bytes) => (transferred += bytes), slow: () => slow };
}

describe('the minimum rate of a transfer', () => {
  test('silence ends it when the grace is over, once', () => {
    const { rate, slow } = measured();
    rate.start();
    vi.advanceTimersByTime(4900);
    expect(slow()).toBe(0);
    vi.advanceTimersByTime(60_000);
    expect(slow()).toBe(1);
  });

  test('bytes that are read in the turn in which the grace is over still count', () => {
    const { rate, move, slow } = measured();
    // Timers run before the reads of a turn: after a pause of the process the grace is over, and the bytes are still to be read.
    setTimeout(() => setImmediate(() => move(10_000)), 5000);
    rate.start();
    vi.advanceTimersByTime(5000);
    expect(slow()).toBe(0);
    vi.advanceTimersByTime(60_000);
    expect(slow()).toBe(1);
  });

  test('a byte every five seconds does not prolong it', () => {
    const { rate, move, slow } = measured();
    rate.start();
    for (let at = 0; at < 3; at += 1) {
      vi.advanceTimersByTime(5000);
      move(1);
    }
    expect(slow()).toBe(1);
  });

  test('a client at the rate goes on for ever', () => {
    const { rate, move, slow } = measured();
    rate.start();
    for (let second = 0; second < 600; second += 1) {
      vi.advanceTimersByTime(1000);
      move(240);
    }
    expect(slow()).toBe(0);
  });

  test('only time in which the gateway waits for the client counts', () => {
    const { rate, slow } = measured();
    for (let round = 0; round < 4; round += 1) {
      rate.start();
      vi.advanceTimersByTime(1000);
      rate.stop();
      vi.advanceTimersByTime(60_000);
    }
    expect(slow()).toBe(0);
    rate.start();
    vi.advanceTimersByTime(1500);
    expect(slow()).toBe(1);
  });

  test('a burst of megabytes buys minutes and not hours', () => {
    const { rate, move, slow } = measured();
    rate.start();
    move(10_000_000);
    rate.stop();
    rate.start();
    vi.advanceTimersByTime(290_000);
    expect(slow()).toBe(0);
    vi.advanceTimersByTime(20_000);
    expect(slow()).toBe(1);
  });

  test('a rate of 0 is no limit', () => {
    const { rate, slow } = measured(0);
    rate.start();
    vi.advanceTimersByTime(3_600_000);
    expect(slow()).toBe(0);
  });
});

test.each([
  ['IPv4', '127.0.0.1', '127.0.0.1'],
  ['IPv6', '::1', '::1'],
  ['IPv4, at a listener on both', '::', '127.0.0.1'],
])(
  'the number of unread bytes is known, and shrinks as the client reads: %s',
  async (_what, listen, host) => {
    const [socket, client] = await socketPair({}, listen, host);
    client.pause();
    expect(await unacknowledgedBytes(socket)).toBe(0);
    socket.write(Buffer.alloc(30_000_000));
    // Bytes in transit are unacknowledged as well, but those that the client has no room for stay the same.
    let [unread, before] = [0, -1];
    await until(async () => {
      before = unread;
      await delay(100);
      unread = (await unacknowledgedBytes(socket)) ?? 0;
      return unread > 10_000 && unread === before;
    });
    expect(unread).toBeLessThanOrEqual(bytesFlushed(socket));
    client.resume();
    await once(socket, 'drain');
    while ((await unacknowledgedBytes(socket)) !== 0) await new Promise(setImmediate);
  },
);

test('of a closed connection no rate is known', async () => {
  const [socket] = await socketPair();
  socket.destroy();
  await once(socket, 'close');
  expect(await unacknowledgedBytes(socket)).toBeUndefined();
});
