import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { isFault } from '../../../src/cli/command-fault.ts';
import { coverageOf } from '../../../src/cli/draft/coverage.ts';
import { readToCompare, referenceDescription } from '../../../src/cli/draft/description-file.ts';
import { Desk } from '../../../src/cli/draft/draft-desk.ts';
import { printRuleBook } from '../../../src/openapi/draft/print-rule-book.ts';
import { proposeRuleBook } from '../../../src/openapi/draft/propose-rule-book.ts';
import { soundDraft } from '../../../src/openapi/draft/sound-draft.ts';
import { remarksOn } from '../../../src/cli/draft/init.ts';
import { readRuleBook } from '../../../src/rules/read-rule-book.ts';
import { openQuestions } from '../../../src/rules/rule-book-fault.ts';
import { command } from '../../support/command.ts';
import { commandRun } from '../../support/command-runs.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

const V1 = 'examples/invoicing/v1.yaml';
const V2 = 'examples/invoicing/v2.yaml';
const folder = temporaryFolder('init');
const rules = join(folder, 'rules.yaml');
const INIT = ['init', '--v1', V1, '--v2', V2, '--dir', folder];

test('init writes settings, rules with questions, and cases that pass; then nothing without --force', async () => {
  const first = await commandRun(INIT);
  expect([first.code, first.err]).toEqual([0, '']);
  expect(first.out).toMatch(
    /^Wrote .*gateway\.yaml, .*rules\.yaml, .*first\.txt: 6 operations, \d+ open questions\./,
  );
  // As they work here, to be copied.
  expect(first.out.match(/^ {2}npm run -s gateway -- \w+/gm)?.map((line) => line.trim())).toEqual([
    'npm run -s gateway -- check',
    'npm run -s gateway -- test',
    'npm run -s gateway -- serve',
  ]);
  expect(first.out).toContain(
    `\nupstream in ${join(folder, 'gateway.yaml')} is https://api.invoicing.example, the first server of V2's description. `,
  );
  const [, gaps] = / finds (\d+) gaps\.\n$/.exec(first.out) ?? [];
  const checked = await commandRun(['check', '--rules', rules, '--v1', V1, '--v2', V2]);
  expect(checked.out).toMatch(new RegExp(`\\b${gaps} gaps\\b`));
  expect(
    readdirSync(folder, { recursive: true, encoding: 'utf8' }).toSorted((one, other) =>
      one < other ? -1 : 1,
    ),
  ).toEqual(['cases', 'cases/first.txt', 'gateway.yaml', 'rules.schema.json', 'rules.yaml']);
  expect(readFileSync(join(folder, 'gateway.yaml'), 'utf8')).toContain(
    'upstream: https://api.invoicing.example\n',
  );
  expect(await commandRun(['test', '--rules', rules])).toMatchObject({ code: 0 });
  // Fields that either version requires are in the cases: that V2 lacks one is to be seen.
  const cases = readFileSync(join(folder, 'cases', 'first.txt'), 'utf8');
  expect(cases).toContain(
    '> GET /api/v1/bills/1/lines\n> x-account: text\n= GET /api/v2/lines?invoice=inv_1\n= !x-tenant-id:\n',
  );
  expect(cases).toMatch(/\n> GET \/api\/v1\/bills\?\S*status=open/);
  // What V2 would refuse is said there, and each operation has a case.
  expect(cases).toContain("V2's description refuses ");
  expect(cases).toContain('\n# deleteBill\n');
  expect(cases).toMatch(
    /# createBill\n## V2's description refuses the draft's request: V2 [^\n]+\n(?:## [^\n]+\n)*> POST \/api\/v1\/bills\n/,
  );
  const again = await commandRun(INIT);
  expect(again.code).toBe(2);
  expect(again.err).toContain('rules.yaml, ');
  expect(again.err).toContain('already exist. Name another folder with --dir, or overwrite with --force.');
  expect((await commandRun([...INIT, '--force'])).code).toBe(0);
  expect(await commandRun([...INIT.slice(0, -1), rules])).toMatchObject({
    code: 2,
    err: `${rules} cannot be written: not a directory (ENOTDIR); name another folder with --dir.\n`,
  });
});

