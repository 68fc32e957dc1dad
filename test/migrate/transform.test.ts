import { expect, test } from 'vitest';
import {
  callTransform,
  callWithin,
  lineOf,
  queryOf,
  transformRecords,
  type TransformJob,
  transformJob,
  type TransformModule,
  type TransformOutcome,
  withQuery,
} from '../../src/migrate/transform.ts';
import { bytesOf, textOf } from '../rewrite/notation.ts';

const BODY = '{"a":1,"in":{"b":[1,2],"c/d":null},"z":"é"}';

function jobOf(more: Partial<TransformJob> = {}): TransformJob {
  const job: TransformJob = {
    direction: 'response',
    module: './pages.js',
    operation: 'list',
    method: 'GET',
    path: { id: '7' },
    query: 'page=2&q=%20',
    status: 200,
    body: bytesOf(BODY),
  };
  return { ...job, ...more };
}

/** The result of a function for a body, which is the same at once and by a promise. */
async function outcomeOf(
  // Code of operators has no types.
  made: (body: never, context: never) => unknown,
  job: TransformJob = jobOf(),
): Promise<TransformOutcome> {
  const module = { [job.direction]: made } as TransformModule;
  const outcome = callWithin(module, job, 60_000);
  expect(outcome).not.toBeInstanceOf(Promise);
  const later = { [job.direction]: async (...given: [never, never]) => made(...given) } as TransformModule;
  expect(await callWithin(later, job, 60_000)).toEqual(await outcome);
  expect(await callTransform(module, job)).toEqual(await outcome);
  return outcome;
}

const RETURNED = 'response of ./pages.js returned';
const KEYS = 'it returns an object with body, status, all optional';

test.each<readonly [returned: unknown, why: string]>([
  [undefined, `${RETURNED} nothing; ${KEYS}`],
  [null, `${RETURNED} null; ${KEYS}`],
  [[], `${RETURNED} a list; ${KEYS}`],
  ['text', `${RETURNED} a string; ${KEYS}`],
  [7, `${RETURNED} a number; ${KEYS}`],
  [{ body: () => 1 }, `${RETURNED} a body that JSON cannot express`],
  [{ status: 199 }, `${RETURNED} a status outside 200 to 599`],
  [{ status: 600 }, `${RETURNED} a status outside 200 to 599`],
  [{ status: 200.5 }, `${RETURNED} a status outside 200 to 599`],
  [{ status: '200' }, `${RETURNED} a status outside 200 to 599`],
])('a transform that returns %j fails, and says why', async (returned, why) => {
  expect(await outcomeOf(() => returned)).toEqual({ why, detail: why });
});

// Attack: a module that merges naively meets a member `__proto__` in the body of one client; what it adds must not reach another.
test.each([
  ['body', { stolen: 1 }],
  ['status', 299],
  ['query', 'a=1'],
])('a %s of a prototype is not a part of the result', async (name, value) => {
  const made = (): object => ({});
  const job = jobOf(name === 'query' ? { direction: 'request', status: undefined } : {});
  const before = await outcomeOf(made, job);
  // As a naive merge does.
  const prototype: object = Object.getPrototypeOf({});
  Reflect.defineProperty(prototype, name, { value, configurable: true });
  try {
    expect(await callTransform({ [job.direction]: made }, job)).toEqual(before);
  } finally {
    Reflect.deleteProperty(prototype, name);
  }
});

test('has one edit for each changed name of the query, and one for the body', () => {
  const rule = { change: 'transform', rule: 'transform' };
  const body = Buffer.from('{}');
  expect(
    transformRecords({ body, query: 'b=2&c=3&d=4&=x', status: undefined, patch: [] }, 'a=1&b=2&c=1&=y'),
  ).toEqual([
    { ...rule, from: '?a' },
    { ...rule, from: '?c', path: '?c' },
    { ...rule, path: '?d' },
    { ...rule, from: '', path: '' },
  ]);
});

test('a query is URLSearchParams, text or texts by name; anything else is a failure', async () => {
  const job = jobOf({ direction: 'request', status: undefined });
  const queryFrom = async (query: unknown): Promise<unknown> => {
    const outcome = await outcomeOf(() => ({ query }), job);
    return 'why' in outcome ? outcome.why : outcome.query;
  };
  expect(await queryFrom(new URLSearchParams([['a', 'b c']]))).toBe('a=b+c');
  expect(await queryFrom('?a=%20&b')).toBe('a=+&b=');
  expect(await queryFrom({ a: 1, b: 'é' })).toBe('a=1&b=%C3%A9');
  expect(await queryFrom({ a: 0, b: undefined, c: null, d: '', e: false })).toBe('a=0&d=&e=false');
  expect(await queryFrom('')).toBe('');
  expect(await queryFrom(undefined)).toBeUndefined();
  const fault =
    'request of ./pages.js returned a query that is not a URLSearchParams, a text or an object of texts';
  for (const wrong of [null, 7, { a: ['b'] }, { a: {} }]) expect(await queryFrom(wrong)).toBe(fault);
});

