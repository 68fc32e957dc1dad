import { execFile } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { promisify } from 'node:util';
import { describe, expect, onTestFinished, test } from 'vitest';
import type {
  ClientsTable,
  EntriesPage,
  EntryDetail,
  Explanation,
  Report,
  RequestsPage,
  RulesView,
  SeriesView,
  State,
} from '../../src/inspector/api.ts';
import { Guide } from '../../src/report/guide/guide.ts';
import { entryLine } from '../../src/rewrite-log/entry-line.ts';
import { MemoryState } from '../../src/rollout/shared-state.ts';
import { type Inspected, inspected } from '../support/inspected.ts';
import { sampleEntry } from '../support/sample-entries.ts';
import { compiledShippedRuleBook } from '../support/shipped-rule-book.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { until } from '../support/until.ts';

const ORDER = '{"data":{"property":{"suburb":"Secretville","latitude":-33.25}}}';

async function withOrders(count: number, flags: Record<string, string> = {}): Promise<Inspected> {
  const gateway = await inspected(flags);
  for (let n = 0; n < count; n += 1)
    await gateway.post('/orders/floor_plans?q=secret-query', ORDER, { authorization: 'Bearer secret-key' });
  await gateway.entry(count);
  return gateway;
}

/** Runs a command in a shell. Not in this thread: the gateway that it calls is here too. */
async function run(command: string): Promise<string> {
  const { stdout } = await promisify(execFile)('sh', ['-c', command], {
    env: { PATH: process.env['PATH'], API_KEY: 'key-of-the-shell' },
  });
  return stdout;
}

describe('/entries', () => {
  test('pages backwards, filtered, with numbers that never change', async () => {
    const gateway = await withOrders(5);
    await gateway.post('/clients', '{"data":1}');
    await gateway.entry(6);
    const first = await gateway.readJson<EntriesPage>('/entries?limit=4');
    expect(first.entries.map(({ seq }) => seq)).toEqual([6, 5, 4, 3]);
    const second = await gateway.readJson<EntriesPage>(`/entries?limit=4&before=${first.next}`);
    expect(second.entries.map(({ seq }) => seq)).toEqual([2, 1]);
    expect(second).not.toHaveProperty('next');
    await gateway.post('/clients', '{"data":{}}', {
      authorization: 'Bearer other',
      'user-agent': 'CityBoard/2 okhttp',
    });
    await gateway.entry(7);
    const found = await gateway.readJson<EntriesPage>('/entries?filter=client:cityboard');
    expect(found.entries.map(({ seq }) => seq)).toEqual([7]);
    const refused = await gateway.readJson<EntriesPage>('/entries?filter=verdict:refused');
    expect(refused.entries).toMatchObject([{ seq: 6, failure: 'wrapper-not-object' }]);
    expect(await gateway.readJson('/entries?filter=colour:red')).toMatchObject({
      errors: [{ status: '400', code: 'bad-filter' }],
    });
  });
});

describe('/entries/requests', () => {
  test('has the kept requests of a page, as /explain takes them, and says what is missing', async () => {
    const gateway = await withOrders(3, { capture: 'bodies', 'capture-entries': '2' });
    const first = await gateway.readJson<RequestsPage>('/entries/requests?filter=route:v1&limit=2');
    expect(first).toMatchObject({ next: 2, requests: [{ seq: 3 }, { seq: 2, name: 'order_floor_plan' }] });
    expect(first.requests[0]?.request).toMatchObject({
      method: 'POST',
      target: '/api/v1/orders/floor_plans?q=secret-query',
      body: ORDER,
    });
    expect(JSON.stringify(first)).not.toContain('secret-key');
    const last = await gateway.readJson<RequestsPage>('/entries/requests?filter=route:v1&before=2');
    expect(last.requests).toEqual([{ seq: 1, name: 'order_floor_plan', lacks: 'request' }]);
    expect(last).not.toHaveProperty('next');
    expect(last.ruleBook).toBe(first.ruleBook);
    expect(await gateway.readJson('/entries/requests?filter=route:none')).toEqual({ requests: [] });
    expect(await gateway.readJson('/entries/requests?filter=colour:red')).toMatchObject({
      errors: [{ status: '400', code: 'bad-filter' }],
    });
  });

  test('has placeholders for values that were not kept', async () => {
    const gateway = await withOrders(1);
    const { requests } = await gateway.readJson<RequestsPage>('/entries/requests');
    expect(requests[0]?.request?.body).toBe('{"data":{"property":{"suburb":"string","latitude":0}}}');
  });
});