test('the first cases of a service whose resources refer to each other can be read', async () => {
  const dir = temporaryFolder('init-graph');
  const names = Array.from({ length: 20 }, (_, at) => `R${at}`);
  const of = (version: string, text: object): object => ({
    openapi: '3.1.0',
    info: { title: 'T', version: '1' },
    servers: [{ url: `https://a.example/api/${version}` }],
    paths: Object.fromEntries(
      names.map((name) => {
        const schema = { $ref: `#/components/schemas/${name}` };
        const content = { 'application/json': { schema } };
        const write = { requestBody: { content }, responses: { 200: { description: 'ok', content } } };
        return [`/${name}`, { post: write }];
      }),
    ),
    components: {
      schemas: Object.fromEntries(
        names.map((name) => {
          const others = names.map((other) => [other, { $ref: `#/components/schemas/${other}` }]);
          const properties = { ...Object.fromEntries(others), id: text, note: { type: 'string' } };
          return [name, { type: 'object', properties, required: ['id'] }];
        }),
      ),
    },
  });
  const [v1, v2] = ['v1', 'v2'].map((version) => join(dir, `${version}.json`));
  writeFileSync(v1 ?? '', JSON.stringify(of('v1', { type: 'string' })));
  writeFileSync(v2 ?? '', JSON.stringify(of('v2', { type: 'string' })));
  const init = await commandRun(['init', '--v1', v1 ?? '', '--v2', v2 ?? '', '--dir', join(dir, 'new')]);
  expect([init.code, init.err]).toEqual([0, '']);
  expect(init.out).toContain('finds no gap.');
  const lines = readFileSync(join(dir, 'new', 'cases', 'first.txt'), 'utf8').split('\n');
  expect(lines.filter((line) => line.startsWith('# R') || line.startsWith('# post'))).toHaveLength(20);
  expect(Math.max(...lines.map((line) => line.length))).toBeLessThan(4100);
  // What is required is there.
  expect(lines.find((line) => line.startsWith('> {'))).toContain('"R3":{"id":"text"}');
  expect(await commandRun(['test', '--rules', join(dir, 'new', 'rules.yaml')])).toMatchObject({ code: 0 });
});

test('after init --only, the next commands count only the drafted operations', async () => {
  const dir = temporaryFolder('init-only');
  const only = ['--only', 'listBills', 'GET /bills/{id}'];
  const { out } = await commandRun([...INIT.slice(0, -1), dir, ...only]);
  expect(out).toContain(` --v1 ${V1} --v2 ${V2} --only listBills "GET /bills/{id}"\n`);
  const check = ['check', '--rules', join(dir, 'rules.yaml'), '--v1', V1, '--v2', V2];
  expect((await commandRun([...check, ...only])).out).toMatch(/of 2 operations of V1 have a place/);
  expect((await commandRun(check)).out).toMatch(/of 6 operations of V1 have a place/);
  expect(await commandRun([...check, '--only', 'listBill'])).toMatchObject({
    code: 2,
    err: expect.stringContaining("V1's description has no operation listBill."),
  });
});

test.each([
  ['http://localhost:8080/', [8081, 8082]],
  ['http://127.0.0.1:8081/v2', [8080, 8082]],
  ['https://api.example', [8080, 8081]],
])('beside a V2 at %s the gateway listens at other ports', async (url, ports) => {
  const dir = temporaryFolder('init-ports');
  const v2 = join(dir, 'v2.yaml');
  const text = readFileSync(V2, 'utf8');
  writeFileSync(v2, text.replace('https://api.invoicing.example', url));
  expect((await commandRun(['init', '--v1', V1, '--v2', v2, '--dir', dir])).code).toBe(0);
  const settings = readFileSync(join(dir, 'gateway.yaml'), 'utf8');
  expect([...settings.matchAll(/listen: 127\.0\.0\.1:(\d+)/g)].map(([, port]) => Number(port))).toEqual(
    ports,
  );
});

