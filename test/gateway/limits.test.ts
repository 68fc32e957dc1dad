import { setTimeout as pause } from 'node:timers/promises';
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  BufferBudget,
  type EndedExchange,
  ExchangeWatchdog,
  RecordQueue,
  IndexPool,
  type WatchedExchange,
} from '../../src/gateway/limits.ts';
import { rawClient, statusOf } from '../support/raw-client.ts';
import { ok } from '../support/raw-server.ts';
import { until } from '../support/until.ts';
import { bodyLimit } from '../support/rule-book.ts';
import { served } from '../support/served.ts';
import { words } from '../support/rows.ts';

const GET = 'GET /api/v2/x HTTP/1.1\r\nHost: g\r\n\r\n';
const JSON_FIELDS = 'POST /api/v1/x HTTP/1.1\r\nHost: g\r\nContent-Type: application/json\r\n';

test('beyond the requests in flight: 503 at once with Retry-After, and service again when one is over', async () => {
  const release: (() => void)[] = [];
  const { gateway, send } = await served((socket) => void release.push(() => socket.write(ok())), {
    flags: { 'max-in-flight': '2' },
  });
  const waiting = [send(GET), send(GET)];
  await until(() => release.length === 2);
  const full = await send(GET);
  expect(full.text).toMatch(/^HTTP\/1\.1 503 [^]*x-gateway-error: overloaded\r\n[^]*Retry-After: 1\r\n/);
  for (const go of release) go();
  expect((await Promise.all(waiting)).map(statusOf)).toEqual([200, 200]);
  await until(() => gateway.gateway.inFlight === 0);
  const after = send(GET);
  await until(() => release.length === 3);
  release[2]?.();
  expect(statusOf(await after)).toBe(200);
});

test.each([
  ['POST', '/api/v1/clients', { route: 'migrate', operation: 'create_client', failure: 'overloaded' }],
  ['GET', '/api/v1/unknown', { route: 'migrate', failure: 'overloaded' }],
  ['GET', '/api/v2/x', { route: 'pass', failure: 'overloaded' }],
  ['GET', '/elsewhere', { route: 'none', side: 'neither', failure: 'not-found' }],
])(
  'a request beyond the maximum in flight is logged with its own route: %s %s',
  async (method, target, expected) => {
    const { gateway, send } = await served(() => {}, { flags: { 'max-in-flight': '1' } });
    rawClient(gateway.port).write(GET);
    await until(() => gateway.gateway.inFlight === 1);
    const key = 'Authorization: Bearer key';
    const full = await send(`${method} ${target} HTTP/1.1\r\nHost: g\r\n${key}\r\nContent-Length: 0\r\n\r\n`);
    const entry = await gateway.entry();
    expect(entry).toMatchObject({ verdict: 'refused', path: target, status: statusOf(full), ...expected });
    expect(entry.client).toMatch(/^[0-9a-f]+$/);
  },
);

test('bytes held for rewriting are counted over all requests: beyond them 503, and slow senders take no more than they send', async () => {
  const { gateway, send } = await served(ok(), { flags: { 'buffer-bytes': '20000' } });
  const slow = rawClient(gateway.port);
  slow.write(`${JSON_FIELDS}Content-Length: 9000\r\n\r\n${' '.repeat(6000)}`);
  await until(() => gateway.gateway.budget.held === 12_000);
  const second = await send(`${JSON_FIELDS}Content-Length: 5000\r\n\r\n${' '.repeat(5000)}`);
  expect(second.text).toMatch(/^HTTP\/1\.1 503 [^]*x-gateway-error: buffer-full\r\n[^]*Retry-After: 1\r\n/);
  slow.socket.destroy();
  await until(() => gateway.gateway.budget.held === 0);
  const third = await send(`${JSON_FIELDS}Content-Length: 11\r\n\r\n{"data":{}}`);
  expect(statusOf(third)).toBe(200);
  await until(() => gateway.gateway.budget.held === 0);
});

