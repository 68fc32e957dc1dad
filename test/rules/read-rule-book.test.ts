import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { stringify } from 'yaml';
import { ALL_BOOKS } from '../../src/rules/kinds/books.ts';
import { readRuleBook } from '../../src/rules/read-rule-book.ts';
import { CODE_POINT } from '../support/code-point.ts';
import { sources } from './arbitrary-source.ts';
import { bookIn, faultsIn, messagesIn, withChanges } from './reading.ts';
import { fuzzRuns } from '../support/fuzz.ts';
import { rows, words } from '../support/rows.ts';

const string = (text: string): object => ({ isString: true, text });
const token = (text: string): object => ({ isString: false, text });

/** The kinds that a list of a change can have, as a fault names them, and the words `more` behind them. */
function kindsOf(list: 'request' | 'response' | 'query', ...more: readonly string[]): string {
  const all = [...ALL_BOOKS].flatMap(([name, book]) => (book[list] === undefined ? [] : [name]));
  const names = [...all, ...more];
  return `${names.slice(0, -1).join(', ')} or ${names.at(-1)}`;
}

describe('the meaning of a source', () => {
  test.each<[rule: string, meaning: object[]]>([
    ['{ rename: per_page, to: "page[size]" }', [{ rule: 'rename', parameter: 'per_page', to: 'page[size]' }]],
    ['strip: a.b', [{ rule: 'strip', parameters: ['a.b'] }]],
    ['strip: [a, "b[]"]', [{ rule: 'strip', parameters: ['a', 'b[]'] }]],
    [
      '{ map: { 1: null }, of: status }',
      [{ rule: 'map', parameter: 'status', values: [{ from: string('1'), to: string('null') }] }],
    ],
    [
      "{ map: { a: b }, of: sort, with: ',', sign: ['-', ':desc'] }",
      [
        {
          rule: 'map',
          parameter: 'sort',
          values: [{ from: string('a'), to: string('b') }],
          with: [','],
          sign: ['-', ':desc'],
        },
      ],
    ],
    [
      '{ map: { 1.0: 1.10, a: 007, b: 0x1F, c: -1e3, d: &n 2.50, e: *n, f: True }, of: status }',
      [
        {
          rule: 'map',
          parameter: 'status',
          values: ['1.0 1.10', 'a 007', 'b 0x1F', 'c -1e3', 'd 2.50', 'e 2.50', 'f true'].map((pair) => {
            const [from = '', to = ''] = pair.split(' ');
            return { from: string(from), to: string(to) };
          }),
        },
      ],
    ],
    ['set: { v: 1.10 }', [{ rule: 'set', parameter: 'v', text: '1.10' }]],
    ['set: { v: 007 }', [{ rule: 'set', parameter: 'v', text: '007' }]],
  ])('query rule %s', async (rule, meaning) => {
    const book = await bookIn(withChanges(`- { id: c, summary: s, on: [g], query: [\n ${rule} ] }`));
    expect(book.changes[0]?.query).toEqual(meaning);
  });

  test('query rules without parameters count as no rules', async () => {
    const book = await bookIn(withChanges('- { id: c, summary: s, on: [g], query: [ strip: [] ] }'));
    expect(book.changes[0]).not.toHaveProperty('query');
  });

  test.each<[rule: string, meaning: object[]]>([
    ['unwrap: data', [{ rule: 'unwrap', member: 'data' }]],
    ['{ nest: [x, y], under: z }', [{ rule: 'nest', members: ['x', 'y'], in: [], under: 'z' }]],
    [
      '{ nest: [x], in: p.*.q, under: z }',
      [{ rule: 'nest', members: ['x'], in: ['p', '*', 'q'], under: 'z' }],
    ],
    ['{ rename: x, to: y }', [{ rule: 'rename', member: 'x', in: [], to: 'y' }]],
    ['{ rename: p.x, to: y }', [{ rule: 'rename', member: 'x', in: ['p'], to: 'y' }]],
    ['{ rename: q.x, in: p.*, to: y }', [{ rule: 'rename', member: 'x', in: ['p', '*', 'q'], to: 'y' }]],
    ['strip: x', [{ rule: 'strip', members: ['x'], in: [] }]],
    ['strip: []', []],
    [
      'strip: [x, p.y, z, p.q.w, p.v]',
      [
        { rule: 'strip', members: ['x', 'z'], in: [] },
        { rule: 'strip', members: ['y', 'v'], in: ['p'] },
        { rule: 'strip', members: ['w'], in: ['p', 'q'] },
      ],
    ],
    ['{ strip: q.x, in: p }', [{ rule: 'strip', members: ['x'], in: ['p', 'q'] }]],
    ['{ only: [x, y], in: p }', [{ rule: 'only', members: ['x', 'y'], in: ['p'] }]],
    ['strip: [a\\.b, c\\\\]', [{ rule: 'strip', members: ['a.b', 'c\\'], in: [] }]],
    ['{ rename: "a\\\\.b.c", to: x }', [{ rule: 'rename', member: 'c', in: ['a.b'], to: 'x' }]],
    [
      `{ map: { day: dusk, 1: one, '"1"': two, 10.50: 0.5, null: true, yes: null }, of: q.x, in: p }`,
      [
        {
          rule: 'map',
          member: 'x',
          in: ['p', 'q'],
          values: [
            { from: token('1'), to: string('one') },
            { from: string('day'), to: string('dusk') },
            { from: string('1'), to: string('two') },
            { from: token('10.50'), to: token('0.5') },
            { from: token('null'), to: token('true') },
            { from: string('yes'), to: token('null') },
          ],
        },
      ],
    ],
    [
      '{ map: { a: 1.10, b: 1.50e3, c: 007 }, of: x }',
      [
        {
          rule: 'map',
          member: 'x',
          in: [],
          values: [
            { from: string('a'), to: token('1.10') },
            { from: string('b'), to: token('1.50e3') },
            { from: string('c'), to: token('7') },
          ],
        },
      ],
    ],
  ])('request rule %s', async (rule, meaning) => {
    const book = await bookIn(withChanges(`- { id: c, summary: s, on: every, request: [\n ${rule} ] }`));
    expect(book.changes[0]?.request).toEqual(meaning);
  });

  test.each<[rule: string, meaning: object]>([
    ['{ alias: data.x, as: y }', { rule: 'alias', path: ['data', 'x'], as: 'y', status: ['2xx'] }],
    ['{ alias: data.x, as: y, status: 201 }', { rule: 'alias', path: ['data', 'x'], as: 'y', status: [201] }],
    ['wrap: data', { rule: 'wrap', path: ['data'], status: ['2xx'] }],
    ['flatten: data.a', { rule: 'flatten', path: ['data', 'a'], members: undefined, status: ['2xx'] }],
    [
      '{ flatten: a, members: [x], status: [2xx, 404] }',
      { rule: 'flatten', path: ['a'], members: ['x'], status: ['2xx', 404] },
    ],
    ['deprecations: data.d', { rule: 'deprecations', path: ['data', 'd'], status: ['2xx'] }],
    ['{ rename: data.a, to: b }', { rule: 'rename', path: ['data', 'a'], to: 'b', status: ['2xx'] }],
    ['unnest: data.a', { rule: 'unnest', path: ['data', 'a'], members: undefined, status: ['2xx'] }],
    [
      '{ unnest: a.*.b, members: [x], status: 201 }',
      { rule: 'unnest', path: ['a', '*', 'b'], members: ['x'], status: [201] },
    ],
    ['errors: true', { rule: 'errors', details: {}, status: ['4xx', '5xx'] }],
    [
      '{ errors: { details: { a: b } }, status: 422 }',
      { rule: 'errors', details: { a: 'b' }, status: [422] },
    ],
    [
      '{ map: { slow: 1 }, of: data.speed }',
      {
        rule: 'map',
        path: ['data', 'speed'],
        values: [{ from: string('slow'), to: token('1') }],
        status: ['2xx'],
      },
    ],
  ])('response rule %s', async (rule, meaning) => {
    const book = await bookIn(withChanges(`- { id: c, summary: s, on: [g], response: [ ${rule} ] }`));
    expect(book.changes[0]?.response).toEqual([meaning]);
  });

  test('short and long form of an operation, and the description of a change', async () => {
    const book = await bookIn(`{ "$schema": "./rules.schema.json", "version": "2025-06-30",
      "operations": { "a": "POST /a", "b": { "match": "PATCH /b/{id}", "assumed": true } },
      "policies": { "flat": "forward" }, "limits": { "depth": 9 },
      "changes": [{ "id": "c", "summary": "s", "on": ["b", "a"], "assumed": true,
        "request": [{ "unwrap": "data" }], "policies": { "wrapper": "forward" } }] }`);
    expect(book).toMatchObject({
      version: '2025-06-30',
      operations: [
        { id: 'a', method: 'POST', template: '/a', assumed: false },
        { id: 'b', method: 'PATCH', template: '/b/{id}', assumed: true },
      ],
      changes: [{ id: 'c', on: ['b', 'a'], policies: { wrapper: 'forward' }, assumed: true }],
      policies: { flat: 'forward', siblings: 'drop' },
      limits: { depth: 9, body: 10_485_760, response: 10_485_760 },
    });
  });
});

