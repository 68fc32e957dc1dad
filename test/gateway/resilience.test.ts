import { describe, expect, test } from 'vitest';
import {
  CircuitBreaker,
  mayRepeat,
  mayRetry,
  RetryBudget,
  retryDelayMs,
} from '../../src/gateway/resilience.ts';
import type { UpstreamFault, UpstreamRequest } from '../../src/gateway/upstream.ts';
import { gatewayOptions, readSettings } from '../../src/settings/read-settings.ts';

describe('the retry table', () => {
  const request = (method: string, body: UpstreamRequest['body'] = null): UpstreamRequest => ({
    method,
    target: '/',
    headers: [],
    body,
    length: undefined,
  });
  const unsent: UpstreamFault = { kind: 'unreachable', mayHaveArrived: false, cause: 'x' };
  const closed: UpstreamFault = { kind: 'closed', mayHaveArrived: true, cause: 'x' };
  const bytes = new Uint8Array(2);

  test('an unsent request is not resent, because the upstream has already tried to connect until its timeout', () => {
    for (const method of ['GET', 'PUT', 'POST'])
      expect(mayRetry(request(method, bytes), unsent, 1)).toBe(false);
  });

  test.each([
    ['GET', true],
    ['HEAD', true],
    ['PUT', true],
    ['DELETE', true],
    ['OPTIONS', true],
    ['POST', false],
    ['PATCH', false],
    ['REPORT', false],
  ])('%s, closed before a response: %s', (method, again) => {
    expect(mayRetry(request(method, bytes), closed, 1)).toBe(again);
    expect(mayRetry(request(method, bytes), closed, 2)).toBe(false);
    // What the upstream asks before it uses a connection that the origin may be about to close.
    expect(mayRepeat(method, true)).toBe(again);
    expect(mayRepeat(method, false)).toBe(false);
  });

  test('a streamed body cannot be resent, and a request is not resent after a timeout or an invalid response', () => {
    const streamed = request('PUT', {
      [Symbol.asyncIterator]: () => ({ next: () => Promise.reject(new Error('gone')) }),
    });
    expect(mayRetry(streamed, closed, 1)).toBe(false);
    for (const kind of ['timeout', 'invalid'] as const)
      expect(mayRetry(request('GET'), { ...closed, kind }, 1)).toBe(false);
  });

  test('retries are spread from 13 to 37 milliseconds', () => {
    expect([retryDelayMs(0), retryDelayMs(0.5), retryDelayMs(0.999)]).toEqual([13, 25, 37]);
  });
});

