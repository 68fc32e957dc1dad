import { once } from 'node:events';
import { describe, expect, test } from 'vitest';
import { entryRow } from '../../../src/cli/entry-row.ts';
import { PLAIN } from '../../../src/cli/terminal.ts';
import {
  accountOf,
  bodyCaptions,
  editsTitle,
  sentToWords,
} from '../../../src/inspector/entries/entry-words.ts';
import { type Entry, editCount, isNotable, modeOf, outcomeOf } from '../../../src/rewrite-log/entry.ts';
import { parseFilter } from '../../../src/rewrite-log/filter.ts';
import { freePort } from '../../support/free-port.ts';
import { exchange, rawClient } from '../../support/raw-client.ts';
import { sampleEntry } from '../../support/sample-entries.ts';
import { ok, type RawServer } from '../../support/raw-server.ts';
import { type TwoServices, twoServices } from '../../support/two-services.ts';
import { until } from '../../support/until.ts';

const ORDER = '{"data":{"property":{"suburb":"Enmore"}}}';
const CREATED =
  'HTTP/1.1 201 Created\r\nContent-Type: application/json\r\nContent-Length: 11\r\n\r\n{"data":{}}';
const observe = { default: { mode: 'observe' } } as const;
const shadow = { default: { mode: 'shadow' } } as const;