describe('YAML', () => {
  test('keeps days, yes, no and on as the texts they are', async () => {
    const book = await bookIn(
      withChanges(`- { id: no, summary: yes, on: every, request: [ strip: [no, y, off, 2025-01-01] ] }`),
    );
    expect(book.version).toBe('2025-01-01');
    expect(book.changes[0]).toMatchObject({
      id: 'no',
      summary: 'yes',
      on: 'every',
      request: [{ members: ['no', 'y', 'off', '2025-01-01'] }],
    });
  });

  test('has anchors, which are the values they stand for', async () => {
    const book = await bookIn(
      withChanges(`- { id: c, summary: s, on: [a], request: [ { nest: &n [x, y], in: p, under: z } ] }
- { id: d, summary: s, on: [b], request: [ { nest: *n, in: q, under: z } ] }`),
    );
    expect(book.changes[1]?.request).toEqual([{ rule: 'nest', members: ['x', 'y'], in: ['q'], under: 'z' }]);
  });

  test.each([
    ...rows`
    a key twice, spelled with an escape → {"version":"2025-01-01","changes":[],"ch\u0061nges":[]}
      1:38 the key "changes" is already in line 1; keep one of them
    broken JSON → {"version": "2025-01-01" → 1:25 cannot be read as JSON or YAML: Flow map must end with a }
    a text → rules → 1:1 the rule book must be a mapping, not "rules"
  `,
    [
      'a key twice',
      'version: 2025-01-01\nchanges: []\nversion: 2025-02-01',
      '3:1 the key "version" is already in line 1; keep one of them',
    ],
    [
      'a key twice, in JSON',
      '{ "version": "2025-01-01", "changes": [],\n\t"changes": [] }',
      '2:2 the key "changes" is already in line 1; keep one of them',
    ],
    ['a tag', 'version: !day 2025-01-01\nchanges: []', '1:10 cannot be read as YAML: Unresolved tag: !day'],
    [
      'YAML 1.1, in which on is true',
      '%YAML 1.1\n---\nversion: 2025-01-01\nchanges: []',
      '1:1 says it is YAML 1.1; remove the directive: YAML 1.2 is read',
    ],
    [
      'a second document',
      'version: 2025-01-01\nchanges: []\n---\na: b',
      '3:1 a second document begins here; keep one in the file',
    ],
    [
      'a broken mapping',
      'version: 2025-01-01\nchanges: [',
      '2:11 cannot be read as YAML: Flow sequence in block collection must be sufficiently indented and end with a ]',
    ],
    ['a key that is a list', '? [version]\n: 2025-01-01', '1:3 a key must be a plain name'],
    [
      'an alias of nothing',
      'version: *day\nchanges: []',
      '1:10 the alias "*day" has no anchor "&day" before it; add the anchor, or write the value out',
    ],
    [
      'an alias of itself',
      'version: 2025-01-01\nchanges: &c [*c]',
      '2:14 the alias "*c" is inside its own anchor; write the value out',
    ],
    [
      'an object that poisons others',
      'version: 2025-01-01\nchanges: []\n__proto__: { limits: 1 }',
      '3:1 no key of a rule book may be "__proto__"; use another name',
    ],
    ['nothing', '', '1:1 the rule book must be a mapping, not nothing'],
    ['only a comment', '# nothing\n', '1:1 the rule book must be a mapping, not nothing'],
  ])('%s is a fault', async (_, text, fault) => {
    expect(await faultsIn(text)).toContain(fault);
  });

  // Attack: nine lines of aliases of aliases stand for a billion values and fill the memory.
  test('aliases of aliases are counted', async () => {
    const lines = ['a0: &a0 [x, x, x, x, x, x, x, x, x, x]'];
    for (let k = 1; k < 10; k += 1) {
      lines.push(`a${k}: &a${k} [${Array.from({ length: 10 }, () => `*a${k - 1}`).join()}]`);
    }
    const messages = await messagesIn(lines.join('\n'));
    expect(messages).toEqual(['aliases add more than 100,000 values; write them out']);
  });

  // Attack: a hundred thousand brackets exhaust the stack of a reader that calls itself.
  test.each([100, 100_000])('%i levels are too deep', async (levels) => {
    const messages = await messagesIn(`version: ${'['.repeat(levels)}${']'.repeat(levels)}`);
    expect(messages).toEqual([
      expect.stringMatching(
        /^nested (?:deeper than 64 levels, the limit for rule books|too deep to be read; the limit is 64 levels)$/,
      ),
    ]);
  });
});

