import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { readDescription } from '../../../src/cli/draft/description-file.ts';
import { isFault } from '../../../src/cli/command-fault.ts';
import { V2Description } from '../../../src/cli/draft/v2-description.ts';
import { BodySchemas } from '../../../src/openapi/body-schemas.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

const component = (reference: string): string =>
  `openapi: 3.0.3\npaths: {}\ncomponents: { schemas: { Order: { $ref: "${reference}" } } }\n`;

async function opened(path: string, lines: string[] = []): Promise<V2Description> {
  const description = await V2Description.open(
    path,
    () => [],
    ({ message }) => lines.push(message),
  );
  if (!(description instanceof V2Description)) throw new Error(description.fault);
  onTestFinished(() => description.close());
  return description;
}

test('a missing file stops the start, an address that is down does not', async () => {
  const folder = temporaryFolder('v2');
  const [live, order, none] = [
    join(folder, 'live.yaml'),
    join(folder, 'order.yaml'),
    join(folder, 'none.yaml'),
  ];
  writeFileSync(live, component('none.yaml'));
  await expect(opened(live)).rejects.toThrow('ENOENT');
  await expect(opened(none)).rejects.toThrow('ENOENT');
  const lines: string[] = [];
  writeFileSync(live, component('http://127.0.0.1:1/a.yaml'));
  const down = await opened(live, lines);
  down.close();
  expect(down.files).toEqual([live]);
  expect(lines).toEqual([expect.stringMatching(/fetch failed.* No body is checked against it\.$/)]);
  writeFileSync(live, component('order.yaml'));
  writeFileSync(order, 'type: string');
  expect(await opened(live)).toMatchObject({ files: [live, order] });
});

/** A description with many operations, as YAML of some megabytes. */
function largeYaml(operations: number): string {
  const names = Array.from({ length: operations }, (_, at) => `t${at}`);
  const paths = names.map(
    (name) =>
      `  /api/v2/${name}: { post: { requestBody: { content: { application/json: { schema: { $ref: "#/components/schemas/${name}" } } } } } }\n`,
  );
  const members = Array.from(
    { length: 20 },
    (_, at) => `        m${at}: { type: string, description: a member of many, maxLength: ${at + 1} }\n`,
  ).join('');
  const schemas = names.map((name) => `    ${name}:\n      type: object\n      properties:\n${members}`);
  return `openapi: 3.0.3\npaths:\n${paths.join('')}components:\n  schemas:\n${schemas.join('')}`;
}

test('the main thread goes on while a large description is read again', async () => {
  const path = join(temporaryFolder('v2'), 'v2.yaml');
  writeFileSync(path, 'openapi: 3.0.3\npaths: {}\n');
  const description = await opened(path);
  writeFileSync(path, largeYaml(300));
  const read = description.read();
  const isRead = read.then(() => true);
  const isTurn = (): Promise<boolean> => new Promise((resolve) => void setImmediate(() => resolve(false)));
  let turns = 0;
  while (!(await Promise.race([isRead, isTurn()]))) turns += 1;
  expect(await read).toBeUndefined();
  // On the main thread there would be as many turns as files and schemas.
  expect(turns).toBeGreaterThan(1000);
  const { schemas } = description;
  if (!(schemas instanceof BodySchemas)) throw new Error('it was not read');
  const body = (text: string): Uint8Array => new TextEncoder().encode(text);
  expect(schemas.verdictOf('POST', '/t299', body('{"m0":"a"}'))).toEqual({ v2: 'valid' });
  expect(schemas.verdictOf('POST', '/t299', body('{"m0":"ab"}'))).toEqual({ v2: 'invalid', at: '/m0' });
});

test('a thread gives bodies the verdicts of the description itself, also for parts that a bundle leaves out', async () => {
  const path = join(temporaryFolder('v2'), 'v2.yaml');
  writeFileSync(
    path,
    `openapi: 3.1.0
paths:
  /api/v2/a: { $ref: "#/components/pathItems/a" }
components:
  pathItems:
    a: { post: { requestBody: { content: { application/json: { schema: { $ref: "#/components/responses/a/content/x~1y/schema" } } } } } }
  responses:
    a: { content: { x/y: { schema: { properties: { id: { maximum: 9223372036854775807 } }, required: [id] } } } }
`,
  );
  const { schemas } = await opened(path);
  const read = await readDescription(path);
  if (isFault(read)) throw new Error(read.fault);
  const itself = new BodySchemas(read);
  if (!(schemas instanceof BodySchemas)) throw new Error('it was not read');
  for (const text of ['{}', '{"id":1}', '{"id":1e30}', '{"id":"x"}', '{']) {
    const body = new TextEncoder().encode(text);
    expect(schemas.verdictOf('POST', '/a', body)).toEqual(itself.verdictOf('POST', '/a', body));
  }
  expect(schemas.warnings([])).toEqual(itself.warnings([]));
});

test('of several readings at the same time, the last text counts', async () => {
  const path = join(temporaryFolder('v2'), 'v2.yaml');
  writeFileSync(path, 'openapi: 3.0.3\npaths: {}\n');
  const lines: string[] = [];
  const description = await opened(path, lines);
  const first = description.read();
  writeFileSync(path, '- 1\n');
  const [, second, third] = await Promise.all([first, description.read(), description.read()]);
  expect([second, third]).toEqual([
    expect.stringContaining('it is a list, not an object'),
    expect.stringContaining('it is a list, not an object'),
  ]);
});
