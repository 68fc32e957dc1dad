import { createServer } from 'node:http';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { command } from '../../support/command.ts';
import { type CommandRun, commandRun } from '../../support/command-runs.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

const ANY_PORT = ['--listen', '127.0.0.1:0', '--admin-listen', '127.0.0.1:0'];
const V1 = ['--v1-upstream', 'http://127.0.0.1:9'];
const NOTHING =
  /No operation of the rule book is in V2's description with a JSON body: it has POST \/customers/;

function descriptionFile(path: string, schema: object = { type: 'object' }): string {
  const file = join(temporaryFolder('unmatched'), 'v2.json');
  const content = { 'application/json': { schema } };
  writeFileSync(
    file,
    JSON.stringify({ openapi: '3.1.0', paths: { [path]: { post: { requestBody: { content } } } } }),
  );
  return file;
}

async function check(...flags: string[]): Promise<CommandRun> {
  const run = await commandRun(['check', ...V1, ...flags]);
  return { ...run, out: run.out.replaceAll(/\s+/g, ' ') };
}

test('check warns of a description of which nothing matches, and serve does so on its log and its page', async () => {
  const file = descriptionFile('/api/v2/customers');
  const checked = await check('--v2-openapi', file);
  expect([checked.code, checked.err]).toEqual([0, '']);
  expect(checked.out).toMatch(NOTHING);
  const { out } = await check('--v2-openapi', file, '--json');
  const { warnings } = JSON.parse(out) as { readonly warnings: readonly string[] };
  expect(warnings).toContainEqual(expect.stringMatching(NOTHING));

  const gateway = command(['serve', ...ANY_PORT, ...V1, '--v2-openapi', file]);
  await gateway.until(/hash [0-9a-f]{16}/);
  expect(gateway.stderr().replaceAll(/\s+/g, ' ')).toMatch(NOTHING);
  const admin = /admin +(http:\/\/\S+:\d+)/.exec(gateway.stderr())?.[1];
  const view = await fetch(`${admin}/rollout`);
  expect(await view.json()).toMatchObject({ bodyChecks: { warnings: [expect.stringMatching(NOTHING)] } });
  expect(await gateway.stop()).toBe(0);
});

test('check names each keyword that is left out', async () => {
  const { code, out } = await check('--v2-openapi', descriptionFile('/api/v2/clients', { pattern: '(?=a)' }));
  expect(code).toBe(0);
  expect(out).toContain('schema/pattern: "(?=a)" cannot be checked: it looks ahead or behind.');
});

test('check reads a description at an address, which may be down', async () => {
  const server = createServer((_, response) => response.end(JSON.stringify({ openapi: '3.1.0', paths: {} })));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  const address = server.address();
  const port = typeof address === 'object' ? address?.port : 0;
  const there = await check('--v2-openapi', `http://127.0.0.1:${port}/openapi.json`);
  expect(there.out).toContain("V2's description has no operation with a JSON body and a schema.");
  const gone = await check('--v2-openapi', 'http://127.0.0.1:9/openapi.json');
  expect([gone.code, gone.out]).toEqual([
    0,
    expect.stringContaining('http://127.0.0.1:9/openapi.json cannot be read'),
  ]);
});