describe('faults', () => {
  test('are reported together, in the order of the text', async () => {
    const text = `version: 2025-02-30
opperations: {}
operations:
  create: POST /clients
  b: { match: post /x, asumed: true }
  c: POST /clients/
changes:
  - id: first
    summary: 5
    on: every
    request:
      - { strp: x }
  - id: second
    summary: s
    on: [create, creat, b]
    request:
      - unwrap: data
    policies: { conflict: v1 }
limits: { depth: 0 }
`;
    expect(await faultsIn(text)).toEqual([
      '1:10 version "2025-02-30" must be a real day, not before 2025-01-01',
      '2:1 unknown key "opperations"; did you mean "operations"? known here: $schema, format, from, to, other, body-links, link-fields, override, version, errors, cors, refusals, client, resource, operations, changes, webhooks, policies, limits, zone, clients, deprecation, sunset, links, newcomers, brownouts, modes, pins, shield',
      '5:15 operations.b.match "post /x" must be a method and a path, such as "POST /clients"',
      '5:24 unknown key "asumed" in operations.b; did you mean "assumed"? known here: match, assumed, embeds, to, parameters, status, gone, deprecation, links, sunset, resource, transform',
      '6:6 operation "c": the path "/clients/" ends with a slash; remove it: both spellings match',
      '9:14 changes[0].summary must be a text, not 5; put it in quotes',
      `12:9 changes[0].request[0] is not a rule: it needs ${kindsOf('request')}; did you mean "strip"?`,
      '15:18 change "second": operation "creat" is not among the operations; did you mean "create"?',
      '18:17 change "second": the policy conflict is for nest, rename, move, copy, list, entries, unlist, join, split, and this change has none; remove it',
      '19:18 limits.depth must be at least 1, not 0',
    ]);
  });

  test.each([
    ...rows`
    {} → changes is missing; write changes: and a list of them
    format: 2 → format must be 1, not 2
    from: api/v1 → from "api/v1" must begin with a slash, such as /api/v1
    to: /api/v2/ → to "/api/v2/" must not end with a slash
    from: /api//v1 → from "/api//v1" must not have an empty segment: services merge slashes
    from: /api/../v1 → from "/api/../v1" must not have a dot segment
    from: /api/v%31
      from "/api/v%31" must have only letters, digits and -._~ in its segments: all other characters have several spellings
    other: drop → other must be refuse or pass, not "drop"
    link-fields: X-Poll-Url → link-fields must be a list, not "X-Poll-Url"
    link-fields: [] → link-fields is an empty list; name at least one, or remove the line
    link-fields: [a b] → link-fields[0] "a b" is not the name of a header field; write a name such as X-Account
    link-fields: [Operation-Location]
      link-fields[0] "Operation-Location" is converted to V1 without being named; remove it
    link-fields: [Date] → link-fields[0] "Date" is a field that the gateway itself sends; remove it
    link-fields: [Content-Digest]
      link-fields[0] "Content-Digest" describes the body, which the gateway reads and writes; remove it
    link-fields: [X-A, x-a] → link-fields names a field twice; remove one of them
    zone: Sydney → zone "Sydney" is not a time zone; write a name such as Australia/Sydney or UTC
    zone: '' → zone "" is not a time zone; write a name such as Australia/Sydney or UTC
    zone: '+10:00' → zone "+10:00" is not a time zone; write a name such as Australia/Sydney or UTC
    zone: Etc/Unknown → zone "Etc/Unknown" is not a time zone; write a name such as Australia/Sydney or UTC
    zone: :/etc/localtime → zone ":/etc/localtime" is not a time zone; write a name such as Australia/Sydney or UTC
    zone: 10 → zone must be a text, not 10; put it in quotes
    operations: { a: { match: POST /a, to: /b } }
      operations.a.to "/b" must be a method and a path, such as "POST /invoices"
    operations: { a: { match: POST /a, to: FETCH /b } }
      operations.a.to "FETCH /b" must be a method and a path, such as "POST /invoices"
    operations: { a: { match: GET /a, to: HEAD /b } }
      operation "a": to "HEAD /b" HEAD has no content for a client that sends GET; write GET
    operations: { a: { match: 'GET /a/{id}', to: 'GET /b/{key}' } }
      operation "a": to "GET /b/{key}" has the parameter {key}, which /a/{id} does not have: it has {id}
    operations: { a: { match: GET /a, to: 'GET /b?x={id}' } }
      operation "a": to "GET /b?x={id}" has the parameter {id}, which /a does not have: it has none
    operations: { a: { match: 'GET /a/{id}', to: 'GET /b/{id}?x={id}' } }
      operation "a": to "GET /b/{id}?x={id}" has the parameter {id} twice; use it once
    operations: { a: { match: 'GET /a/{id}/b/{id}', to: 'GET /b/{id}' } }
      operation "a": to "GET /b/{id}" has the parameter {id}, which /a/{id}/b/{id} has twice; give one of them another name
    operations: { a: { match: 'GET /a/{b}/{c}', to: 'GET /d/{b}{c}' } }
      operation "a": to "GET /d/{b}{c}" contains "{b}{c}"; a segment or a value has room for one parameter, because two would be indistinguishable
    operations: { a: { match: 'GET /a/{b}', to: 'GET /d/{}' } }
      operation "a": to "GET /d/{}" contains "{}"; a parameter is a name in braces, such as {id}
    operations: { a: { match: 'GET /a', to: 'GET /d?x' } }
      operation "a": to "GET /d?x" has a query that is not made of name=value; write /d?name={id}, for example
    operations: { a: { match: 'GET /a', to: 'GET /d?x=1&%78=2' } }
      operation "a": to "GET /d?x=1&%78=2" has the query parameter x twice; write it once
    operations: { a: { match: 'GET /a', to: 'GET /d?x=a;b' } }
      operation "a": to "GET /d?x=a;b" contains ";" in the query; percent-encode it
    operations: { a: { match: GET /a, to: 'GET /b#c' } }
      operation "a": to "GET /b#c" contains a fragment, which is never sent; remove it
    operations: { a: { match: GET /a, to: GET /api/v2/b } }
      operation "a": to "GET /api/v2/b" contains the prefix; write only the part after /api/v2
    operations: { a: { match: GET /a, to: GET /b/ } }
      operation "a": to "GET /b/" ends with a slash; remove it: the slash of a request is kept
    operations: { a: { match: GET /a, to: GET /b/../c } }
      operation "a": to "GET /b/../c" contains a dot segment; servers resolve it
    operations: { a: { match: GET /a, to: GET /a } }
      operation "a": to "GET /a" is where the operation goes without it; remove it
    operations: { a: { match: GET /a, status: { 99: 200 } } }
      operations.a.status.99 must be a status of V2, from 200 to 599
    operations: { a: { match: GET /a, status: { 200: 600 } } }
      operations.a.status.200 must be at most 599, not 600
    operations: { a: { match: GET /a, status: { 204: 204 } } }
      operation "a": status 204: 204 maps the status to itself; remove it
    operations: { a: { match: GET /a, status: { 304: 200 } } }
      operation "a": status 304: 200 concerns 304, which is about the copy that the client has; remove it
    version: 2024-12-31 → version "2024-12-31" must be a real day, not before 2025-01-01
    version: 2025-1-1 → version "2025-1-1" must be a day, YYYY-MM-DD
    version: 20250101
      version must be a day, such as 2025-01-01, or a mapping with header, value, form and v1, not 20250101; write version: 2025-01-01
    version: { value: v7 } → version.value "v7" must be a real day, not before 2025-01-01, or the form text
    version: { header: X-Rev, value: 2019-02-29 }
      version.value "2019-02-29" must be a real day, YYYY-MM-DD, or the form text
    version: { value: "a\nb", form: text }
      version.value "a\nb" must be the value of a header field, without line breaks or spaces around it
    version: { value: "", form: text }
      version.value "" must be the value of a header field, without line breaks or spaces around it
    version: { value: v7, form: txt } → version.form must be date or text, not "txt"; did you mean "text"?
    version: { header: "X Rev", value: 2025-01-01 }
      version.header "X Rev" is not the name of a header field; write a name such as X-Account
    version: { header: Host, value: 2025-01-01 }
      version.header "Host" is the service's host; set it with GATEWAY_UPSTREAM, and remove it here
    version: { header: accept, value: 2025-01-01 }
      version.header "accept" already has another meaning; name another field
    version: { header: Via, value: 2025-01-01 }
      version.header "Via" is a field that the gateway itself sends; remove it
    policies: { future: replace } → the policy future is for version, and this rule book has none; remove it
    pins: [{ version: 2025-01-01, clients: [a] }]
      pins are for version, and this rule book has none; add version, or remove them
    operations: { every: POST /a } → operations.every is reserved for all operations; use another id
    operations: { a: 5 }
      operations.a must be a method and a path, such as "POST /clients", or a mapping with match, not 5
    operations: { a: POST clients }
      operation "a": the path "clients" does not begin with a slash; write /clients, for example
    operations: { a: POST /api/v1/clients }
      operation "a": the path "/api/v1/clients" contains the prefix; write only the part after /api/v1
    operations: { a: POST /clients?x=1 }
      operation "a": the path "/clients?x=1" contains a query or a fragment; only the path is matched, so remove it
    operations: { a: POST /clients.json }
      operation "a": the path "/clients.json" ends with .json; remove it: both spellings match
    operations: { a: POST /a//b }
      operation "a": the path "/a//b" contains an empty segment; services merge slashes, so remove it
    operations: { a: POST /a/../b }
      operation "a": the path "/a/../b" contains a dot segment; such requests are refused
    operations: { a: "POST /a/x{id}" }
      operation "a": the path "/a/x{id}" contains "x{id}"; a parameter is a whole segment, such as {id}
    operations: { a: POST /ä }
      operation "a": the path "/ä" contains "ä", which is not valid in a path; percent-encode everything except letters, digits and -._~!$&'()*+,=:@
    operations: { a: "PATCH /p/{id}", b: "PATCH /p/{x}" }
      operation "b": PATCH /p/{x} matches the same requests as "a"; remove one of them
    operations: { a: POST /abc, b: POST /a%62c }
      operation "b": POST /a%62c matches the same requests as "a"; remove one of them
    policies: { flat: migrat }
      policies.flat must be migrate, refuse or forward, not "migrat"; did you mean "migrate"?
    resource: [items]
      resource must be a path: names joined by dots, such as items; an empty text is the body itself, not a list
    errors: railz
      errors must be json-api, problem, rails, or a mapping with list, pointer and text, not "railz"
    cors: { origins: [app.example] }
      cors.origins[0] "app.example" is not an origin; write one such as https://app.example, or *
    cors: { origins: ["https://App.example:443"] }
      cors.origins: browsers write https://App.example:443 as https://app.example; write the same here
    cors: { origins: ["*"], credentials: true }
      cors.credentials: browsers refuse * for requests with cookies; list the origins
    refusals: jsonapi
      refusals must be json-api, problem, rails, or a template: a mapping with body and type, not "jsonapi"
    refusals: { body: { a: ["{detial}"] } } → {detial} is not a placeholder; did you mean "detail"?
    refusals: { body: { "{x-y}": 1 } }
      {x-y} is not a placeholder; known: {status}, {status-text}, {code}, {title}, {detail}, {pointer}, {field}, {id}
    refusals: { type: json, body: 1 }
      refusals.type "json" is not a media type; write one such as application/vnd.acme+json
    client: X-Api-Key → client must be { header: X-Api-Key } or { query: api_key }, not "X-Api-Key"
    client: { header: User-Agent }
      client.header "User-Agent" is not a client's key; name the field that has it
    client: { header: Host }
      client.header "Host" is the service's host; set it with GATEWAY_UPSTREAM, and remove it here
    refusals: { type: a/b } → refusals.body is missing
    refusals: { body: .inf } → refusals.body Infinity is not a JSON value; write a finite number
    resource: items.* → resource "items.*" has a *; name the object or the list itself
    operations: { a: { match: POST /a, resource: '*' } }
      operations.a.resource "*" has a *; name the object or the list itself
    limits: { body: 1.5 } → limits.body must be a whole number, not 1.5
    limits: { body: 10 MiB }
      limits.body must be a number, not "10 MiB"; write the number of bytes, such as 10485760 for 10 MiB
    limits: { transform: 99ms }
      limits.transform must be a number, not "99ms"; write the number of milliseconds, such as 50
  `,
    [
      "changes: []\nwebhooks: { a: { to: 'ftp://x.test', sign: { scheme: standard-webhooks, verify: A, with: B } } }",
      'webhooks.a.to must be an address such as https://subscriber.example/orders, without a user and a fragment',
    ],
    [
      "changes: []\nwebhooks: { a: { to: 'https://me:pw@x.test', sign: { scheme: standard-webhooks, verify: A, with: B } } }",
      'webhooks.a.to must be an address such as https://subscriber.example/orders, without a user and a fragment',
    ],
    [
      "changes: []\nwebhooks: { a: { to: 'https://x.test', gateway: 'https://x.test/api', sign: { scheme: standard-webhooks, verify: A, with: B } } }",
      'webhooks.a.gateway must be an address without a path, such as https://api.example',
    ],
    [
      "changes: []\nwebhooks: { a: { to: 'https://x.test', as: get, sign: { scheme: standard-webhooks, verify: A, with: B } } }",
      'webhook "a": operation "get" is not among the operations; declare it there, or remove as',
    ],
    [
      "changes: []\nwebhooks: { a: { to: 'https://x.test', sign: { scheme: standard-webhooks, verify: whsec_c2VjcmV0, with: B } } }",
      'webhooks.a.sign.verify must be the name of an environment variable in capitals, such as WEBHOOK_SECRET, that does not begin with GATEWAY_; secrets are never in a rule book',
    ],
    [
      "from: /webhooks\nchanges: []\nwebhooks: { a: { to: 'https://x.test', sign: { scheme: standard-webhooks, verify: A, with: B } } }",
      'webhook "a": V2 would post to /webhooks/a, which is under a prefix of the API; webhooks need prefixes other than /webhooks',
    ],
    [
      "operations: { get: { match: GET /x, transform: ./a.js } }\nchanges: []\nwebhooks: { a: { to: 'https://x.test', as: get, sign: { scheme: standard-webhooks, verify: A, with: B } } }",
      'webhook "a": operation "get" has a transform, and deliveries run none; name an operation without one',
    ],
    [
      "from: /\noperations: { a: POST /webhooks/a }\nchanges: []\nwebhooks: { a: { to: 'https://x.test', sign: { scheme: standard-webhooks, verify: A, with: B } } }",
      'webhook "a": V2 would post to /webhooks/a, which is the path of operation "a"; give it another name',
    ],
    [
      'from: /\nto: /v2\noperations: { a: POST /v2/x }',
      'operation "a": the path "/v2/x" is under /v2, V2\'s prefix, whose requests are V2\'s own',
    ],
    [
      'from: [/v1, /api/v1]\noperations: { a: POST /v1/x }',
      'operation "a": the path "/v1/x" contains the prefix; write only the part after /v1',
    ],
    [
      'from: /\nto: /v2\nother: pass',
      "other: pass has no effect: from is the root, and each request that is under no other prefix is V1's; remove it",
    ],
    [
      'to: /\nother: pass',
      "other: pass has no effect: to is the root, and each request that is under no other prefix is V2's; remove it",
    ],
    ['from: [/v1, /v3, /v1]', 'from has /v1 in the list already; remove it'],
    [
      "version: { header: A, query: b, value: '2' }",
      'version has header and query; write only the one that names the release',
    ],
    [
      "version: { accept: application/json, value: '2' }",
      `version.accept "application/json" must be a media type with {} once, such as application/vnd.acme.v{}+json or 'application/vnd.acme+json; version={}'`,
    ],
    [
      "version: { accept: 'a{}/b{}', value: '2' }",
      `version.accept "a{}/b{}" must be a media type with {} once, such as application/vnd.acme.v{}+json or 'application/vnd.acme+json; version={}'`,
    ],
    [
      "version: { accept: 'a/b{}', value: 'v 2' }",
      'version.value "v 2" must have only letters, digits and ._-, as part of a media type',
    ],
    [
      "version: { accept: 'a/b{}', value: v2, v1: ['1/1'] }",
      'version.v1 "1/1" must have only letters, digits and ._-, as part of a media type',
    ],
    [
      "version: { query: v, value: '2' }\npins: [{ version: '3' }]",
      'pins are for releases in a header field, and query names this one; remove them',
    ],
    [
      'version: { query: v, value: 2024-06-01 }\npolicies: { future: replace }',
      'the policy future is for releases in a header field, and query names this one; remove it',
    ],
    [
      "version: { query: v, value: '2' }\nchanges: [{ id: c, summary: S., on: every, query: [{ strip: v }] }]",
      'change "c": strip of the query parameter "v" has no effect: "v" names V2\'s release; set version instead, and remove this rule',
    ],
    [
      "version: { accept: 'a/b{}', value: '2' }\nchanges: [{ id: c, summary: S., on: every, headers: [{ strip: Accept }] }]",
      'change "c": strip of the header field "Accept" has no effect: "Accept" names V2\'s release; set version instead, and remove this rule',
    ],
    [
      'operations: { a: { match: GET /a, gone: No., to: GET /b } }',
      'operation "a": to has no effect beside gone: V2 never gets its requests; remove one of the two',
    ],
    [
      "operations: { a: { match: GET /a, gone: '' } }",
      'operations.a.gone is empty; write a value, or remove the line',
    ],
    [
      'operations: { a: { match: POST /a, gone: No. } }\nchanges: [{ id: c, summary: S., on: [a], request: [{ strip: x }] }]',
      'change "c": operation "a" is gone, so no rule applies to it; remove it',
    ],
    ...(
      [
        [
          "{ match: 'GET /a?b={c}&b=x' }",
          'the path "/a?b={c}&b=x" has the query parameter b twice; write it once',
        ],
        ["{ match: 'GET /a/{c}?b={c}' }", 'the path "/a/{c}?b={c}" has the parameter {c} twice; use it once'],
        [
          "{ match: 'GET /a?b=x{c}' }",
          'the path "/a?b=x{c}" has "x{c}" in its query; a value must be a whole parameter, such as {id}, or contain none',
        ],
        [
          "{ match: 'GET /a?{c}' }",
          'the path "/a?{c}" has a query that is not made of name=value; write GET /runs?project_id={id}, for example',
        ],
        [
          "{ match: 'GET /a?b={c}', to: 'GET /a/{d}' }",
          'to "GET /a/{d}" has the parameter {d}, which /a does not have: it has {c}',
        ],
        [
          "{ match: 'GET /a/{c}', parameters: [{ prefix: c, with: x }] }",
          'parameters has no effect without to; add to, or remove it',
        ],
        [
          "{ match: 'GET /a/{c}', to: 'GET /b/{c}', parameters: [{ prefix: d, with: x }] }",
          'parameters[0] has no parameter {d} at this step; known: {c}',
        ],
        [
          "{ match: 'GET /a/{c}/{d}', to: 'GET /b/{d}/{e}', parameters: [{ split: c, with: x, to: [d, e] }] }",
          'parameters[0] already has the parameter {d}; give the part another name',
        ],
      ] as const
    ).map(([operation, message]): [string, string] => [
      `operations: { a: ${operation} }`,
      `operation "a": ${message}`,
    ]),
    [
      "operations: { a: 'GET /a?b={c}', b: 'GET /a?b={d}' }",
      'operation "b": GET /a?b={d} matches the same requests as "a"; remove one of them',
    ],
    ['from: 7', 'from must be a path prefix, such as /api/v1, or a list of them, not 7'],
    ['from: []', 'from is an empty list; name at least one, or remove the line'],
    ['from: [v1]', 'from[0] "v1" must begin with a slash, such as /api/v1'],
    [
      'from: /\nto: /',
      'to is the same as from, and without version no field tells V1 and V2 apart; add version',
    ],
    [
      'from: [/v1, /api]\nto: /api',
      'to is the same as from, and without version no field tells V1 and V2 apart; add version',
    ],
    [
      'from: /shop\noperations: { a: POST /shop/x }',
      'operation "a": the path "/shop/x" contains the prefix; write only the part after /shop',
    ],
    [
      'version: { value: v7, form: text }\npolicies: { future: replace }',
      'the policy future is for days, and the form of version is text; remove it',
    ],
    [
      'version: { value: v7, form: text }\npins: [{ version: " ", clients: [a] }]',
      'pins[0].version " " must be the value of a header field, without line breaks or spaces around it',
    ],
  ])('of a book: %s', async (source, message) => {
    expect(await messagesIn(source)).toContain(message);
  });

  test.each([
    ...rows`
    on: evry, request: []
      changes[0].on must be the word every or a list of operation ids, not "evry"; write on: every, or on: and a list of operation ids
    on: [], request: [] → changes[0].on is an empty list; name at least one, or remove the line
    on: [every], request: [] → change "c": "every" cannot be in a list; write on: every
    on: [a, a], request: [] → change "c": operation "a" is in the list already; remove it
    on: [nothing_near], request: []
      change "c": operation "nothing_near" is not among the operations; declare it there, or remove it
    on: [a, h], request: [ strip: x ]
      change "c": operation "h" is HEAD, whose bodies are not rewritten; remove it
    on: every → change "c" changes nothing; give it request, query, header or response rules
    on: every, headers: [ { rename: X-A, to: x-a } ]
      change "c": rename gives "x-a" the name it has, as case does not count; write another in to
    on: every, headers: [ { set: X-A, to: "a\nb" } ]
      changes[0].headers[0].to "a\nb" must be the value of a header field: characters of Latin-1, no line breaks, no spaces around it
    on: every, headers: [ { query: k, to: X-A, as: 'Bearer' } ]
      changes[0].headers[0].as "Bearer" must have {} exactly once, where the value goes
    on: every, headers: [ { move: X-A, to: X-B } ]
      changes[0].headers[0] is not a rule: it needs rename, strip, map, set, default or query
    on: every, response: [ headers: [ { query: k, to: X-B } ] ]
      changes[0].response[0].headers[0] is not a rule: it needs rename, strip, map, set or default
    on: every, headers: [ { map: { a: a }, of: X-A } ]
      change "c": map gives "a" the value it has; write another, or remove it
    on: every, headers: [ { strip: X-A } ], response: inverse
      change "c": inverse has nothing to undo: strip has no inverse; remove it
    on: every, headers: [ { strip: X-A }, { rename: x-a, to: X-B } ]
      change "c": rename of the header field "x-a" has no effect: change "c" strips "X-A" already; remove one of the two
    on: every, headers: [ { rename: X-A, to: X-B }, { map: { a: b }, of: X-A } ]
      change "c": map of the header field "X-A" has no effect: change "c" renames "X-A" to "X-B" already; remove one of the two
    on: every, headers: [ { strip: [X-A, X-a] } ]
      change "c": strip of the header field "X-a" has no effect: "X-a" is in the list already; remove one of the two
    on: every, headers: [ { set: X-A, to: v }, { default: X-A, to: w } ]
      change "c": default of the header field "X-A" has no effect: change "c" sets it already; remove one of the two
    on: every, request: [ 5 ] → changes[0].request[0] must be a rule, not 5
    on: every, request: [ { strip: x, rename: y, to: z } ]
      changes[0].request[0] is two rules, rename and strip; write them as two entries of the list
    on: every, request: [ { rename: y } ] → changes[0].request[0].to is missing; write to: and the new name
    on: every, request: [ { scale: y } ]
      changes[0].request[0].by is missing; write by: and the factor, such as 100
    on: every, request: [ { rename: y, to: y } ]
      change "c": rename gives "y" the name it has; write the V2 name in to
    on: every, request: [ { rename: p.y, to: y } ]
      change "c": rename gives "y" the name it has; write the V2 name in to
    on: every, request: [ { nest: [], under: y } ]
      changes[0].request[0].nest is an empty list; name at least one, or remove the line
    on: every, request: [ { nest: [x, y], under: y } ]
      change "c": nest would move "y" into itself; remove it from the list, and write { move: y, to: y.y } before this rule, with its V2 name at the end
    on: every, request: [ { nest: [y], in: "lines.*", under: y } ]
      change "c": nest would move "y" into itself; write { move: y, in: 'lines.*', to: y.y } instead, with its V2 name at the end
    on: every, request: [ { move: "lines.*.a", to: a } ]
      change "c": each * of to must be that of move, at the same place
    on: every, request: [ { move: a, to: "lines.*.a" } ]
      change "c": each * of to must be that of move, at the same place
    on: every, request: [ { move: p.a, to: p.a } ]
      change "c": move leaves the member where it is; write another path
    on: every, request: [ { copy: a, to: a } ]
      change "c": copy leads to the member itself; write another path
    on: every, request: [ { copy: a, to: a.b } ]
      change "c": copy cannot put a member into itself, and both places are in "a"; write another path
    on: every, response: [ { copy: p.a.b, to: p.a } ]
      change "c": copy cannot put a member into itself, and both places are in "p.a"; write another path
    on: every, request: [ { copy: "lines.*.a", to: a } ]
      change "c": each * of to must be that of copy, at the same place
    on: every, request: [ { rename: a, to: b, in: "**.x" } ]
      changes[0].request[0].in "**.x" has a **, which means any depth and must stand alone: write in: '**' and the name of a member
    on: every, request: [ { rename: "**.a", to: b } ]
      changes[0].request[0].rename "**.a" has a **, which means any depth and must stand alone: write in: '**' and the name of a member
    on: every, request: [ { rename: a, to: "**" } ]
      changes[0].request[0].to "**" has a **, which means any depth and must stand alone: write in: '**' and the name of a member
    on: every, request: [ { move: a, to: "**.b", in: "**" } ]
      changes[0].request[0].to "**.b" has a **, which means any depth and must stand alone: write in: '**' and the name of a member
    on: every, request: [ { set: { a: 1 }, in: "**" } ]
      changes[0].request[0].in "**" has a **, which means any depth and must stand alone: write in: '**' and the name of a member
    on: every, response: [ { rename: "**.a", to: b } ]
      changes[0].response[0].rename "**.a" has a **, which means any depth and must stand alone: write in: '**' and the name of a member
    on: every, response: [ { rename: a, in: x, to: b } ]
      changes[0].response[0].in must be **, not "x"
    on: every, request: [ { list: a, with: ",", of: b } ]
      changes[0].request[0] has with and of; write the one that the elements need
    on: every, request: [ { unlist: a } ]
      changes[0].request[0] needs one of with, of, or name and value
    on: every, request: [ { unlist: a, name: k } ]
      changes[0].request[0] needs one of with, of, or name and value
    on: every, request: [ { unlist: a, of: v, name: k } ]
      changes[0].request[0] needs one of with, of, or name and value
    on: every, response: [ { unlist: a, of: v, with: "," } ]
      changes[0].response[0] needs one of with, of, or name and value
    on: every, response: [ { entries: a, name: k } ]
      changes[0].response[0].value is missing; write value: and the name of the member
    on: every, request: [ { entries: a, name: k, value: k } ]
      changes[0].request[0] has one member for name and value; write two
    on: every, response: [ { unlist: a, name: k, value: k } ]
      changes[0].response[0] has one member for name and value; write two
    on: every, request: [ { entries: a, name: k, value: v, with: "," } ]
      unknown key "with" in changes[0].request[0]; known here: entries, in, to, name, value
    on: every, request: [ { list: a, with: "" } ]
      changes[0].request[0].with is empty; write a value, or remove the line
    on: every, request: [ strip: [null] ]
      changes[0].request[0].strip[0] must be a text, not nothing; put it in quotes
    on: every, request: [ strip: a..b ]
      changes[0].request[0].strip "a..b" must be a path: names joined by dots, with * for any element of an array
    on: every, request: [ strip: a.* ]
      changes[0].request[0].strip "a.*" ends with *, an element; name a member of it
    on: every, request: [ { strip: "*.x" }, { strip: "*.x.y" } ]
      change "c": this strip has no effect: change "c" strips "*.x" already; remove one of the two, or put this rule before that one
    on: every, request: [ strip: x ], policies: { flat: refuse }
      change "c": the policy flat is for unwrap, and this change has none; remove it
    on: every, request: [ strip: x ], policies: { malformed: refuse }
      the policy malformed applies to whole bodies, before any change; move it to the policies of the rule book
    on: every, response: [ { alias: x, as: x } ]
      change "c": alias gives "x" the name it has; write the V1 name
    on: every, response: [ { alias: x, as: y, status: 99 } ]
      changes[0].response[0].status must be at least 200, not 99
    on: every, response: [ { alias: x, as: y, status: [204] } ]
      changes[0].response[0].status[0] 204 has no body to rewrite
    on: every, response: [ { alias: x, as: y, status: 3xx } ]
      changes[0].response[0].status must be a status, or a list of them, not "3xx"
    on: every, request: [ { map: {}, of: x } ]
      changes[0].request[0].map has no values; write one value and its replacement
    on: every, query: [ { map: { a: "\ud800" }, of: x } ]
      changes[0].query[0].map.a "\ud800" has half of a surrogate pair
    on: every, request: [ { map: { a: [b] }, of: x } ]
      changes[0].request[0].map.a must be a text, a number, true, false or null, not a list
    on: every, request: [ { map: { a: 12345678901234567890 }, of: x } ]
      changes[0].request[0].map.a 12345678901234567000 is too large to be read exactly
    on: every, request: [ { map: { a: b } } ]
      changes[0].request[0].of is missing; write of: and the name of the member
    on: every, request: [ { map: { a: b, '"a"': c }, of: x } ]
      change "c": map has the value "a" already; remove one of the two
    on: every, request: [ { map: { 1: 1 }, of: x } ]
      change "c": map gives 1 the value it has; write another, or remove it
    on: every, response: [ { map: { a: b, '"a"': c }, of: data.x } ]
      change "c": map has the value "a" already; remove one of the two
    on: every, query: [ { nest: [a], under: b } ]
      changes[0].query[0] is not a rule: it needs ${kindsOf('query')}; did you mean "set"?
    on: every, query: [ { rename: a } ] → changes[0].query[0].to is missing; write to: and the new name
    on: every, query: [ { rename: a, to: a } ]
      change "c": rename gives "a" the name it has; write the V2 name in to
    on: every, query: [ { strip: "" } ] → changes[0].query[0].strip is empty; write a value, or remove the line
    on: every, query: [ { rename: a, to: "b\nc" } ]
      changes[0].query[0].to "b\nc" must be a name without control characters
    on: every, query: [ { map: { 1: a, '"1"': b }, of: x } ]
      change "c": map has the value "1" already; remove one of the two
    on: every, response: [ { errors: false } ]
      changes[0].response[0].errors must be true, or a mapping with details, not false
    on: every, response: [ { alias-errors: true } ]
      changes[0].response[0] is not a rule: it needs ${kindsOf('response', 'headers', 'inverse')}
    on: every, response: inverted
      changes[0].response must be the word inverse or a list of response rules, not "inverted"
    on: every, response: [ invers ] → changes[0].response[0] must be a rule, not "invers"
  `,
    ...[
      ['Host', "is the service's host; set it with GATEWAY_UPSTREAM, and remove it here"],
      ...words`Connection te Trailer Upgrade Transfer-Encoding Proxy-Authorization Expect Content-Length`.map(
        (name): [string, string] => [
          name,
          'belongs to one connection, and the gateway writes its own; remove it',
        ],
      ),
      ...words`
        X-Request-Id X-Gateway-Error Max-Forwards traceparent tracestate Via Forwarded
        X-Forwarded-For Date Deprecation Sunset
      `.map((name): [string, string] => [name, 'is a field that the gateway itself sends; remove it']),
      ['X-Api-Version', "names V2's release; write version instead"],
      ['Content-Type', 'describes the body, which the gateway reads and writes; remove it'],
      ...words`
        Accept-Encoding ETag If-Match If-None-Match If-Range Link Location Range Set-Cookie
        X-HTTP-Method-Override
      `.map((name): [string, string] => [name, 'is a field that the gateway itself translates; remove it']),
      ...['Digest', 'Accept-Ranges'].map((name): [string, string] => [
        name,
        'describes the body, which the gateway reads and writes; remove it',
      ]),
      ['Host', "is the service's host; set it with GATEWAY_UPSTREAM, and remove it here"],
      ['X_Request_Id', 'is read as x-request-id by some services, and V2 never gets it; remove it'],
      ['X Account', 'is not the name of a header field; write a name such as X-Account'],
      [':path', 'is not the name of a header field; write a name such as X-Account'],
    ].flatMap(([name, why]): [string, string][] => [
      [
        `on: every, headers: [ { rename: "${name}", to: X-B } ]`,
        `changes[0].headers[0].rename "${name}" ${why}`,
      ],
      [`on: every, headers: [ { rename: X-B, to: "${name}" } ]`, `changes[0].headers[0].to "${name}" ${why}`],
      [`on: every, headers: [ strip: ["${name}"] ]`, `changes[0].headers[0].strip[0] "${name}" ${why}`],
      [
        `on: every, response: [ headers: [ { set: "${name}", to: v } ] ]`,
        `changes[0].response[0].headers[0].set "${name}" ${why}`,
      ],
    ]),
    [
      'on: every, request: [ { rename: y, to: a.b } ]',
      'changes[0].request[0].to "a.b" must be the name of one member; in a name, a dot is written \\. and a backslash \\\\',
    ],
    [
      'on: every, query: [ { map: { "\\ud800": a }, of: x } ]',
      'changes[0].query[0].map.\ud800 has half of a surrogate pair',
    ],
  ])('of a change: %s', async (change, message) => {
    expect(await messagesIn(withChanges(`- { id: c, summary: s, ${change} }`))).toContain(message);
  });

  test.each(['rename: X-A, to: X-B', 'query: k, to: X-A'])(
    'a policy for conflicts is no fault beside the header rule { %s }',
    async (rule) => {
      const policies = 'policies: { conflict: refuse }';
      const change = `- { id: c, summary: s, on: every, headers: [ { ${rule} } ], ${policies} }`;
      expect(await messagesIn(withChanges(change))).toEqual([]);
    },
  );

  test('a change that has the id of another', async () => {
    const change = '- { id: c, summary: s, on: every, request: [] }\n';
    expect(await faultsIn(withChanges(change + change))).toEqual([
      '5:9 another change has the id "c" already; give this one another id',
    ]);
  });

  test('stand where the value is, in JSON with tabs and through an alias too', async () => {
    expect(
      await faultsIn('{\n\t"version": "2025-01-01",\n\t"changes": [\n\t\t{ "id":\t7 }\n\t]\n}'),
    ).toContain('4:11 changes[0].id must be a text, not 7; put it in quotes');
    const anchored = `- { id: c, summary: s, on: [a], request: &r\n  [ strip: x, strap: y ] }
- { id: d, summary: s, on: [b], request: *r }`;
    expect((await faultsIn(withChanges(anchored))).map((fault) => fault.split(' ')[0])).toEqual([
      '5:15',
      '5:15',
    ]);
  });

  test('do not follow from each other: a part left out as broken is not reported missing', async () => {
    const text = withChanges(`- { id: c, summary: s, on: [broken], request: [ strip: x ] }
- { id: d, summary: 5, on: every, request: [ { rename: y, to: x } ] }
- { id: e, summary: s, on: every, request: [ strip: x ] }`).replace('a: POST', 'broken: post /x, a: POST');
    expect((await faultsIn(text)).map((fault) => fault.split(' ')[1])).toEqual([
      'operations.broken',
      'changes[1].summary',
    ]);
  });
});

