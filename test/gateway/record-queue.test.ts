import { expect, test } from 'vitest';
import { type EndedExchange, RecordQueue } from '../../src/gateway/limits.ts';

/** A queue with what it did, and the turns of the event loop it asked for. */
function queue(hasTurns: boolean): { queue: RecordQueue; done: string[]; turns: (() => void)[] } {
  const done: string[] = [];
  const turns: (() => void)[] = [];
  const queued = new RecordQueue(
    (error) => void done.push(String(error)),
    hasTurns ? (run) => void turns.push(run) : undefined,
  );
  return { queue: queued, done, turns };
}

function ended(name: string, done: string[], fault?: Error): EndedExchange {
  return {
    record() {
      if (fault !== undefined) throw fault;
      done.push(name);
    },
  };
}

test('exchanges that end in one turn are recorded together, in their order', () => {
  const { queue: waiting, done, turns } = queue(true);
  waiting.add(ended('first', done));
  waiting.add(ended('second', done));
  expect([done, turns.length]).toEqual([[], 1]);
  turns[0]?.();
  expect(done).toEqual(['first', 'second']);
});

test('each later turn is asked for once', () => {
  const { queue: waiting, done, turns } = queue(true);
  waiting.add(ended('first', done));
  turns[0]?.();
  waiting.add(ended('second', done));
  expect(turns.length).toBe(2);
  turns[1]?.();
  expect(done).toEqual(['first', 'second']);
});

test('flushing records those that wait, and the turn finds nothing', () => {
  const { queue: waiting, done, turns } = queue(true);
  waiting.add(ended('first', done));
  waiting.flush();
  expect(done).toEqual(['first']);
  turns[0]?.();
  expect(done).toEqual(['first']);
});

test('without turns each is recorded at once', () => {
  const { queue: waiting, done } = queue(false);
  waiting.add(ended('first', done));
  expect(done).toEqual(['first']);
});

test('an error keeps no other exchange from being recorded', () => {
  const { queue: waiting, done, turns } = queue(true);
  waiting.add(ended('first', done, new Error('a bug')));
  waiting.add(ended('second', done));
  turns[0]?.();
  expect(done).toEqual(['Error: a bug', 'second']);
});
