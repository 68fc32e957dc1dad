import { expect, test } from 'vitest';
import { printRuleBook } from '../../../src/openapi/draft/print-rule-book.ts';
import { proposeFromTraffic } from '../../../src/openapi/draft/propose-from-traffic.ts';

const text = { type: 'string' };
const place = { type: 'object', properties: { street: text, suburb: text, state: text, country: text } };

/** The draft from recorded bodies, where V2's body has these members. */
function draftOf(properties: Record<string, unknown>, bodies: readonly unknown[]): string {
  const description = {
    openapi: '3.1.0',
    info: { title: 'T', version: '2025-01-01' },
    paths: {
      '/api/v2/things': {
        post: {
          operationId: 'create',
          requestBody: { content: { 'application/json': { schema: { type: 'object', properties } } } },
          responses: {},
        },
      },
    },
  };
  const requests = bodies.map((value) => ({ method: 'POST', rest: '/things', value, count: 1 }));
  return printRuleBook(proposeFromTraffic(description, requests));
}

/** The rules of a draft that are in force. */
const rulesOf = (draft: string): readonly string[] =>
  draft.split('\n').flatMap((line) => /^ {6}- (\{.*\})$/.exec(line)?.[1] ?? []);

test.each([1, 2, 3, 4])('%i recorded members of a sub-object are enough to nest them', (count) => {
  const members = ['street', 'suburb', 'state', 'country'].slice(0, count);
  const body = Object.fromEntries(members.map((name) => [name, 'x']));
  const draft = draftOf({ name: text, address: place }, [{ data: { name: 'x', ...body } }]);
  expect(rulesOf(draft)).toEqual([
    '{ unwrap: data }',
    '{ nest: [street, suburb, state, country], under: address }',
  ]);
  expect(draft).toContain(
    `address of V2 has ${count} of the ${count} recorded members that V2 no longer has here`,
  );
});

test('a member that V2 has in two sub-objects is a question', () => {
  const draft = draftOf({ address: place, office: place, name: text }, [
    { data: { name: 'x', suburb: 'x' } },
  ]);
  expect(rulesOf(draft)).toEqual(['{ unwrap: data }']);
  expect(draft).toContain('but is it address.suburb or office.suburb in V2, or gone?');
});

test('a member that V2 has in a sub-object is never stripped', () => {
  const old = Object.fromEntries(['kind', 'size', 'count', 'colour', 'flag'].map((name) => [name, true]));
  const draft = draftOf({ name: text, address: place }, [{ data: { name: 'x', suburb: 'x', ...old } }]);
  expect(rulesOf(draft)).toEqual(['{ unwrap: data }']);
  expect(draft).toContain('but is it address.suburb in V2, or gone?');
  for (const name of ['suburb', ...Object.keys(old)])
    expect(draft).toMatch(new RegExp(`^ *# +- \\{ strip: ${name} \\}$`, 'm'));
});

test('a member that could be one of V2 which no request has is never stripped', () => {
  const draft = draftOf({ name: text, phone: text }, [{ data: { name: 'x', mobile: 'x', count: 1 } }]);
  expect(rulesOf(draft)).toEqual(['{ unwrap: data }']);
  expect(draft).toContain('but is it phone in V2, or gone?');
  for (const name of ['mobile', 'count'])
    expect(draft).toMatch(new RegExp(`^ *# +- \\{ strip: ${name} \\}$`, 'm'));
});

test.each([
  [
    'some have another value than an object',
    [{ data: { name: 'x', old: 'x' } }, { data: {} }, { data: 'x' }],
  ],
  ['most have no known value', [{ data: { name: '…', old: '…' } }, { data: '…' }, { data: '…' }]],
  [
    'another member is as frequent',
    [
      { old: '…', data: { name: '…', old: '…' } },
      { old: '…', data: '…' },
    ],
  ],
])('the wrapper is unwrapped and not stripped where %s', (_, bodies) => {
  const draft = draftOf({ name: text }, bodies);
  expect(rulesOf(draft)).toEqual(['{ unwrap: data }']);
  expect(draft).toMatch(/^ *# +- \{ strip: old \}$/m);
});

test('a single operation is described in the singular', () => {
  expect(draftOf({ name: text }, [{ name: 'x' }])).toContain('# 1 operation has recorded bodies. ');
});