test('check with both descriptions succeeds only once no question is open', async () => {
  const book = join(folder, 'asked.yaml');
  const sides = ['v1', 'v2'].flatMap((version) => {
    const file = join(folder, `asked-${version}.json`);
    const paths = { '/orders': { get: { responses: { 200: { description: 'ok' } } } } };
    const servers = [{ url: `https://a.example/api/${version}` }];
    writeFileSync(file, JSON.stringify({ openapi: '3.1.0', info: {}, servers, paths }));
    return [`--${version}`, file];
  });
  const checked = async (end: string): Promise<number> => {
    writeFileSync(book, `format: 1\noperations: { list: GET /orders }\nchanges: []\n${end}`);
    return (await commandRun(['check', '--rules', book, ...sides])).code;
  };
  expect([await checked('# TODO: which ones?\n'), await checked('')]).toEqual([1, 0]);
});

test('a rule book with open questions is named by check, and refused by serve', async () => {
  await commandRun([...INIT, '--force']);
  const questions = openQuestions(readFileSync(rules, 'utf8'), rules);
  expect(questions.length).toBeGreaterThan(5);
  const [first] = questions;
  const checked = await commandRun(['check', '--rules', rules]);
  expect(checked.code).toBe(0);
  expect(checked.out).toContain(`${rules} has no faults, but leaves ${questions.length} open questions.\n`);
  expect(checked.out).toContain(`${rules}:${first?.line}:${first?.column} ${first?.message}`);
  const serve = ['serve', '--listen', '127.0.0.1:0', '--admin-listen', '127.0.0.1:0', '--rules'];
  const other = join(folder, 'other.yaml');
  const operations = 'operations: { list: GET /orders }';
  writeFileSync(
    other,
    `format: 1\nfrom: /old\nto: /new\n${operations}\nchanges: []\n  # TODO: which ones?\n`,
  );
  const [refused, forced] = [command([...serve, rules]), command([...serve, other, '--force'])];
  expect(await refused.exit).toBe(2);
  expect(refused.stderr()).toContain(`${rules}:${first?.line}:${first?.column} TODO: `);
  expect(refused.stderr().trim().split('\n')).toHaveLength(1);
  expect(refused.stderr()).toContain(`has ${questions.length} open questions: `);
  expect(refused.stderr()).toContain(`; and ${questions.length - 3} more, which check lists`);
  expect(refused.stderr().match(/TODO/g)).toHaveLength(3);
  expect(refused.stderr()).toContain('answer each and delete its line, or start with --force.');
  await forced.until(/curl -i 'http:\/\/127\.0\.0\.1:\d+\/old\/orders' -H 'Authorization: Bearer any-key'\n/);
  expect(await forced.stop()).toBe(0);
});

test.each([
  ['# TODO: a question', 1, 3],
  ['  # TODO answer', 1, 5],
  ['a: 1 # TODO beside a value is a note', 0, 0],
  ['# TODOS are none', 0, 0],
  ['a: "# TODO: a text"', 0, 0],
])('%j has %i open questions', (line, count, column) => {
  const found = openQuestions(line, 'rules.yaml');
  expect(found.map((question) => question.column)).toEqual(count === 0 ? [] : [column - 2]);
});

test('descriptions without a common operation give no draft', async () => {
  const other = join(folder, 'other.json');
  writeFileSync(other, '{"openapi":"3.1.0","info":{"title":"T","version":"1"},"paths":{}}');
  const none = ['init', '--v1', V1, '--v2', other, '--dir', join(folder, 'none')];
  const { code, err } = await commandRun(none);
  expect([code, err]).toEqual([
    1,
    'No operation of V1 was found in V2, so there is nothing to write. Compare the paths and servers of the descriptions.\n',
  ]);
});

