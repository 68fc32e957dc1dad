import { describe, expect, test } from 'vitest';
import { exportEntry } from '../../../src/inspector/entries/export-entry.ts';
import { doOperatorWork, type OperatorWork, warmUpWork } from '../../../src/inspector/operator-work.ts';
import { decodeBody } from '../../../src/node/decode-body.ts';
import { operatorLimits, OperatorThread } from '../../../src/node/threads/operator-thread.ts';
import type { Entry } from '../../../src/rewrite-log/entry.ts';
import type { KeptExchange } from '../../../src/rewrite-log/capture.ts';
import { inspected } from '../../support/inspected.ts';
import { compiledTestRuleBook } from '../../support/rule-book.ts';

const rules = compiledTestRuleBook();
const { ruleBook } = rules;
/** Nested as deep as the rule book allows, of 180 KB. */
const DEEP = `{"data":${`{"${'k'.repeat(450)}":`.repeat(400)}1${'}'.repeat(400)}}`;
const WIDE = `{"data":{${Array.from({ length: 12_000 }, (_, k) => `"a${k}":${k}`).join(',')}}}`;

const LIMITS = { count: 100, bytes: 16_384, bodyLimit: undefined };

function explainWork(body: string): OperatorWork {
  const limits = LIMITS;
  const headers = [['Content-Type', 'application/json']];
  const text = JSON.stringify({ method: 'POST', target: '/api/v1/clients', headers, body });
  return { kind: 'explain', text, ruleBook, limits, gatewayOrigin: 'http://g', origin: 'http://v2' };
}

const textOf = (bytes: Uint8Array): string => new TextDecoder().decode(bytes);

describe('work in the thread', () => {
  test.each([
    ['deep', DEEP],
    ['wide', WIDE],
    ['no JSON', 'x'.repeat(100_000)],
  ])('has the same result as at once: %s', async (_name, body) => {
    const work = explainWork(body);
    const expected = await doOperatorWork(work, {
      compiled: () => rules,
      decode: decodeBody,
      now: () => 0,
      pause: async () => {},
    });
    let turns = 0;
    const counting = setInterval(() => {
      turns += 1;
    }, 0);
    const { status, bytes } = await new OperatorThread().run(work);
    clearInterval(counting);
    expect(status).toBe(expected.status);
    expect(textOf(bytes)).toBe(JSON.stringify(expected.value));
    expect(turns).toBeGreaterThan(1);
  });

  test('is done in its order, and a fault is a response', async () => {
    const thread = new OperatorThread();
    const faulty: OperatorWork = { ...explainWork(''), kind: 'explain', text: '{' } as OperatorWork;
    const order: number[] = [];
    await Promise.all(
      [explainWork(WIDE), faulty, explainWork('{}')].map(async (work) => {
        order.push((await thread.run(work)).status);
      }),
    );
    expect(order).toEqual([200, 400, 200]);
  });
});

describe('a thread that is stuck', () => {
  const stuckWorker = new URL('../../support/stuck-worker.ts', import.meta.url);
  const work = (text: string): OperatorWork => ({ ...explainWork(''), text }) as OperatorWork;

  test('is replaced at the deadline; its work gets 503 with a reason, and the next is done', async () => {
    const thread = new OperatorThread({ deadlineMs: 3000 }, stuckWorker);
    expect(textOf((await thread.run(work('one'))).bytes)).toBe('{"done":"one"}');
    const stuck = thread.run(work('stuck'));
    const next = thread.run(work('two')).then(({ status, bytes }) => [status, textOf(bytes)]);
    const { status, bytes } = await stuck;
    expect(status).toBe(503);
    expect(JSON.parse(textOf(bytes))).toMatchObject({
      errors: [{ status: '503', code: 'too-slow', detail: expect.stringContaining('within 3 s') }],
    });
    // It waited while the other was stuck, and gets a response that says so, or it was done by the new thread.
    expect([200, 503]).toContain((await next)[0]);
    expect(textOf((await thread.run(work('three'))).bytes)).toBe('{"done":"three"}');
  });

  test('keeps no work waiting for ever behind it', async () => {
    const thread = new OperatorThread({ deadlineMs: 1000 }, stuckWorker);
    const all = await Promise.all(Array.from({ length: 5 }, () => thread.run(work('stuck'))));
    expect(all.map(({ status }) => status)).toEqual([503, 503, 503, 503, 503]);
    expect(textOf(all[4]?.bytes ?? new Uint8Array())).toContain('busy with other requests');
  });

  test.each(['plan', 'explain'] as const)(
    'is ended when it takes too much memory; its work (%s) gets 503 with a reason, and the next is done',
    async (kind) => {
      const thread = new OperatorThread({ memoryMib: 24 }, stuckWorker);
      const large = thread.run({ ...work('large'), kind } as OperatorWork);
      const next = thread.run(work('one'));
      const { status, isJson, bytes } = await large;
      expect([status, isJson]).toEqual([503, true]);
      const remedy = kind === 'plan' ? 'Run capture-gateway plan on a copy of the log.' : 'Try it with less.';
      expect(JSON.parse(textOf(bytes))).toMatchObject({
        errors: [
          {
            status: '503',
            code: 'too-large',
            detail: `This needs more than the 24 MiB that the gateway has for it. The gateway ended its thread, and starts another. Clients are not affected. ${remedy}`,
          },
        ],
      });
      expect(textOf((await next).bytes)).toBe('{"done":"one"}');
    },
  );

  test('or that ends by itself fails its work, and the next is done', async () => {
    const thread = new OperatorThread({ deadlineMs: 10_000 }, stuckWorker);
    const ending = thread.run(work('exit'));
    await expect(ending).rejects.toThrow('ended with code 3');
    expect(textOf((await thread.run(work('one'))).bytes)).toBe('{"done":"one"}');
  });
});

test.each([
  ['no limit', undefined, 512],
  ['64 GiB', 64 * 2 ** 30, 512],
  ['the container that ships', 512 * 2 ** 20, 85],
  ['less than a gateway needs', 128 * 2 ** 20, 64],
])('the memory of a thread follows that of the machine: %s', (_name, bytes, memoryMib) => {
  expect(operatorLimits(bytes)).toMatchObject({ memoryMib });
});

test('a thread that is kept is warmed up once, and a failed warm-up fails no work', async () => {
  const thread = new OperatorThread();
  let warmed = 0;
  const warmUp = (): OperatorWork => {
    warmed += 1;
    return warmUpWork({ ruleBook, limits: LIMITS, gatewayOrigin: 'http://g', origin: 'http://v2' });
  };
  const leave = [thread.hold(warmUp), thread.hold(warmUp)];
  expect(warmed).toBe(1);
  const { status, bytes } = await thread.run(warmUp());
  expect(status).toBe(200);
  // The same plan as for a body of a client, and as large as one that is folded.
  expect(JSON.parse(textOf(bytes))).toMatchObject({ verdict: 'rewritten', edits: [{ rule: 'unwrap' }] });
  for (const each of [...leave, ...leave]) each();
  const broken = new OperatorThread();
  broken.hold(() => ({ ...warmUp(), ruleBook: undefined }) as unknown as OperatorWork);
  expect((await broken.run(explainWork('{}'))).status).toBe(200);
});

test('a large entry and a large explanation come from the thread, small ones at once', async () => {
  const gateway = await inspected({ capture: 'bodies' });
  for (const body of [WIDE.slice(0, 1000), WIDE, DEEP]) {
    await gateway.post('/clients', body);
    const { entries } = await gateway.readJson<{ readonly entries: readonly { readonly seq: number }[] }>(
      '/entries?limit=1',
    );
    const detail = await gateway.readJson<{
      readonly entry: { readonly bytesIn: number; readonly requestId: string };
      readonly v1Request: object;
    }>(`/entries/${entries[0]?.seq}`);
    expect(detail).toMatchObject({
      entry: { bytesIn: body.length },
      kept: 'bodies',
      v1Request: { method: 'POST' },
    });
    expect(await gateway.readJson(`/entries/find?id=${detail.entry.requestId}`)).toEqual(detail);
    const response = await fetch(`${gateway.adminOrigin}/explain`, {
      method: 'POST',
      body: JSON.stringify({ method: 'POST', target: '/api/v1/clients', body }),
    });
    expect(response.headers.get('content-type')).toBe('application/json');
    expect(await response.json()).toMatchObject({ v1Request: { body: { bytes: body.length } } });
  }
});

test.each(['har', 'case'] as const)('a %s file comes from the thread as it does at once', async (format) => {
  const gateway = await inspected({ capture: 'bodies' });
  await gateway.post('/clients', WIDE);
  await gateway.entry(1);
  const read = gateway.readJson<{ readonly entries: readonly Entry[] }>('/entries?limit=1');
  const [entry] = (await read).entries;
  const response = await fetch(`${gateway.adminOrigin}/entries/1/${format}`);
  const text = await response.text();
  if (entry === undefined) throw new Error('there is no entry');
  const kept: KeptExchange = {
    v1Request: {
      method: 'POST',
      target: '/api/v1/clients',
      headers: [],
      body: { state: 'values', bytes: new TextEncoder().encode(WIDE) },
    },
  };
  const parts = {
    format,
    version: '1',
    entry,
    kept,
    ruleBook,
    gatewayOrigin: 'http://g',
    origin: 'http://v2',
  };
  const work: OperatorWork = { kind: 'export', ...parts };
  const { status, isJson, bytes } = await new OperatorThread().run(work);
  const expected = exportEntry(parts, rules);
  expect(status).toBe(expected.status);
  expect(isJson).toBe(typeof expected.value !== 'string');
  expect(isJson ? JSON.parse(textOf(bytes)) : textOf(bytes)).toEqual(expected.value);
  expect(text).toContain('a11999');
  expect(response.headers.get('content-disposition')).toBe(
    format === 'har' ? 'attachment; filename="exchange-1.har"' : null,
  );
});
