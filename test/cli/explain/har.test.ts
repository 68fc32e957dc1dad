import { deflateSync, gzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { readHar } from '../../../src/cli/explain/har.ts';
import { offlineExplainer } from '../../../src/cli/explain/requests.ts';
import type { ReadRequests } from '../../../src/inspector/explain/curl-command.ts';
import { compiledShippedRuleBook } from '../../support/shipped-rule-book.ts';

const URL = 'https://api.example/api/v1/clients';
const ORDER = '{"data":{"name":"é"}}';
const JSON_TYPE = { name: 'Content-Type', value: 'application/json' };
const GZIP = { name: 'content-encoding', value: 'gzip' };
const LENGTH = { name: 'Content-Length', value: '22' };
const PACKED = gzipSync(ORDER);

function readAll(...requests: readonly unknown[]): ReadRequests {
  const read = readHar(JSON.stringify({ log: { entries: requests.map((request) => ({ request })) } }));
  if ('fault' in read) throw new Error(read.fault);
  return read;
}

const post = (postData: unknown, ...headers: readonly unknown[]): object => ({
  method: 'POST',
  url: URL,
  headers,
  postData,
});

describe('a body in an archive', () => {
  test.each([
    ['text', post({ text: ORDER }, JSON_TYPE), 'rewritten'],
    ['text with a length', post({ text: ORDER }, JSON_TYPE, LENGTH), 'rewritten'],
    ['decoded text beside a coding', post({ text: ORDER }, JSON_TYPE, GZIP, LENGTH), 'rewritten'],
    ['Base64', post({ text: btoa('{"data":{}}'), encoding: 'base64' }, JSON_TYPE), 'rewritten'],
    ['Base64 in capitals', post({ text: btoa('{"data":{}}'), encoding: 'BASE64' }, JSON_TYPE), 'rewritten'],
    [
      'text, with the fields as an object',
      { ...post({ text: ORDER }), headers: { 'Content-Type': 'application/json' } },
      'rewritten',
    ],
    [
      'Base64 of coded bytes',
      post({ text: PACKED.toString('base64'), encoding: 'base64' }, JSON_TYPE, GZIP),
      'rewritten',
    ],
    [
      'Base64 of decoded bytes beside a coding',
      post({ text: Buffer.from(ORDER).toString('base64'), encoding: 'base64' }, JSON_TYPE, GZIP),
      'rewritten',
    ],
    ['coded bytes as text', post({ text: PACKED.toString('latin1') }, JSON_TYPE, GZIP), 'rewritten'],
    [
      'deflated bytes as text',
      post({ text: deflateSync(ORDER).toString('latin1') }, JSON_TYPE, {
        name: 'content-encoding',
        value: 'deflate',
      }),
      'rewritten',
    ],
    ['text with its type beside it', post({ text: ORDER, mimeType: 'application/json' }), 'rewritten'],
    ['text of another type', post({ text: 'a', mimeType: 'text/plain' }), 'unchanged'],
    ['no body', post({ text: '' }), 'unchanged'],
    [
      'fields',
      post({ mimeType: 'application/x-www-form-urlencoded', params: [{ name: 'a b', value: 'c' }] }),
      'unchanged',
    ],
    ['parts', post({ mimeType: 'multipart/form-data', params: [{ name: 'a', value: 'b' }] }), 'unchanged'],
  ])('as %s is explained as it was sent', async (_, request, verdict) => {
    const { requests, notes, faults } = readAll(request);
    expect([notes, faults, requests.length]).toEqual([[], [], 1]);
    const explanation = await offlineExplainer(await compiledShippedRuleBook())(requests[0]?.request ?? {});
    expect(explanation).toMatchObject({ verdict });
  });

  test('of a form is read without the fields that Firefox writes before it', () => {
    const type = { name: 'Content-Type', value: 'application/x-www-form-urlencoded' };
    const text = 'Content-Type: application/x-www-form-urlencoded\r\nContent-Length: 3\r\n\r\na=b';
    expect(readAll(post({ text }, type)).requests[0]?.request.body).toBe('a=b');
  });

  test('that has only fields is composed from them', () => {
    const params = [
      { name: 'a b', value: 'c&d' },
      { name: 'e', value: '' },
    ];
    const { requests } = readAll(post({ params }), post({ mimeType: 'multipart/form-data', params }));
    expect(requests[0]?.request.body).toBe('a%20b=c%26d&e=');
    expect(requests[1]?.request).toMatchObject({
      headers: [['Content-Type', expect.stringMatching(/^multipart\/form-data; boundary=/)]],
      body: expect.stringContaining('name="a b"\r\n\r\nc&d\r\n'),
    });
  });
});

test.each([
  [post(undefined, LENGTH), 'without the body that was sent'],
  [{ ...post({ mimeType: 'application/json' }), bodySize: 9 }, 'without the body that was sent'],
  [
    post({
      mimeType: 'multipart/form-data',
      params: [{ name: 'f', fileName: 'a.png', contentType: 'image/png' }],
    }),
    'without the body that was sent',
  ],
  [post({ text: ORDER.slice(0, 9) }, JSON_TYPE, LENGTH), 'with only a part of the body that was sent'],
  [{ ...post({ text: ORDER.slice(0, 9) }, JSON_TYPE), bodySize: 22 }, 'with only a part of the body'],
  [{ ...post({ mimeType: 'application/json' }), bodySize: -1 }, 'without the body that was sent'],
  [post({ text: '\u001f\ufffd' }, JSON_TYPE, GZIP), 'with an encoded body as text, whose bytes are lost'],
  [
    post({ text: 'x\ufffd\ufffdVJI' }, JSON_TYPE, { name: 'content-encoding', value: 'deflate' }),
    'with an encoded body as text, whose bytes are lost',
  ],
  [{ method: 'GET', url: URL, headers: [{ name: 'Upgrade', value: 'websocket' }] }, 'not of HTTP'],
  [{ method: '', url: URL }, 'without the method and url'],
  [{ method: 'CONNECT', url: 'api.example:443' }, 'not of HTTP'],
  [
    post(
      { text: '--X\r\nContent-Disposition: form-data; name="f"; filename="q"\r\n\r\n\r\n--X--\r\n' },
      { name: 'Content-Type', value: 'multipart/form-data; boundary=X' },
      { name: 'Content-Length', value: '9000' },
    ),
    'with only a part of the body that was sent',
  ],
  [{ method: 'GET', url: 'data:text/plain,x' }, 'not of HTTP'],
  [{ method: 'GET', url: 'blob:https://x/1' }, 'not of HTTP'],
  [{ method: 'GET', url: 'wss://x/api/v1/live' }, 'not of HTTP'],
  [{ method: 'GET', url: 'chrome-extension://abc/a.js' }, 'not of HTTP'],
  [{ method: 'GET', url: 'https://a.example/main.js?v=1' }, 'without a prefix of the API'],
  [{ method: 'GET', url: 'https://a.example' }, 'without a prefix of the API'],
  [
    { method: 'OPTIONS', url: URL, headers: [{ name: 'Access-Control-Request-Method', value: 'POST' }] },
    'a preflight',
  ],
  [{ url: URL }, 'without the method and url'],
  [null, 'without the method and url'],
])('%j is left out and counted', (request, why) => {
  const { requests, notes } = readAll(request, { method: 'GET', url: URL });
  expect(requests.map(({ name }) => name)).toEqual(['GET /api/v1/clients']);
  expect(notes).toEqual([expect.stringContaining(`1 of 2 entries is left out: 1 ${why}`)]);
});

test.each([
  [{ method: 'GET', url: `${URL}?a=b#c` }, '/api/v1/clients?a=b'],
  [{ method: 'GET', url: URL, queryString: [{ name: 'a', value: 'b c' }] }, '/api/v1/clients?a=b%20c'],
  [{ method: 'GET', url: '/api/v1/clients' }, '/api/v1/clients'],
  [{ method: 'GET', url: '//api.example/api/v1/clients' }, '/api/v1/clients'],
  [{ method: 'GET', url: 'api.example:8443/api/v1/clients' }, '/api/v1/clients'],
  [{ method: 'GET', url: `${URL}?a=b c` }, '/api/v1/clients?a=b%20c'],
  [{ method: 'GET', url: URL, headers: [{ name: ':path', value: '/x' }] }, '/api/v1/clients'],
])('%j has the target %s', (request, target) => {
  expect(readAll(request).requests.map((read) => read.request.target)).toEqual([target]);
});

test('a body of invalid Base64 is reported, and all other requests are read', () => {
  const { requests, faults } = readAll(post({ text: '~', encoding: 'base64' }), { method: 'GET', url: URL });
  expect(faults).toEqual([{ name: 'POST /api/v1/clients', fault: expect.stringContaining('Base64') }]);
  expect(requests).toHaveLength(1);
});

test.each([
  ['{}', 'This is not a HAR file: it has no log.entries.'],
  ['[]', 'This is not a HAR file: it has no log.entries.'],
  ['null', 'This is not a HAR file: it has no log.entries.'],
  ['{"log":\n', 'This is not JSON: the text ends in the middle of a value, at line 2, column 1.'],
  [
    '{"log":{secret}}',
    'This is not JSON: a member name in double quotes is expected here, at line 1, column 9.',
  ],
])('%j is no archive', (text, fault) => {
  expect(readHar(text)).toEqual({ fault, isJunk: true });
});
