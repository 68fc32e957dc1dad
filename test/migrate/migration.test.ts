import { describe, expect, test } from 'vitest';
import { readHead } from '../../src/http/request-head.ts';
import { decide, streamedFormat } from '../../src/migrate/decision.ts';
import {
  type ReceivedBody,
  type RequestEnd,
  RequestMigration,
  type ResponseEnd,
  ResponseMigration,
  drive,
  type Work,
} from '../../src/migrate/migration.ts';
import type { TransformOutcome } from '../../src/migrate/transform.ts';
import { CompiledRuleBook } from '../../src/rewrite/compiled-rule-book.ts';
import type { PatchOperation } from '../../src/rewrite/records.ts';
import { bytesOf, textOf } from '../rewrite/notation.ts';
import { bookIn } from '../rules/reading.ts';

const BOOK = `
version: 2025-01-01
body-links: leave
operations:
  make: { match: POST /made, transform: ./t.js }
  close: { match: POST /close, to: 'GET /closed', transform: ./t.js }
  plain: { match: POST /plain }
  list: { match: GET /list, transform: ./t.js }
  show: { match: GET /show }
changes:
  - { id: wrapper, summary: s, on: [make, close, plain], request: [{ unwrap: data }] }
  - id: sum
    summary: s
    on: [make, plain]
    policies: { value: keep }
    request: [{ scale: sum, by: 100 }]
    query: [{ rename: page, to: p }]
  - { id: name, summary: s, on: [list, show], response: [{ rename: data.v2, to: v1 }] }
`;

async function compiled(): Promise<CompiledRuleBook> {
  const book = await bookIn(BOOK);
  const modules = { './t.js': { text: '', exports: ['request', 'response'] as const } };
  return new CompiledRuleBook({ ...book, modules });
}

const JSON_TYPE = ['Content-Type', 'application/json'];

async function requestMigration(
  line: string,
  hasBody: boolean,
  fields: readonly string[] = JSON_TYPE,
): Promise<RequestMigration> {
  const [method = '', target = ''] = line.split(' ');
  const head = readHead(['Host', 'g', ...fields], { count: 100, bytes: 10_000 }, false);
  const rules = await compiled();
  const decision = decide({ method, target, version: '1.1', head, hasBody }, rules, {});
  if (decision.route !== 'migrate') throw new Error(decision.route);
  return new RequestMigration(rules, decision);
}

/** A transform that returns `body` for any body, and another query if there is one. */
function making(body: string | undefined, query?: string): TransformOutcome {
  const patch: PatchOperation[] = body === undefined ? [] : [{ op: 'add', path: '/made', value: true }];
  return { body: body === undefined ? undefined : bytesOf(body), query, status: undefined, patch };
}

function ended<End extends object>(end: End | Promise<End>): End {
  if (end instanceof Promise) throw new Error('nothing waits here');
  return end;
}

function finished(migration: RequestMigration, body: ReceivedBody, made = making(undefined)): RequestEnd {
  return ended(drive(migration, migration.finish(body), () => made));
}

const words = (records: readonly { rule: string; from?: string; path?: string }[]): string =>
  records.map(({ rule, from = '', path = '' }) => `${rule} ${from} ${path}`).join(', ');

