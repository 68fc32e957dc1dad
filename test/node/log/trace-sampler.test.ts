import { expect, test } from 'vitest';
import { readSampler } from '../../../src/node/log/otlp.ts';

const LOW = '0000000000000000000000000000000f';
const HIGH = 'ffffffffffffffffffffffffffffffff';

/** Decisions without a parent, below a parent that records, and below one that does not; for a low and a high trace id. */
function decisions(sampler: string, argument = ''): string {
  const isSampled = readSampler({ OTEL_TRACES_SAMPLER: sampler, OTEL_TRACES_SAMPLER_ARG: argument });
  return [undefined, true, false]
    .flatMap((parent) => [LOW, HIGH].map((id) => (isSampled(id, parent) ? '1' : '0')))
    .join('');
}

test.each([
  ['', '', '111100'],
  ['parentbased_always_on', '', '111100'],
  ['parentbased_always_off', '', '001100'],
  ['parentbased_traceidratio', '0.5', '101100'],
  ['always_on', '', '111111'],
  ['always_off', '', '000000'],
  ['traceidratio', '0.5', '101010'],
  ['traceidratio', '0', '000000'],
  ['traceidratio', '1', '111111'],
  ['traceidratio', 'nonsense', '111111'],
  ['unheard_of', '', '111100'],
])('OTEL_TRACES_SAMPLER=%s, argument %j', (sampler, argument, expected) => {
  expect(decisions(sampler, argument)).toBe(expected);
});

test('a ratio records that share of random traces', () => {
  const isSampled = readSampler({ OTEL_TRACES_SAMPLER: 'traceidratio', OTEL_TRACES_SAMPLER_ARG: '0.25' });
  let count = 0;
  for (let n = 0; n < 4000; n += 1)
    if (isSampled(crypto.randomUUID().replaceAll('-', ''), undefined)) count += 1;
  expect(count).toBeGreaterThan(800);
  expect(count).toBeLessThan(1200);
});
