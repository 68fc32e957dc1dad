import { Agent, request } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { gatewayFor } from '../support/gateway.ts';
import { restartingV2 } from '../support/restarting-v2.ts';
import { until } from '../support/until.ts';

/** The response that a client got, or `reset`. */
interface Outcome {
  readonly method: string;
  readonly status: number;
  readonly at: number;
  readonly took: number;
}

const INTERVAL_MS = 5;

/**
 * Sends a GET or a POST every 5 ms, fewer where the machine is busy, until it is stopped; resolves with all outcomes. `sent` waits
 * for so many more. `lateMs` is the longest time that this process, and the gateway in it, did not get its turn, and the longest that
 * V2 took when it was asked directly, together.
 */
function load(
  port: number,
  v2: string,
): {
  sent: (more: number) => Promise<void>;
  stop: () => Promise<readonly Outcome[]>;
  lateMs: () => number;
} {
  const agent = new Agent({ keepAlive: true });
  onTestFinished(() => agent.destroy());
  const outcomes: Promise<Outcome>[] = [];
  const direct = slowestOf(v2);
  let last = performance.now();
  let worst = 0;
  const timer = setInterval(() => {
    const now = performance.now();
    worst = Math.max(worst, now - last - INTERVAL_MS);
    last = now;
    outcomes.push(send(agent, port, outcomes.length % 2 === 0 ? 'GET' : 'POST'));
  }, INTERVAL_MS);
  return {
    sent: (more) => {
      const before = outcomes.length;
      return until(() => outcomes.length >= before + more);
    },
    lateMs: () => worst + direct.worstMs(),
    stop: () => {
      clearInterval(timer);
      direct.stop();
      return Promise.all(outcomes);
    },
  };
}

/** Asks V2 directly, again and again; `worstMs` is the longest time that a response took. */
function slowestOf(v2: string): { worstMs: () => number; stop: () => void } {
  let worst = 0;
  const over = new AbortController();
  void (async () => {
    while (!over.signal.aborted) {
      const began = performance.now();
      const came = await fetch(v2).then(
        (response) => response.text().then(() => true),
        () => false,
      );
      if (came) worst = Math.max(worst, performance.now() - began);
      await delay(20);
    }
  })();
  const stop = (): void => over.abort();
  onTestFinished(stop);
  return { worstMs: () => worst, stop };
}

function send(agent: Agent, port: number, method: string): Promise<Outcome> {
  const began = performance.now();
  const body = method === 'POST' ? '{"data":{"a":1}}' : '';
  const path = method === 'POST' ? '/api/v1/x' : '/api/v2/x';
  const headers =
    method === 'POST' ? { 'content-type': 'application/json', 'content-length': body.length } : {};
  return new Promise((resolve) => {
    const done = (status: number): void =>
      resolve({ method, status, at: began, took: performance.now() - began });
    const outgoing = request({ agent, host: '127.0.0.1', port, method, path, headers }, (response) => {
      response.resume().on('end', () => done(response.statusCode ?? 0));
    });
    outgoing.on('error', () => done(0)).end(body);
  });
}

test.each(['SIGTERM', 'SIGKILL'] as const)(
  'V2 is restarted three times by %s under 200 requests a second: only a POST that was sent to it may fail',
  async (signal) => {
    const v2 = await restartingV2();
    // A process starts in ten seconds on a loaded machine: so long V2 is waited for.
    const gateway = await gatewayFor(v2.origin, { flags: { 'upstream-connect-timeout': '60000' } });
    const running = load(gateway.port, v2.origin);
    const ends: (readonly [from: number, to: number])[] = [];
    const back: number[] = [];
    for (let count = 0; count < 3; count += 1) {
      // Of what was sent a fifth may be sent again: on a machine that stands still, half of what comes meanwhile is in flight.
      await running.sent(300);
      ends.push(await v2.restart(signal, 700));
      back.push(performance.now());
    }
    await running.sent(200);
    const outcomes = await running.stop();
    const failed = outcomes.filter(({ status }) => status !== 200);
    const sent = gateway.entries().filter(({ failure }) => failure !== undefined);
    expect(outcomes.length).toBeGreaterThanOrEqual(500);
    expect(failed.filter(({ method, status }) => method !== 'POST' || status !== 502)).toEqual([]);
    expect(sent.filter((entry) => entry.sent !== true || entry.method !== 'POST')).toEqual([]);
    // Those that V2 had when it went, and none that came while it was away.
    const wasSent = ({ at, took }: Outcome): boolean =>
      ends.some(([from, to]) => at <= to && at + took >= from);
    expect(failed.filter((one) => !wasSent(one))).toEqual([]);
    // The first of those that waited; how fast V2 serves all of them then is its own affair.
    const late = back.map((at) => {
      const waited = outcomes.filter((one) => one.at < at && one.at + one.took > at);
      return Math.min(...waited.map((one) => one.at + one.took - at));
    });
    console.log(
      `${signal}: ${outcomes.length} requests, ${failed.length} POSTs failed that were sent; served again after ${late.map((time) => time.toFixed(0)).join(', ')} ms`,
    );
    for (const time of late) expect(time).toBeLessThan(1000 + 2 * running.lateMs());
  },
);

test('a V2 that stayed away long enough to open the circuit is served again soon after it is back', async () => {
  const v2 = await restartingV2();
  const gateway = await gatewayFor(v2.origin, {
    flags: { 'upstream-connect-timeout': '300', 'breaker-failures': '5', 'breaker-open': '60000' },
  });
  const running = load(gateway.port, v2.origin);
  await running.sent(50);
  await v2.restart('SIGKILL', 4000);
  const back = performance.now();
  await until(() => gateway.lines.at(-1)?.includes('"status":200') === true);
  await running.sent(100);
  const outcomes = await running.stop();
  expect(outcomes.some(({ status }) => status === 503)).toBe(true);
  const served = outcomes.filter(({ status, at }) => status === 200 && at > back);
  const first = Math.min(...served.map(({ at, took }) => at + took)) - back;
  console.log(`circuit open for 4 s; served again after ${first.toFixed(0)} ms`);
  expect(first).toBeLessThan(1000 + 2 * running.lateMs());
  expect(outcomes.filter(({ at }) => at > back + first).every(({ status }) => status === 200)).toBe(true);
});
