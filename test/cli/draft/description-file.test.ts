import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { readDescription } from '../../../src/cli/draft/description-file.ts';
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
  ['swagger: "1.2"\npaths: {}\n', 'it is Swagger "1.2"; of Swagger, only version "2.0" with paths is read'],
  ['swagger: "2.0"\n', 'it is Swagger "2.0"; of Swagger, only version "2.0" with paths is read'],
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
  ['o\0p\0e\0n\0', 'it has NUL characters, as UTF-16 without its mark has: save it as UTF-8'],
])('%j is refused with its cause: %s', async (text, cause) => {
  expect(await read(text)).toContain(cause);
});