describe('/entries/:seq', () => {
  test('of an exchange that newer ones replaced has its entry, and says what was not kept', async () => {
    const gateway = await withOrders(2, { capture: 'bodies', 'capture-entries': '1' });
    const [first, second] = await Promise.all(
      [1, 2].map((seq) => gateway.readJson<EntryDetail>(`/entries/${seq}`)),
    );
    expect(first).toMatchObject({
      kept: 'nothing',
      entry: { seq: 1, operation: 'order_floor_plan' },
      note: 'Only the log entry of this exchange was kept: at a high rate only a sample is captured, the time for capturing in that second was used up, or newer exchanges replaced it.',
    });
    expect(first).not.toHaveProperty('v1Request');
    expect(second?.kept).toBe('bodies');
  });

  test('shows four perspectives and the diff, but no value and no key, while capture is off', async () => {
    const gateway = await withOrders(1);
    const detail = await gateway.readJson<EntryDetail>('/entries/1');
    expect(detail).toMatchObject({
      kept: 'structure',
      v1Request: {
        method: 'POST',
        target: '/api/v1/orders/floor_plans?q=…',
        body: { state: 'structure', bytes: ORDER.length },
      },
      v2Request: { target: '/api/v2/orders/floor_plans?q=…', body: { state: 'structure' } },
      v2Response: {
        status: 201,
        body: { state: 'structure', text: '{\n  "data": {\n    "id": "‹string›"\n  }\n}' },
      },
      clientResponse: { status: 201 },
    });
    expect(detail.v2Request?.headers).toContainEqual({
      name: 'x-api-version',
      value: '2025-01-01',
      masked: false,
      change: 'added',
    });
    expect(detail.diff?.marks.map(({ change }) => change)).toEqual([
      'body-wrapper',
      'property-address',
      'property-address',
    ]);
    const text = JSON.stringify(detail);
    for (const secret of ['Secretville', '33.25', 'secret-key', 'secret-query', 'id-of-an-order'])
      expect(text).not.toContain(secret);
  });

  test('shows values while capture is on, but masked ones and keys never', async () => {
    const gateway = await withOrders(1, { capture: 'bodies', 'capture-mask': 'suburb' });
    const detail = await gateway.readJson<EntryDetail>('/entries/1');
    expect(detail.kept).toBe('bodies');
    expect(detail.v2Request?.body.text).toContain('"latitude": -33.25');
    expect(detail.v2Request?.body.text).toContain('"suburb": "…"');
    expect(JSON.stringify(detail)).not.toMatch(/Secretville|secret-key/);
    expect(await gateway.readJson<State>('/state')).toMatchObject({
      capture: { mode: 'bodies', masks: ['suburb'], entries: 1 },
    });
  });

  test(
    'gives commands that work: a shell that runs them reaches the gateway and V2',
    { tags: ['curl'] },
    async () => {
      const gateway = await withOrders(1);
      const { curl } = await gateway.readJson<EntryDetail>('/entries/1');
      for (const [command, path] of [
        [curl?.v1, '/api/v2/orders/floor_plans'],
        [curl?.v2, '/api/v2/orders/floor_plans'],
      ] as const) {
        const before = gateway.v2.received.join('').split('POST ').length;
        const received = await run(
          command?.replace('curl ', 'curl -s -o /dev/null -w "%{http_code}" ') ?? '',
        );
        expect(received).toBe('201');
        const requests = gateway.v2.received.join('').split('POST ');
        expect(requests.length).toBe(before + 1);
        const last = gateway.v2.received.findLast((text) => text.includes('key-of-the-shell')) ?? '';
        expect(last).toContain(path);
        expect(last).toContain('"suburb": "string"');
      }
    },
  );

  test('says why nothing was kept beyond the rate, and that entries that left the ring are gone', async () => {
    const gateway = await withOrders(3, { 'structure-rate': '0', 'inspector-entries': '2' });
    expect(await gateway.readJson<EntryDetail>('/entries/3')).toMatchObject({ kept: 'nothing' });
    expect(await gateway.readJson('/entries/1')).toMatchObject({ errors: [{ code: 'no-entry' }] });
    expect((await gateway.entry(3)).attributes).toBeUndefined();
  });
});

