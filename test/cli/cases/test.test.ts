import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { readTextCases, updatedLines } from '../../../src/cli/cases/text-cases.ts';
import { type CommandRun, commandRun } from '../../support/command-runs.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

const folder = temporaryFolder('cases');

function file(name: string, text: string): string {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
}

function run(...args: string[]): Promise<CommandRun> {
  return commandRun(['test', ...args]);
}

const PASSING = `# a client
> POST /api/v1/clients
> Content-Type: application/json
>
> {"data":{"name":"Acme"}}
= POST /api/v2/clients
= content-length: 15
=
= {"name":"Acme"}
< 200
< content-type: application/json
<
< {"data":{}}
`;

const FAILING = `What stands before a case is a comment.

# a client
> POST /api/v1/clients
> Content-Type: application/json
>
> {"data":{"name":"Acme"}}
## The wrapper goes.
= POST /api/v2/client
= !content-length:
=
= {"name":"Acne"}

* 201
* Content-Type: application/json
*
* {"data":{"id":1}}
< 200
<
< …
## Nothing follows.
`;

test('the cases of this project pass', async () => {
  const shipped = await run('test/cases/requests.txt', 'test/cases/responses.txt');
  expect(shipped).toEqual({
    code: 0,
    err: '',
    out: expect.stringMatching(/^\d+ cases in 2 files: all pass\.\n$/),
  });
  const own = await run('test/cases/request-rules', '--rules', 'test/cases/request-rules/rules.yaml');
  expect(own).toEqual({
    code: 0,
    err: '',
    out: expect.stringMatching(/^\d+ cases in 1 file: all pass\.\n$/),
  });
});

test('a case with a V2 request alone checks no response, and an update adds none', async () => {
  const request = PASSING.slice(0, PASSING.indexOf('< 200'));
  const path = file('request.txt', request);
  expect(await run(path)).toMatchObject({ code: 0, out: '1 case in 1 file: all pass.\n' });
  const wrong = file('wrong.txt', request.replace('v2/clients', `v2/${'x'.repeat(200)}`));
  const failed = await run(wrong);
  expect(failed.code).toBe(1);
  expect(failed.out).toMatch(/\n +\^{40}\n/);
  await run(wrong, '--update');
  expect(readFileSync(wrong, 'utf8')).toBe(request);
});

test('a case that fails is shown with its line and what differs', async () => {
  const path = file('failing.txt', FAILING);
  expect(await run(path, file('passing.txt', PASSING))).toEqual({
    code: 1,
    err: '',
    out: `FAIL  ${path}:3  a client
  ${path}:9: V2 request, first line
    - POST /api/v2/client
    + POST /api/v2/clients
                         ^
  ${path}:10: V2 request, content-length
    - (absent)
    + 15
  ${path}:12: V2 request, body
    - {"name":"Acne"}
    + {"name":"Acme"}
                 ^
  ${path}:18: response, first line
    - 200
    + 201
        ^

2 cases in 2 files: 1 fails. --update writes the actual results into the file.
`,
  });
  const json = JSON.parse((await run(path, '--json')).out);
  expect(json).toMatchObject({
    cases: 1,
    failed: 1,
    files: [{ file: path, cases: [{ title: 'a client', line: 3 }] }],
  });
  expect(json.files[0].cases[0].differences[0]).toEqual({
    message: 'V2 request',
    part: 'first line',
    line: 9,
    expected: 'POST /api/v2/client',
    actual: 'POST /api/v2/clients',
  });
});

test.each([
  ['at the start', 'x'.repeat(300), `${'y'.repeat(280)}${'x'.repeat(20)}`],
  ['at the end', `${'x'.repeat(290)}end`, `${'x'.repeat(290)}other`],
  ['in the middle', `${'x'.repeat(200)}${'y'.repeat(9)}${'x'.repeat(90)}`, 'x'.repeat(299)],
])('a long line that differs %s is cut to the terminal around the place', async (_, expected, actual) => {
  const text = PASSING.replace(/"data":\{"name":"[^"]*"\}/, `"data":{"name":"${actual}"}`).replace(
    /^= \{.*\}$/m,
    `= {"name":"${expected}"}`,
  );
  const path = file('long.txt', text);
  const { out } = await commandRun(['test', path], { columns: 80 });
  const lines = out.split('\n');
  const marks = lines.findIndex((line) => /^ +\^+$/.test(line));
  const shown = lines.slice(marks - 2, marks + 1);
  expect(shown.filter((line) => line.length > 80)).toEqual([]);
  const [column, end] = [shown[2]?.indexOf('^') ?? 0, shown[2]?.length];
  expect(shown[0]?.slice(6, column)).toBe(shown[1]?.slice(6, column));
  expect(shown[0]?.slice(column, end)).not.toBe(shown[1]?.slice(column, end));
  // In a file, a line is as long as it is.
  expect((await commandRun(['test', path])).out).toMatch(/^ +\^{3,}$/m);
});

test('--update writes the actual result, and keeps comments, requests and bodies that are not checked', async () => {
  const path = file('updated.txt', FAILING);
  const updated = await run(path, '--update');
  expect([updated.code, updated.out.split('\n', 1), updated.out.split('\n').at(-2)]).toEqual([
    0,
    [`UPDATED  ${path}:3  a client`],
    '1 case in 1 file: 1 updated. Read the difference before you commit it.',
  ]);
  expect(readFileSync(path, 'utf8')).toBe(
    FAILING.replace('/api/v2/client\n', '/api/v2/clients\n')
      .replace('= !content-length:', '= content-length: 15')
      .replace('Acne', 'Acme')
      .replace('< 200', '< 201'),
  );
  expect((await run(path)).code).toBe(0);
});

