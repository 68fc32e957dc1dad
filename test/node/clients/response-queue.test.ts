import { expect, test } from 'vitest';
import { type QueuedResponse, queueResponse } from '../../../src/node/clients/http1/exchange.ts';

/** What sockets were given, and what happened, in order. */
class Sockets {
  readonly written: Buffer[] = [];
  readonly events: string[] = [];

  /** The response of a socket; `isSlow` when it goes on reading what is written. */
  response(
    name: string,
    { isSlow = false, secure = false, fault = false, fails = false } = {},
  ): QueuedResponse {
    return {
      secure,
      writeQueued: (bytes) => {
        if (fails) throw new Error(`the write of ${name}`);
        this.written.push(bytes);
        this.events.push(`${name} written`);
        return !isSlow;
      },
      endQueued: () => {
        if (fault) throw new Error(`the end of ${name}`);
        this.events.push(`${name} ended`);
      },
    };
  }

  get texts(): readonly string[] {
    return this.written.map((bytes) => bytes.toString('latin1'));
  }
}

function queued(response: QueuedResponse, text: string): boolean {
  return queueResponse(response, 'head ', Buffer.from(text), '');
}

const turn = (): Promise<void> =>
  new Promise((resolve) => {
    setImmediate(resolve);
  });

test('the responses of a turn are written one after the other, and end after that', async () => {
  const sockets = new Sockets();
  expect([queued(sockets.response('a'), 'one'), queued(sockets.response('b'), 'two')]).toEqual([true, true]);
  expect(sockets.events).toEqual([]);
  await turn();
  expect(sockets.texts).toEqual(['head one', 'head two']);
  expect(sockets.events).toEqual(['a written', 'b written', 'a ended', 'b ended']);
});

test('bytes are copied, because the memory of a part is used again within the turn', async () => {
  const sockets = new Sockets();
  const lent = Buffer.from('one');
  queueResponse(sockets.response('a'), '', lent, ' é');
  lent.fill('x');
  await turn();
  expect(sockets.texts).toEqual(['one é']);
});

test.for([{ isSlow: true }, { secure: true }])(
  'bytes that a socket still reads are not overwritten by later turns: %j',
  async (kind) => {
    const sockets = new Sockets();
    queued(sockets.response('a', kind), 'first');
    queued(sockets.response('b', kind), 'second');
    await turn();
    queued(sockets.response('c'), 'later response');
    await turn();
    expect(sockets.texts).toEqual(['head first', 'head second', 'head later response']);
  },
);

test('a large response is not queued, nor one beyond the room of a turn', async () => {
  const sockets = new Sockets();
  expect(queued(sockets.response('large'), 'x'.repeat(5000))).toBe(false);
  const results = Array.from({ length: 40 }, (_, k) => queued(sockets.response(`${k}`), 'x'.repeat(2000)));
  expect(results.indexOf(false)).toBe(32);
  await turn();
  expect(sockets.written.length).toBe(results.filter(Boolean).length);
  expect(queued(sockets.response('next'), 'text')).toBe(true);
  await turn();
});

test.each([
  ['at its write', { fails: true }, ['b written', 'a ended', 'b ended'], 'the write of a'],
  ['at its end', { fault: true }, ['a written', 'b written', 'b ended'], 'the end of a'],
])(
  'an error of one response does not keep others from being written and ending: %s',
  async (_when, kind, events, message) => {
    const sockets = new Sockets();
    const errors: unknown[] = [];
    const listeners = process.listeners('uncaughtException');
    process.removeAllListeners('uncaughtException');
    process.once('uncaughtException', (error) => errors.push(error));
    queued(sockets.response('a', kind), 'one');
    queued(sockets.response('b'), 'two');
    await turn();
    await turn();
    for (const listener of listeners) process.on('uncaughtException', listener);
    expect(sockets.events).toEqual(events);
    expect(errors).toEqual([new Error(message)]);
  },
);