describe('a request', () => {
  test.each<[title: string, line: string, body: string | undefined, made: TransformOutcome, told: object]>([
    [
      'rules alone',
      'POST /api/v1/plain?page=2',
      '{"data":{"sum":1.5}}',
      making(undefined),
      {
        verdict: 'rewritten',
        body: '{"sum":150}',
        edits: 'rename ?page ?p, unwrap /data , scale /data/sum /sum',
        patch: 'move /data ,replace  /sum',
        target: '/api/v2/plain?p=2',
      },
    ],
    [
      'rules, then a transform of body and query',
      'POST /api/v1/made?page=2',
      '{"data":{"sum":1.5}}',
      making('{"sum":150,"made":true}', 'q=1'),
      {
        verdict: 'rewritten',
        body: '{"sum":150,"made":true}',
        edits:
          'rename ?page ?p, unwrap /data , scale /data/sum /sum, transform ?p , transform  ?q, transform  ',
        patch: 'move /data ,replace  /sum,add  /made',
        target: '/api/v2/made?q=1',
      },
    ],
    [
      'a number that no patch can have, so that there is no patch',
      'POST /api/v1/made',
      '{"sum":1E400}',
      making('{"made":true}'),
      {
        verdict: 'rewritten',
        body: '{"made":true}',
        edits: 'unwrap  , scale /sum /sum, transform  ',
        patch: '',
      },
    ],
    [
      'more edits than are listed',
      'POST /api/v1/made',
      `{"data":{"sum":1},${Array.from({ length: 700 }, (_, at) => `"beside${at}":1`).join(',')}}`,
      making('{"made":true}'),
      { verdict: 'rewritten', body: '{"made":true}', patch: '', omitted: 255 },
    ],
    [
      'a transform of the query alone',
      'POST /api/v1/made',
      '{}',
      making(undefined, 'q=1'),
      {
        verdict: 'rewritten',
        body: undefined,
        edits: 'unwrap  , transform  ?q',
        target: '/api/v2/made?q=1',
      },
    ],
    [
      'a body that is not read',
      'POST /api/v1/made',
      'unread',
      making(undefined, 'q=1'),
      { verdict: 'rewritten', body: undefined, edits: 'transform  ?q', note: 'media-type' },
    ],
    [
      'a body that is not forwarded',
      'POST /api/v1/close',
      'unread',
      making(undefined, 'q=1'),
      { verdict: 'rewritten', body: undefined, note: 'body-dropped', target: '/api/v2/closed?q=1' },
    ],
    [
      'no body',
      'POST /api/v1/made',
      undefined,
      making('{"made":true}'),
      { verdict: 'rewritten', body: '{"made":true}', edits: 'transform  ', patch: 'add  /made' },
    ],
    [
      'a body beyond the limit',
      'POST /api/v1/plain',
      'too-large',
      making(undefined),
      { code: 'body-too-large' },
    ],
    ['no JSON', 'POST /api/v1/plain', '{', making(undefined), { code: 'malformed-json' }],
    [
      'a transform that fails',
      'POST /api/v1/made',
      '{}',
      { why: 'w', detail: 'd' },
      { code: 'transform-failed', why: 'w' },
    ],
  ])('%s', async (_title, line, body, made, expected) => {
    const isText = body === 'unread' && line.includes('made');
    const type = isText ? ['Content-Type', 'text/plain'] : JSON_TYPE;
    const migration = await requestMigration(line, body !== undefined, type);
    const isBytes = body !== undefined && body !== 'unread' && body !== 'too-large';
    const end = finished(migration, isBytes ? bytesOf(body) : body, made);
    expect(toldOf(end, migration)).toMatchObject(expected);
  });

  test('if the log withholds values of rules or transform, the patch has none of their operations', async () => {
    const { rules, decision } = await requestMigration('POST /api/v1/made', true);
    const values = { ofRules: () => [], ofTransform: () => [{ op: 'add', path: '/other' } as const] };
    const migration = new RequestMigration(rules, decision, values);
    const end = finished(migration, bytesOf('{"data":{}}'), making('{"made":true}'));
    // The rules' part is not said, so that the other leads elsewhere.
    expect(end).toMatchObject({ patch: [] });
    const bare = new RequestMigration(rules, decision, values);
    expect(finished(bare, bytesOf('{}'), making('{"made":true}'))).toMatchObject({
      patch: [{ op: 'add', path: '/other' }],
    });
  });

  test('the edits of a body that arrives come before those of the transform of its query', async () => {
    const migration = await requestMigration('POST /api/v1/made', true, [
      'Content-Type',
      'application/x-ndjson',
    ]);
    const format = streamedFormat(migration.begin(true));
    if (format === undefined) throw new Error('not streamed');
    const begun = finished(migration, 'unread', making(undefined, 'q=1'));
    expect(begun).toMatchObject({ verdict: 'rewritten', json: 'not-read', note: undefined });
    const stream = migration.open(format);
    stream.push(bytesOf('{"data":{"sum":1}}\n'));
    expect(toldOf(migration.streamed(stream.findings), migration)).toMatchObject({
      edits: 'unwrap /0/data /0, scale /0/data/sum /0/sum, transform  ?q',
      target: '/api/v2/made?q=1',
    });
  });

  test('a migration continues after a transform in another thread', async () => {
    const migration = await requestMigration('POST /api/v1/made', true);
    const later = drive(migration, migration.finish(bytesOf('{}')), () =>
      Promise.resolve(making('{"made":true}')),
    );
    expect(later).toBeInstanceOf(Promise);
    expect(await later).toMatchObject({ verdict: 'rewritten' });
  });
});

// RFC 9110 §9.3.2: its fields are those of the GET.
test.each([
  ['/show', 'identity'],
  ['/images/1', 'zstd'],
])(
  'of the codings that a client takes, V2 is asked for those of %s by HEAD as by GET: %s',
  async (rest, asked) => {
    const fields = ['Accept-Encoding', 'zstd', 'X-Api-Version', '2025-01-01'];
    const head = readHead(fields, { count: 100, bytes: 10_000 }, false);
    for (const method of ['GET', 'HEAD']) {
      const migration = await requestMigration(`${method} /api/v1${rest}`, false, fields);
      const sent = migration.head(head, false, { now: Date.now() }).fields.forwardedHeaders;
      expect(sent.slice(0, 2)).toEqual(['Accept-Encoding', asked]);
    }
  },
);

function toldOf(end: RequestEnd, { decision }: RequestMigration): object {
  if (end.verdict === 'refused') return { code: end.failure.code, why: end.cause?.why };
  const { verdict, body, edits, patch, omitted, note } = end;
  const said = patch.map(({ op, from = '', path }) => `${op} ${from} ${path}`).join();
  return {
    verdict,
    body: body && textOf(body),
    edits: words(edits),
    patch: said,
    omitted,
    note,
    target: decision.v2Target,
  };
}