/** Reads events of a stream until `enough` says so. */
async function events(
  url: string,
  headers: Record<string, string>,
  enough: (text: string) => boolean,
): Promise<string> {
  const leave = new AbortController();
  const response = await fetch(url, { headers, signal: leave.signal });
  expect(response.headers.get('content-type')).toContain('text/event-stream');
  let text = '';
  const decoder = new TextDecoder();
  for await (const chunk of response.body ?? []) {
    text += decoder.decode(chunk, { stream: true });
    if (enough(text)) break;
  }
  leave.abort();
  return text;
}

describe('/entries/stream', () => {
  test('sends new entries, with ids, and resumes where a reader was', async () => {
    const gateway = await withOrders(2);
    let isOpen = false;
    const reading = events(`${gateway.adminOrigin}/entries/stream?filter=op:order_*`, {}, (text) => {
      isOpen ||= text.includes('event: state\n');
      return text.includes('"seq":4');
    });
    await until(() => isOpen);
    await gateway.post('/clients', '{"data":{}}');
    await gateway.post('/orders/floor_plans', ORDER);
    const text = await reading;
    expect(text).toContain('event: state\n');
    expect(text).not.toMatch(/"seq":[123]\b/);
    const id = /^id: (\S+)$/m.exec(text)?.[1] ?? '';
    expect(id).toMatch(/-4$/);
    await gateway.post('/orders/floor_plans', ORDER);
    const resumed = await events(`${gateway.adminOrigin}/entries/stream`, { 'last-event-id': id }, (more) =>
      more.includes('"seq":5'),
    );
    expect([...resumed.matchAll(/"seq":(\d+)/g)].map((match) => match[1])).toEqual(['5']);
  });

  test('restarts for a reader of another run, reports missed entries, and keeps the connection alive', async () => {
    const gateway = await withOrders(4, { 'inspector-entries': '2' });
    const text = await events(
      `${gateway.adminOrigin}/entries/stream`,
      { 'last-event-id': 'otherrun-900' },
      (more) => more.includes(': keep-alive'),
    );
    expect(text).toContain('event: gap\ndata: {"missed":2}');
    expect([...text.matchAll(/"seq":(\d+)/g)].map((match) => match[1])).toEqual(['3', '4']);
  });

  test('stops reading the ring when the reader leaves', async () => {
    const gateway = await inspected();
    await events(`${gateway.adminOrigin}/entries/stream`, {}, (text) => text.includes('event: state'));
    // A timer that went on would keep writing to a stream that is closed, and throw.
    await gateway.post('/clients', '{"data":{}}');
    await pause(300);
    expect(gateway.surprises).toEqual([]);
  });
});

