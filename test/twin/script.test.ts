import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { choiceOf, exchange, readScript, type Script } from '../../src/twin/script.ts';
import { fuzzRuns } from '../support/fuzz.ts';
import { arbitrarySteps, printScript, sequenceScript } from './sequences.ts';

const response = (status: number, code?: string): Parameters<typeof choiceOf>[0] => ({
  status,
  headers: code === undefined ? [] : [['X-Gateway-Error', code]],
  body: new Uint8Array(),
});

test.each([
  [
    'the gateway refuses a request that V1 reads',
    response(201),
    response(400, 'duplicate-member'),
    'duplicate-member',
  ],
  ['both refuse, V1 for the key', response(401), response(400, 'duplicate-member'), 'refused-first'],
  ['both refuse, V1 for the path', response(404), response(422, 'wrapper-not-object'), 'refused-first'],
  ['V2 refuses another thing than V1', response(401), response(422), undefined],
  [
    'the gateway refuses a request that V1 accepts',
    response(201),
    response(422, 'wrapper-not-object'),
    undefined,
  ],
  ['both refuse the body, in other words', response(422), response(400, 'malformed-json'), undefined],
  ['the gateway refuses the head', response(401), response(400, 'bad-request'), 'ambiguous-head'],
  ['the gateway refuses a head that V1 takes', response(200), response(400, 'bad-request'), undefined],
  ['V2 does not respond', response(404), response(502, 'upstream-unreachable'), undefined],
  ['the rule book declares the operation gone', response(200), response(410, 'operation-gone'), 'gone'],
  ['only V2 refuses', response(200), response(400), undefined],
])('%s', (_, v1, gateway, choice) => {
  expect(choiceOf(v1, gateway)).toBe(choice);
});

const read = (text: string, shared = ''): Script => {
  const reading = readScript('script', text, shared);
  if ('faults' in reading) throw new Error(reading.faults.join('\n'));
  return reading.script;
};
const faultsOf = (text: string): readonly string[] => {
  const reading = readScript('script', text);
  return 'faults' in reading ? reading.faults : [];
};

const TABLES = `
| resource | path | kind |
| client | /clients | text |
| order | /orders | list |

| value | kind |
| "a" | text |
| "b\\|c" | text |
| [] | list |
`;

describe('a script', () => {
  test('has exchanges with fields, a body of several lines, and options', () => {
    const { settings, exchanges } = read(
      [
        '// A comment.',
        '## A comment of text cases.',
        '! rate: 3',
        '# first',
        '! keep: one = /data/id',
        '! bytes: latin1',
        '! pad: 40',
        '! coding: gzip',
        '! store: busy',
        '> POST /api/v1/clients',
        '> Content-Type: text/x; a=b:c',
        '>',
        '> {"data":',
        '>  {}}',
        '# second',
        '> GET /api/v1/clients/${one}',
        '> !Authorization',
      ].join('\n'),
    );
    expect(settings).toEqual({ rate: '3' });
    expect(exchanges).toEqual([
      exchange('first', 'POST /api/v1/clients', {
        headers: [['Content-Type', 'text/x; a=b:c']],
        body: '{"data":\n {}}',
        keeps: [['one', '/data/id']],
        bytes: 'latin1',
        pad: 40,
        coding: 'gzip',
        store: 'busy',
      }),
      exchange('second', 'GET /api/v1/clients/${one}', { headers: [['!Authorization', '']] }),
    ]);
  });

  test('fills in every combination of rows that agree', () => {
    const { exchanges } = read(
      '# ${resource} ${value}\n! each: resource, value\n> POST /api/v1${path}\n>\n> {"data":${value}}',
      TABLES,
    );
    expect(exchanges.map(({ name, target, body }) => [name, target, body])).toEqual([
      ['client "a"', '/api/v1/clients', '{"data":"a"}'],
      ['client "b|c"', '/api/v1/clients', '{"data":"b|c"}'],
      ['order []', '/api/v1/orders', '{"data":[]}'],
    ]);
  });

  test.each([
    ['GET /x', '1: A line starts with'],
    ['# a\n> GET /x\n# a\n> GET /x', '3: “a” is the name of two exchanges'],
    ['# a\n> GET /x/${one}', '1: “a” uses ${one}'],
    ['# a\n! each: colour\n> GET /x', '1: There is no table whose first column is “colour”'],
    ['# a\n! keep: one\n> GET /x', '1: “! keep: one” is not an option'],
    ['# a\n! bytes: ebcdic\n> GET /x', '1: “! bytes: ebcdic” is not an option'],
    ['# a', '1: “a” has no request line'],
    ['# a\n> GET', '1: “a” has no request line'],
    [
      '# a\n> GET /x\n> Accept */*',
      '1: “a”: "Accept */*" is not a header field; a body begins after an empty line',
    ],
    ['# a\n> POST /x\n> {"b":1}', String.raw`1: “a”: "{\"b\":1}" is not a header field`],
    ['| a | b |\n| 1 | 2 |\n| 1 |\n# a\n> GET /x', '3: The row must have one cell for each column'],
    ['# a\n> GET /x\n| a |\n| 1 | 2 |', '4: The row must have one cell for each column'],
  ])('%j is refused', (text, fault) => {
    expect(faultsOf(text).join('\n')).toContain(`script:${fault}`);
  });

  test('is read back from its printed form', () => {
    fc.assert(
      fc.property(arbitrarySteps(), (steps) => {
        const script = sequenceScript('script', steps);
        expect(read(printScript(script))).toEqual(script);
      }),
      { numRuns: fuzzRuns(300) },
    );
  });
});