function post(body: string, more = ''): string {
  return `POST /api/v1/orders/floor_plans HTTP/1.1\r\nHost: g\r\n${more}Content-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;
}

/** Sends one request to the gateway; returns its entry and the number of requests that each service really got. */
async function play(
  run: TwoServices,
  request: string,
): Promise<{ readonly entry: Entry; readonly got: { readonly v1: number; readonly v2: number } }> {
  await exchange(run.gateway.port, request);
  const entry = await run.gateway.entry();
  return { entry, got: { v1: requestsOf(run.v1), v2: requestsOf(run.v2) } };
}

function requestsOf({ received }: RawServer): number {
  return received.join('').match(/HTTP\/1\.1\r\n/g)?.length ?? 0;
}

/** The account with its times left out. */
function told(entry: Entry): readonly string[] {
  return accountOf(entry).map((sentence) => sentence.replaceAll(/\d+(?:\.\d)? ms/g, 'N ms'));
}

describe('a request in mode observe', () => {
  test('is told as sent to V1 as it came; its migration as a dry run', async () => {
    const run = await twoServices(observe, { v1: (socket) => socket.write(CREATED) });
    const { entry, got } = await play(run, post(ORDER));
    expect(got).toEqual({ v1: 1, v2: 0 });
    expect(told(entry)).toEqual([
      'Sent to V1 as it came.',
      'V1 responded with 201 after N ms.',
      'Dry run, sent to nobody: a migration would have made 2 edits.',
    ]);
    expect([modeOf(entry), outcomeOf(entry), sentToWords(entry), editsTitle(entry)]).toEqual([
      'observe',
      'would-rewritten',
      'V1',
      'Dry run: 2 edits',
    ]);
    expect(bodyCaptions(entry)).toEqual({
      before: 'as the client sent it and V1 received it',
      after: 'dry run, sent to nobody',
    });
    expect(isNotable(entry)).toBe(false);
  });

  test('that V1 answered with 201 is not called refused', async () => {
    const run = await twoServices(observe, { v1: (socket) => socket.write(CREATED) });
    const { entry, got } = await play(run, post('{"data":1}'));
    expect(got).toEqual({ v1: 1, v2: 0 });
    expect(told(entry)).toEqual([
      'Sent to V1 as it came.',
      'V1 responded with 201 after N ms.',
      'Dry run, sent to nobody: a migration would have been refused (wrapper-not-object at /data).',
    ]);
    expect(outcomeOf(entry)).toBe('would-refused');
    expect(editsTitle(entry)).toBe('It would have been refused: no edits');
    expect(isNotable(entry)).toBe(true);
  });

  test('with a flat body counts no edit', async () => {
    const { entry } = await play(await twoServices(observe), post('{"name":1}'));
    expect(told(entry)[2]).toBe(
      'Dry run, sent to nobody: a migration would have gone to V2 with its body unchanged, as it was already flat.',
    );
    expect([outcomeOf(entry), editCount(entry)]).toEqual(['would-unchanged', 0]);
  });

  test('names edits that the log does not list', async () => {
    const members = Array.from({ length: 5000 }, (_, at) => `"m${at}":0`).join(',');
    const run = await twoServices(observe);
    const { entry } = await play(run, post(`{${members},"data":{"a":1}}`));
    expect(editCount(entry)).toBe(5001);
    expect(entry.edits.length).toBeLessThan(5001);
    expect(editsTitle(entry)).toBe(`Dry run: 5,001 edits, ${entry.edits.length} of them listed`);
    expect(entry.patch).toBeUndefined();
  });
});

describe('a read in mode shadow', () => {
  test('tells of the copies, and of fields that differ', async () => {
    const run = await twoServices(shadow);
    const { entry, got } = await play(run, 'GET /api/v1/clients HTTP/1.1\r\nHost: g\r\n\r\n');
    expect(got).toEqual({ v1: 2, v2: 1 });
    expect(told(entry)).toEqual([
      'Sent to V1 as it came.',
      'V1 responded with 200 after N ms.',
      'Dry run, not for the client: a migration would have gone to V2 without a body.',
      'After the response, the read was repeated on V1 and, migrated in both directions, on V2: V2 differs in 1 field.',
    ]);
    expect(sentToWords(entry)).toBe('V1, V2');
    expect(isNotable(entry)).toBe(true);
  });

  test('claims no copy to a V2 that cannot be reached', async () => {
    const run = await twoServices(shadow, {}, { flags: { 'upstream-connect-timeout': '300' } });
    run.v2.server.close();
    const { entry, got } = await play(run, 'GET /api/v1/clients HTTP/1.1\r\nHost: g\r\n\r\n');
    expect(got.v2).toBe(0);
    expect(told(entry)[3]).toBe('V1 and V2 could not be compared (unreachable).');
    expect(sentToWords(entry)).toBe('V1');
  });

  test('is only observed if it writes', async () => {
    const { entry, got } = await play(await twoServices(shadow), post(ORDER));
    expect(got).toEqual({ v1: 1, v2: 0 });
    expect([modeOf(entry), sentToWords(entry), outcomeOf(entry)]).toEqual([
      'shadow',
      'V1',
      'would-rewritten',
    ]);
  });
});

describe('a canary', () => {
  const canary = (share: number) => ({ default: { mode: 'canary', share } }) as const;
  const key = 'Authorization: Bearer one\r\n';

  test('tells a migrated request as sent to V2', async () => {
    const run = await twoServices(canary(100), { v2: (socket) => socket.write(CREATED) });
    const { entry, got } = await play(run, post(ORDER, key));
    expect(got).toEqual({ v1: 0, v2: 1 });
    expect(told(entry)).toEqual(['Sent to V2 with 2 edits.', 'V2 responded with 201 after N ms.']);
    expect([modeOf(entry), outcomeOf(entry), sentToWords(entry)]).toEqual(['canary', 'rewritten', 'V2']);
    expect(bodyCaptions(entry).after).toBe('as V2 received it');
  });

  test('tells the request of another client as sent to V1', async () => {
    const { entry, got } = await play(await twoServices(canary(0)), post(ORDER, key));
    expect(got).toEqual({ v1: 1, v2: 0 });
    expect([modeOf(entry), outcomeOf(entry), sentToWords(entry)]).toEqual([
      'canary',
      'would-rewritten',
      'V1',
    ]);
    expect(told(entry)[1]).toBe('V1 responded with 200 after N ms.');
  });
});

describe('a migrated request', () => {
  test('that is malformed is told as refused, not as sent on', async () => {
    const { entry, got } = await play(await twoServices({}), post('{"data":'));
    expect(got).toEqual({ v1: 0, v2: 0 });
    expect(told(entry)).toEqual([
      'The gateway refused it with 400: malformed-json at byte 8, line 1, column 9. Nothing was sent to V1 or V2.',
    ]);
    expect([editsTitle(entry), sentToWords(entry)]).toEqual(['Refused: no edits', '–']);
  });

  test('whose body is flat is unchanged, without an edit', async () => {
    const { entry } = await play(await twoServices({}), post('{"name":1}'));
    expect(told(entry)[0]).toBe('Sent to V2 with its body unchanged, as it was already flat.');
    expect([outcomeOf(entry), editCount(entry), editsTitle(entry)]).toEqual([
      'unchanged',
      0,
      'No edits: the body stays as it is',
    ]);
  });

  test('names the 4xx as that of V2', async () => {
    const run = await twoServices(
      {},
      {
        v2: (socket) => socket.write('HTTP/1.1 422 No\r\nContent-Length: 0\r\n\r\n'),
      },
    );
    const { entry } = await play(run, post(ORDER));
    expect(told(entry)[0]).toBe('V2 responded with 422 after N ms.');
    expect(isNotable(entry)).toBe(true);
  });

  test('in a brownout is told as such', async () => {
    const run = await twoServices(
      observe,
      {},
      {
        rollout: { brownouts: [{ id: 'first', share: 100, status: 503 }] },
      },
    );
    const { entry, got } = await play(run, post(ORDER));
    expect(got).toEqual({ v1: 0, v2: 0 });
    expect(told(entry)).toEqual([
      'The gateway responded with 503: brownout first was on. Nothing was sent to V1 or V2.',
    ]);
    expect([outcomeOf(entry), sentToWords(entry)]).toEqual(['refused', '–']);
  });
});

describe('a failure', () => {
  test('of a connection that was refused says that nothing was sent, and why', async () => {
    const run = await twoServices(
      {},
      {},
      {
        flags: { upstream: `http://127.0.0.1:${await freePort()}`, 'upstream-connect-timeout': '100' },
      },
    );
    const { entry } = await play(run, post(ORDER));
    expect(told(entry)).toEqual([
      'Nothing of the request reached V2 (ECONNREFUSED).',
      'The gateway responded with 502 (upstream-unreachable).',
    ]);
    expect([sentToWords(entry), bodyCaptions(entry).after]).toEqual(['–', 'made, but not sent']);
    const filter = parseFilter('cause:econnrefused origin:none');
    expect('accepts' in filter && filter.accepts(entry)).toBe(true);
    expect(entryRow(entry, PLAIN)).toContain('upstream-unreachable (ECONNREFUSED)');
  });

  test('of V2 before its response says that the request may have been carried out', async () => {
    const run = await twoServices({}, { v2: (socket) => socket.destroy() });
    const { entry, got } = await play(run, post(ORDER));
    expect(got.v2).toBe(1);
    expect(told(entry)[0]).toBe('Sent to V2 with 2 edits. V2 may have carried it out.');
    expect(told(entry)[1]).toMatch(
      /^V2 gave no response \(.+\); the gateway responded with 502 \(upstream-closed\)\.$/,
    );
    expect(bodyCaptions(entry).after).toBe('as the gateway sent it');
  });

  test('of V2 that does not speak HTTP says that its response was not valid', async () => {
    const run = await twoServices({}, { v2: (socket) => socket.end('HELLO\r\n\r\n') });
    const { entry } = await play(run, post(ORDER));
    expect(told(entry)[1]).toBe(
      'V2 sent no valid response (not HTTP); the gateway responded with 502 (upstream-invalid).',
    );
  });

  test('of a read counts its tries', async () => {
    const run = await twoServices({}, { v2: (socket) => socket.destroy() });
    const { entry, got } = await play(run, 'GET /api/v1/clients HTTP/1.1\r\nHost: g\r\n\r\n');
    expect(got.v2).toBe(2);
    expect(told(entry)[0]).toBe(
      'Sent to V2 without a body. It was tried 2 times. V2 may have carried it out.',
    );
  });

  test('of V1 is not told as one of V2', async () => {
    const run = await twoServices(observe, { v1: (socket) => socket.destroy() });
    const { entry, got } = await play(run, post(ORDER));
    expect(got).toEqual({ v1: 1, v2: 0 });
    expect(told(entry)[0]).toBe('Sent to V1 as it came. V1 may have carried it out.');
    expect(told(entry)[1]).toMatch(/^V1 gave no response/);
    expect(told(entry)[2]).toContain('would have made 2 edits');
  });

  test('in the middle of a response names the status of the service', async () => {
    const run = await twoServices(
      {},
      {
        v2: (socket) => socket.end('HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\nhalf'),
      },
    );
    const { entry } = await play(run, post(ORDER));
    expect(told(entry)[1]).toMatch(/^V2 responded with 200 after N ms, and its response broke off/);
  });

  test('of the client is not one of V2', async () => {
    const run = await twoServices({}, { v2: () => {} });
    const client = rawClient(run.gateway.port);
    client.write(post(ORDER));
    await until(() => requestsOf(run.v2) === 1);
    client.socket.destroy();
    await once(client.socket, 'close');
    const entry = await run.gateway.entry();
    expect(told(entry)).toEqual([
      'The exchange with the client ended before a response. V2 may have carried the request out.',
    ]);
    expect(isNotable(entry)).toBe(true);
  });
});

