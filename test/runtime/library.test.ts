/**
 * @module-tag packages
 * @module-tag wrangler
 */
import { spawn } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { formatMessage } from 'publint/utils';
import { publint } from 'publint';
import { beforeAll, describe, expect, test } from 'vitest';
import { done, packed, run } from '../support/installed-package.ts';
import { exchange } from '../support/raw-client.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { bundleWorker, startWorkerd } from '../support/workerd.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));
const tool = (path: string): string => join(root, 'node_modules', path);

let tarball = '';
let folder = '';

/** A folder with nothing but the package, installed as its users do. */
beforeAll(async () => {
  tarball = await packed();
  folder = temporaryFolder('library');
  writeFileSync(join(folder, 'package.json'), '{"name":"user","private":true,"type":"module"}');
  await done('npm', ['install', '--prefer-offline', '--ignore-scripts', tarball], folder);
});

test('publint finds no fault', async () => {
  const buffer = readFileSync(tarball);
  const body = buffer.buffer.slice(buffer.byteOffset, buffer.byteOffset + buffer.length);
  const { messages, pkg } = await publint({ pack: { tarball: body }, strict: true });
  expect(messages.map((message) => formatMessage(message, pkg))).toEqual([]);
});

/** The engine alone: a rule book and a body. */
const REWRITING = `
import { readRuleBook } from 'capture-gateway/rules/read-rule-book';
import { OperationTable } from 'capture-gateway/rules/rule-book';
import { compilePlans } from 'capture-gateway/rewrite/plan';

const text = \`
version: 2025-01-01
operations: { create_client: POST /clients }
changes:
  - { id: body-wrapper, summary: No wrapper., on: every, request: [{ unwrap: data }] }
\`;

export async function rewritten(body: string): Promise<string> {
  const reading = await readRuleBook(text, 'rules.yaml');
  if (!reading.ok) throw new Error(reading.faults.map((fault) => fault.message).join());
  const { ruleBook } = reading;
  const operation = new OperationTable(ruleBook.operations).match('POST', '/clients');
  const outcome = compilePlans(ruleBook).of(operation).rewrite(new TextEncoder().encode(body));
  if (outcome.verdict === 'refused') return outcome.refusal.code;
  return new TextDecoder().decode(outcome.body);
}
`;

