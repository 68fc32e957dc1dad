import { createServer } from 'node:http';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { parse } from 'yaml';
import { command } from '../../support/command.ts';
import { type CommandRun, commandRun } from '../../support/command-runs.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

function run(...args: string[]): Promise<CommandRun> {
  return commandRun(['openapi', ...args]);
}

const V2 = `openapi: 3.0.3
info: { title: Clients, version: '1' }
paths:
  /api/v2/orders/floor_plans:
    post:
      requestBody: { content: { application/json: { schema: { type: object, maxProperties: 9223372036854775807 } } } }
      responses: { '201': { description: Created } }
`;

test('the reference’s own description, as JSON and as YAML', async () => {
  const json = await run();
  expect([json.code, json.err]).toEqual([0, '']);
  const yaml = await run('--format', 'yaml');
  expect(parse(yaml.out)).toEqual(JSON.parse(json.out));
  expect(json.out).toContain('"/api/v1/orders/floor_plans"');
});

test('a file in YAML, and a URL', async () => {
  const file = join(temporaryFolder('openapi'), 'v2.yaml');
  writeFileSync(file, V2);
  const { code, out, err } = await run(file);
  expect(code).toBe(0);
  const request = /"x-change": \[\s+"body-wrapper"\s+\]/;
  expect(out).toMatch(request);
  expect(out).toContain('"maxProperties": 9223372036854775807');
  expect(err).toContain(
    'note: change "property-address": V2\'s description does not show property.address, which its nest names',
  );

  const server = createServer((_request, response) => response.end(V2)).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  const address = server.address();
  const port = typeof address === 'object' ? address?.port : 0;
  expect((await run(`http://127.0.0.1:${port}/openapi.yaml`)).out).toBe(out);
});

test('names a description that it cannot read', async () => {
  const piped = command(['openapi', '-'], {}, 'hello');
  expect(await piped.exit).toBe(1);
  expect(piped.stderr()).toBe(
    'stdin is not an OpenAPI description, version 3, in JSON or YAML: it is a string, not an object.\n',
  );
  expect(await run('nothing.json')).toMatchObject({
    code: 2,
    err: expect.stringContaining('cannot be read'),
  });
  expect(await run('package.json')).toMatchObject({
    code: 1,
    err: expect.stringContaining('not an OpenAPI description'),
  });
  expect(await run('--rules', 'nothing.yaml')).toMatchObject({ code: 2 });
});
