import { describe, expect, test } from 'vitest';
import { readPostman } from '../../../src/cli/explain/postman.ts';
import type { ReadRequests } from '../../../src/inspector/explain/curl-command.ts';

const URL = 'https://api.example/api/v1/clients';

function readCollection(collection: unknown, environment?: unknown): ReadRequests {
  const read = readPostman(
    JSON.stringify(collection),
    environment === undefined ? undefined : JSON.stringify(environment),
  );
  if ('fault' in read) throw new Error(read.fault);
  return { requests: read.requests, faults: read.faults, notes: read.notes };
}

/** Reads one request; `more` are members of the collection. */
function readOne(request: unknown, more: object = {}, environment?: unknown): ReadRequests {
  return readCollection({ item: [{ name: 'n', request }], ...more }, environment);
}

const VARIABLES = {
  variable: [
    { key: 'base', value: 'https://api.example/api/v1' },
    { key: 'outer', value: '{{base}}/clients/{{n}}' },
    { key: 'n', value: 7 },
    { id: 'yes', value: true },
    { key: 'off', value: 'x', disabled: true },
    { key: 'loop', value: '{{loop}}' },
  ],
};

describe('the URL of a request', () => {
  test.each([
    [URL, '/api/v1/clients'],
    ['api.example/api/v1/clients', '/api/v1/clients'],
    [` ${URL}?q=a b `, '/api/v1/clients?q=a%20b'],
    [`${URL}?q=é{x}#f`, '/api/v1/clients?q=%C3%A9%7Bx%7D'],
    [{ raw: URL }, '/api/v1/clients'],
    [{ host: ['api', 'example'], path: ['api', 'v1', 'clients'] }, '/api/v1/clients'],
    [{ protocol: 'https', host: 'api.example', port: '8443', path: 'api/v1/clients' }, '/api/v1/clients'],
    [{ host: ['{{base}}'], path: ['clients', { type: 'string', value: '{{n}}' }] }, '/api/v1/clients/7'],
    [
      {
        raw: `${URL}?a=1&b=2`,
        host: ['x'],
        path: ['api', 'v1', 'a'],
        query: [
          { key: 'a', value: '1' },
          { key: 'b', value: '2', disabled: true },
          { key: 'c', value: null },
          { key: 'd', value: 3 },
        ],
      },
      '/api/v1/a?a=1&c&d=3',
    ],
    [{ raw: `${URL}/:id/x`, variable: [{ key: 'id', value: 7 }] }, '/api/v1/clients/7/x'],
    [
      {
        host: ['x'],
        path: ['api', 'v1', ':id', ':b'],
        variable: [
          { id: 'id', value: '{{n}}' },
          { key: 'b', value: 'a/b' },
        ],
      },
      '/api/v1/7/a%2Fb',
    ],
    ['{{outer}}?ok={{yes}}', '/api/v1/clients/7?ok=true'],
    ['{{ base }}/clients', '/api/v1/clients'],
  ])('%j has the target %s', (url, target) => {
    const { requests, faults } = readOne({ method: 'GET', url }, VARIABLES);
    expect(faults).toEqual([]);
    expect(requests.map(({ request }) => request.target)).toEqual([target]);
  });

  test.each([
    ['{{host}}/api/v1/clients', '/api/v1/clients', '{{host}} has no value: it is taken for scheme and host'],
    [`${URL}/{{id}}`, '/api/v1/clients/%7B%7Bid%7D%7D', '{{id}} has no value: it is sent in the URL'],
    [`${URL}/:id`, '/api/v1/clients/:id', 'The path variable :id has no value'],
    [`${URL}/{{off}}`, '/api/v1/clients/%7B%7Boff%7D%7D', '{{off}} has no value'],
    [`${URL}/{{loop}}`, '/api/v1/clients/%7B%7Bloop%7D%7D', '{{loop}} has no value'],
    [
      `${URL}/{{$guid}}`,
      `/api/v1/clients/00000000-0000-4000-8000-000000000000`,
      'Postman makes {{$guid}} anew',
    ],
    [`${URL}/{{$randomCity}}`, '/api/v1/clients/text', 'Postman makes {{$randomCity}} anew'],
  ])('%s is explained, and it is said', (url, target, sentence) => {
    const { requests, notes } = readOne(url, VARIABLES);
    expect(requests.map(({ request }) => request.target)).toEqual([target]);
    expect(notes).toEqual([expect.stringContaining(sentence)]);
  });
});