test('V2 traffic passes unread', async () => {
  const run = await twoServices(observe, { v2: (socket) => socket.write(ok('{}')) });
  const { entry, got } = await play(run, 'GET /api/v2/clients HTTP/1.1\r\nHost: g\r\n\r\n');
  expect(got).toEqual({ v1: 0, v2: 1 });
  expect(told(entry)).toEqual(['Sent to V2 unread.', 'V2 responded with 200 after N ms.']);
  expect([modeOf(entry), outcomeOf(entry), editsTitle(entry)]).toEqual([
    undefined,
    'passed',
    'No edits: V2 requests pass unread',
  ]);
});

test('the rows of tail have the same words', async () => {
  const run = await twoServices(observe, { v1: (socket) => socket.write(CREATED) });
  const { entry } = await play(run, post(ORDER));
  expect(entryRow(entry, PLAIN)).toMatch(
    / observe {2}V1 {7}would: rewritten +201 +[\d.]+ {2}order_floor_plan {2}POST \/api\/v1\/orders\/floor_plans {2}body-wrapper, property-address, V1 [\d.]+ ms$/,
  );
});

test('the rows of tail say that a response could not be turned', () => {
  const entry: Entry = { ...sampleEntry(1, 0), responseNote: 'response-no-resource' };
  expect(entryRow(entry, PLAIN)).toContain(', response-no-resource');
});

