import { describe, expect, test } from 'vitest';
import { chooseApiVersion } from '../../src/migrate/api-version.ts';
import { BufferBudget } from '../../src/gateway/buffer-budget.ts';
import { ResendBudget } from '../../src/gateway/resend-budget.ts';
import { CircuitBreaker } from '../../src/gateway/circuit-breaker.ts';
import { newTrace, readTraceparent } from '../../src/http/trace-context.ts';
import type { UpstreamFault, UpstreamRequest } from '../../src/gateway/upstream.ts';
import { isCounted, mayResend, resendDelay } from '../../src/gateway/upstream-failure.ts';

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

  test('unsent: not by the gateway, for the upstream connected again for as long as it may', () => {
    for (const method of ['GET', 'PUT', 'POST'])
      expect(mayResend(request(method, bytes), unsent, 1)).toBe(false);
  });

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

  test('a large body that V2 closed on says nothing of its health: the refusal is lost in the reset', () => {
    expect(isCounted(closed, null)).toBe(true);
    expect(isCounted(closed, new Uint8Array(16_384))).toBe(true);
    expect(isCounted(closed, new Uint8Array(16_385))).toBe(false);
    expect(isCounted({ ...closed, kind: 'timeout' }, new Uint8Array(16_385))).toBe(true);
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

  test('opens after failures in a row, lets one probe through at once, and closes at its success', () => {
    const { circuit } = breaker();
    circuit.failed();
    circuit.succeeded();
    circuit.failed();
    expect(circuit.admit()).toBe(true);
    circuit.failed();
    expect(circuit.state).toBe('open');
    expect([circuit.admit(), circuit.admit()]).toEqual([true, false]);
    expect(circuit.retryAfter()).toBe(1);
    circuit.succeeded();
    expect([circuit.admit(), circuit.admit()]).toEqual([true, true]);
  });

  test('probes after 100 ms when the first probe fails, then after twice the time up to the longest', () => {
    const { circuit, pass } = breaker();
    circuit.failed();
    circuit.failed();
    const gaps = [0, 100, 200, 400, 800, 1000, 1000].map((gap) => {
      pass(Math.max(0, gap - 1));
      const early = gap > 0 && circuit.admit();
      pass(1);
      const admitted = circuit.admit();
      circuit.failed();
      return !early && admitted;
    });
    expect(gaps).toEqual(gaps.map(() => true));
  });

  test('probes again when a probe never ends, and at once when the upstream could connect again', () => {
    const { circuit, pass } = breaker();
    circuit.failed(undefined, 7);
    circuit.failed(undefined, 7);
    expect([circuit.admit(7), circuit.admit(7), circuit.admit(8), circuit.admit(8)]).toEqual([
      true,
      false,
      true,
      false,
    ]);
    pass(1000);
    expect(circuit.admit(8)).toBe(true);
  });

  test('requests that were under way when the first of them failed count once: a restart is one event', () => {
    const { circuit, pass } = breaker();
    pass(50);
    for (let count = 0; count < 100; count += 1) circuit.failed(40);
    expect(circuit.admit()).toBe(true);
    circuit.failed(51);
    expect(circuit.state).toBe('open');
  });

  test('what was sent before the probe says nothing of the probe', () => {
    const { circuit, pass } = breaker();
    circuit.failed();
    circuit.failed();
    pass(10);
    circuit.admit();
    circuit.failed(5);
    expect(circuit.state).toBe('probing');
  });

  test('never opens when it is off', () => {
    const { circuit } = breaker(0);
    for (let count = 0; count < 100; count += 1) circuit.failed();
    expect(circuit.admit()).toBe(true);
  });
});

test('a fifth of the requests of ten seconds may be sent again, and ten in any case', () => {
  let now = 0;
  const budget = new ResendBudget(() => now);
  const taken = (): number => {
    let count = 0;
    while (budget.take()) count += 1;
    return count;
  };
  expect(taken()).toBe(10);
  for (let count = 0; count < 100; count += 1) budget.count(now);
  expect(taken()).toBe(10);
  now = 9000;
  for (let count = 0; count < 100; count += 1) budget.count(now);
  expect(taken()).toBe(20);
  now = 10_000;
  expect(taken()).toBe(0);
  now = 100_000;
  expect(taken()).toBe(10);
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