describe('properties', () => {
  test('a book printed as YAML, in either style, and as JSON is the same book', async () => {
    await fc.assert(
      fc.asyncProperty(
        sources,
        fc.constantFrom('BLOCK_FOLDED', 'QUOTE_DOUBLE', 'QUOTE_SINGLE'),
        async (source, style) => {
          const fromJson = await bookIn(JSON.stringify(source, undefined, '\t'));
          expect(await bookIn(JSON.stringify(source))).toEqual(fromJson);
          expect(
            await bookIn(stringify(source, { defaultStringType: style, aliasDuplicateObjects: false })),
          ).toEqual(fromJson);
          expect(await bookIn(stringify(source, { collectionStyle: 'flow' }))).toEqual(fromJson);
        },
      ),
      { numRuns: fuzzRuns(300) },
    );
  });

  test('reading never throws: any text', async () => {
    await fc.assert(
      fc.asyncProperty(fc.string({ unit: CODE_POINT, maxLength: 200 }), async (text) => {
        expect((await readRuleBook(text, 'f')).ok).toBe(false);
      }),
      { numRuns: fuzzRuns(3_000) },
    );
  });

  test('reading never throws: any value in the place of any other', async () => {
    const fragment = fc.constantFrom(
      ...Array.from('{}[],:-&*#!|>%@`"\'\n\t \\'),
      ...words`&a *a << __proto__ null .nan ~ 1e999`,
    );
    await fc.assert(
      fc.asyncProperty(
        sources,
        fragment,
        fc.nat(),
        fc.nat({ max: 20 }),
        async (source, text, place, removed) => {
          const printed = stringify(source);
          const at = place % printed.length;
          const reading = await readRuleBook(printed.slice(0, at) + text + printed.slice(at + removed), 'f');
          if (reading.ok) return;
          expect(reading.faults.length).toBeGreaterThan(0);
          for (const { line, column } of reading.faults) expect([line > 0, column > 0]).toEqual([true, true]);
        },
      ),
      { numRuns: fuzzRuns(2_000) },
    );
  });
});

test.each([
  ['the usual prefixes', '', 'GET /a', true],
  ['another prefix of V2', 'from: /v3\nto: /v4\n', 'GET /a', true],
  ['V1 at the root', 'from: /\nto: /v2\n', 'GET /a', true],
  [
    'several prefixes of V1',
    "from: [/v1, /api]\nto: /v1\nversion: { header: X-Version, value: '2', form: text }\n",
    'GET /a',
    true,
  ],
  [
    'one prefix for both',
    "from: /v1\nto: /v1\nversion: { header: X-Version, value: '2', form: text }\n",
    'GET /a',
    false,
  ],
  [
    'a moved operation',
    "from: /v1\nto: /v1\nversion: { header: X-Version, value: '2', form: text }\n",
    '{ match: GET /a, to: GET /b }',
    true,
  ],
  ['none that is wanted', 'body-links: leave\n', 'GET /a', false],
])('links in bodies lead back where the prefix or a path changes: %s', async (_, top, operation, follows) => {
  const book = await bookIn(`${top}operations:\n  a: ${operation}\nchanges: []\n`);
  expect(book.followsBodyLinks).toBe(follows);
});