test('variables of an environment come first, then those of the item, of its folders and of the collection', () => {
  const item = (name: string): object => ({ name, request: { url: `https://x/api/v1/{{a}}/{{b}}/{{c}}` } });
  const collection = {
    variable: [
      { key: 'a', value: 'collection' },
      { key: 'b', value: 'collection' },
      { key: 'c', value: 'collection' },
    ],
    item: [
      item('top'),
      {
        name: 'folder',
        variable: [{ key: 'b', value: 'folder' }],
        item: [{ ...item('inside'), variable: [{ key: 'c', value: 'item' }] }],
      },
    ],
  };
  const environment = {
    values: [
      { key: 'a', value: 'env' },
      { key: 'b', value: 'off', enabled: false },
    ],
  };
  for (const given of [environment, { environment }])
    expect(
      readCollection({ collection }, given).requests.map(({ name, request }) => [name, request.target]),
    ).toEqual([
      ['top', '/api/v1/env/collection/collection'],
      ['folder / inside', '/api/v1/env/folder/item'],
    ]);
});

describe('the body of a request', () => {
  const raw = (text: string, language = 'json'): object => ({
    mode: 'raw',
    raw: text,
    options: { raw: { language } },
  });
  test.each([
    [raw('{"data": 1.50}'), 'application/json', '{"data": 1.50}'],
    [raw('{"a": {{n}}, "b": "{{yes}}"}'), 'application/json', '{"a": 7, "b": "true"}'],
    [
      raw('{ // first\n"a": "//no", /* b\n */ "c": "\\"/*no*/" }'),
      'application/json',
      '{ \n"a": "//no",  "c": "\\"/*no*/" }',
    ],
    [raw('a // b', 'text'), 'text/plain', 'a // b'],
    [{ mode: 'raw', raw: '<a/>', options: { raw: { language: 'xml' } } }, 'application/xml', '<a/>'],
    [
      {
        mode: 'urlencoded',
        urlencoded: [
          { key: 'a b', value: '{{n}}&' },
          { key: 'c', value: 'd', disabled: true },
        ],
      },
      'application/x-www-form-urlencoded',
      'a%20b=7%26',
    ],
    [
      {
        mode: 'formdata',
        formdata: [{ key: 'a', value: 'b', type: 'text', contentType: 'application/json' }],
      },
      'multipart/form-data; boundary=capture-gateway-boundary',
      '--capture-gateway-boundary\r\nContent-Disposition: form-data; name="a"\r\nContent-Type: application/json\r\n\r\nb\r\n--capture-gateway-boundary--\r\n',
    ],
    [
      { mode: 'graphql', graphql: { query: 'query { a }', variables: '{"n": {{n}}}' } },
      'application/json',
      '{"query":"query { a }","variables":{"n": 7}}',
    ],
    [
      { mode: 'graphql', graphql: { query: 'q', variables: '' } },
      'application/json',
      '{"query":"q","variables":{}}',
    ],
  ])('%j is of the type %s', (body, type, text) => {
    const { requests, faults } = readOne({ method: 'post', url: URL, body }, VARIABLES);
    expect(faults).toEqual([]);
    expect(requests.map(({ request }) => request)).toEqual([
      { method: 'POST', target: '/api/v1/clients', headers: [['Content-Type', type]], body: text },
    ]);
  });

  test.each([
    ['GET', raw('{}')],
    ['POST', { ...raw('{}'), disabled: true }],
    ['POST', { mode: 'formdata', formdata: [] }],
    ['POST', { mode: 'urlencoded', urlencoded: [] }],
    ['POST', { mode: 'raw', raw: '' }],
    ['POST', undefined],
  ])('of %s is none for %j', (method, body) => {
    expect(readOne({ method, url: URL, body }).requests[0]?.request).not.toHaveProperty('body');
  });

  test('of GET is sent where the item says so', () => {
    const item = {
      name: 'n',
      protocolProfileBehavior: { disableBodyPruning: true },
      request: { method: 'GET', url: URL, body: raw('{}') },
    };
    expect(readCollection({ item: [item] }).requests[0]?.request.body).toBe('{}');
  });

  test.each([
    [raw('{"a": {{id}}}'), 'Its body has {{id}}, which has no value, where JSON needs one'],
    [{ mode: 'file', file: { src: '/tmp/a' } }, 'Its body is the file /tmp/a'],
    [{ mode: 'graphql', graphql: { query: 'q', variables: '{' } }, 'no JSON'],
    [{ mode: 'other' }, 'has the mode other'],
  ])('%j is a fault that names its request', (body, sentence) => {
    const { requests, faults } = readOne({ method: 'POST', url: URL, body });
    expect(requests).toEqual([]);
    expect(faults).toEqual([{ name: 'n', fault: expect.stringContaining(sentence) }]);
  });
});

