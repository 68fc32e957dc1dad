import { expect, test } from 'vitest';
import type { Entry } from '../../../src/rewrite-log/entry.ts';
import type { Observer } from '../../../src/rewrite-log/observer.ts';
import { ok } from '../../support/raw-server.ts';
import { served } from '../../support/served.ts';

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';
const PARENT = '00f067aa0ba902b7';

interface Traced {
  /** The `traceparent` and `tracestate` that V2 got. */
  readonly traceparent: string | undefined;
  readonly tracestate: string | undefined;
  readonly entry: Entry;
}

/** Sends one request through a gateway that exports the spans that `isSampled` selects. */
async function traced(
  isSampled: Observer['isSampled'],
  fields: string,
  path = '/api/v1/clients',
): Promise<Traced> {
  const observer: Observer = { bodyLimit: 0, begin: () => 'nothing', observe: () => {}, isSampled };
  const { v2, gateway, send } = await served(ok(), { parts: { observer } });
  await send(`GET ${path} HTTP/1.1\r\nHost: g\r\n${fields}\r\n`);
  const [received = ''] = v2.received;
  return {
    traceparent: /^traceparent: (.*)\r$/im.exec(received)?.[1],
    tracestate: /^tracestate: (.*)\r$/im.exec(received)?.[1],
    entry: await gateway.entry(),
  };
}

const FIELDS = `traceparent: 00-${TRACE}-${PARENT}-01\r\ntracestate: a=b\r\n`;
const parentBased = (_: string, parent: boolean | undefined): boolean => parent ?? true;

test('a trace of the client: our span stands between its own and those of V2', async () => {
  const { traceparent, tracestate, entry } = await traced(parentBased, FIELDS);
  const [, traceId, spanId, flags] = traceparent?.split('-') ?? [];
  expect([traceId, flags, tracestate]).toEqual([TRACE, '01', 'a=b']);
  expect(spanId).toMatch(/^[0-9a-f]{16}$/);
  expect(spanId).not.toBe(PARENT);
  expect(entry).toMatchObject({ isSampled: true, traceId: TRACE, spanId, parentSpanId: PARENT });
});

test('a trace that begins here is sampled when it is exported: V2 must not drop its spans', async () => {
  const { traceparent, entry } = await traced(parentBased, '');
  expect(traceparent).toMatch(/^00-[0-9a-f]{32}-[0-9a-f]{16}-01$/);
  expect([entry.isSampled, entry.parentSpanId]).toEqual([true, undefined]);
  expect(traceparent).toBe(`00-${entry.traceId}-${entry.spanId}-01`);
});

test.each([
  ['the client does not record it', parentBased, `traceparent: 00-${TRACE}-${PARENT}-00\r\n`],
  ['the sampler does not want it', () => false, FIELDS],
  ['nothing is exported', undefined, FIELDS],
])('a trace crosses unchanged and has no span here when %s', async (_, isSampled, fields) => {
  const { traceparent, entry } = await traced(isSampled, fields);
  expect(fields).toContain(`traceparent: ${traceparent}\r\n`);
  expect(entry.isSampled).toBeUndefined();
});

test('a trace begins here only while spans are exported, with the flag of the sampler', async () => {
  expect((await traced(() => false, '')).traceparent).toMatch(/^00-[0-9a-f]{32}-[0-9a-f]{16}-00$/);
  const { traceparent, entry } = await traced(undefined, '');
  expect(traceparent).toBeUndefined();
  expect(entry.traceId).toBeUndefined();
});

test('a trace that cannot be read is replaced, with its state, only while spans are exported', async () => {
  const garbage = 'traceparent: garbage\r\ntracestate: a=b\r\n';
  for (const isSampled of [true, false]) {
    const { traceparent, tracestate } = await traced(() => isSampled, garbage);
    expect(traceparent).toMatch(isSampled ? /^00-.*-01$/ : /^00-.*-00$/);
    expect(tracestate).toBeUndefined();
  }
  expect(await traced(undefined, garbage)).toMatchObject({ traceparent: 'garbage', tracestate: 'a=b' });
});

test.each([
  'b3: 0',
  'X-B3-TraceId: 463ac35c9f6413ad48485a3953bb6124',
  'X-Amzn-Trace-Id: Root=1-67891233-abcdef012345678912345678;Sampled=1',
  'X-Cloud-Trace-Context: 105445aa7843bc8bf206b12000100000/1;o=1',
  'Uber-Trace-Id: 5:3:0:1',
  'sw8: 1-a-b-3-c-d-e-f',
  'x-datadog-trace-id: 1',
])('no trace begins beside one that the client sends with %s', async (field) => {
  for (const isSampled of [parentBased, () => false, undefined]) {
    expect((await traced(isSampled, `${field}\r\n`)).traceparent).toBeUndefined();
    expect((await traced(isSampled, `${field}\r\n${FIELDS}`)).traceparent).toContain(TRACE);
  }
});

test('V2 traffic crosses with its own trace unchanged', async () => {
  const { traceparent, entry } = await traced(parentBased, FIELDS, '/api/v2/x');
  expect(traceparent).toBe(`00-${TRACE}-${PARENT}-01`);
  expect(entry.isSampled).toBeUndefined();
});
