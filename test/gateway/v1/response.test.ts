import { describe, expect, test } from 'vitest';
import { ResponseCollector, type ResponseCollectorOwner } from '../../../src/gateway/v1/response.ts';
import { newMemory } from '../../../src/http/byte-collector.ts';
import { RawHeaders } from '../../../src/http/raw-headers.ts';
import type { HeaderList } from '../../../src/http/header-list.ts';
import { responseHead } from '../../support/response-head.ts';

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
    isSettled: false,
    responseMemory: newMemory,
    responseLimit: 100,
    information: (status) => void calls.push(`information ${status}`),
    head: ({ status, headers }) => void calls.push(`head ${status} ${headers.join(' ')}`),
    data: (chunk) => void calls.push(`data ${Buffer.from(chunk).toString()}`),
    end: (trailers) => void calls.push(`end ${trailers.join(' ')}`.trim()),
    fail: ({ kind }) => void calls.push(`fail ${kind}`),
    planResponse: () => ({ coding: undefined }),
    openTexts: () => {
      throw new Error('the response is one text');
    },
    refuseResponse: () => false,
    takeResponse: () => true,
    decodeResponse: (_coding, _body, done) => done(Buffer.from('decoded')),
    peekResponse: () => Buffer.from(''),
    failCollected: ({ kind }) => void calls.push(`fail unsent ${kind}`),
    responsePieces: () => undefined,
    encodeResponse: (_coding, _body, done) => done(undefined),
    rewriteSmallResponse: () => undefined,
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
  collector.head(responseHead(200, HEADERS));
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

describe('a response that arrives whole', () => {
  const rewritten = {
    verdict: 'rewritten',
    body: Buffer.from('new'),
    edits: [],
    records: [],
    omitted: 0,
    patch: [],
  } as const;

  /** Plays a response in one chunk, with no memory for a copy. */
  function playWhole(over: Partial<ResponseCollectorOwner>, body = V2_BODY): readonly string[] {
    const { collector, calls } = collected({ takeResponse: () => false, ...over });
    collector.head(responseHead(200, HEADERS));
    collector.data(body, body.length === V2_BODY.length);
    collector.end([]);
    return calls;
  }

  test('is rewritten where it is: no memory is reserved for a copy', () => {
    const [observed, head, ...rest] = playWhole({ rewriteSmallResponse: () => rewritten });
    expect(observed).toBe('observe {"a"');
    expect(head).toMatch(/ETag W\/"v2" Content-Length 3$/);
    expect(rest).toEqual(['data new', 'end']);
  });

  test('in chunks loses its trailers when it is rewritten: they tell of other bytes', () => {
    const { collector, calls } = collected({ rewriteSmallResponse: () => rewritten });
    collector.head(responseHead(200, ['ETag', '"v2"']));
    collector.data(V2_BODY, true);
    collector.end(['x-sum', '7']);
    expect(calls.slice(-2)).toEqual(['data new', 'end']);
  });

  test('is sent as it came, with the reason, where it cannot be rewritten', () => {
    const rewriteSmallResponse = (_status: number, body: Uint8Array) =>
      ({ verdict: 'unchanged', body, note: 'response-malformed' }) as const;
    expect(playWhole({ rewriteSmallResponse })).toEqual([
      'note response-malformed',
      ...UNCHANGED.slice(0, 2),
      'end',
    ]);
  });

  test.each([true, false])('is lent to those who borrow (%s), and copied for others', (borrowsParts) => {
    const lent = Buffer.from(V2_BODY);
    const taken: Uint8Array[] = [];
    playWhole(
      {
        borrowsParts,
        rewriteSmallResponse: (_status, body) => ({ verdict: 'unchanged', body }),
        data: (chunk) => void taken.push(chunk),
      },
      lent,
    );
    lent.fill('!');
    expect(Buffer.concat(taken).toString()).toBe(borrowsParts ? '!!!!' : V2_BODY.toString());
  });

  test.each<[what: string, over: Partial<ResponseCollectorOwner>]>([
    ['with a content coding', { planResponse: () => ({ coding: 'gzip' }) }],
    ['above the limit', { responseLimit: 3 }],
    ['large', { rewriteSmallResponse: () => undefined }],
  ])('is collected %s', (_what, over) => {
    const taken: number[] = [];
    const takeResponse = (bytes: number): boolean => taken.push(bytes) > 0;
    playWhole({ rewriteSmallResponse: () => rewritten, takeResponse, ...over });
    expect(taken.length).toBe(over.responseLimit === undefined ? 1 : 0);
  });

  test('is collected if less has arrived than its head says', () => {
    const isLate = { rewriteSmallResponse: () => rewritten, takeResponse: () => true };
    const calls = playWhole(isLate, V2_BODY.subarray(0, 3));
    expect(calls[0]).toBe('observe {"a');
  });
});

test('the lines that the head was read from go with it, rewritten or not', () => {
  const received: unknown[] = [];
  const lines = new RawHeaders('', [], [], true);
  for (const verdict of ['rewritten', 'unchanged'] as const) {
    const { collector } = collected({
      head: (given) => void received.push(given.lines),
      rewriteResponse: (_status, body, done) =>
        done({ verdict, body, records: [], omitted: 0, patch: [] }, body),
    });
    collector.head({ ...responseHead(200, HEADERS), lines });
    collector.data(V2_BODY);
    collector.end([]);
  }
  expect(received).toEqual([lines, lines]);
});

test('a response that breaks while it is collected is a failure, and nothing of it is sent', () => {
  const { collector, calls } = collected();
  collector.head(responseHead(200, HEADERS));
  collector.data(V2_BODY);
  collector.fail({ kind: 'closed', sent: true, cause: 'x' });
  expect(calls).toEqual(['fail unsent closed']);
});

test('a client that went away while its response was decoded is sent nothing', () => {
  expect(play(collected({ planResponse: () => ({ coding: 'gzip' }), isSettled: true }))).toEqual([]);
});