test.each<[Entry['would'], string, string]>([
  [
    { verdict: 'rewritten', v2: 'valid' },
    "V2's schema accepts that body. V2 itself was not asked.",
    'accepts it',
  ],
  [
    { verdict: 'rewritten', v2: 'invalid', at: '/property/suburb' },
    "V2's schema refuses that body at /property/suburb. V2 itself was not asked.",
    'refuses /property/suburb',
  ],
  [
    { verdict: 'rewritten', v2: 'invalid', at: '' },
    "V2's schema refuses that body at its root. V2 itself was not asked.",
    'refuses the body',
  ],
  [
    { verdict: 'unchanged', v2: 'unknown', why: 'no-schema' },
    "Whether V2 accepts that body is not known: V2's description has no schema for the operation.",
    'not known (no-schema)',
  ],
])('%j is told as the verdict of a schema, and not of V2', (would, sentence, words) => {
  const entry: Entry = { ...sampleEntry(1, 0), origin: 'v1', verdict: 'passed', would };
  expect(accountOf(entry)).toContain(sentence);
  expect(entryRow(entry, PLAIN)).toContain(words);
});

test('without a check nothing is said of V2', () => {
  const entry: Entry = {
    ...sampleEntry(1, 0),
    origin: 'v1',
    verdict: 'passed',
    would: { verdict: 'rewritten' },
  };
  expect(accountOf(entry).join(' ')).not.toContain('schema');
});