describe('the other routes', () => {
  test('/metrics counts the exchanges', async () => {
    const gateway = await withOrders(3);
    const text = await (await fetch(`${gateway.adminOrigin}/metrics`)).text();
    expect(text).toContain(
      'gateway_exchanges_total{route="migrate",operation="order_floor_plan",verdict="rewritten",status_class="2xx",status="201"} 3',
    );
    expect(text).toContain('gateway_log_lines_dropped_total 3');
    expect(text).toMatch(/gateway_rewrite_duration_seconds_count 3/);
  });

  test('/report in three formats, and the guide of a client', async () => {
    const gateway = await withOrders(2);
    const report = await gateway.readJson<Report>('/report');
    expect(report).toMatchObject({ v1: 2, classes: { 'field-work': 1 } });
    const as = async (path: string, accept: string): Promise<string> =>
      (await fetch(`${gateway.adminOrigin}${path}`, { headers: { accept } })).text();
    expect(await as('/report', 'text/csv')).toMatch(/^client,name,class/);
    expect(await as('/report?format=md', '*/*')).toMatch(/^# Who still needs V1/);
    const client = report.clients[0]?.client ?? '';
    expect(await as(`/report?client=${client.slice(0, 4)}&guide`, '*/*')).toContain(
      '## `POST /orders/floor_plans`',
    );
    expect(await as('/report?client=zz&guide', '*/*')).toContain('no-client');
    const page = await as('/report?client=zz&guide', 'text/html,*/*;q=0.8');
    expect(page).toMatch(/^<!doctype html>[^{]*<p>No single client with recent V1 requests/);
  });

  test('/report has the guide of a client from before the start from the log file, as the command does', async () => {
    const log = join(temporaryFolder('logged-guide'), 'rewrite.log');
    const client = '3fa94c1d0e5b7a21';
    const entries = [0, 1, 2].map((n) => ({
      ...sampleEntry(n, Date.now() - 3_600_000),
      client,
      operation: 'order_floor_plan',
      path: '/api/v1/orders/floor_plans',
    }));
    writeFileSync(log, entries.map((entry) => entryLine(entry)).join(''));
    const gateway = await inspected({ 'log-file': log });
    const guide = new Guide(client);
    for (const entry of entries) guide.add(entry);
    const { ruleBook } = await compiledShippedRuleBook();
    expect(await gateway.readJson(`/report?client=${client}&format=json`)).toEqual(
      JSON.parse(JSON.stringify(guide.document(ruleBook, undefined, { inForce: ruleBook.hash }))),
    );
    expect((await gateway.readJson<ClientsTable>('/clients/table')).rows).toMatchObject([{ guide: 'made' }]);
    // A client of this run has requests that the log may not have yet.
    await gateway.post('/clients', '{"data":{}}', { authorization: 'Bearer a-key' });
    await gateway.entry();
    const { rows } = await gateway.readJson<ClientsTable>('/clients/table');
    const own = rows.find((row) => row.client !== client)?.client ?? '';
    expect(await gateway.readJson(`/report?client=${own}&format=json`)).toMatchObject({ requests: 1 });
  });

  test('/report has no guide for a hash that fits no client or several, and says where it looked', async () => {
    const alone = await withOrders(1);
    await alone.post('/clients', '{"data":{}}', { authorization: 'Bearer other-key' });
    const records = new MemoryState(Date.now);
    const replica = await inspected({}, undefined, undefined, undefined, 201, records);
    onTestFinished(replica.operators.share());
    await until(async () => (await replica.readJson<Report>('/report')).coverage?.kind === 'fleet');
    const detail = async (gateway: Inspected, client: string): Promise<string | undefined> =>
      (
        await gateway.readJson<{ readonly errors: readonly { readonly detail: string }[] }>(
          `/report?client=${client}&guide`,
        )
      ).errors[0]?.detail;
    for (const client of ['zz', ''])
      expect(await detail(alone, client)).toBe('No single client with recent V1 requests matches.');
    expect(await detail(replica, 'zz')).toBe(
      'No single client with recent V1 requests to this replica matches; a guide is made from the requests that one replica keeps, or has in its log.',
    );
  });

  test.each([
    ['/report?format=xml', 'The query parameter format takes one of json, csv, md, not "xml".'],
    ['/report?format=', 'The query parameter format takes one of json, csv, md, not "".'],
    [
      '/report?client=a&format=csv',
      'The query parameter format takes one of json, html, md, mail, eml, not "csv".',
    ],
    ...['1w', '0', '00'].map((days): [string, string] => [
      `/report?gone-after=${days}`,
      `The query parameter gone-after takes a number of days from 1 to 9999, not "${days}".`,
    ]),
    ['/series?by=week', 'The query parameter by takes one of minute, hour, day, not "week".'],
    ['/entries?limit=all', 'The query parameter limit takes a whole number, not "all".'],
    ['/entries?before=-1', 'The query parameter before takes a whole number, not "-1".'],
    ['/entries/stream?after=x', 'The query parameter after takes a whole number, not "x".'],
    ['/entries/find?id=a&n=x', 'The query parameter n takes a whole number, not "x".'],
  ])('%s is refused', async (path, detail) => {
    const gateway = await inspected();
    const response = await fetch(`${gateway.adminOrigin}${path}`);
    expect([response.status, await response.json()]).toEqual([
      400,
      { errors: [{ status: '400', title: 'Bad request', detail, code: 'bad-query' }] },
    ]);
  });

  test('/rules has the book with hits, /series the minute, /state the run', async () => {
    const gateway = await withOrders(2);
    const rules = await gateway.readJson<RulesView>('/rules');
    expect(rules.operations.find(({ id }) => id === 'order_floor_plan')).toMatchObject({ hits: 2 });
    expect(rules.changes.find(({ id }) => id === 'property-address')).toMatchObject({
      hits: 2,
      request: [{ rule: 'nest' }],
    });
    expect(rules.assumptions.length).toBeGreaterThan(0);
    const series = await gateway.readJson<SeriesView>('/series');
    expect(series.points.reduce((sum, { answered }) => sum + answered.v2, 0)).toBe(2);
    expect(series).toMatchObject({ by: 'minute', marks: [] });
    expect(Date.now() - Date.parse(series.since)).toBeLessThan(60_000);
    expect((await gateway.readJson<SeriesView>('/series?by=day')).points.at(-1)).toMatchObject({ failed: 0 });
    const state = await gateway.readJson<State>('/state');
    expect(state).toMatchObject({
      version: '0.0.0-test',
      latest: 2,
      droppedLogLines: 3,
      droppedSpans: 0,
      capture: { mode: 'off' },
      inFlight: 0,
    });
    await until(() => gateway.lines.length === 2);
  });

  test('/explain explains, and reports what it cannot explain', async () => {
    const gateway = await inspected();
    const post = async (body: string): Promise<Explanation> =>
      (await (await fetch(`${gateway.adminOrigin}/explain`, { method: 'POST', body })).json()) as Explanation;
    expect(
      await post(JSON.stringify({ operation: 'create_client', body: '{"data":{"name":1.0}}' })),
    ).toMatchObject({
      verdict: 'rewritten',
      v2Body: '{"name":1.0}',
    });
    expect(await post('{"operation":"nothing"}')).toMatchObject({ errors: [{ code: 'not-explained' }] });
    expect(await post('[]')).toMatchObject({ errors: [{ code: 'bad-request' }] });
    expect(gateway.v2.received).toEqual([]);
  });
});

describe("V2's response", () => {
  test('is shown with its own headers, and the client’s with those it got', async () => {
    const own = '{"data":{"highlight_type":"x"}}';
    const gateway = await inspected({ capture: 'bodies' }, own);
    await gateway.post('/orders/post_productions', '{"data":{"transition_type":"x"}}');
    await gateway.entry(1);
    const { v2Response, clientResponse } = await gateway.readJson<EntryDetail>('/entries/1');
    const lengthOf = (headers: readonly { name: string; value: string }[] = []): number =>
      Number(headers.find(({ name }) => name.toLowerCase() === 'content-length')?.value);
    expect(clientResponse?.body.text).toContain('transition_type');
    expect(v2Response?.body.text).not.toContain('transition_type');
    expect(lengthOf(v2Response?.headers)).toBe(own.length);
    expect(lengthOf(clientResponse?.headers)).toBeGreaterThan(own.length);
  });
});