test('if V2 has nothing of V1, each operation of V1 is a question, and the rule book is sound', async () => {
  const of = (name: string, path: string): string => {
    const file = join(folder, name);
    const paths = { [path]: { get: { responses: {} } } };
    writeFileSync(file, JSON.stringify({ openapi: '3.1.0', info: { title: 'T', version: '1' }, paths }));
    return file;
  };
  const [v1, v2] = [of('apart1.json', '/v1/deals'), of('apart2.json', '/v2/boats/{id}/sails')];
  const dir = join(folder, 'apart');
  const { code, out } = await commandRun(['init', '--v1', v1, '--v2', v2, '--dir', dir]);
  expect([code, out]).toEqual([0, expect.stringContaining(': 0 operations, 1 open question.')]);
  expect(readFileSync(join(dir, 'rules.yaml'), 'utf8')).toContain('# TODO: where is GET /deals?\n');
  expect((await commandRun(['check', '--rules', join(dir, 'rules.yaml')])).code).toBe(0);
});

test('the gaps of a draft with hundreds of operations are not counted', () => {
  expect(remarksOn('x', {}, undefined).at(-1)).toMatch(/ check compares them with both descriptions\.$/);
  expect(remarksOn('x', {}, 0).at(-1)).toMatch(/ finds no gap\.$/);
  expect(remarksOn('x', {}, 2).at(-1)).toMatch(/ and finds 2 gaps\.$/);
});

