import { describe, expect, test } from 'vitest';
import {
  addForwarded,
  isOtherTrace,
  isWithin,
  readRange,
  readTraceparent,
  traceparentOf,
} from '../../src/http/forwarding.ts';
import { isHost } from '../../src/http/request-head.ts';
import { words } from '../support/rows.ts';

function within(address: string, ...ranges: readonly string[]): boolean {
  return isWithin(
    address,
    ranges.flatMap((range) => readRange(range) ?? []),
  );
}

describe('trusted proxies', () => {
  test.each([
    ['10.1.2.3', '10.0.0.0/8', true],
    ['11.1.2.3', '10.0.0.0/8', false],
    ['::ffff:10.1.2.3', '10.0.0.0/8', true],
    ['::ffff:a01:203', '10.0.0.0/8', true],
    ['10.1.2.3', '::ffff:10.0.0.0/104', true],
    ['2001:db8::1', '2001:db8::/32', true],
    ['2001:db9::1', '2001:db8::/32', false],
    ['fe80::1%eth0', 'fe80::/10', true],
    ['::1', '::1', true],
    ['127.0.0.1', '127.0.0.1', true],
    ['127.0.0.2', '127.0.0.1', false],
    ['', '0.0.0.0/0', false],
    ['1.2.3.4', '::/0', true],
  ])('%s in %s: %s', (address, range, expected) => {
    expect(within(address, range)).toBe(expected);
  });

  test.each([
    ...words`10.0.0.0/33 10.0.0 010.0.0.1 ::1:: ::: 1:2:3:4:5:6:7:8:9 ::/129 x`,
    '',
    '1.2.3.4/',
    '::1.2.3',
  ])('%s is not a range', (range) => {
    expect(readRange(range)).toBeUndefined();
  });
});

describe('the forwarding fields for the origin', () => {
  const hop = { address: '::ffff:192.0.2.7', secure: true, host: 'api.example:8443' };
  test.each([
    ['off', [], []],
    [
      'x-forwarded',
      [],
      ['x-forwarded-for', '192.0.2.7', 'x-forwarded-host', 'api.example:8443', 'x-forwarded-proto', 'https'],
    ],
    [
      'x-forwarded',
      ['X-Forwarded-For', '203.0.113.9', 'X-Forwarded-Proto', 'http'],
      [
        'X-Forwarded-For',
        '203.0.113.9, 192.0.2.7',
        'X-Forwarded-Proto',
        'http',
        'x-forwarded-host',
        'api.example:8443',
      ],
    ],
    ['rfc7239', [], ['forwarded', 'for=192.0.2.7;host="api.example:8443";proto=https']],
    [
      'rfc7239',
      ['Forwarded', 'for=x'],
      ['Forwarded', 'for=x, for=192.0.2.7;host="api.example:8443";proto=https'],
    ],
  ] as const)('%s after %j', (mode, before, after) => {
    const headers = [...before];
    addForwarded(headers, mode, hop);
    expect(headers).toEqual(after);
  });

  test.each([
    ['203.0.113.7', '203.0.113.7'],
    ['2001:db8::1', '"[2001:db8::1]"'],
    ['::ffff:c000:207', '"[::ffff:c000:207]"'],
  ])('%s is %s: an IPv6 address is quoted and bracketed', (address, node) => {
    const headers: string[] = [];
    addForwarded(headers, 'rfc7239', { address, secure: false, host: undefined });
    expect(headers).toEqual(['forwarded', `for=${node};proto=http`]);
  });
});

test.each([
  ['localhost', true],
  ['api.example:8080', true],
  ['[::1]:8080', true],
  ['a_b', true],
  ['', false],
  ['a b', false],
  ['a@b', false],
  ['a/b', false],
  ['a,b', true],
  ['a:99999', false],
  ['a:b', false],
  ['[::1', false],
  ['a"b', false],
])('Host %s: %s', (host, valid) => {
  expect(isHost(host)).toBe(valid);
});

test.each([
  [`00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`, true],
  [`01-${'a'.repeat(32)}-${'b'.repeat(16)}-01-more`, true],
  [`00-${'a'.repeat(32)}-${'b'.repeat(16)}-01-more`, false],
  [`ff-${'a'.repeat(32)}-${'b'.repeat(16)}-01`, false],
  [`00-${'0'.repeat(32)}-${'b'.repeat(16)}-01`, false],
  [`00-${'A'.repeat(32)}-${'b'.repeat(16)}-01`, false],
  ['', false],
])('traceparent %j: %s', (value, valid) => {
  expect(readTraceparent(value) !== undefined).toBe(valid);
});

test.each([true, false])('a made traceparent reads back as itself, sampled: %s', (isSampled) => {
  const [traceId, spanId] = ['c'.repeat(32), 'd'.repeat(16)];
  const header = traceparentOf(traceId, spanId, isSampled);
  expect(readTraceparent(header)).toEqual({ traceId, spanId, isSampled, header });
});

test.each([
  ['b3', true],
  ['x-b3-traceid', true],
  ['x-amzn-trace-id', true],
  ['x-cloud-trace-context', true],
  ['uber-trace-id', true],
  ['sw8', true],
  ['x-datadog-trace-id', true],
  ['grpc-trace-bin', true],
  ['elastic-apm-traceparent', true],
  ['newrelic', true],
  ['x-ot-span-context', true],
  ['ot-tracer-traceid', true],
  ['sentry-trace', true],
  ['traceparent', false],
  ['tracestate', false],
  ['x-request-id', false],
  ['b3x', false],
])('%s continues a trace in another form: %s', (name, isTrace) => {
  expect(isOtherTrace(name)).toBe(isTrace);
});
