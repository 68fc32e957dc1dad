import fastJsonPatch from 'fast-json-patch';
import { describe, expect, test } from 'vitest';
import { type TestGateway } from '../../support/gateway.ts';
import { exchange, statusOf } from '../../support/raw-client.ts';
import { ok, rawServer, type RawServer } from '../../support/raw-server.ts';
import { symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { offlineExplainer } from '../../../src/cli/explain/requests.ts';
import type { Explanation, ExplainRequest } from '../../../src/inspector/api.ts';
import { createMigration, type TransformModule } from '../../../src/library/capture-gateway.ts';
import { ruleBookWarnings } from '../../../src/rules/check-rule-book.ts';
import { WatchedFiles } from '../../../src/node/files.ts';
import { loadRuleBook, RuleBooks, transformFiles } from '../../../src/node/rule-books.ts';
import { CompiledRuleBook } from '../../../src/rewrite/compiled-rule-book.ts';
import { entrySchema } from '../../../src/rewrite-log/entry-schema.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';
import { rolloutOf } from '../../support/two-services.ts';
import { type Served, served } from '../../support/served.ts';
import { rows, words } from '../../support/rows.ts';

/** Pages by number in V1, by cursor in V2, whose cursor says an offset: docs/rule-book.md. */
const PAGES = `
export function request(body, { query }) {
  const page = Number(query.get('page') ?? 1);
  const limit = Number(query.get('per_page') ?? 20);
  query.delete('page');
  query.delete('per_page');
  query.set('limit', String(limit));
  if (page > 1) query.set('cursor', btoa('offset:' + (page - 1) * limit));
  return { query };
}

export async function response(body, { query }) {
  const page = Number(query.get('page') ?? 1);
  const size = Number(query.get('per_page') ?? 20);
  return { body: { data: body.data, page, total_pages: Math.ceil(body.total / size) } };
}
`;

const BOOK = `version: 2025-01-01
operations:
  list_bills: { match: GET /bills, transform: ./pages.js }
  create_bill: { match: 'POST /bills/{id}', transform: ./bill.mjs }
  replace_bill: { match: 'PUT /bills/{id}', transform: ./bill.mjs }
changes:
  - { id: wrapper, summary: No wrapper., on: every, request: [ { unwrap: data } ] }
  - { id: sum, summary: Sum., on: [create_bill], request: [ { rename: sum, to: total } ], response: [ { rename: data.v2, to: v1 } ] }
limits: { transform: 2000 }
`;

const BILL = `
export const request = (body, { path, operation, method, status }) =>
  body === undefined ? {} : { body: { ...body, id: path.id, by: [operation, method, status] } };
export const response = (body, { status }) => ({ body: { data: { v2: body.data.total } }, status: status + 1 });
`;

function folderOf(files: Readonly<Record<string, string | Buffer>>): string {
  const folder = temporaryFolder('transform');
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  return join(folder, 'rules.yaml');
}

async function load(files: Readonly<Record<string, string>>): Promise<CompiledRuleBook> {
  const outcome = await loadRuleBook(folderOf(files));
  if ('faults' in outcome) throw new Error(outcome.faults.join('\n'));
  return outcome.rules;
}

const serve = async (body: string, files: Readonly<Record<string, string>>): Promise<Served> =>
  await served(ok(body), { rules: await load(files) });

const get = (target: string): string => `GET ${target} HTTP/1.1\r\nHost: g\r\nRange: bytes=0-1\r\n\r\n`;
const requestOf = (method: string, target: string, body: string): string =>
  `${method} ${target} HTTP/1.1\r\nHost: g\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`;

const FILES = { 'rules.yaml': BOOK, 'pages.js': PAGES, 'bill.mjs': BILL };

test('pages by number become pages by cursor, and back', async () => {
  const { gateway, v2, send } = await serve('{"data":[{"id":41}],"next_cursor":"x","total":101}', FILES);
  const response = await send(get('/api/v1/bills?page=3&per_page=20&x=a+b'));
  const [line = ''] = v2.received.join('').split('\r\n');
  expect(line).toBe(
    `GET /api/v2/bills?x=a+b&limit=20&cursor=${encodeURIComponent(btoa('offset:40'))} HTTP/1.1`,
  );
  expect(v2.received.join('')).not.toContain('Range');
  expect(response.text).toMatch(/\r\n\r\n\{"data":\[\{"id":41\}\],"page":3,"total_pages":6\}$/);
  const entry = await gateway.entry();
  entrySchema.parse(JSON.parse(JSON.stringify(entry)));
  expect(entry).toMatchObject({
    verdict: 'rewritten',
    operation: 'list_bills',
    edits: [
      { change: 'transform', rule: 'transform', from: '?page' },
      { change: 'transform', rule: 'transform', from: '?per_page' },
      { change: 'transform', rule: 'transform', path: '?limit' },
      { change: 'transform', rule: 'transform', path: '?cursor' },
    ],
    responseEdits: [{ change: 'transform', rule: 'transform', from: '', path: '' }],
    responsePatch: [
      { op: 'remove', path: '/next_cursor' },
      { op: 'remove', path: '/total' },
      { op: 'add', path: '/page' },
      { op: 'add', path: '/total_pages' },
    ],
  });
});

test('request rules run before it, and response rules after it', async () => {
  const { gateway, v2, send } = await serve('{"data":{"total":7}}', FILES);
  const response = await send(requestOf('POST', '/api/v1/bills/a%20b', '{"data":{"sum":1}}'));
  expect(v2.received.join('')).toMatch(
    /\r\n\r\n\{"total":1,"id":"a b","by":\["create_bill","POST",null\]\}$/,
  );
  expect(statusOf(response)).toBe(201);
  expect(response.text).toMatch(/\{"data":\{"v1":7\}\}$/);
  const { edits, patch } = await gateway.entry();
  expect(edits.map(({ rule }) => rule)).toEqual(['unwrap', 'rename', 'transform']);
  expect(patch?.map(({ op, path }) => `${op} ${path}`)).toEqual([
    'move ',
    'move /total',
    'add /id',
    'add /by',
  ]);
  expect(gateway.lines.join('')).not.toContain('a b');
});

test('with capture, the patch in the log gives the V2 body of a PUT as well; a body for which nothing is returned stays', async () => {
  const { v2, send } = await served(ok('{"data":{}}'), { rules: await load(FILES) });
  const put = await send(requestOf('PUT', '/api/v1/bills/7', '{"data":{"x":1}}'));
  expect(v2.received.join('')).toMatch(/\{"data":\{"x":1\},"id":"7","by":\["replace_bill","PUT",null\]\}$/);
  // Its status alone is another one.
  expect([statusOf(put), put.body]).toEqual([201, '{"data":{}}']);
  const text =
    'POST /api/v1/bills/7 HTTP/1.1\r\nHost: g\r\nContent-Type: text/plain\r\nContent-Length: 5\r\n\r\n{"a" ';
  await send(text);
  expect(v2.received.join('')).toMatch(/\r\n\r\n\{"a" $/);
});

describe('while V1 responds', () => {
  const serveBoth = async (
    mode: 'observe' | 'shadow' | 'verify',
    files: Readonly<Record<string, string>>,
  ): Promise<TestGateway> => {
    const v1 = await rawServer((socket) => socket.write(ok('{"data":[{"id":41}],"page":3,"total_pages":6}')));
    const { ruleBook } = await load(files);
    const modes = { operations: {}, default: { mode, ...(mode === 'verify' ? { share: 100 } : {}) } };
    const rules = new CompiledRuleBook({ ...ruleBook, rollout: rolloutOf(modes) });
    const { v2, gateway } = await served(ok('{"data":[{"id":41}],"next_cursor":"x","total":101}'), {
      rules,
      parts: { v1Origin: { origin: v1.origin, path: '' } },
    });
    received.set(gateway, [v1, v2]);
    return gateway;
  };
  const received = new WeakMap<TestGateway, readonly RawServer[]>();

  test('the log says what the transform would have changed', async () => {
    const gateway = await serveBoth('observe', FILES);
    await exchange(gateway.port, get('/api/v1/bills?page=3'));
    await exchange(gateway.port, requestOf('POST', '/api/v1/bills/7', '{"data":{"sum":1}}'));
    expect(await gateway.entry()).toMatchObject({
      would: { verdict: 'rewritten' },
      edits: [{ from: '?page' }, { path: '?limit' }, { path: '?cursor' }],
    });
    const { edits, patch } = await gateway.entry(2);
    expect(edits.map(({ rule }) => rule)).toEqual(['unwrap', 'rename', 'transform']);
    expect(patch?.map(({ op }) => op)).toEqual(['move', 'move', 'add', 'add']);
    expect(received.get(gateway)?.[0]?.received.join('')).toContain('GET /api/v1/bills?page=3 HTTP/1.1');
  });

  test('V2’s response is compared after the transform', async () => {
    const gateway = await serveBoth('shadow', FILES);
    await exchange(gateway.port, get('/api/v1/bills?page=3'));
    expect((await gateway.entry()).comparison).toMatchObject({ verdict: 'same' });
    expect(received.get(gateway)?.[1]?.received.join('')).toContain('/api/v2/bills?limit=20&cursor=');
  });

  test('in verify, V1’s response is compared with what the transform makes of V2’s', async () => {
    const gateway = await serveBoth('verify', FILES);
    await exchange(gateway.port, get('/api/v1/bills?page=3').replace(/Range.*\r\n/, ''));
    const { comparison, edits } = await gateway.entry();
    expect(comparison).toMatchObject({ verdict: 'same' });
    expect(edits.map(({ rule }) => rule)).toEqual(['transform', 'transform', 'transform']);
  });

  test.each<[mode: 'observe' | 'shadow', from: string]>([
    ['observe', 'request'],
    ['shadow', 'request'],
    ['shadow', 'response'],
  ])('in %s, a %s that fails becomes a verdict, and the client gets V1’s response', async (mode, from) => {
    const pages = `export function ${from}() { throw new Error('no'); }`;
    const gateway = await serveBoth(mode, { ...FILES, 'pages.js': pages });
    const response = await exchange(gateway.port, get('/api/v1/bills?page=3'));
    expect(response.text).toMatch(/"total_pages":6\}$/);
    const { would, comparison } = await gateway.entry();
    if (from === 'request') expect(would).toMatchObject({ verdict: 'refused', failure: 'transform-failed' });
    if (mode === 'shadow') expect(comparison).toMatchObject({ verdict: 'unknown', why: 'transform-failed' });
  });
});

describe('a transform that fails is a 502, and nothing is sent on', () => {
  const book = BOOK.replace('transform: 2000', 'transform: 300');
  test.each([
    [
      'throws',
      'export function request() {\n  throw new TypeError("S3CR3T");\n}',
      'threw TypeError at line 2',
    ],
    ...rows`
      returns nothing → export function request() {}
        returned nothing; it returns an object with body, query, all optional
      returns a circle → export const request = () => { const a = {}; a.a = a; return { body: a }; };
        threw TypeError
      loops → export const request = () => { for (;;); }; → took longer than 300 ms
      waits → export const request = () => new Promise(() => {}); → took longer than 300 ms
      ends its thread → import process from "node:process"; export const request = () => process.exit(1);
        ended its thread
    `,
  ])('%s', async (_, module, cause) => {
    const { gateway, v2, send } = await serve('{}', { ...FILES, 'rules.yaml': book, 'bill.mjs': module });
    const failed = await send(requestOf('POST', '/api/v1/bills/1', '{"data":{"x":"S3CR3T"}}'));
    expect(statusOf(failed)).toBe(502);
    expect(failed.text).toContain('x-gateway-error: transform-failed');
    expect(v2.received.join('')).toBe('');
    const entry = await gateway.entry();
    expect(entry).toMatchObject({ verdict: 'refused', failure: 'transform-failed', edits: [] });
    expect(entry.cause).toContain(`request of ./bill.mjs ${cause}`);
    expect(gateway.lines.join('') + failed.text).not.toContain('S3CR3T');
    // The next call has a thread that works.
    const next = await send(get('/api/v1/bills'));
    expect(statusOf(next)).toBe(200);
    expect(gateway.surprises).toEqual([]);
  });

  // As on a busy machine or in a throttled container: the thread is blocked, and neither works nor waits in its loop.
  test('but not for time in which its thread is suspended', async () => {
    const module = `export const request = (body) => {
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 900);
      return { body };
    };`;
    const { v2, send } = await serve('{}', { ...FILES, 'rules.yaml': book, 'bill.mjs': module });
    const held = await send(requestOf('POST', '/api/v1/bills/1', '{"data":{"x":1}}'));
    expect(statusOf(held)).toBe(200);
    expect(v2.received).toHaveLength(1);
  });

  test('of a response', async () => {
    const module = 'export const response = (body) => ({ body: body.data.map((x) => x) });';
    const { gateway, v2, send } = await serve('{"data":"S3CR3T"}', { ...FILES, 'bill.mjs': module });
    const failed = await send(requestOf('POST', '/api/v1/bills/1', '{}'));
    expect(statusOf(failed)).toBe(502);
    expect(failed.text).not.toContain('S3CR3T');
    expect(v2.received).toHaveLength(1);
    expect(await gateway.entry()).toMatchObject({
      failure: 'transform-failed',
      cause: 'response of ./bill.mjs threw TypeError at line 1',
    });
  });
});

// A part of a patch leads to another body than V2's.
describe("a patch with a transform leads from V1's body to V2's, or there is none", () => {
  const book = BOOK.replace(
    '{ rename: sum, to: total }',
    '{ scale: sum, by: 100 }, { strip: [old] }, { default: { n: 1 } }',
  ).replace('id: sum,', 'id: sum, policies: { value: keep, duplicate: last },');
  const module = 'export const request = (body) => ({ body: { ...body, made: true } });';
  const files = { ...FILES, 'rules.yaml': book, 'bill.mjs': module };
  const objects = Array.from({ length: 700 }, (_, at) => `"beside${at}":1`).join(',');

  test.each<[title: string, body: string, hasPatch: boolean]>([
    ['a number of JavaScript', '{"data":{"sum":1.5,"old":1}}', true],
    ['a value that stays unchanged', '{"data":{"sum":"x"}}', true],
    ['no wrapper', '{"sum":1,"n":2}', true],
    ['a repeated name, and nothing else for the rules', '{"sum":1,"sum":2,"n":2}', true],
    ['a number beyond those of JavaScript', '{"data":{"sum":1E400}}', false],
    ['only such a number', '{"sum":-1E999,"n":1}', false],
    ['more edits than are listed', `{"data":{"sum":1},${objects}}`, false],
  ])('%s', async (_, body, hasPatch) => {
    const rules = await load(files);
    const explained = await offlineExplainer(rules)({
      method: 'POST',
      target: '/api/v1/bills/1',
      headers: [['Content-Type', 'application/json']],
      body,
    });
    if (!('patch' in explained)) throw new Error('a fault');
    expect(explained.patch.length > 0).toBe(hasPatch);
    if (hasPatch) {
      const { newDocument } = fastJsonPatch.applyPatch(
        JSON.parse(body),
        structuredClone(explained.patch) as fastJsonPatch.Operation[],
        true,
        true,
      );
      expect(newDocument).toEqual(JSON.parse(explained.v2Body ?? ''));
    }
    const { gateway, send } = await served(ok('{"data":{}}'), { rules });
    await send(requestOf('POST', '/api/v1/bills/1', body));
    expect(((await gateway.entry()).patch ?? []).length).toBe(explained.patch.length);
    const bill: TransformModule = {
      request: (value) => ({ body: { ...(value as Readonly<Record<string, unknown>>), made: true } }),
    };
    const migration = createMigration(rules.ruleBook, {
      transforms: { './pages.js': bill, './bill.mjs': bill },
    });
    const migrated = migration.request(
      'POST',
      '/api/v1/bills/1',
      [['Content-Type', 'application/json']],
      body,
    );
    expect('patch' in migrated && migrated.patch).toEqual(explained.patch);
  });
});

describe('a body that a transform makes', () => {
  const module = 'export const request = (body) => ({ body: { ...body, made: true } });';
  const files = { ...FILES, 'bill.mjs': module };
  const form =
    'POST /api/v1/bills/1 HTTP/1.1\r\nHost: g\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: 5\r\n\r\nsum=1';

  test.each(['', 'Content-Length: 0\r\n', 'Content-Type: text/plain\r\nContent-Length: 0\r\n'])(
    'is JSON, if the request had no body: %j',
    async (fields) => {
      const { v2, send } = await serve('{"data":{}}', files);
      await send(`POST /api/v1/bills/1 HTTP/1.1\r\nHost: g\r\n${fields}\r\n`);
      const [head = '', body] = v2.received.join('').split('\r\n\r\n');
      expect(body).toBe('{"made":true}');
      expect(head.match(/^content-type: .*$/gim)).toEqual(['content-type: application/json']);
      const { ruleBook } = await load(files);
      const bill: TransformModule = { request: () => ({ body: { made: true } }) };
      const made = createMigration(ruleBook, { transforms: { './pages.js': bill, './bill.mjs': bill } });
      const migrated = made.request('POST', '/api/v1/bills/1', [['Host', 'g']]);
      expect('headers' in migrated && migrated.headers).toContainEqual(['content-type', 'application/json']);
    },
  );

  test('must not replace a body that the transform did not get', async () => {
    const { gateway, v2, send } = await serve('{}', files);
    const refused = await send(form);
    expect([statusOf(refused), v2.received.join('')]).toEqual([502, '']);
    const { cause } = await gateway.entry();
    expect(cause).toContain('returned a body in place of one that it did not get');
    const request = { method: 'POST', target: '/api/v1/bills/1', body: 'sum=1' };
    const headers = [['Content-Type', 'application/x-www-form-urlencoded']] as const;
    const explained = await offlineExplainer(await load(files))({ ...request, headers });
    expect(explained).toMatchObject({ verdict: 'refused', refusal: { code: 'transform-failed' } });
  });
});

test('an error of V2 crosses without the transform, and so does a response that is no JSON', async () => {
  const { send } = await served(
    (socket, _request, number) =>
      socket.write(
        number === 1
          ? 'HTTP/1.1 404 Not Found\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}'
          : 'HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 4\r\n\r\ntext',
      ),
    { rules: await load(FILES) },
  );
  expect(statusOf(await send(get('/api/v1/bills')))).toBe(404);
  expect((await send(get('/api/v1/bills'))).text).toMatch(/text$/);
});

describe('faults of a module are faults of the rule book', () => {
  test.each<[name: string, module: string | Buffer | undefined, fault: RegExp]>([
    [
      'bytes that are not UTF-8',
      Buffer.from('// caf\xe9\nexport function request() {}', 'latin1'),
      /rules\.yaml:3:\d+ operation "list_bills": transform \.\/pages\.js cannot be read: it is not UTF-8 \(byte 0xE9 in line 1;/,
    ],
    [
      'a syntax error',
      'export function request() {\n  return {};\n}\nfoo bar\n',
      /pages\.js:4:1 transform: Unexpected identifier 'bar'$/,
    ],
    [
      'an error at the top',
      '\nexport const request = nope;',
      /pages\.js:2:1 transform: nope is not defined$/,
    ],
    [
      'an import',
      'import x from "./other.js"; export const request = x;',
      /pages\.js:1:1 transform: .*it imports no others$/,
    ],
    [
      'no function',
      'export const requests = () => {};',
      /pages\.js:1:1 transform: exports neither request nor response; export function/,
    ],
    [
      'no file',
      undefined,
      /rules\.yaml:3:\d+ operation "list_bills": transform \.\/pages\.js cannot be read: no such file or directory \(ENOENT\)/,
    ],
  ])('%s', async (_, module, fault) => {
    const files = {
      'rules.yaml': BOOK,
      'bill.mjs': BILL,
      ...(module === undefined ? {} : { 'pages.js': module }),
    };
    const outcome = await loadRuleBook(folderOf(files));
    expect('faults' in outcome && outcome.faults).toEqual([expect.stringMatching(fault)]);
  });

  // Attack: a rule book names a file that its author may not read.
  test.each(words`/etc/passwd.js ../pages.js ./a/../../pages.js https://example.com/x.js ./.js ./pages.json`)(
    'a path out of the folder, %s',
    async (path) => {
      const book = BOOK.replace('./pages.js', `"${path}"`);
      const outcome = await loadRuleBook(folderOf({ ...FILES, 'rules.yaml': book }));
      expect('faults' in outcome && outcome.faults.join('\n')).toMatch(
        /must be a module beside the rule book or in a folder/,
      );
    },
  );

  test('a link out of the folder', async () => {
    const secret = join(temporaryFolder('other'), 'secret.js');
    writeFileSync(secret, PAGES);
    const rules = folderOf({ 'rules.yaml': BOOK, 'bill.mjs': BILL });
    symlinkSync(secret, join(rules, '../pages.js'));
    const outcome = await loadRuleBook(rules);
    expect('faults' in outcome && outcome.faults.join('\n')).toMatch(
      /is a link that leads out of the rule book's folder/,
    );
  });
});

test('another text of a module makes another rule book', async () => {
  const one = await load(FILES);
  const other = await load({ ...FILES, 'pages.js': `${PAGES}// changed\n` });
  expect(other.ruleBook.hash).not.toBe(one.ruleBook.hash);
  expect((await load(FILES)).ruleBook.hash).toBe(one.ruleBook.hash);
});

test('a module that changes is read again, and a faulty one leaves the rule book in force', async () => {
  const path = folderOf(FILES);
  const first = await loadRuleBook(path);
  if ('faults' in first) throw new Error(first.faults.join('\n'));
  const books = new RuleBooks(first, () => loadRuleBook(path), Date.now);
  const watched = new WatchedFiles(
    [
      {
        get files() {
          return [path, ...transformFiles(books.current.ruleBook, path)];
        },
        reload: async () => (await books.reload()).faults,
        onFaults: () => {},
      },
    ],
    Number.POSITIVE_INFINITY,
  );
  await watched.check();
  const bill = join(path, '../bill.mjs');
  writeFileSync(bill, `${BILL}export const more = 1;\n`);
  await watched.check();
  const { hash } = books.current.ruleBook;
  expect([books.reloads, hash === first.rules.ruleBook.hash]).toEqual([1, false]);
  writeFileSync(bill, 'export const request = (');
  await watched.check();
  expect(books.refusal?.faults.join()).toContain('bill.mjs:1:1 transform: ');
  expect(books.current.ruleBook.hash).toBe(hash);
  // A book that names another module has others to watch.
  writeFileSync(path, BOOK.replaceAll('./bill.mjs', './pages.js'));
  await watched.check();
  await watched.check();
  writeFileSync(join(path, '../pages.js'), `${PAGES}// more\n`);
  await watched.check();
  expect([books.reloads, Object.keys(books.current.ruleBook.modules ?? {})]).toEqual([3, ['./pages.js']]);
});

describe('explained offline', () => {
  const explained = async (
    files: Readonly<Record<string, string>>,
    request: ExplainRequest,
  ): Promise<Explanation> => {
    const explanation = await offlineExplainer(await load(files))(request);
    if ('fault' in explanation) throw new Error(explanation.fault);
    return explanation;
  };

  test('the transform is called, and its result is shown', async () => {
    const { verdict, v2Request, edits } = await explained(FILES, {
      method: 'GET',
      target: '/api/v1/bills?page=2',
    });
    expect(verdict).toBe('rewritten');
    expect(v2Request?.target).toBe(`/api/v2/bills?limit=20&cursor=${encodeURIComponent(btoa('offset:20'))}`);
    expect(edits.map(({ rule, from = '', path = '' }) => `${rule} ${from} ${path}`)).toEqual([
      'transform ?page ',
      'transform  ?limit',
      'transform  ?cursor',
    ]);
    const request = { method: 'POST', target: '/api/v1/bills/7', body: '{"data":{"sum":1}}' };
    const { v2Body } = await explained(FILES, request);
    expect(v2Body).toBe('{"total":1,"id":"7","by":["create_bill","POST",null]}');
  });

  test('its failure has the words of the error, which the log has not', async () => {
    const module = 'export const request = (body) => body.nothing.there;';
    const request = { method: 'POST', target: '/api/v1/bills/7', body: '{}' };
    expect(await explained({ ...FILES, 'bill.mjs': module }, request)).toMatchObject({
      verdict: 'refused',
      refusal: {
        code: 'transform-failed',
        detail: expect.stringMatching(/threw TypeError at line 1: Cannot read properties of undefined/),
      },
    });
  });

  test('check says that nothing can be derived from it', async () => {
    const { ruleBook } = await load(FILES);
    expect(ruleBookWarnings(ruleBook)).toContainEqual(
      expect.stringMatching(/^operation "list_bills": the bodies that \.\/pages\.js returns/),
    );
  });
});