// Attack: a parser that cuts a list of fields off frames the message by an invisible field, so that both sides of a proxy that frames it
// anew disagree (CVE-2026-58044).
test.each([
  ['Content-Length: 27\r\n', 'GET /api/v2/hidden HTTP/1.1'],
  ['Transfer-Encoding: chunked\r\n', '0\r\n\r\nGET /api/v2/hidden HTTP/1.1\r\nHost: g\r\n\r\n'],
])(
  'beyond the number of fields: 431 and the connection closes, whatever the last field says (%j)',
  async (last, rest) => {
    const { v2, gateway } = await served();
    for (const version of ['v1', 'v2']) {
      const head = `POST /api/${version}/x HTTP/1.1\r\nHost: g\r\n${'X: 1\r\n'.repeat(100)}${last}\r\n`;
      const client = rawClient(gateway.port);
      client.write(head + rest);
      const { text, closed } = await client.end();
      expect(text).toMatch(/^HTTP\/1\.1 431 /);
      expect(text.split('HTTP/1.1 ')).toHaveLength(2);
      expect(closed).toBe(true);
    }
    expect(v2.sockets).toHaveLength(0);
  },
);

describe('slow clients cost nothing but their own connection', () => {
  test.each([
    [JSON_FIELDS, 'a body to rewrite'],
    ['POST /api/v2/x HTTP/1.1\r\nHost: g\r\n', 'a body that streams'],
  ])('%j a body that stops: 408, closed, and V2 gets no whole request (%s)', async (head) => {
    const { v2, gateway } = await served(ok(), { flags: { 'client-body-timeout': '200' } });
    const client = rawClient(gateway.port);
    client.write(`${head}Content-Length: 100\r\n\r\n{`);
    const response = await client.end();
    expect(statusOf(response)).toBe(408);
    expect(response.text).toMatch(/connection: close/i);
    expect(response.closed).toBe(true);
    await until(() => v2.sockets.every((socket) => socket.destroyed));
  });

  test('a body that drips, within the time for each part, is served', async () => {
    const { gateway } = await served(ok(), { flags: { 'client-body-timeout': '1500' } });
    const client = rawClient(gateway.port);
    client.write(`${JSON_FIELDS}Content-Length: 11\r\n\r\n`);
    for (const byte of '{"data":{}}') {
      await pause(160);
      client.write(byte);
    }
    expect(statusOf(await client.until(/200 OK[^]*\}$/))).toBe(200);
  });

  test('a reader that stops loses its connection, and so does its request to V2', async () => {
    const block = Buffer.alloc(65_536);
    const { v2, gateway } = await served(
      (socket) => {
        socket.write('HTTP/1.1 200 OK\r\nContent-Length: 1000000000\r\n\r\n');
        const more = (): void => {
          while (socket.writable && socket.write(block));
          socket.once('drain', more);
        };
        more();
      },
      { flags: { 'client-body-timeout': '300' } },
    );
    const client = rawClient(gateway.port);
    client.write(GET);
    await client.until(/200 OK/);
    client.socket.pause();
    await until(() => v2.sockets[0]?.destroyed === true);
    expect((await gateway.entry()).status).toBe(200);
    expect(gateway.gateway.inFlight).toBe(0);
  });
});

