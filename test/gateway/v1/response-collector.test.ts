import { describe, expect, test } from 'vitest';
import { newMemory } from '../../../src/http/byte-collector.ts';
import type { HeaderList } from '../../../src/http/header-list.ts';
import {
  ResponseCollector,
  type ResponseCollectorOwner,
} from '../../../src/gateway/v1/response-collector.ts';

const HEADERS: HeaderList = ['Content-Length', '4', 'ETag', '"v2"'];
const V2_BODY = Buffer.from('{"a"');

interface Collected {
  readonly collector: ResponseCollector;
  /** What the owner was called with, one line for each call. */
  readonly calls: string[];
}

/** A collector whose owner rewrites each body to `new`, but for `over`. */
function collected(over: Partial<ResponseCollectorOwner> = {}): Collected {
  const calls: string[] = [];
  const owner: ResponseCollectorOwner = {
    isOver: false,
    responseMemory: newMemory,
    responseLimit: 100,
    information: (status) => void calls.push(`information ${status}`),
    head: (status, _reason, headers) => void calls.push(`head ${status} ${headers.join(' ')}`),
    data: (chunk) => void calls.push(`data ${Buffer.from(chunk).toString()}`),
    end: (trailers) => void calls.push(`end ${trailers.join(' ')}`.trim()),
    fail: ({ kind }) => void calls.push(`fail ${kind}`),
    planResponse: () => ({ coding: undefined }),
    takeResponse: () => true,
    decodeResponse: (_coding, _body, done) => done(Buffer.from('decoded')),
    rewriteResponse: (_status, body, done) =>
      done({ verdict: 'rewritten', body: Buffer.from('new'), records: [], omitted: 0, patch: [] }, body),
    noteResponseEdits: () => {},
    noteResponse: (note) => void calls.push(`note ${note}`),
    observeResponse: (_status, _headers, body) => void calls.push(`observe ${Buffer.from(body).toString()}`),
    ...over,
  };
  return { collector: new ResponseCollector(owner), calls };
}

/** Plays a whole response of two chunks, with a trailer. */
function play({ collector, calls }: Collected): readonly string[] {
  collector.head(200, 'OK', HEADERS);
  collector.data(V2_BODY.subarray(0, 2));
  collector.data(V2_BODY.subarray(2));
  collector.end(['x-sum', '7']);
  return calls;
}

const UNCHANGED = ['head 200 Content-Length 4 ETag "v2"', 'data {"a"', 'end x-sum 7'];
const STREAMED = ['head 200 Content-Length 4 ETag "v2"', 'data {"', 'data a"', 'end x-sum 7'];

test('a response without a plan streams', () => {
  expect(play(collected({ planResponse: () => undefined }))).toEqual(STREAMED);
});

test('a rewritten response is sent whole, with its own length, a weak validator and no trailers', () => {
  const [observed, head, ...rest] = play(collected());
  expect(observed).toBe('observe {"a"');
  expect(head).toMatch(/content-length 3/i);
  expect(head).toContain('ETag W/"v2"');
  expect(rest).toEqual(['data new', 'end']);
});

test('a coded response is rewritten decoded', () => {
  expect(play(collected({ planResponse: () => ({ coding: 'gzip' }) }))[0]).toBe('observe decoded');
});

describe('a response that cannot be rewritten is sent unchanged, with a note', () => {
  const coded: Partial<ResponseCollectorOwner> = { planResponse: () => ({ coding: 'gzip' }) };

  test.each<[note: string, over: Partial<ResponseCollectorOwner>]>([
    [
      'response-malformed',
      {
        rewriteResponse: (_, body, done) =>
          done({ verdict: 'unchanged', body, note: 'response-malformed' }, body),
      },
    ],
    ['response-undecodable', { ...coded, decodeResponse: (_, __, done) => done('undecodable') }],
    ['response-too-large', { ...coded, decodeResponse: (_, __, done) => done('too-large') }],
    ['response-buffer-full', { ...coded, decodeResponse: (_, __, done) => done('buffer-full') }],
  ])('%s, once it is whole', (note, over) => {
    expect(play(collected(over))).toEqual([`note ${note}`, ...UNCHANGED]);
  });

  test.each<[note: string, over: Partial<ResponseCollectorOwner>]>([
    ['response-too-large', { responseLimit: 1 }],
    ['response-buffer-full', { takeResponse: () => false }],
  ])('%s, while it streams', (note, over) => {
    expect(play(collected(over))).toEqual([`note ${note}`, ...STREAMED]);
  });
});

test('a response that breaks is sent up to the break', () => {
  const { collector, calls } = collected();
  collector.head(200, 'OK', HEADERS);
  collector.data(V2_BODY);
  collector.fail({ kind: 'closed', sent: true, cause: 'x' });
  expect(calls).toEqual([...UNCHANGED.slice(0, 2), 'fail closed']);
});

test('a client that went away while its response was decoded is sent nothing', () => {
  expect(play(collected({ planResponse: () => ({ coding: 'gzip' }), isOver: true }))).toEqual([]);
});
