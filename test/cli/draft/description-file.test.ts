import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { readDescription } from '../../../src/cli/draft/description-file.ts';
import { printJsonText } from '../../../src/openapi/description.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

async function read(text: string): Promise<unknown> {
  const file = join(temporaryFolder('description'), 'v2.yaml');
  writeFileSync(file, text);
  const outcome = await readDescription(file);
  if (!('fault' in outcome)) return outcome;
  expect(outcome).toMatchObject({ isJunk: true });
  return String(outcome['fault']).replace(
    `${file} is not an OpenAPI description, version 3, in JSON or YAML: `,
    '',
  );
}

test('merge keys stand for the members of their anchors, in the order that YAML 1.1 gives them', async () => {
  const text = `openapi: 3.0.3
paths: {}
components:
  schemas:
    Base: &base { type: object, required: [a], description: base }
    Other: &other { description: other, nullable: true }
    One: { <<: *base, description: one }
    Two:
      <<: [*base, *other]
      maxProperties: 3
`;
  expect(await read(text)).toMatchObject({
    components: {
      schemas: {
        One: { type: 'object', required: ['a'], description: 'one' },
        Two: { type: 'object', required: ['a'], description: 'base', nullable: true, maxProperties: 3 },
      },
    },
  });
  expect(JSON.stringify(await read(text))).not.toContain('<<');
});

test.each([
  ['in double quotes', '"one\n    two"'],
  ['in single quotes', "'one\n    it''s two'"],
  ['of several lines', '"one\n\n    \\"two\\"\n    three"'],
  ['in a list of a list', '"one\n  two"'],
])(
  'a text whose further lines are not indented more than the object around it is read, as libyaml reads it: %s',
  async (_, text) => {
    const all = `openapi: 3.0.3\ninfo:\n  title: |\n    a "quoted\n    text\npaths:\n  /a:\n    description: ${text}\n    get: {}\n`;
    const words = text
      .slice(1, -1)
      .replaceAll(/\n\n\s*/g, '\0')
      .replaceAll(/\s*\n\s*/g, ' ')
      .replaceAll('\0', '\n');
    expect(await read(all)).toMatchObject({
      info: { title: 'a "quoted\ntext\n' },
      paths: { '/a': { description: words.replaceAll("''", "'").replaceAll('\\"', '"'), get: {} } },
    });
  },
);

test('300 aliases are read', async () => {
  const members = Array.from({ length: 300 }, (_, at) => `      m${at}: *text`).join('\n');
  const description = await read(
    `openapi: 3.0.3\npaths: {}\ncomponents:\n  schemas:\n    Text: &text { type: string }\n    Many:\n${members}\n`,
  );
  expect(description).toMatchObject({ components: { schemas: { Many: { m299: { type: 'string' } } } } });
});

// Attack: aliases of aliases, each line ten times the one before; and an alias within its own anchor.
test.each([
  [
    `a0: &a0 [1]\n${Array.from({ length: 9 }, (_, at) => `a${at + 1}: &a${at + 1} [${Array(10).fill(`*a${at}`).join(', ')}]`).join('\n')}\n`,
    'with its aliases it has more than 3000000 values',
  ],
  // Merge keys copy what they merge, each time that they are read.
  [
    `a0: &a0 { x: 1 }\n${Array.from({ length: 24 }, (_, at) => `a${at + 1}: &a${at + 1} { <<: [*a${at}, *a${at}], y${at}: *a${at} }`).join('\n')}\n`,
    'with its aliases it has more than 3000000 values',
  ],
  // A key that is a list of lists would be written out as text.
  [
    `a0: &a0 [1]\n${Array.from({ length: 9 }, (_, at) => `a${at + 1}: &a${at + 1} [${Array(10).fill(`*a${at}`).join(', ')}]`).join('\n')}\n? *a9 \n: 1\n`,
    'with its aliases it has more than 3000000 values',
  ],
  [`a: &a 1\nb: [${'*a, '.repeat(20_001)}]\n`, 'it has more than 20000 aliases; write some of them out'],
  ['a: &a [*a]\n', 'it is nested too deeply, or an alias is within its own anchor'],
  ['['.repeat(20_000), 'nested too deeply'],
  ['openapi: 3.0.3\npaths:\n  /a: [1\n  b: 2\n', 'at line 4, column 3'],
  ['openapi: 3.0.3\nopenapi: 3.0.3\n', 'Map keys must be unique at line 2, column 1'],
  ['openapi: 3.0.3\n\tpaths: {}\n', 'Tabs are not allowed as indentation at line 2, column 1'],
  [
    'openapi: 3.0.3\npaths:\n  /a: *none\n',
    'Unresolved alias (the anchor must be set before the alias): none at line 3, column 7',
  ],
  ['{"openapi": "3.1.0",, "paths": {}}', 'at line 1, column 21'],
  ['{"openapi": "3.1.0"', 'at line 1, column 20'],
  [
    'swagger: "1.2"\npaths: {}\n',
    'it is Swagger "1.2"; the only supported Swagger is version "2.0" with paths',
  ],
  ['swagger: "2.0"\n', 'it is Swagger "2.0"; the only supported Swagger is version "2.0" with paths'],
  ['openapi: 3.1\npaths: {}\n', `"openapi" is 3.1, not a text; write '3.1.0', for example`],
  ['openapi: 4.0.0\npaths: {}\n', '"openapi" is "4.0.0"'],
  ['paths: {}\n', 'it has no member "openapi"'],
  ['openapi: 3.1.0\n', 'it has no member "paths"'],
  ['openapi: 3.1.0\npaths: []\n', '"paths" is not an object'],
  ['- 1\n', 'it is a list, not an object'],
  ['hello\n', 'it is a string, not an object'],
  ['', 'it is empty'],
  ['# nothing\n', 'it is empty'],
  ['openapi: 3.1.0\npaths: {}\n---\nopenapi: 3.1.0\n', 'it has a second document at line 3, column 1'],
  ['o\0p\0e\0n\0', 'it has NUL characters, like UTF-16 without a byte order mark: save it as UTF-8'],
])('%j is refused with its cause: %s', async (text, cause) => {
  expect(await read(text)).toContain(cause);
});