test('a description that cannot be read completely is compared, but the settings do not name it', async () => {
  const young = join(folder, 'foreign.yaml');
  writeFileSync(young, readFileSync(V2, 'utf8').replace(/#\/components\/schemas\/\w+/, 'none.yaml#/Part'));
  const dir = join(folder, 'foreign');
  const { code, err } = await commandRun(['init', '--v1', V1, '--v2', young, '--dir', dir]);
  expect([code, err]).toEqual([0, expect.stringContaining('foreign.yaml cannot be read whole.')]);
  expect(readFileSync(join(dir, 'gateway.yaml'), 'utf8')).toContain('\n# v2-openapi: ');
});

test('coverage: the shipped rule book leaves nothing open between both versions', async () => {
  const text = readFileSync('config/rules.yaml', 'utf8');
  const reading = await readRuleBook(text, 'rules.yaml');
  if (!reading.ok) throw new Error('the shipped rule book has faults');
  const [v1, v2] = [await referenceDescription('v1'), await referenceDescription('v2')];
  const coverage = coverageOf({ ruleBook: reading.ruleBook, text, v1, v2 });
  expect(coverage.gaps).toEqual([]);
  expect(coverage.operations.covered).toBe(coverage.operations.all);
  // Each change is needed: without it, something is missing.
  for (const change of ['property-address', 'highlight-type']) {
    const changes = reading.ruleBook.changes.filter(({ id }) => id !== change);
    const lacking = coverageOf({ ruleBook: { ...reading.ruleBook, changes }, text, v1, v2 });
    expect([change, lacking.gaps.length > 0]).toEqual([change, true]);
  }
});

test('coverage: check names each gap with the line of its operation, and exits with 1', async () => {
  await commandRun([...INIT, '--force']);
  // Where the operations are is answered.
  writeFileSync(rules, readFileSync(rules, 'utf8').replaceAll(/^( *)# (to: )/gm, '$1$2'));
  const { code, out } = await commandRun(['check', '--rules', rules, '--v1', V1, '--v2', V2]);
  expect(code).toBe(1);
  const line =
    readFileSync(rules, 'utf8')
      .split('\n')
      .findIndex((text) => text.startsWith('  createBill:')) + 1;
  expect(out).toMatch(
    / has no faults, but leaves \d+ open questions and \d+ gaps between the descriptions\.\n/,
  );
  expect(out).toContain('coverage: 6 of 6 operations of V1 have a place in V2');
  expect(out).toContain(
    `${rules}:${line}:3 createBill, replaceBill: V2 requires /currency, which is never set`,
  );
  expect(out).toContain("V1's response 200 or 201 has integer in /id, and clients get a string");
  const json = JSON.parse(
    (await commandRun(['check', '--rules', rules, '--v1', V1, '--v2', V2, '--json'])).out,
  );
  expect(json.coverage).toMatchObject({ operations: { all: 6, covered: 6 } });
  expect(json.coverage.gaps).toContainEqual({
    kind: 'request',
    operation: 'createBill',
    line,
    column: 3,
    text: 'V2 requires /currency, which is never set',
  });
});

test('the first cases have queries, keys, an error, and an operation that is gone', async () => {
  const dir = temporaryFolder('init-cases');
  const text = { type: 'string' };
  const contentOf = (properties: object): object => ({
    content: { 'application/json': { schema: { type: 'object', properties } } },
  });
  const described = (version: string, scheme: object, error: object, more: object): object => ({
    openapi: '3.1.0',
    info: { title: 'Parcels', version: '1' },
    security: [{ key: [] }],
    paths: {
      [`/api/${version}/parcels/{id}`]: {
        get: {
          operationId: 'read',
          parameters: [
            { name: 'view', in: 'query', schema: { enum: ['short', 'long'] } },
            // Examples beside the schema come before values that are made up.
            { name: 'id', in: 'path', required: true, schema: text, example: 'p-7' },
            { name: 'tag', in: 'query', schema: text, examples: { own: { value: 'red' } } },
          ],
          responses: { 200: contentOf({ id: text }), 404: contentOf(error) },
        },
        ...more,
      },
    },
    components: { securitySchemes: { key: scheme } },
  });
  const [v1, v2] = [join(dir, 'v1.json'), join(dir, 'v2.json')];
  const list = { type: 'array', items: { type: 'object', properties: { message: text } } };
  const gone = { delete: { operationId: 'drop', responses: { 204: {} } } };
  const apiKey = { type: 'apiKey', in: 'header', name: 'X-Api-Key' };
  writeFileSync(v1, JSON.stringify(described('v1', apiKey, { error: text }, gone)));
  writeFileSync(
    v2,
    JSON.stringify(described('v2', { type: 'http', scheme: 'bearer' }, { errors: list }, {})),
  );
  const desk = await deskOfFiles(v1, v2, dir);
  for (let view = await desk.view(); view.current !== undefined; view = await desk.view()) {
    const { id, parts } = view.current;
    const chosen = parts.map(
      ({ answers }) => (answers.find(({ key }) => key === 'gone') ?? answers[0])?.key ?? 'no',
    );
    expect(await desk.answer({ question: id, chosen, value: 'Parcels stay.' })).toBeUndefined();
  }
  const saved = await desk.save();
  expect(saved).not.toHaveProperty('fault');
  const cases = readFileSync(join(dir, 'new', 'cases', 'first.txt'), 'utf8');
  const request = '> GET /api/v1/parcels/p-7?view=short&tag=red\n> x-api-key: key\n';
  const sent = '= GET /api/v2/parcels/p-7?view=short&tag=red\n= authorization: Bearer key\n';
  expect(cases).toContain(`# read\n${request}${sent}* 200\n`);
  expect(cases).toContain(`# read, with an error of V2\n${request}${sent}* 404\n`);
  expect(cases).toMatch(/\* \{"errors":\[\{"message":"text"\}\]\}\n< 404\n<\n< \{"error":"text"\}\n/);
  expect(cases).toMatch(
    /# drop, which is gone\n> DELETE \/api\/v1\/parcels\/1\n> x-api-key: key\n< 410\n<\n.*Parcels stay\./,
  );
  const played = await commandRun(['test', '--rules', join(dir, 'new', 'rules.yaml')]);
  expect([played.code, played.out]).toEqual([0, expect.stringContaining('3 cases in 1 file: all pass')]);
});

async function deskOfFiles(v1Source: string, v2Source: string, folderOfDesk: string): Promise<Desk> {
  const [v1, v2] = [await readToCompare(v1Source), await readToCompare(v2Source)];
  if (isFault(v1) || isFault(v2)) throw new Error('unreadable');
  const proposed = await soundDraft(proposeRuleBook(v1, v2));
  const reading = await readRuleBook(printRuleBook(proposed), 'draft');
  if (!reading.ok) throw new Error('unsound');
  const parts = { v1, v2, v1Source, v2Source, dir: join(folderOfDesk, 'new'), wishes: {} };
  return new Desk(
    { ...parts, gatewayOrigin: () => '', publish: async () => undefined },
    proposed,
    reading.ruleBook,
  );
}
