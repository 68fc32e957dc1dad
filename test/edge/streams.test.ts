import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { PartReader, PhaseTimer } from '../../src/edge/streams.ts';

describe('one timer for all phases', () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  test('each phase has its whole time, a pause has no limit, and a shorter phase ends earlier', () => {
    const late = vi.fn<() => void>();
    const timer = new PhaseTimer(late);
    for (let part = 0; part < 5; part += 1) {
      timer.start(1000);
      vi.advanceTimersByTime(800);
      expect(vi.getTimerCount()).toBe(1);
    }
    timer.pause();
    vi.advanceTimersByTime(10_000);
    expect(late).not.toHaveBeenCalled();
    timer.start(5000);
    timer.start(1000);
    vi.advanceTimersByTime(1001);
    expect(late).toHaveBeenCalledTimes(1);
    expect(vi.getTimerCount()).toBe(0);
  });

  test('a phase without a limit sets no timer, and stopping removes one', () => {
    const timer = new PhaseTimer(() => expect.unreachable());
    timer.start(0);
    expect(vi.getTimerCount()).toBe(0);
    timer.start(1000);
    timer.stop();
    expect(vi.getTimerCount()).toBe(0);
    timer.start(1000);
    timer.start(0);
    vi.advanceTimersByTime(2000);
  });
});

test.each([
  ['of its declared length', 3, ['ab', 'c'], true],
  ['to its end', undefined, ['ab', 'c', undefined], false],
])('a body is read %s', async (_, length, expected, isWhole) => {
  const body = new ReadableStream<Uint8Array>({
    start: (controller) => {
      for (const part of ['ab', 'c']) controller.enqueue(new TextEncoder().encode(part));
      controller.close();
    },
  });
  const reader = new PartReader(body, length, false, new PhaseTimer(() => {}), 0);
  const parts: (string | undefined)[] = [];
  while (parts.length < expected.length) {
    const part = await reader.next();
    parts.push(part && new TextDecoder().decode(part));
  }
  expect([parts, reader.isWhole, reader.bytes]).toEqual([expected, isWhole, 3]);
});
