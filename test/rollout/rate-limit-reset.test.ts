import { expect, test } from 'vitest';
import { RateLimitReset } from '../../src/rollout/rate-limit.ts';

const encoder = new TextEncoder();

function secondsOf(chunks: readonly string[], headers: readonly string[] = []): number | undefined {
  const reset = new RateLimitReset(headers, Date.UTC(2025, 0, 1));
  for (const chunk of chunks) reset.data(encoder.encode(chunk));
  return reset.seconds;
}

test.each([
  [['{"meta":{"reset":42}}'], [], 42],
  [['{"errors":[],"me', 'ta":{"reset":4', '2}}'], [], 42],
  [['{"meta":{"reset":42}}'], ['Retry-After', '7'], 42],
  [['{"meta":{"reset":-1}}'], ['Retry-After', '7'], 7],
  [[], ['Retry-After', '7'], 7],
  [[], ['Retry-After', 'Wed, 01 Jan 2025 00:00:30 GMT'], 30],
  [['{"reset":42}'], [], undefined],
])('a 429 in the parts %j with %j asks for a wait of so many seconds: %s', (chunks, headers, seconds) => {
  expect(secondsOf(chunks, headers)).toBe(seconds);
});