describe('the parts of the engine in a clean folder', () => {
  beforeAll(() => {
    writeFileSync(join(folder, 'rewriting.ts'), REWRITING);
  });

  test('have types that a strict user can compile against', async () => {
    const options = [
      '--strict',
      '--module',
      'nodenext',
      '--target',
      'es2024',
      '--exactOptionalPropertyTypes',
    ];
    const compiled = await run(
      process.execPath,
      [tool('typescript/bin/tsc'), '--ignoreConfig', '--types', '', ...options, 'rewriting.ts'],
      folder,
    );
    expect(compiled).toMatchObject({ code: 0, stdout: '' });
    expect(readFileSync(join(folder, 'rewriting.js'), 'utf8')).toContain('capture-gateway/rewrite/plan');
  });

  test('run on Node', async () => {
    writeFileSync(
      join(folder, 'on-node.ts'),
      `import { rewritten } from './rewriting.ts';\nconsole.log(await rewritten('{"data":{"n":1.0}}'), await rewritten('{"data":'));`,
    );
    const { stdout } = await run(tool('node/bin/node'), ['on-node.ts'], folder);
    expect(stdout).toBe('{"n":1.0} malformed-json\n');
  });

  test('run in workerd, in a worker of the user', async () => {
    writeFileSync(
      join(folder, 'main.ts'),
      `import { rewritten } from './rewriting.ts';\nexport default { async fetch(request: Request) { return new Response(await rewritten(await request.text())); } };`,
    );
    writeFileSync(
      join(folder, 'wrangler.jsonc'),
      '{ "name": "own", "main": "main.ts", "compatibility_date": "2026-10-20" }',
    );
    const { file } = await bundleWorker(join(folder, 'wrangler.jsonc'));
    const { port } = await startWorkerd(file, {});
    const body = '{"data":{"n":1.0}}';
    const response = await exchange(
      port,
      `POST / HTTP/1.1\r\nHost: a\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
    );
    expect(response.text).toMatch(/\r\n\r\n\{"n":1\.0\}$/);
  });

  test('expose only their own types', async () => {
    const { stderr } = await run(
      tool('node/bin/node'),
      ['--eval', `await import('capture-gateway/gateway/gateway')`],
      folder,
    );
    expect(stderr).toContain('ERR_PACKAGE_PATH_NOT_EXPORTED');
  });
});

/** The examples of docs/library.md, by name. */
const examples = new Map(
  [
    ...readFileSync(join(root, 'docs/library.md'), 'utf8').matchAll(
      /<!-- example: ([\w-]+) -->\n\n```ts\n([^]*?)```/g,
    ),
  ].map(([, name = '', text = '']) => [name, text]),
);

/** The compiler's options for a strict user who has Node's types. */
const STRICT = [
  '--ignoreConfig',
  '--noEmit',
  '--strict',
  '--exactOptionalPropertyTypes',
  '--noUncheckedIndexedAccess',
  '--allowImportingTsExtensions',
  '--skipLibCheck',
  ...'--module nodenext --target es2024 --types node --typeRoots'.split(' '),
  tool('@types'),
];

/** A V1 order through `request` and `response`, and through the Hono service of docs/library.md. */
const TRIAL = `
import { createMigration } from 'capture-gateway';
import { ruleBook } from 'capture-gateway/rule-book';
import service from './fetch.ts';
import app from './hono.ts';

export async function trial(): Promise<string> {
  const headers = { 'content-type': 'application/json' };
  const request = createMigration(ruleBook).request('POST', '/api/v1/clients', headers, '{"data":{"n":1.0}}');
  if (request.verdict !== 'rewritten' || request.body === null) return request.verdict;
  const body = '{"data":{"name":"A"}}';
  const response = await app.request('/api/v1/clients', { method: 'POST', headers, body });
  const fetched = await service.fetch(new Request('http://a/api/v1/clients', { method: 'POST', headers, body }));
  return [request.target, new TextDecoder().decode(request.body), response.status, await response.text(), await fetched.text()].join(' ');
}
`;
const TRIED = '/api/v2/clients {"n":1.0} 201 {"data":{"name":"A"}} {"data":{"name":"A"}}';

describe('the examples of docs/library.md in a clean folder', () => {
  beforeAll(() => {
    for (const [name, text] of examples) writeFileSync(join(folder, `${name}.ts`), text);
    writeFileSync(join(folder, 'trial.ts'), TRIAL);
    writeFileSync(
      join(folder, 'print.ts'),
      `import { trial } from './trial.ts';\nconsole.log(await trial());`,
    );
    writeFileSync(join(folder, 'ambient.d.ts'), 'declare function loadText(): Promise<string>;');
  });

  test('compile strictly, and the verdicts narrow', async () => {
    expect([...examples.keys()]).toEqual(['migration', 'rule-book', 'hono', 'fetch', 'node']);
    const files = [...examples.keys(), 'trial'].map((name) => `${name}.ts`);
    // A narrowing that must fail: the body of any verdict.
    writeFileSync(
      join(folder, 'wide.ts'),
      `import type { RequestVerdict } from 'capture-gateway';\nexport const wide = (verdict: RequestVerdict) => verdict.edits;`,
    );
    const compile = (names: readonly string[]): Promise<{ readonly code: number; readonly stdout: string }> =>
      run(process.execPath, [tool('typescript/bin/tsc'), ...STRICT, 'ambient.d.ts', ...names], folder);
    expect(await compile(files)).toMatchObject({ code: 0, stdout: '' });
    expect((await compile(['wide.ts'])).stdout).toMatch(
      /Property 'edits' does not exist on type 'PassedRequest'/,
    );
  });

  test.each([
    ['Node', 'node/bin/node', []],
    ['Bun', '../test/node_modules/bun/bin/bun.exe', []],
    ['Deno', '../test/node_modules/deno/deno', ['run', '--allow-all', '--quiet']],
  ])('run on %s', async (_name, path, given) => {
    const { stdout, stderr } = await run(tool(path), [...given, 'print.ts'], folder);
    expect(stderr + stdout).toBe(`${TRIED}\n`);
  });

  test('run in workerd: the Hono service as a worker', async () => {
    writeFileSync(
      join(folder, 'hono.jsonc'),
      '{ "name": "hono", "main": "hono.ts", "compatibility_date": "2026-10-20" }',
    );
    const { file } = await bundleWorker(join(folder, 'hono.jsonc'));
    expect(readFileSync(file, 'utf8')).not.toMatch(/ZodError|YAMLParseError/);
    const { port } = await startWorkerd(file, {});
    const body = '{"data":{"n":1.5}}';
    const head = `POST /api/v1/clients HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: ${body.length}`;
    const response = await exchange(port, `${head}\r\n\r\n${body}`);
    expect(response.text).toMatch(/^HTTP\/1\.1 201 [^]*\r\n\r\n\{"data":\{"n":1\.5\}\}$/);
  });
});

describe('the command from the same package', () => {
  test('runs by npx, in a folder without a rule book, and finds the one that ships', async () => {
    const said = await run('npx', ['--no-install', 'capture-gateway', 'check'], folder);
    expect(said.stderr + said.stdout).toMatch(/create_client/);
    expect(said.code).toBe(0);
  });

  test('prints its version', async () => {
    const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string };
    expect((await run('npx', ['--no-install', 'capture-gateway', '--version'], folder)).stdout.trim()).toBe(
      version,
    );
  });

  test('says which package a store on Redis needs, and serves without that store', async () => {
    const given = ['capture-gateway', 'serve', '--store', 'redis://127.0.0.1:6379'];
    expect(await run('npx', ['--no-install', ...given], folder)).toMatchObject({
      code: 2,
      stderr: expect.stringContaining(
        '--store redis://127.0.0.1:6379 needs the package @redis/client, which is not installed: run npm install @redis/client@6',
      ),
    });
  });

  test('starts from a bundle, because loading hundreds of modules would be slower', async () => {
    const { files } = await startOnce();
    expect(files.length).toBeGreaterThan(2);
    // What several commands and threads share is in files of its own, about a hundred; the sources are eight hundred.
    expect(files.length).toBeLessThan(150);
  });

  test('reads no YAML for the shipped rule book, but does for any other text', async () => {
    const edited = join(folder, 'edited.yaml');
    writeFileSync(
      edited,
      `${readFileSync(join(root, 'config/rules.yaml'), 'utf8')}# An assumption was confirmed.\n`,
    );
    const [shipped, other] = [await startOnce(), await startOnce('--rules', edited)];
    const readsYaml = (file: string): boolean => readFileSync(file, 'utf8').includes('// node_modules/yaml/');
    expect(shipped.files.filter(readsYaml)).toEqual([]);
    expect(other.files.filter(readsYaml)).not.toEqual([]);
    expect(shipped.ruleBook).toMatch(/^[0-9a-f]{16}$/);
    expect(other.ruleBook).toBe(shipped.ruleBook);
  });
});