describe('the circuit breaker', () => {
  function breaker(failures = 2): {
    readonly circuit: CircuitBreaker;
    readonly pass: (milliseconds: number) => void;
    /** Whether a request is admitted after so many milliseconds, and none a millisecond earlier. */
    readonly admitsAfter: (milliseconds: number) => boolean;
  } {
    let now = 0;
    const circuit = new CircuitBreaker({ failures, openMs: 1000, now: () => now });
    const pass = (milliseconds: number): void => {
      now += milliseconds;
    };
    const admitsAfter = (milliseconds: number): boolean => {
      pass(Math.max(0, milliseconds - 1));
      const early = milliseconds > 0 && circuit.admit();
      pass(1);
      return !early && circuit.admit();
    };
    return { circuit, pass, admitsAfter };
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

  test('probes after 100 ms when the first probe fails, then after twice the time up to the maximum', () => {
    const { circuit, admitsAfter } = breaker();
    circuit.failed();
    circuit.failed();
    const gaps = [0, 100, 200, 400, 800, 1000, 1000].map((gap) => {
      const isAdmitted = admitsAfter(gap);
      circuit.failed();
      return isAdmitted;
    });
    expect(gaps).toEqual(gaps.map(() => true));
  });

  test('probes at once when the upstream has connected again', () => {
    const { circuit } = breaker();
    circuit.failed();
    circuit.failed();
    expect([circuit.admit(), circuit.admit()]).toEqual([true, false]);
    circuit.reached();
    expect([circuit.admit(), circuit.admit()]).toEqual([true, false]);
    expect(circuit.state).toBe('probing');
  });

  test('closes without a request, once an origin that accepted no connection accepts one', () => {
    const { circuit, admitsAfter } = breaker();
    expect(circuit.contactAt(9000)).toBeUndefined();
    circuit.away();
    expect([circuit.state, circuit.admit()]).toEqual(['open', false]);
    admitsAfter(50);
    circuit.away();
    expect(circuit.contactAt(9050)).toEqual({ isAway: true, since: 9000 });
    circuit.reached();
    expect([circuit.state, circuit.admit(), circuit.admit()]).toEqual(['closed', true, true]);
    expect(circuit.contactAt(9050)).toEqual({ isAway: false, since: 9050 });
  });

  test('waits for a response of an origin that accepts connections, and failed in another way', () => {
    const { circuit } = breaker();
    circuit.failed();
    circuit.failed();
    circuit.reached();
    expect(circuit.state).toBe('open');
  });

  test('probes at the interval while probes have no outcome, and every 5 s once five of them have none', () => {
    const { circuit, admitsAfter } = breaker();
    circuit.failed();
    circuit.failed();
    const gaps = [0, 100, 100, 100, 100, 5000, 5000].map(admitsAfter);
    expect(gaps).toEqual(gaps.map(() => true));
  });

  test('does not count probes that are over, with any outcome', () => {
    const { circuit, pass } = breaker();
    circuit.failed();
    circuit.failed();
    const admitted = Array.from({ length: 30 }, () => {
      pass(100);
      const isAdmitted = circuit.admit();
      circuit.probeOver();
      return isAdmitted;
    });
    expect(admitted).not.toContain(false);
    expect(circuit.state).toBe('probing');
  });

  test('does not take the end of a probe from before it closed for that of a later probe', () => {
    const { circuit, pass } = breaker();
    const admitsAfter100 = (): boolean => {
      pass(100);
      return circuit.admit();
    };
    const outage = (): void => {
      circuit.failed();
      circuit.failed();
    };
    outage();
    expect([admitsAfter100(), admitsAfter100()]).toEqual([true, true]);
    circuit.succeeded();
    outage();
    expect([admitsAfter100(), admitsAfter100(), admitsAfter100()]).toEqual([true, true, true]);
    circuit.probeOver();
    circuit.probeOver();
    expect([admitsAfter100(), admitsAfter100(), admitsAfter100()]).toEqual([true, true, false]);
  });

  test('opens again when a probe fails, even if another one was sent after it', () => {
    const { circuit, pass } = breaker();
    circuit.failed();
    circuit.failed();
    circuit.admit();
    pass(100);
    circuit.admit();
    circuit.failed(1);
    expect(circuit.state).toBe('open');
  });

  test('as it ships, probes at least every 200 ms however long the origin fails: one that is back serves within 300 ms', () => {
    const read = readSettings({ flags: {}, environment: {}, readFile: () => '' });
    if ('faults' in read) throw new Error(read.faults.join());
    const { breakerFailures: failures, breakerOpenMs: openMs } = gatewayOptions(read.settings, {
      bufferBytes: 0,
    });
    let now = 0;
    const circuit = new CircuitBreaker({ failures, openMs, now: () => now });
    for (let count = 0; count < failures; count += 1) circuit.failed();
    let last = 0;
    let longest = 0;
    for (; now < 600_000; now += 10) {
      if (!circuit.admit()) continue;
      longest = Math.max(longest, now - last);
      last = now;
      circuit.failed();
    }
    expect(longest).toBe(200);
  });

  test('requests in flight when the first of them failed count once: a restart is one event', () => {
    const { circuit, pass } = breaker();
    pass(50);
    for (let count = 0; count < 100; count += 1) circuit.failed(40);
    expect(circuit.admit()).toBe(true);
    circuit.failed(51);
    expect(circuit.state).toBe('open');
  });

  test('a failure of a request sent before the probe does not end the probe', () => {
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

test('a fifth of the requests of ten seconds may be resent, and ten in any case', () => {
  let now = 0;
  const budget = new RetryBudget(() => now);
  const taken = (): number => {
    let count = 0;
    while (budget.acquire()) count += 1;
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
  // A request of the second before takes nothing back.
  budget.count(99_999);
  expect(taken()).toBe(0);
});