describe('a response', () => {
  const migrationFor = async (line: string, status = 200): Promise<ResponseMigration> => {
    const { rules, facts } = await requestMigration(line, false);
    return new ResponseMigration(rules, { facts, edits: [], query: '', links: undefined }, status);
  };

  test.each<[title: string, line: string, status: number, fields: readonly string[], step: object]>([
    ['rules', 'GET /api/v1/show', 200, JSON_TYPE, { action: 'collect', holdsHead: false }],
    ['a transform', 'GET /api/v1/list', 200, JSON_TYPE, { action: 'collect', holdsHead: true }],
    ['no body', 'HEAD /api/v1/show', 200, JSON_TYPE, { action: 'forward', note: undefined }],
    ['another type', 'GET /api/v1/show', 200, ['Content-Type', 'image/png'], { action: 'forward' }],
    [
      'more than the limit',
      'GET /api/v1/show',
      200,
      [...JSON_TYPE, 'Content-Length', '99999999'],
      { action: 'collect', isTooLong: true },
    ],
    [
      'several texts',
      'GET /api/v1/show',
      200,
      ['Content-Type', 'application/x-ndjson'],
      { action: 'stream', texts: 'ndjson' },
    ],
    [
      'several texts, which a transform does not get',
      'GET /api/v1/list',
      200,
      ['Content-Type', 'application/x-ndjson'],
      { action: 'forward', note: 'response-media-type' },
    ],
    ['an error, which is not transformed', 'GET /api/v1/list', 404, JSON_TYPE, { action: 'forward' }],
  ])('%s', async (_title, line, status, fields, step) => {
    expect((await migrationFor(line, status)).begin(fields)).toMatchObject(step);
  });

  const begun = async (line: string, fields = JSON_TYPE): Promise<ResponseMigration> => {
    const migration = await migrationFor(line);
    migration.begin(fields);
    return migration;
  };
  const finish = (migration: ResponseMigration, body: string, made: TransformOutcome): ResponseEnd =>
    ended(drive(migration, migration.finish(bytesOf(body)), () => made));

  test.each<[title: string, line: string, body: string, made: TransformOutcome, expected: object]>([
    ['rules', 'GET /api/v1/show', '{"data":{"v2":1}}', making(undefined), { body: '{"data":{"v1":1}}' }],
    [
      'a transform, then rules',
      'GET /api/v1/list',
      '{}',
      { ...making('{"data":{"v2":1},"made":true}'), status: 203 },
      {
        status: 203,
        body: '{"data":{"v1":1},"made":true}',
        records: 'transform  , rename /data/v2 /data/v1',
        patch: 'add  /made,move /data/v2 /data/v1',
      },
    ],
    [
      'a transform that only changes the status',
      'GET /api/v1/list',
      '{"data":{}}',
      { ...making(undefined), status: 203 },
      { verdict: 'unchanged', status: 203 },
    ],
    [
      'a transform of a body that is not JSON',
      'GET /api/v1/list',
      '{',
      making('{"made":true}'),
      { verdict: 'unchanged', body: '{', note: 'response-malformed' },
    ],
    [
      'a transform that fails',
      'GET /api/v1/list',
      '{}',
      { why: 'w', detail: 'd' },
      { code: 'transform-failed' },
    ],
  ])('%s', async (_title, line, body, made, expected) => {
    const migration = await begun(line);
    const end = finish(migration, body, made);
    if (end.verdict === 'refused') {
      expect({ code: end.failure.code }).toMatchObject(expected);
      return;
    }
    const { verdict, note, body: sent } = end;
    const edited = 'records' in end ? { records: words(end.records), patch: saidBy(end.patch) } : {};
    expect({ verdict, note, body: textOf(sent), status: migration.status, ...edited }).toMatchObject(
      expected,
    );
  });

  test('texts that have already arrived completely', async () => {
    const migration = await begun('GET /api/v1/show', ['Content-Type', 'application/x-ndjson']);
    const end = finish(migration, '{"data":{"v2":1}}\n{"x":1}\n', making(undefined));
    expect(end.verdict === 'rewritten' && textOf(end.body)).toBe('{"data":{"v1":1}}\n{"x":1}\n');
  });

  test('if the rules after a transform cannot be applied, its result is dropped as well', async () => {
    const migration = await begun('GET /api/v1/list');
    const own = bytesOf('{"data":{}}');
    expect(transformOf(migration.finish(own))).toMatchObject({ direction: 'response', status: 200 });
    const made = bytesOf('{"made":true}');
    const work = migration.transformed({ body: made, query: undefined, status: 203, patch: [] });
    expect(work).toEqual({ rules: made });
    const end = migration.ruled({ verdict: 'unchanged', body: made, note: 'response-buffer-full' }, made);
    expect(end).toEqual({ verdict: 'unchanged', body: own, note: 'response-buffer-full' });
    expect(migration.status).toBe(200);
  });
});

const saidBy = (patch: readonly PatchOperation[]): string =>
  patch.map(({ op, from = '', path }) => `${op} ${from} ${path}`).join();

function transformOf(step: Work | ResponseEnd): unknown {
  return 'transform' in step ? step.transform : undefined;
}
