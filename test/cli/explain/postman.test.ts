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
    { key: 'm', value: '01', type: 'number' },
    { key: 'a1', value: 8 },
    { id: 'yes', value: true },
    { key: 'off', value: 'x', disabled: true },
    { key: 'loop', value: '{{loop}}' },
  ],
};

describe('the URL of a request', () => {
  test.each([
    [URL, '/api/v1/clients'],
    ['api.example/api/v1/clients', '/api/v1/clients'],
    [` ${URL}?q=a b`, '/api/v1/clients?q=a%20b'],
    [`${URL}?q=é{x}"'<>[1]|\\#f`, '/api/v1/clients?q=%C3%A9{x}%22%27%3C%3E[1]|\\'],
    ['https://api.example/api/v1/{x} "\'[1]|\\a`', `/api/v1/%7Bx%7D%20%22'[1]|/a%60`],
    ['https://api.example/api/v1/{{a{{m}}}}', '/api/v1/8'],
    [
      {
        host: ['x'],
        path: ['api', 'v1', 'a'],
        query: [
          { key: 'a=&', value: 'b=c&d#e' },
          { key: null, value: 'f' },
        ],
      },
      '/api/v1/a?a%3D%26=b=c%26d%23e&=f',
    ],
    [
      {
        raw: `${URL}/:id.json/:off`,
        variable: [
          { key: 'id', value: 'a b' },
          { key: 'off', value: 'c', disabled: true },
        ],
      },
      '/api/v1/clients/a%20b.json/c',
    ],
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
      '/api/v1/7/a/b',
    ],
    ['{{outer}}?ok={{yes}}', '/api/v1/clients/7?ok=true'],
    ['{{ base }}/clients', '/api/v1/clients'],
  ])('%j has the target %s', (url, target) => {
    const { requests, faults } = readOne({ method: 'GET', url }, VARIABLES);
    expect(faults).toEqual([]);
    expect(requests.map(({ request }) => request.target)).toEqual([target]);
  });

  test.each([
    ['{{host}}/api/v1/clients', '/api/v1/clients', '{{host}} has no value, and is read as scheme and host'],
    ['https://{{host}}/api/v1/clients', '/api/v1/clients', '{{host}} has no value, and is read as scheme'],
    ['http://{{sub}}.example:8080/api/v1/a', '/api/v1/a', '{{sub}} has no value, and is read as scheme'],
    ['{{root}}api/v1/a', '/api/v1/a', '{{root}} has no value, and is read as scheme'],
    [`${URL}/{{id}}`, '/api/v1/clients/%7B%7Bid%7D%7D', '{{id}} has no value: it is sent in the URL'],
    [`${URL}/:id`, '/api/v1/clients/:id', 'The path variable :id has no value'],
    [`${URL}/{{off}}`, '/api/v1/clients/%7B%7Boff%7D%7D', '{{off}} has no value'],
    [`${URL}/{{loop}}`, '/api/v1/clients/%7B%7Bloop%7D%7D', '{{loop}} has no value'],
    [
      `${URL}/{{$guid}}`,
      `/api/v1/clients/00000000-0000-4000-8000-000000000000`,
      'Postman makes a new {{$guid}} for each',
    ],
    [`${URL}/{{$randomCity}}`, '/api/v1/clients/text', 'Postman makes a new {{$randomCity}} for each'],
  ])('%s is explained, with a note', (url, target, sentence) => {
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
    ['a', 'text/plain', 'a'],
    [{ mode: 'raw', raw: { a: [1] } }, 'text/plain', '{"a":[1]}'],
    [
      { mode: 'urlencoded', urlencoded: "a=b%20c&d&e='!*()" },
      'application/x-www-form-urlencoded',
      'a=b%2520c&d=&e=%27%21%2A%28%29',
    ],
    [
      { mode: 'formdata', formdata: [{ key: 'f', type: 'file', src: [] }] },
      'multipart/form-data; boundary=capture-gateway-boundary',
      '--capture-gateway-boundary\r\nContent-Disposition: form-data; name="f"; filename=""\r\n\r\n\r\n--capture-gateway-boundary--\r\n',
    ],
    [
      { mode: 'graphql', graphql: { query: 'q', variables: null, operationName: 'o' } },
      'application/json',
      '{"query":"q","operationName":"o","variables":null}',
    ],
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
    [{ mode: 'graphql', graphql: { query: 'q', variables: '' } }, 'application/json', '{"query":"q"}'],
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
    ['POST', { mode: 'none' }],
    ['POST', { mode: null, raw: 'x' }],
    ['POST', { mode: 'file', file: {} }],
    ['POST', undefined],
  ])('of %s is absent for %j', (method, body) => {
    expect(readOne({ method, url: URL, body }).requests[0]?.request).not.toHaveProperty('body');
  });

  test('of GET is sent where the item, its folder or the collection says so', () => {
    const kept = { protocolProfileBehavior: { disableBodyPruning: true } };
    const item = { name: 'n', request: { method: 'GET', url: URL, body: raw('{}') } };
    for (const collection of [
      { item: [{ ...item, ...kept }] },
      { item: [{ name: 'f', item: [item], ...kept }] },
      { item: [item], ...kept },
    ])
      expect(readCollection(collection).requests[0]?.request.body).toBe('{}');
  });

  test.each([
    [{ mode: 'urlencoded', urlencoded: 'a=b%20c&d' }, 'application/x-www-form-urlencoded'],
    [{ mode: 'formdata', formdata: [{ key: 'a', value: 'b' }] }, 'multipart/form-data; boundary='],
    [raw('{}'), 'text/csv'],
  ])('%j has the type that Postman sends in place of the one given', (body, type) => {
    const header = [{ key: 'content-type', value: 'text/csv' }];
    const [read] = readOne({ method: 'POST', url: URL, header, body }).requests;
    expect(read?.request.headers).toEqual([[expect.any(String), expect.stringContaining(type)]]);
  });

  test('has no type where the item switches it off', () => {
    const protocolProfileBehavior = { disabledSystemHeaders: { 'content-type': true } };
    const item = { protocolProfileBehavior, request: { method: 'POST', url: URL, body: raw('{}') } };
    expect(readCollection({ item: [item] }).requests[0]?.request.headers).toEqual([]);
  });

  test.each([
    [raw('{"a": {{id}}}'), 'Its body has {{id}}, which has no value, where JSON needs one'],
    [{ mode: 'file', file: { src: '/tmp/a' } }, 'Its body is the file /tmp/a'],
    [{ mode: 'graphql', graphql: { query: 'q', variables: '{' } }, 'not JSON'],
    [{ mode: 'graphql', graphql: { query: 'q', variables: '{} // c' } }, 'not JSON'],
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

test.each([
  [{ type: 'bearer', bearer: [{ key: 'token', value: '' }] }, '/', [['authorization', 'X']], []],
  [{ type: 'bearer', bearer: [{ key: 'token', value: 't' }] }, '/', [['Authorization', 'Bearer t']], []],
  [
    {
      type: 'oauth2',
      oauth2: [
        { key: 'accessToken', value: 't' },
        { key: 'headerPrefix', value: 'Token' },
      ],
    },
    '/',
    [['Authorization', 'Token t']],
    [],
  ],
  [
    {
      type: 'oauth2',
      oauth2: [
        { key: 'accessToken', value: 't' },
        { key: 'addTokenTo', value: 'queryParams' },
      ],
    },
    '/?access_token=t',
    [['authorization', 'X']],
    [],
  ],
  [{ type: 'apikey', apikey: [{ key: 'value', value: 'v' }] }, '/', [['authorization', 'X']], []],
  [{ type: null }, '/', [['authorization', 'X']], []],
  [
    { type: 'awsv4', awsv4: [] },
    '/',
    [['authorization', 'X']],
    ['Credentials of the kind awsv4 are not supported: the request lacks them.'],
  ],
])(
  'the credentials %j beside a field of the item are sent as Postman does',
  (auth, target, headers, said) => {
    const header = [{ key: 'authorization', value: 'X' }];
    const { requests, notes } = readOne({ url: 'https://api.example', header, auth });
    expect(requests.map(({ request }) => [request.target, request.headers])).toEqual([[target, headers]]);
    expect(notes).toEqual(said);
  },
);

test('credentials in the URL are those of Basic', () => {
  expect(readOne('https://u%40:p@api.example').requests[0]?.request.headers).toEqual([
    ['Authorization', 'Basic dUA6cA=='],
  ]);
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

test('a request that cannot be read is reported, and all others are read; an empty method is GET', () => {
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

test('scripts that run before requests are reported', () => {
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
])('%s is not a collection', (text, sentence) => {
  expect(readPostman(text)).toEqual({ fault: expect.stringContaining(sentence), isJunk: true });
});

test('an environment without values is reported', () => {
  expect(readPostman('{"item":[]}', '{')).toHaveProperty('fault', expect.stringContaining('not JSON'));
  expect(readPostman('{"item":[]}', '{}')).toHaveProperty('fault', expect.stringContaining('no values'));
});

describe('variables that name one another', () => {
  /** Variables of which each names the next one `times` times. */
  function chain(times: number): object {
    const names = Array.from({ length: 19 }, (_, index) => `v${index}`);
    const variable = names.map((key, index) => ({ key, value: `{{v${index + 1}}}`.repeat(times) }));
    return { variable: [...variable, { key: 'v19', value: 'x' }] };
  }

  test.each([
    ['the URL', { url: `${URL}?q={{v0}}` }],
    ['a header', { url: URL, header: [{ key: 'x-a', value: '{{v0}}' }] }],
    ['the body', { method: 'POST', url: URL, body: { mode: 'raw', raw: '{{v0}}' } }],
    ['credentials', { url: URL, auth: { type: 'bearer', bearer: [{ key: 'token', value: '{{v0}}' }] } }],
  ])('are bounded in %s, and the other requests are read', (_, request) => {
    const items = [
      { name: 'bomb', request },
      { name: 'plain', request: { url: URL } },
    ];
    const { requests, faults } = readCollection({ item: items, ...chain(3) });
    expect(faults).toEqual([
      { name: 'bomb', fault: expect.stringContaining('more than a million characters') },
    ]);
    expect(requests.map(({ name }) => name)).toEqual(['plain']);
  });

  test.each([
    ['of the collection', (variables: object) => ({ collection: variables, environment: undefined })],
    ['of an environment', (variables: object) => ({ collection: {}, environment: variables })],
  ])('are bounded over all requests of a short file: those %s', (_, placed) => {
    const { variable } = chain(3) as { readonly variable: readonly object[] };
    const { collection, environment } = placed({ variable });
    const bombs = Array.from({ length: 300 }, (__, at) => ({ name: `bomb ${at}`, request: '{{v0}}' }));
    const item = [...bombs, { name: 'plain', request: { url: URL } }];
    const read = readPostman(
      JSON.stringify({ item, ...collection }),
      environment && JSON.stringify({ values: variable }),
    );
    if ('fault' in read) throw new Error(read.fault);
    const sentences = new Set(read.faults.map(({ fault }) => fault));
    expect([...sentences]).toEqual([
      'Its variables insert more than a million characters.',
      'Its variables and those of the requests before it insert more than eight million characters.',
    ]);
    expect(read.faults).toHaveLength(300);
    expect(read.requests.map(({ name }) => name)).toEqual(['plain']);
  });

  test('are filled in when they stay small', () => {
    const { requests } = readCollection({ item: [{ name: 'n', request: `${URL}?q={{v0}}` }], ...chain(1) });
    expect(requests[0]?.request.target).toBe('/api/v1/clients?q=x');
  });
});