test.each([
  [
    'A: b\nC: {{n}}',
    [
      ['A', 'b'],
      ['C', '7'],
    ],
  ],
  [
    'A: b\n// Off: x\nC: d',
    [
      ['A', 'b'],
      ['C', 'd'],
    ],
  ],
  [['A: b'], [['A', 'b']]],
  [
    [
      { key: 'A', value: 'b' },
      { key: 'Off', value: 'x', disabled: true },
      { key: '', value: 'x' },
      { key: 'N', value: 1 },
    ],
    [
      ['A', 'b'],
      ['N', '1'],
    ],
  ],
  [null, []],
])('the head %j has %j', (header, headers) => {
  expect(readOne({ url: URL, header }, VARIABLES).requests[0]?.request.headers).toEqual(headers);
});

test('credentials of the collection are those of a request that has none', () => {
  const auth = { type: 'bearer', bearer: [{ key: 'token', value: '{{token}}' }] };
  const key = { type: 'apikey', apikey: { key: 'k', value: 'v', in: 'query' } };
  const { requests, notes } = readCollection({
    auth,
    item: [
      { name: 'a', request: { url: URL } },
      { name: 'b', request: { url: URL, auth: { type: 'noauth' } } },
      { name: 'c', request: { url: `${URL}?a=b`, auth: key } },
      { name: 'd', request: { url: URL, auth: { type: 'basic', basic: [{ key: 'username', value: 'u' }] } } },
    ],
  });
  expect(notes).toEqual([]);
  expect(requests.map(({ request }) => [request.target, request.headers])).toEqual([
    ['/api/v1/clients', [['Authorization', 'Bearer {{token}}']]],
    ['/api/v1/clients', []],
    ['/api/v1/clients?a=b&k=v', []],
    ['/api/v1/clients', [['Authorization', 'Basic dTo=']]],
  ]);
});

test('a request that cannot be read is named and hides no other; an empty method is GET', () => {
  const { requests, faults } = readCollection({
    item: [
      null,
      { name: 'no request' },
      { name: 'no url', request: { method: 'GET' } },
      {
        name: 'folder',
        item: [{ name: 'ftp', request: 'ftp://x/a' }, { request: { method: '', url: URL } }],
      },
    ],
  });
  expect(faults.map(({ name }) => name)).toEqual(['request 1', 'no request', 'no url', 'folder / ftp']);
  expect(requests).toMatchObject([{ name: 'folder / request 2', request: { method: 'GET' } }]);
});

test('scripts before requests are told', () => {
  const event = [{ listen: 'prerequest', script: { exec: ['pm.variables.set("a", 1)'] } }];
  expect(readCollection({ event, item: [{ name: 'n', request: URL, event }] }).notes).toEqual([
    '2 scripts before requests are not run: variables that they set have no value here.',
  ]);
});

test.each([
  ['{"requests":[],"order":[]}', 'version 1'],
  ['{"values":[]}', '--postman-env'],
  ['{"openapi":"3.1.0"}', 'it has no item'],
  ['{', 'This is not JSON: the text ends in the middle of a value, at line 1, column 2.'],
])('%s is no collection', (text, sentence) => {
  expect(readPostman(text)).toEqual({ fault: expect.stringContaining(sentence), isJunk: true });
});

test('an environment without values is told', () => {
  expect(readPostman('{"item":[]}', '{')).toHaveProperty('fault', expect.stringContaining('not JSON'));
  expect(readPostman('{"item":[]}', '{}')).toHaveProperty('fault', expect.stringContaining('no values'));
});
