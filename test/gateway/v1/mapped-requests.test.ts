import fastJsonPatch from 'fast-json-patch';
import { expect, test } from 'vitest';
import { CompiledRuleBook } from '../../../src/rewrite/compiled-rule-book.ts';
import { entrySchema } from '../../../src/rewrite-log/entry-schema.ts';
import type { EntryDetail } from '../../../src/inspector/api.ts';
import { inspected } from '../../support/inspected.ts';
import { bookIn } from '../../rules/reading.ts';
import { gatewayFor } from '../../support/gateway.ts';
import { exchange, statusOf } from '../../support/raw-client.ts';
import { ok, rawServer } from '../../support/raw-server.ts';
import { type Served, served } from '../../support/served.ts';
import { rolloutOf } from '../../support/two-services.ts';
import { requestRulesBook } from '../../support/request-rules-book.ts';

const BODY = '{"data":{"look":"day","rooms":[{"kind":"old"},{"kind":"new"}]}}';
const V2_BODY = '{"style":"light","rooms":[{"kind":"new"},{"kind":"new"}]}';

const post = (target: string, body: string): string =>
  `POST ${target} HTTP/1.1\r\nHost: g\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
const get = (target: string): string => `GET ${target} HTTP/1.1\r\nHost: g\r\n\r\n`;

const serve = async (): Promise<Served> => await served(ok(), { rules: await requestRulesBook() });

test('the log has the edits of query and body, in this order, and no value', async () => {
  const { gateway, send } = await serve();
  await send(post('/api/v1/tours?look=day&legacy=S3CR3T&x=S3CR3T', BODY));
  const entry = await gateway.entry();
  entrySchema.parse(entry);
  expect(entry).toMatchObject({
    verdict: 'rewritten',
    path: '/api/v1/tours?look=…&legacy=…&x=…',
    upstreamPath: '/api/v2/tours?filter%5Bstyle%5D=…&x=…',
  });
  expect(entry.edits).toEqual([
    { change: 'style', rule: 'rename', from: '?look', path: '?filter[style]' },
    { change: 'style', rule: 'map', from: '?look', path: '?filter[style]' },
    { change: 'style', rule: 'strip', from: '?legacy' },
    { change: 'wrapper', rule: 'unwrap', from: '/data', path: '' },
    { change: 'style', rule: 'rename', from: '/data/look', path: '/style' },
    { change: 'style', rule: 'map', from: '/data/look', path: '/style' },
    { change: 'style', rule: 'map', from: '/data/rooms/0/kind', path: '/rooms/0/kind' },
  ]);
  expect(entry.patch).toEqual([
    { op: 'move', from: '/data', path: '' },
    { op: 'move', from: '/look', path: '/style' },
    { op: 'replace', path: '/style' },
    { op: 'replace', path: '/rooms/0/kind' },
  ]);
  expect(gateway.lines.join('')).not.toMatch(/S3CR3T|light|day/);
});

test('with capture the patch in the log gives the V2 body; with masks it has no values', async () => {
  const rules = await requestRulesBook();
  const gateway = await inspected({ capture: 'bodies' }, '{}', undefined, rules);
  await gateway.post('/tours', BODY);
  expect(gateway.v2.received.join('').endsWith(V2_BODY)).toBe(true);
  const operations = structuredClone((await gateway.entry()).patch) as fastJsonPatch.Operation[];
  expect(fastJsonPatch.applyPatch(JSON.parse(BODY), operations, true).newDocument).toEqual(
    JSON.parse(V2_BODY),
  );

  const flags = { capture: 'bodies', 'capture-mask': 'look' };
  const masked = await inspected(flags, '{}', undefined, rules);
  await masked.post('/tours', BODY);
  expect((await masked.entry()).patch).toContainEqual({ op: 'replace', path: '/style' });
});

test('the inspector marks a value that a map replaced, though it keeps no values', async () => {
  const gateway = await inspected({}, '{}', undefined, await requestRulesBook());
  await gateway.post('/tours?look=day', '{"data":{"style":"day"}}');
  const { edits } = await gateway.entry();
  const { entries } = await gateway.readJson<{ readonly entries: readonly { readonly seq: number }[] }>(
    '/entries',
  );
  const { diff } = await gateway.readJson<EntryDetail>(`/entries/${entries[0]?.seq ?? 0}`);
  expect(diff?.marks.map(({ rule }) => rule)).toEqual(edits.map(({ rule }) => rule));
  const { after = '', marks = [] } = diff ?? {};
  const [span] = marks.at(-1)?.after ?? [];
  expect(after.slice(span?.start, span?.end)).toBe('"style": "‹string›"');
});

test('a request whose query alone was rewritten says so, and one that is refused has no edits', async () => {
  const { gateway, send } = await serve();
  await send(get('/api/v1/tours?look=x'));
  await send(get('/api/v1/tours?style=x'));
  const refused = await send(post('/api/v1/tours?look=x', '{'));
  expect(statusOf(refused)).toBe(400);
  await gateway.entry(3);
  const outcomes = gateway.entries().map(({ verdict, edits }) => [verdict, edits.map(({ from }) => from)]);
  expect(outcomes).toEqual([
    ['rewritten', ['?look']],
    ['unchanged', []],
    ['refused', []],
  ]);
});

test('observing logs the edits of the query by a migration, and sends V1 its own query', async () => {
  const { ruleBook } = await requestRulesBook();
  const rollout = rolloutOf({ default: { mode: 'observe' } });
  const v1 = await rawServer((socket) =>
    socket.write(ok('{}', 'Link: </api/v1/tours?filter[style]=x>; rel="next"\r\n')),
  );
  const gateway = await gatewayFor('http://127.0.0.1:1', {
    rules: new CompiledRuleBook({ ...ruleBook, rollout }),
    parts: { v1Origin: { origin: v1.origin, path: '' } },
  });
  const response = await exchange(gateway.port, get('/api/v1/tours?look=day'));
  expect(response.text).toContain('Link: </api/v1/tours?filter[style]=x>; rel="next"');
  expect(v1.received.join('')).toMatch(/^GET \/api\/v1\/tours\?look=day HTTP/);
  const entry = await gateway.entry();
  expect(entry).toMatchObject({ verdict: 'passed', origin: 'v1', would: { verdict: 'rewritten' } });
  expect(entry.edits.map(({ rule }) => rule)).toEqual(['rename', 'map']);
});

test('while observing, V1 serves an operation that is gone, and the log says what a migration would have done', async () => {
  const book = await bookIn("{ operations: { old: { match: 'GET /old', gone: No. } }, changes: [] }");
  const v1 = await rawServer((socket) => socket.write(ok('{}')));
  const rollout = rolloutOf({ default: { mode: 'observe' } });
  const gateway = await gatewayFor('http://127.0.0.1:1', {
    rules: new CompiledRuleBook({ ...book, rollout }),
    parts: { v1Origin: { origin: v1.origin, path: '' } },
  });
  expect(statusOf(await exchange(gateway.port, get('/api/v1/old')))).toBe(200);
  expect(await gateway.entry()).toMatchObject({
    verdict: 'passed',
    origin: 'v1',
    would: { verdict: 'refused', failure: 'operation-gone' },
  });
});
