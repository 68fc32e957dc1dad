import { describe, expect, test } from 'vitest';
import { chooseApiVersion } from '../../src/migrate/api-version.ts';
import { BufferBudget } from '../../src/gateway/buffer-budget.ts';
import { CircuitBreaker } from '../../src/gateway/circuit-breaker.ts';
import { newTrace, readTraceparent } from '../../src/http/trace-context.ts';
import type { UpstreamFault, UpstreamRequest } from '../../src/gateway/upstream.ts';
import { mayResend, resendDelay } from '../../src/gateway/upstream-failure.ts';

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

  test.each(['GET', 'HEAD', 'PUT', 'DELETE', 'OPTIONS', 'POST', 'PATCH', 'REPORT'])(
    '%s, unsent: again, twice at most',
    (method) => {
      expect([1, 2, 3].map((attempts) => mayResend(request(method, bytes), unsent, attempts))).toEqual([
        true,
        true,
        false,
      ]);
    },
  );

  test.each([
    ['GET', true],
    ['PUT', true],
    ['DELETE', true],
    ['POST', false],
    ['PATCH', false],
    ['REPORT', false],
  ])('%s, closed before a response: %s', (method, again) => {
    expect(mayResend(request(method, bytes), closed, 1)).toBe(again);
    expect(mayResend(request(method, bytes), closed, 2)).toBe(false);
  });

  test('a body that streamed cannot be sent again, and what timed out or was no HTTP is not', () => {
    const streamed = request('PUT', {
      [Symbol.asyncIterator]: () => ({ next: () => Promise.reject(new Error('gone')) }),
    });
    expect(mayResend(streamed, closed, 1)).toBe(false);
    for (const kind of ['timeout', 'invalid'] as const)
      expect(mayResend(request('GET'), { ...closed, kind }, 1)).toBe(false);
  });

  test('waits are spread, and grow', () => {
    expect([resendDelay(1, 0), resendDelay(1, 0.999), resendDelay(2, 0), resendDelay(2, 0.999)]).toEqual([
      13, 37, 25, 75,
    ]);
  });
});

describe('the circuit', () => {
  function breaker(failures = 2): {
    readonly circuit: CircuitBreaker;
    readonly pass: (milliseconds: number) => void;
  } {
    let now = 0;
    const circuit = new CircuitBreaker({ failures, openMs: 1000, now: () => now });
    return {
      circuit,
      pass: (milliseconds) => {
        now += milliseconds;
      },
    };
  }

  test('opens after failures in a row, lets one probe through, and closes at its success', () => {
    const { circuit, pass } = breaker();
    circuit.failed();
    circuit.succeeded();
    circuit.failed();
    expect(circuit.admit()).toBe(true);
    circuit.failed();
    expect(circuit.admit()).toBe(false);
    expect(circuit.retryAfter()).toBe(1);
    pass(1000);
    expect([circuit.admit(), circuit.admit()]).toEqual([true, false]);
    circuit.succeeded();
    expect([circuit.admit(), circuit.admit()]).toEqual([true, true]);
  });

  test('opens again when the probe fails, and probes again when the probe never ends', () => {
    const { circuit, pass } = breaker();
    circuit.failed();
    circuit.failed();
    pass(1000);
    expect(circuit.admit()).toBe(true);
    circuit.failed();
    expect(circuit.admit()).toBe(false);
    pass(1000);
    expect(circuit.admit()).toBe(true);
    pass(1000);
    expect(circuit.admit()).toBe(true);
  });

  test('never opens when it is off', () => {
    const { circuit } = breaker(0);
    for (let count = 0; count < 100; count += 1) circuit.failed();
    expect(circuit.admit()).toBe(true);
  });
});

test('the budget gives what it has, and takes back', () => {
  const budget = new BufferBudget(10);
  expect([budget.take(6), budget.take(5), budget.take(4)]).toEqual([true, false, true]);
  budget.release(6);
  expect(budget.held).toBe(4);
});

test.each([
  ['2025-01-01', 'client'],
  ['2028-02-29', 'client'],
  ['2027-02-29', 'invalid'],
  ['2025-13-01', 'invalid'],
  ['2024-12-31', 'invalid'],
  ['2025-1-1', 'invalid'],
  [' 2025-01-01', 'invalid'],
  ['', 'invalid'],
  [undefined, 'absent'],
])('x-api-version %j is %s', (asked, why) => {
  expect(chooseApiVersion(asked, '2025-01-01')).toEqual({
    sent: why === 'client' ? asked : '2025-01-01',
    why,
  });
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

test('a trace that is made is one that is read', () => {
  const made = newTrace('c'.repeat(48));
  expect(readTraceparent(made.header)).toEqual(made);
});
