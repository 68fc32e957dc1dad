import { describe, expect, test } from 'vitest';
import {
  isCounted,
  mayRetry,
  retryDelayMs,
  type UpstreamFault,
  type UpstreamRequest,
} from '../../src/gateway/upstream.ts';

describe('the retry table', () => {
  const request = (method: string, body: UpstreamRequest['body'] = null): UpstreamRequest => ({
    method,
    target: '/',
    headers: [],
    body,
    length: undefined,
  });
  const unsent: UpstreamFault = { kind: 'unreachable', sent: false, cause: 'x' };
  const closed: UpstreamFault = { kind: 'closed', sent: true, cause: 'x' };
  const bytes = new Uint8Array(2);

  test('unsent: not by the gateway, because the upstream has already retried to connect until its timeout', () => {
    for (const method of ['GET', 'PUT', 'POST'])
      expect(mayRetry(request(method, bytes), unsent, 1)).toBe(false);
  });

  test.each([
    ['GET', true],
    ['PUT', true],
    ['DELETE', true],
    ['POST', false],
    ['PATCH', false],
    ['REPORT', false],
  ])('%s, closed before a response: %s', (method, again) => {
    expect(mayRetry(request(method, bytes), closed, 1)).toBe(again);
    expect(mayRetry(request(method, bytes), closed, 2)).toBe(false);
  });

  test('a streamed body cannot be resent, and a request is not resent after a timeout or an invalid response', () => {
    const streamed = request('PUT', {
      [Symbol.asyncIterator]: () => ({ next: () => Promise.reject(new Error('gone')) }),
    });
    expect(mayRetry(streamed, closed, 1)).toBe(false);
    for (const kind of ['timeout', 'invalid'] as const)
      expect(mayRetry(request('GET'), { ...closed, kind }, 1)).toBe(false);
  });

  test("a close during a large body is not a sign of V2's health: the refusal is lost in the reset", () => {
    expect(isCounted(closed, null)).toBe(true);
    expect(isCounted(closed, new Uint8Array(16_384))).toBe(true);
    expect(isCounted(closed, new Uint8Array(16_385))).toBe(false);
    expect(isCounted({ ...closed, kind: 'timeout' }, new Uint8Array(16_385))).toBe(true);
  });

  test('retries are spread from 13 to 37 milliseconds', () => {
    expect([retryDelayMs(0), retryDelayMs(0.5), retryDelayMs(0.999)]).toEqual([13, 25, 37]);
  });
});

test.each(['EMFILE', 'ENFILE'])('%s says nothing about the health of the origin', (cause) => {
  expect(isCounted({ kind: 'unreachable', sent: false, cause }, null)).toBe(false);
});
