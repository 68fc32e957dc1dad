import { expect, test } from 'vitest';
import {
  ClientKeys,
  clientField,
  clientFieldAtV2,
  keyFieldAtV1,
  keyFieldAtV2,
  printClientField,
} from '../../src/rewrite/client-key.ts';
import type { RuleBook } from '../../src/rules/rule-book.ts';
import { bookIn } from '../rules/reading.ts';

async function bookWith(client: string, rules: string): Promise<RuleBook> {
  return bookIn(`
${client === '' ? '' : `client: ${client}`}
operations: { a: GET /a }
changes:
  - { id: one, summary: s, on: every, ${rules === '' ? 'request: [{ strip: x }]' : rules} }
`);
}

const HEADER = '{ header: X-Key }';
const QUERY = '{ query: key }';

// The key of a V1 request, and that of a request of V2's own clients, is found by the rules that move it.
test.each([
  ['', '', 'Authorization', 'Authorization', 'Authorization: Bearer k', 'Authorization: Bearer k'],
  [HEADER, '', 'X-Key', 'X-Key', 'X-Key: k', 'X-Key: k'],
  [HEADER, 'headers: [{ rename: x-key, to: X-New }]', 'X-Key', 'X-New', 'X-Key: k', 'X-New: k'],
  [
    HEADER,
    "headers: [{ rename: X-Key, to: Authorization, as: 'Token {};' }]",
    'X-Key',
    'Authorization',
    'X-Key: k',
    'Authorization: Token k;',
  ],
  [HEADER, 'headers: [{ rename: X-Other, to: X-New }]', 'X-Key', 'X-Key', 'X-Key: k', 'X-Key: k'],
  [HEADER, 'query: [{ rename: X-Key, to: other }]', 'X-Key', 'X-Key', 'X-Key: k', 'X-Key: k'],
  [QUERY, '', '?key', '?key', undefined, undefined],
  [QUERY, 'query: [{ rename: key, to: api_key }]', '?key', '?api_key', undefined, undefined],
  [QUERY, 'query: [{ rename: other, to: api_key }]', '?key', '?key', undefined, undefined],
  [
    QUERY,
    "headers: [{ query: key, to: Authorization, as: 'Bearer {}' }]",
    '?key',
    'Authorization',
    undefined,
    'Authorization: Bearer k',
  ],
  [QUERY, 'headers: [{ query: other, to: X-New }]', '?key', '?key', undefined, undefined],
])('with client %j and %j the key is in %s and in %s', async (client, rules, v1, v2, sent, sentToV2) => {
  const book = await bookWith(client, rules);
  expect(printClientField(clientField(book))).toBe(v1);
  expect(printClientField(clientFieldAtV2(book))).toBe(v2);
  expect(keyFieldAtV1(book, 'k')?.join(': ')).toBe(sent);
  expect(keyFieldAtV2(book, 'k')?.join(': ')).toBe(sentToV2);
  // A client that sends it in this form is known by the same key.
  const keys = new ClientKeys(clientField(book), book);
  const keyOf = (field: string | undefined, place: string, isV2: boolean): string | undefined => {
    const headers = field?.split(': ') ?? [];
    const target = field === undefined ? `/a?x=1&${place.slice(1)}=k` : '/a';
    return keys.of({ authorization: undefined, forwardedHeaders: headers }, target, isV2);
  };
  const key = v1 === 'Authorization' ? 'Bearer k' : 'k';
  expect([keyOf(sent, v1, false), keyOf(sentToV2, v2, true)]).toEqual([key, key]);
});

test('a key with dollar signs is sent unchanged', async () => {
  const book = await bookWith(HEADER, "headers: [{ rename: X-Key, to: Authorization, as: 'Bearer {}' }]");
  expect(keyFieldAtV2(book, '$&{}')).toEqual(['Authorization', 'Bearer $&{}']);
  expect(keyFieldAtV1(undefined, 'k')).toEqual(['Authorization', 'Bearer k']);
});

test('an empty or missing key is no key, and two different keys are ambiguous', async () => {
  const book = await bookWith(QUERY, "headers: [{ query: key, to: Authorization, as: 'Bearer {}' }]");
  const keys = new ClientKeys(clientField(book), book);
  const head = (...forwardedHeaders: string[]) => ({ authorization: undefined, forwardedHeaders });
  expect(keys.of(head(), '/a', false)).toBeUndefined();
  expect(keys.of(head(), '/a?key=&key=k', false)).toBeUndefined();
  expect(keys.of(head(), '/a?key', false)).toBeUndefined();
  expect(keys.of(head(), '/a?k%65y=a%20b', false)).toBe('a b');
  // Another text around it than the rule's is a part of it.
  expect(keys.of(head('Authorization', 'Basic k'), '/a', true)).toBe('Basic k');
  expect(keys.isAmbiguous([], '/a?key=k&key=k')).toBe(false);
  expect(keys.isAmbiguous([], '/a?key=k&key=l')).toBe(true);
  expect(keys.isAmbiguous([], '/a')).toBe(false);
});