test.each<readonly [what: string, made: (body: Record<string, unknown>) => unknown, patch: unknown]>([
  ['nothing', (body) => body, []],
  ['nothing, in a new object', (body) => ({ ...body }), []],
  ['a value', (body) => ({ ...body, a: 2 }), [{ op: 'replace', path: '/a', value: 2 }]],
  [
    'a member more and one less',
    ({ z, ...body }) => ({ ...body, 'z~/': z }),
    [
      { op: 'remove', path: '/z' },
      { op: 'add', path: '/z~0~1', value: 'é' },
    ],
  ],
  [
    'an element, and a null',
    (body) => ({ ...body, in: { b: [1, 3], 'c/d': { e: null } } }),
    [
      { op: 'replace', path: '/in/b/1', value: 3 },
      { op: 'replace', path: '/in/c~1d', value: { e: null } },
    ],
  ],
  [
    'a shorter list',
    (body) => ({ ...body, in: { b: [1], 'c/d': null } }),
    [{ op: 'replace', path: '/in/b', value: [1] }],
  ],
  ['a list for the whole', () => [1], [{ op: 'replace', path: '', value: [1] }]],
])('the patch says what changed: %s', async (_, made, patch) => {
  const outcome = await outcomeOf((body) => ({ body: made(body) }));
  if ('why' in outcome) throw new Error(outcome.why);
  expect(outcome.patch).toEqual(patch);
  // What stays is not written again, byte for byte.
  expect(outcome.body === undefined).toBe(outcome.patch.length === 0);
  if (outcome.body !== undefined) expect(JSON.parse(textOf(outcome.body))).toEqual(made(JSON.parse(BODY)));
});

test('a body is made where there was none, and a status alone leaves the body', async () => {
  expect(await outcomeOf(() => ({ body: { a: 1 } }), jobOf({ body: undefined }))).toEqual({
    body: bytesOf('{"a":1}'),
    query: undefined,
    status: undefined,
    patch: [{ op: 'add', path: '', value: { a: 1 } }],
  });
  const kept = { body: undefined, query: undefined, patch: [] };
  expect(await outcomeOf(() => ({ status: 404 }))).toEqual({ ...kept, status: 404 });
  expect(await outcomeOf(() => ({ status: 200 }))).toEqual({ ...kept, status: 200 });
  expect(await outcomeOf(() => ({ status: 599 }))).toEqual({ ...kept, status: 599 });
  expect(await outcomeOf(() => ({}))).toEqual({ ...kept, status: undefined });
});

test('it gets the parsed body, without a byte order mark, and the facts about the exchange', async () => {
  const given: unknown[] = [];
  const job = jobOf({ body: bytesOf(`\uFEFF${BODY}`) });
  await outcomeOf((body, context) => {
    given.push(body, context);
    return {};
  }, job);
  const { operation, method, path, status } = job;
  expect(given.slice(0, 2)).toEqual([
    JSON.parse(BODY),
    { operation, method, path, query: new URLSearchParams(job.query), status },
  ]);
});

test('a change inside the body that it got counts as a change', async () => {
  const outcome = await outcomeOf((body: Record<string, unknown>) => {
    body['a'] = 2;
    return { body };
  });
  expect(outcome).toMatchObject({ patch: [{ op: 'replace', path: '/a', value: 2 }] });
});

test('an error that it throws is a failure, of which the log has the line and not the words', async () => {
  const thrown = (error: unknown) =>
    outcomeOf(() => {
      throw error;
    });
  const error = new TypeError('secret');
  error.stack = 'TypeError: secret\n    at response (file:///rules/pages.js:12:7)\n    at a.js:1:1';
  const why = 'response of ./pages.js threw TypeError at line 12';
  expect(await thrown(error)).toEqual({ why, detail: `${why}: secret` });
  error.stack = '';
  expect(await thrown(error)).toMatchObject({ why: 'response of ./pages.js threw TypeError' });
  const text = 'response of ./pages.js threw string';
  expect(await thrown('words')).toEqual({ why: text, detail: `${text}: words` });
  expect(await thrown('')).toEqual({ why: text, detail: text });
});

/** An error with its own members. */
const errorWith = (own: object, words = 'S3CR3T'): Error =>
  Object.defineProperties(new Error(words), Object.getOwnPropertyDescriptors(own));