/** Starts the gateway of the package until it listens; returns the files that it loaded, and the hash of its rule book. */
async function startOnce(
  ...flags: readonly string[]
): Promise<{ readonly files: readonly string[]; readonly ruleBook: string | undefined }> {
  const lister = `import { registerHooks } from 'node:module';
    import { fileURLToPath } from 'node:url';
    registerHooks({ load: (url, context, next) => (url.startsWith('file:') && console.log('file ' + fileURLToPath(url)), next(url, context)) });`;
  const main = join(folder, 'node_modules/capture-gateway/dist/cli/main.js');
  const listeners = ['--listen', '127.0.0.1:0', '--admin-listen', '127.0.0.1:0'];
  const given = [...listeners, '--upstream', 'http://127.0.0.1:9', ...flags];
  const gateway = spawn(
    tool('node/bin/node'),
    ['--import', `data:text/javascript,${encodeURIComponent(lister)}`, main, 'serve', ...given],
    { cwd: folder, stdio: ['ignore', 'pipe', 'pipe'] },
  );
  let lines = '';
  gateway.stderr.setEncoding('utf8').on('data', (chunk: string) => {
    lines += chunk;
    if (lines.includes('"started"')) gateway.kill('SIGTERM');
  });
  const output = await text(gateway.stdout);
  return {
    files: [...output.matchAll(/^file (.*)$/gm)].map(([, path = '']) => path),
    ruleBook: /"ruleBook":"([^"]*)"/.exec(lines)?.[1],
  };
}

test("a description read in a thread never ends the package's process: Node did so at one start in three", async () => {
  writeFileSync(
    join(folder, 'observed.yaml'),
    'version: 2025-01-01\nmodes: observe\noperations: { create_client: POST /clients }\nchanges: []\n',
  );
  writeFileSync(join(folder, 'v2.yaml'), readFileSync(join(root, 'examples/invoicing/v2.yaml'), 'utf8'));
  writeFileSync(
    join(folder, 'gateway.yaml'),
    'rules: observed.yaml\nv1-upstream: http://127.0.0.1:1\nv2-openapi: v2.yaml\n',
  );
  const program = join(folder, 'node_modules/.bin/capture-gateway');
  for (let start = 0; start < 12; start += 1)
    expect(await run(program, ['check', '--config', 'gateway.yaml'], folder)).toMatchObject({ code: 0 });
});