test('a time of 0 means no limit, not an immediate timeout', async () => {
  const block = Buffer.alloc(65_536);
  const names = words`client-headers client-body client-request upstream-connect upstream-headers upstream-body`;
  const flags = Object.fromEntries(names.map((name) => [`${name}-timeout`, '0']));
  const { gateway } = await served(
    (socket) => {
      setTimeout(() => {
        socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${block.length * 200}\r\n\r\n`);
        for (let count = 0; count < 200; count += 1) socket.write(block);
      }, 50);
    },
    { flags },
  );
  const client = rawClient(gateway.port);
  client.write(`${JSON_FIELDS}Content-Length: 11\r\n\r\n`);
  await pause(50);
  client.write('{"data":{}}');
  await client.until(/200 OK/);
  client.socket.pause();
  await pause(100);
  client.socket.resume();
  await until(() => client.text().length > block.length * 200);
  client.socket.destroy();
  expect((await gateway.entry()).failure).toBeUndefined();
});

test('after the response to an unread body, a bounded rest of it is read, then the connection is cut', async () => {
  const { gateway } = await served(ok(), { ruleBook: bodyLimit(1000) });
  const client = rawClient(gateway.port);
  client.write(`${JSON_FIELDS}Content-Length: 1000000000\r\n\r\n`);
  expect(statusOf(await client.until(/body-too-large"/))).toBe(413);
  const block = Buffer.alloc(65_536);
  let written = 0;
  while (!client.socket.destroyed && written < 400 * 1024 * 1024) {
    written += block.length;
    if (!client.socket.write(block)) {
      await new Promise((resolve) => {
        client.socket.once('drain', resolve);
        client.socket.once('close', resolve);
      });
    }
  }
  expect(client.socket.destroyed).toBe(true);
});

test('the budget grants bytes up to its limit, and takes them back', () => {
  const budget = new BufferBudget(10);
  expect([budget.acquire(6), budget.acquire(5), budget.acquire(4)]).toEqual([true, false, true]);
  budget.release(6);
  expect(budget.held).toBe(4);
  const ofCopies = new BufferBudget(10, 2);
  expect([ofCopies.exceeds(5), ofCopies.exceeds(6), ofCopies.exceeds(4, 2), ofCopies.exceeds(4, 3)]).toEqual([
    false,
    true,
    false,
    true,
  ]);
});

class Watched implements WatchedExchange {
  progress = 0;
  readingMs = 0;
  isGivenUp = false;
  abandon(): void {
    this.isGivenUp = true;
  }
}

describe('the watchdog', () => {
  test('ends exchanges without progress for the limit, and nothing else', () => {
    const watchdog = new ExchangeWatchdog();
    const [stuck, moving, reading, over] = [new Watched(), new Watched(), new Watched(), new Watched()];
    reading.readingMs = 5000;
    const [slot = -1] = [stuck, moving, reading].map((exchange) => watchdog.begin(exchange));
    watchdog.end(watchdog.begin(over));
    let ended = 0;
    for (let now = 0; now <= 1500; now += 100) {
      moving.progress += 1;
      ended += watchdog.check(now, 1000);
      if (stuck.isGivenUp) watchdog.end(slot);
    }
    expect([stuck, moving, reading, over].map(({ isGivenUp }) => isGivenUp)).toEqual([
      true,
      false,
      false,
      false,
    ]);
    expect(ended).toBe(1);
  });

  test('watches each exchange from its own beginning, regardless of the previous one in its slot', () => {
    const watchdog = new ExchangeWatchdog();
    const [before, after] = [new Watched(), new Watched()];
    const slot = watchdog.begin(before);
    watchdog.check(0, 1000);
    watchdog.end(slot);
    expect(watchdog.begin(after)).toBe(slot);
    expect(watchdog.check(1500, 1000)).toBe(0);
    expect(watchdog.check(2500, 1000)).toBe(0);
    expect(watchdog.check(2501, 1000)).toBe(1);
    expect([before.isGivenUp, after.isGivenUp]).toEqual([false, true]);
  });

  test('gives the place of a stuck exchange back, and logs it for the operator', async () => {
    const { v2, gateway } = await served(() => {});
    const client = rawClient(gateway.port);
    client.write('GET /api/v2/x HTTP/1.1\r\nHost: g\r\n\r\n');
    await until(() => v2.received.length === 1);
    const { watchdog } = gateway.gateway;
    watchdog.check(0, 1000);
    expect(watchdog.check(1000, 1000)).toBe(0);
    expect(watchdog.check(1001, 1000)).toBe(1);
    expect(gateway.gateway.inFlight).toBe(0);
    expect(await gateway.entry()).toMatchObject({ status: 0, failure: 'internal', cause: 'no progress' });
    expect(String(gateway.surprises[0])).toMatch(/no progress in exchange/);
    expect((await client.end()).closed).toBe(true);
    expect(gateway.lines).toHaveLength(1);
  });
});

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

test('flushing records the waiting exchanges, and the turn finds none', () => {
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

test('holds the exchanges that were added and not removed, in no more slots than were in use at once', () => {
  fc.assert(
    fc.property(fc.array(fc.option(fc.nat(), { nil: undefined })), (steps) => {
      const slots = new IndexPool<number>();
      const held = new Map<number, number>();
      let most = 0;
      for (const [item, step] of steps.entries()) {
        const [, ...taken] = [undefined, ...held.keys()];
        const slot = step === undefined ? undefined : taken[step % Math.max(1, taken.length)];
        if (slot === undefined) held.set(slots.add(item), item);
        else {
          slots.remove(slot);
          held.delete(slot);
        }
        most = Math.max(most, held.size);
      }
      expect([...slots].toSorted((a, b) => a - b)).toEqual([...held.values()].toSorted((a, b) => a - b));
      expect(slots.size).toBe(held.size);
      expect(Math.max(-1, ...held.keys())).toBeLessThan(most);
    }),
  );
});