test('a file with CR LF, as Git checks it out on Windows, passes, and keeps its line ends in --update', async () => {
  const crLf = (text: string): string => text.replaceAll('\n', '\r\n');
  expect((await run(file('crlf.txt', crLf(PASSING)))).out).toContain('all pass');
  const path = file('crlf-updated.txt', crLf(FAILING));
  expect((await run(path)).out).not.toContain('\r');
  await run(path, '--update');
  const updated = file('lf-updated.txt', FAILING);
  await run(updated, '--update');
  expect(readFileSync(path, 'utf8')).toBe(crLf(readFileSync(updated, 'utf8')));
});

test('a request that V2 gets and should not get fails, and so does one that V2 lacks', async () => {
  const refused = PASSING.replace('{"data":{"name":"Acme"}}', '[');
  const path = file('reached.txt', `${PASSING.replaceAll(/^=.*\n/gm, '')}\n${refused}`);
  const { code, out } = await run(path);
  expect(code).toBe(1);
  expect(out).toContain(`${path}:2: V2 request
    - (nothing may reach V2)
    + POST /api/v2/clients
    + ${''}
    + {"name":"Acme"}
`);
  expect(out).toContain('    + (nothing reached V2)\n');
  await run(path, '--update');
  expect((await run(path)).code).toBe(0);
  expect(readFileSync(path, 'utf8')).toContain(
    '> {"data":{"name":"Acme"}}\n= POST /api/v2/clients\n=\n= {"name":"Acme"}\n< 200\n',
  );
});

test('the lines that --update writes are read as the actual message', () => {
  const body = '{\n  "a": 1\n\n}';
  const message = { line: '200', headers: [['etag', '"a"'] as const], body };
  const lines = updatedLines('<', { line: '201', headers: [['etag', '"b"']], body: '' }, message);
  const [read] = readTextCases(['# a case', '> GET /api/v1/x', ...lines].join('\n'));
  expect(read?.response).toEqual(message);
});

test.each([
  [
    'no-title.txt',
    '> GET /api/v1/x\n',
    'no-title.txt has no case: each starts with a line “# ” and its title.',
  ],
  [
    'mark.txt',
    '# a\n> GET /api/v1/x\n+ 200\n',
    'mark.txt:3: a line starts with "+"; lines of a case start with > (V1 request)',
  ],
  [
    'lookup.txt',
    '# a\n> GET /api/v1/x\n? 200\n',
    'lookup.txt:3: lines with ? begin with the GET of a lookup',
  ],
  [
    'half.txt',
    '\n# a\n> GET /api/v1/x\n',
    "half.txt:2: the case “a” has no V2 request or response; write the client's status, fields to check, an empty line with <, and the body: < 200.",
  ],
  [
    'bare.txt',
    '# a\n< 200\n',
    'bare.txt:1: the case “a” has no V1 request; write its first line: > POST /api/v1/clients.',
  ],
  [
    'apart.txt',
    '# a\n> GET /api/v1/x\n< 200\n> X: y\n',
    'apart.txt:4: lines with > are not next to those of line 2',
  ],
  [
    'blank.txt',
    '# a\n> POST /api/v1/x\n>\n>{"a":1}\n< 200\n',
    'blank.txt:4: a line needs a space after >, or its first character is lost',
  ],
  [
    'first.txt',
    '# a\n> GET\n< 200\n',
    'first.txt:2: "GET" is no first line of a message; write > POST /api/v1/clients',
  ],
  [
    'status.txt',
    '# a\n> GET /api/v1/x\n< OK\n',
    'status.txt:3: "OK" is no first line of a message; write < 200',
  ],
  [
    'field.txt',
    '# a\n> GET /api/v1/x\n< 200\n< {"a":1}\n',
    'field.txt:4: "{\\"a\\":1}" is not a header field; a body begins after an empty line, which is a line with only <',
  ],
  [
    'colon.txt',
    '# a\n> GET /api/v1/x\n> Accept */*\n< 200\n',
    'colon.txt:3: "Accept */*" is not a header field; a body begins after an empty line, which is a line with only >',
  ],
  [
    'option.txt',
    `${PASSING}! response: errors\n`,
    'option.txt:1: the case “a client” has the option response',
  ],
])('%s cannot be read, and its line is named', async (name, text, fault) => {
  const { code, out, err } = await run(file(name, text));
  expect([code, out]).toEqual([1, '']);
  expect(err).toContain(join(folder, fault));
});

test('a body with the same JSON in other bytes fails, and the message says that bytes count', async () => {
  const path = file('bytes.txt', PASSING.replace('< {"data":{}}', '< {"data": {}}'));
  const { code, out } = await run(path);
  expect([code, out]).toEqual([
    1,
    expect.stringContaining('response, body: the same JSON, but bodies are compared by their bytes'),
  ]);
});

test('cases that pass do not hide the open questions of the rule book', async () => {
  const book =
    'version: 2025-01-01\noperations: { a: POST /clients }\n# TODO Is name called title?\nchanges: []\n';
  const rules = file('open.yaml', book);
  const path = file('open.txt', '# a\n> POST /api/v1/clients\n= POST /api/v2/clients\n< 200\n<\n< …\n');
  const { code, out } = await run(path, '--rules', rules);
  expect([code, out]).toEqual([
    0,
    `1 case in 1 file: all pass.\n${rules} has 1 open question, marked TODO: cases do not answer them.\n`,
  ]);
});

test('a missing file exits with 2 and is named', async () => {
  expect(await run(join(folder, 'none'))).toMatchObject({
    code: 2,
    err: expect.stringContaining('none cannot be read'),
  });
  expect(await run()).toMatchObject({ code: 2, err: expect.stringContaining('config/cases cannot be read') });
});
