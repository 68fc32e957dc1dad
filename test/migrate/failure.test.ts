import fc from 'fast-check';
import { expect, test } from 'vitest';
import { Failure, failure, type FailureCode, failureOf } from '../../src/migrate/failure.ts';
import { gatewayFailure, type GatewayFailureCode, tooManyRequests } from '../../src/gateway/failures.ts';
import type { RefusalForm } from '../../src/rules/refusal-form.ts';
import { CODE_POINT } from '../support/code-point.ts';

const ITEM = failureOf({
  code: 'value',
  status: 422,
  detail: 'Not a number: "x".',
  pointer: '/data/items/0/a~1b',
});
const WHOLE = failure('body-too-large');

const OWN: RefusalForm = {
  type: 'application/vnd.acme+json',
  body: {
    ok: false,
    'x-{code}': [{ at: '{pointer}', field: '{field}' }, '{field}'],
    http: '{status}',
    text: '{status-text}',
    words: '{title}: {detail} ({pointer}) {id} {',
    id: '{id}',
    rate: 1.5,
    none: null,
  },
};

const json = (value: unknown): string => JSON.stringify(value);

/** Clients decide by the status whether to try again. */
const STATUSES: Readonly<Record<FailureCode | GatewayFailureCode, number>> = {
  'bad-request': 400,
  signed: 400,
  'bad-target': 400,
  'bad-framing': 400,
  'malformed-form': 400,
  'digest-mismatch': 400,
  'undecodable-body': 400,
  'no-api-key': 401,
  'bad-signature': 401,
  'not-seen': 404,
  'not-found': 404,
  'only-get': 405,
  'only-post': 405,
  'client-timeout': 408,
  'operation-gone': 410,
  'body-too-large': 413,
  'unsupported-charset': 415,
  'unsupported-coding': 415,
  'ambiguous-media-type': 415,
  'expectation-failed': 417,
  'too-many-requests': 429,
  'headers-too-large': 431,
  internal: 500,
  'body-already-read': 500,
  'not-implemented': 501,
  'upgrade-refused': 501,
  'upstream-unreachable': 502,
  'upstream-closed': 502,
  'transform-failed': 502,
  'lookup-failed': 502,
  'upstream-invalid': 502,
  overloaded: 503,
  'buffer-full': 503,
  'circuit-open': 503,
  'no-v1-origin': 503,
  'upstream-timeout': 504,
  'unsupported-version': 505,
  'loop-detected': 508,
};

test('each failure has its status', () => {
  const codes = Object.keys(STATUSES) as (keyof typeof STATUSES)[];
  expect(Object.fromEntries(codes.map((code) => [code, gatewayFailure(code).status]))).toEqual(STATUSES);
});

const SENTENCE = 'The body is too large for the gateway to rewrite.';
const own = (members: object): string => json({ ok: false, ...members, id: 'r-1', rate: 1.5, none: null });

test.each<[title: string, form: RefusalForm | undefined, failed: Failure, body: string]>([
  [
    'json-api',
    undefined,
    ITEM,
    '{"errors":[{"status":"422","title":"Unprocessable Content","detail":"Not a number: \\"x\\".","code":"value","source":{"pointer":"/data/items/0/a~1b"}}]}',
  ],
  [
    'json-api with the seconds to wait',
    undefined,
    tooManyRequests(7),
    '{"errors":[{"status":"429","title":"Too Many Requests","detail":"A client may read its report only a few times a minute.","code":"too-many-requests"}],"meta":{"reset":7}}',
  ],
  [
    'problem with a pointer',
    'problem',
    ITEM,
    '{"type":"about:blank","title":"Unprocessable Content","status":422,"detail":"Not a number: \\"x\\".","errors":[{"detail":"Not a number: \\"x\\".","pointer":"#/data/items/0/a~1b"}]}',
  ],
  [
    'problem',
    'problem',
    WHOLE,
    `{"type":"about:blank","title":"Content Too Large","status":413,"detail":"${SENTENCE}"}`,
  ],
  ['rails with a pointer', 'rails', ITEM, '{"errors":{"data.items[0].a/b":["Not a number: \\"x\\"."]}}'],
  ['rails', 'rails', WHOLE, `{"errors":{"base":["${SENTENCE}"]}}`],
  [
    'a template',
    OWN,
    ITEM,
    own({
      'x-value': [{ at: '/data/items/0/a~1b', field: 'data.items[0].a/b' }, 'data.items[0].a/b'],
      http: 422,
      text: '422',
      words: 'Unprocessable Content: Not a number: "x". (/data/items/0/a~1b) r-1 {',
    }),
  ],
  [
    'a template without a pointer',
    OWN,
    WHOLE,
    own({
      'x-body-too-large': [{}],
      http: 413,
      text: '413',
      words: `Content Too Large: ${SENTENCE} () r-1 {`,
    }),
  ],
  ['a template of nothing but a pointer', { type: 'a/b', body: '{pointer}' }, WHOLE, 'null'],
])('%s', (_title, form, failed, body) => {
  const type =
    form === 'problem'
      ? 'application/problem+json'
      : typeof form === 'object'
        ? form.type
        : 'application/json';
  expect(failed.content(form, 'r-1')).toEqual({ type, body });
});

test('a template without an id of the request leaves it out', () => {
  const form = { type: 'a/b', body: { id: '{id}', more: '[{id}]' } };
  expect(WHOLE.content(form, undefined).body).toBe('{"more":"[]"}');
});

/** Any name of a client is data in each form, and no form fails. */
test('every form is JSON that contains the sentence, for any pointer and sentence', () => {
  const text = fc.string({ unit: CODE_POINT });
  const pointer = fc.array(text).map((names) => names.map((name) => `/${name}`).join(''));
  const form = fc.constantFrom<RefusalForm | undefined>(undefined, 'problem', 'rails', {
    type: 'a/b',
    body: { words: '{detail}', '{pointer}': '{field}' },
  });
  fc.assert(
    fc.property(form, text, pointer, (chosen, detail, place) => {
      const failed = new Failure({ code: 'c', status: 422, title: 't', detail, pointer: place });
      const { body } = failed.content(chosen, 'id');
      expect(body).toContain(JSON.stringify(detail));
      const read: unknown = JSON.parse(body);
      if (chosen !== 'problem') return;
      const [error] = (read as { errors: { pointer: string }[] }).errors;
      expect(decodeURIComponent(error?.pointer.slice(1) ?? '')).toBe(place.toWellFormed());
      expect(error?.pointer).toMatch(/^#[\w!$&'()*+,;=:@/?.~%-]*$/);
    }),
  );
});