describe('in several documents', () => {
  let folder: string;
  let server: Server;
  let origin: string;
  const served: Record<string, string> = {
    '/spec/v2.yaml': 'openapi: 3.1.0\npaths:\n  /orders: { $ref: "paths/a%20b.yaml" }\n',
    '/spec/paths/a%20b.yaml': 'post: { summary: served }\n',
    '/spec/thief.yaml': 'openapi: 3.1.0\npaths:\n  /a: { $ref: "file:///etc/hostname" }\n',
    '/spec/elsewhere.yaml': 'openapi: 3.1.0\npaths:\n  /a: { $ref: "https://other.example/a.yaml" }\n',
    '/spec/inner.yaml': 'openapi: 3.1.0\npaths:\n  /a: { $ref: "http://169.254.169.254/latest" }\n',
    '/spec/port.yaml': 'openapi: 3.1.0\npaths:\n  /a: { $ref: "http://127.0.0.1:1/a.yaml" }\n',
    '/spec/scheme.yaml': 'openapi: 3.1.0\npaths:\n  /a: { $ref: "//127.0.0.1:2/a.yaml" }\n',
    '/spec/within.yaml': 'openapi: 3.1.0\npaths:\n  /a: { $ref: "elsewhere.yaml#/paths/~1a" }\n',
    '/spec/ftp.yaml': 'openapi: 3.1.0\npaths:\n  /a: { $ref: "ftp://host.example/a" }\n',
  };

  beforeAll(async () => {
    folder = temporaryFolder('descriptions, 100%');
    mkdirSync(join(folder, 'schemas'));
    server = createServer(({ url = '' }, response) => {
      const text = served[url];
      response.writeHead(text === undefined ? 404 : 200).end(text);
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const address = server.address();
    origin = `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`;
  });

  afterAll(() => server.close());

  function write(name: string, text: string): string {
    writeFileSync(join(folder, name), text);
    return join(folder, name);
  }

  const component = (reference: string): string =>
    `openapi: 3.0.3\npaths: {}\ncomponents: { schemas: { Order: { $ref: "${reference}" } } }\n`;

  test('files are read in JSON and YAML, with merge keys, exact numbers and names that are escaped', async () => {
    const others = new Set<string>();
    const root = write('v2.yaml', component('./schemas/order%20one.yaml#/Order'));
    write(
      'schemas/order one.yaml',
      'Base: &base { type: object }\nOrder:\n  <<: *base\n  properties: { client: { $ref: "client.json" } }\n',
    );
    write('schemas/client.json', '{ "maximum": 9223372036854775807 }');
    const text = printJsonText(await readDescription(root, others));
    expect(text).toBe(
      '{"openapi":"3.0.3","paths":{},"components":{"schemas":{"Order":{"type":"object","properties":{"client":{"$ref":"#/components/schemas/client"}}},"client":{"maximum":9223372036854775807}}}}',
    );
    expect([...others]).toEqual([
      join(folder, 'schemas/order one.yaml'),
      join(folder, 'schemas/client.json'),
    ]);
  });

  test('a description at an address is read with the documents beside it', async () => {
    expect(await readDescription(`${origin}/spec/v2.yaml`)).toMatchObject({
      paths: { '/orders': { post: { summary: 'served' } } },
    });
  });

  test('a description of Swagger 2.0 is converted when it is whole', async () => {
    const root = write(
      'v1.json',
      JSON.stringify({ swagger: '2.0', paths: {}, definitions: { A: { $ref: 'a.json#/definitions/A' } } }),
    );
    write('a.json', JSON.stringify({ definitions: { A: { 'x-nullable': true } } }));
    expect(await readDescription(root)).toMatchObject({ components: { schemas: { A: { nullable: true } } } });
  });

  test.each<[string, boolean, string | RegExp]>([
    ['none.yaml', false, /descr.*bad\.yaml refers to none\.yaml: no such file or directory \(ENOENT\)/],
    ['v2.yaml#/components/schemas/None', true, 'None: there is nothing at this place.'],
    ['broken.yaml', false, 'broken.yaml: Map keys must be unique at line 2, column 1.'],
    ['http://127.0.0.1:1/a.yaml', false, 'http://127.0.0.1:1/a.yaml: fetch failed'],
    ['ORIGIN/spec/none.yaml', false, '/spec/none.yaml responds with 404.'],
  ])('a reference to %s is reported with its cause', async (reference, isJunk, cause) => {
    write('broken.yaml', 'a: 1\na: 1\n');
    const root = write('bad.yaml', component(reference.replace('ORIGIN', origin)));
    const outcome = await readDescription(root);
    expect(outcome).toMatchObject({ isJunk });
    expect('fault' in outcome && outcome.fault).toMatch(cause);
  });

  // Attack: a server of a description makes the command read files of the operator's machine, and show them in a fault or a draft.
  test.each([
    ['thief', 'a description at an address cannot refer to files of this machine'],
    [
      'elsewhere',
      'cannot refer to another origin, https://other.example; put all documents on one, or in files',
    ],
    ['inner', 'cannot refer to another origin, http://169.254.169.254;'],
    ['port', 'cannot refer to another origin, http://127.0.0.1:1;'],
    ['scheme', 'cannot refer to another origin, http://127.0.0.1:2;'],
    ['within', 'cannot refer to another origin, https://other.example;'],
    ['ftp', 'only files and http or https addresses are read'],
  ])('an address that refers to a document that is not read: %s', async (name, cause) => {
    const refused = { fault: expect.stringContaining(cause) as unknown };
    expect(await readDescription(`${origin}/spec/${name}.yaml`)).toMatchObject(refused);
    // A file may refer to any address, but the document there may not refer to files.
    const root = write(
      `${name}.yaml`,
      `openapi: 3.1.0\npaths:\n  /b: { $ref: "${origin}/spec/${name}.yaml#/paths/~1a" }\n`,
    );
    expect(await readDescription(root)).toMatchObject(refused);
  });

  // Attack: some kilobytes that unpack to more than the memory.
  test('the unpacked size of all documents from an address together is limited', async () => {
    const bomb = gzipSync(Buffer.alloc(65 * 2 ** 20, '#'));
    const half = gzipSync(Buffer.alloc(33 * 2 ** 20, '#'));
    const heavy = createServer(({ url = '' }, response) => {
      const body = url === '/bomb.yaml' ? bomb : half;
      response.writeHead(200, { 'content-encoding': 'gzip' }).end(body);
    }).listen(0, '127.0.0.1');
    onTestFinished(() => void heavy.close());
    await once(heavy, 'listening');
    const address = heavy.address();
    const at = `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`;
    const why = 'it has more than 64 MiB, with the documents that it refers to';
    expect(await readDescription(`${at}/bomb.yaml`)).toEqual({
      fault: `The description ${at}/bomb.yaml cannot be read: ${why}.`,
    });
    const two = `openapi: 3.0.3\npaths: { /a: { $ref: "${at}/a.yaml" }, /b: { $ref: "${at}/b.yaml" } }\n`;
    expect(await readDescription(write('two.yaml', two))).toMatchObject({
      fault: expect.stringContaining(why) as unknown,
    });
  });

  test('an endless description is refused', async () => {
    const root = write('endless.yaml', component('deep.yaml'));
    const members = (name: string): string =>
      Array.from({ length: 1001 }, (_, at) => `    m${at}: { $ref: "${name}${at}.yaml" }`).join('\n');
    write('deep.yaml', `properties:\n${members('gone')}\n`);
    expect(await readDescription(root)).toMatchObject({
      fault: `${root} refers to more than 1000 documents.`,
    });
  });
});