const throwing = {
  get name(): string {
    throw new Error('S3CR3T');
  },
  get message(): string {
    throw new Error('S3CR3T');
  },
  get stack(): string {
    throw new Error('S3CR3T');
  },
};
class S3CR3T extends Error {
  override name = 'S3CR3T';
}

// Errors and results of a module may contain parts of a client's body, so the log has only our names and line numbers.
test.each<readonly [what: string, error: unknown, why: string]>([
  ['a name that it made up', errorWith({ name: 'S3CR3T', stack: '' }), 'threw an error of another name'],
  ['its own class of error', new S3CR3T('S3CR3T'), 'threw an error of another name'],
  ['other letters', errorWith({ name: 'typeerror', stack: '' }), 'threw an error of another name'],
  ['no text', errorWith({ name: { S3CR3T: 1 }, stack: '' }), 'threw an error of another name'],
  ['words like a line', new TypeError('pages.js:4711:1 S3CR3T'), 'threw TypeError'],
  ['words like a stack', new TypeError('x\n    at a.js:4711:1\n'), 'threw TypeError'],
  ['a stack of other words', errorWith({ stack: 'Error: a.js:4711:1' }), 'threw Error'],
  ['no line of a file', errorWith({ stack: 'Error: S3CR3T\n at a.js:04111111111111111:1' }), 'threw Error'],
  ['getters that throw', errorWith(throwing), 'threw an error of another name'],
  ['a text', 'S3CR3T', 'threw string'],
  ['a symbol', Symbol('S3CR3T'), 'threw symbol'],
  ['no message', Object.create(null), 'threw object'],
  ['a message that throws', { toString: () => ({}) }, 'threw object'],
  ['nothing', undefined, 'threw undefined'],
])('the log has no value of an error that it throws: %s', async (_what, error, why) => {
  const fail = (): never => {
    throw error;
  };
  for (const made of [fail, () => ({ body: { toJSON: fail } })]) {
    const outcome = await outcomeOf(made);
    if (!('why' in outcome)) throw new Error('no failure');
    expect(outcome.why).not.toMatch(/S3CR3T|4711|4111/);
    expect(outcome.why.replace(/ at line \d+$/, '')).toBe(`response of ./pages.js ${why}`);
  }
});

test.each(['Body', 'S3CR3T', 'query'])(
  'the log has no letter of an unknown key that it returns: %s',
  async (key) => {
    const why = `${RETURNED} a member that is none of body, status`;
    expect(await outcomeOf(() => ({ body: 1, [key]: 1 }))).toEqual({ why, detail: `${why}: "${key}"` });
  },
);

test.each([
  ['at response (file:///a/pages.js:12:7)', '12'],
  ['at response (data:text/javascript;base64,AAAA:3:1)', '3'],
  ['at pages.mjs:4:2', '4'],
  ['at pages.cjs:5:2', '5'],
  ['at pages.ts:4:2', undefined],
  ['', undefined],
])('the line in %j is %s', (stack, line) => {
  expect(lineOf(stack)).toBe(line);
});

test('exceeding its budget is a failure, both for a synchronous call and for one that never settles', async () => {
  const why = 'response of ./pages.js took longer than 0 ms (limits: { transform })';
  const busy: TransformModule = {
    response: () => {
      const began = Date.now();
      while (Date.now() - began < 3);
      return {};
    },
  };
  expect(await callWithin(busy, jobOf(), 0)).toEqual({ why, detail: why });
  const never: TransformModule = { response: () => new Promise(() => {}) };
  expect(await callWithin(never, jobOf(), 0)).toEqual({ why, detail: why });
});

test('a job names module, operation and the parameters of the path, decoded', () => {
  const operation = {
    id: 'read',
    method: 'GET',
    template: '/bills/{bill}/lines/{line}',
    transform: './t.js',
    assumed: false,
  };
  const given = { method: 'GET', query: 'a', status: undefined, body: undefined };
  expect(transformJob('request', operation, { ...given, rest: '/bills/a%2Fb/lines/%zz?x=1' })).toEqual({
    direction: 'request',
    module: './t.js',
    operation: 'read',
    path: { bill: 'a/b', line: '%zz' },
    ...given,
    isUnread: false,
  });
});

test.each([
  ['/a?b=1?c', undefined, '/a?b=1?c', 'b=1?c'],
  ['/a?b=1?c', 'd=2', '/a?d=2', 'b=1?c'],
  ['/a?b=1', '', '/a', 'b=1'],
  ['/a', 'd', '/a?d', ''],
])('%s with the query %s is %s', (target, query, made, received) => {
  expect(withQuery(target, query)).toBe(made);
  expect(queryOf(target)).toBe(received);
});
