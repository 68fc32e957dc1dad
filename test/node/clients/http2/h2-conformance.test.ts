import { setTimeout as pause } from 'node:timers/promises';
import { connect } from 'node:tls';
import { expect, onTestFinished, test } from 'vitest';
import { type RawH2, rawH2 } from '../../../support/raw-h2.ts';
import { ok } from '../../../support/raw-server.ts';
import { ca, securelyServed } from '../../../support/secure-gateway.ts';
import { until } from '../../../support/until.ts';
import { FURTHER_CASES, H2_CASES, type H2Case, outcomesOf } from './h2-cases.ts';

/** Milliseconds after which a gateway without an allowed outcome has failed the case. */
const WAITS_MS = 5000;
/** Cases that run at a time, each on its own connection. */
const AT_ONCE = 30;

async function connected(port: number, { preface, settings }: H2Case): Promise<RawH2> {
  if (preface === undefined) return rawH2(port, ca.cert, settings);
  const socket = connect({ port, host: 'localhost', ca: ca.cert, ALPNProtocols: ['h2'] });
  socket.on('error', () => {}).resume();
  onTestFinished(() => void socket.destroy());
  socket.write(preface, 'latin1');
  return { socket, frames: [], frame: () => {}, head: () => {} };
}

/** The outcome of a case: `expected`, `instead`, or its words. */
async function played(port: number, one: H2Case): Promise<string> {
  const raw = await connected(port, one);
  try {
    for (const step of one.steps) step(raw);
    return await outcome(raw, one);
  } finally {
    // Its requests to V2 would keep others waiting.
    raw.socket.destroy();
  }
}

async function outcome(raw: RawH2, one: H2Case): Promise<string> {
  const end = Date.now() + WAITS_MS;
  for (;;) {
    const outcomes = outcomesOf(raw);
    if (one.expected.some((outcome) => outcomes.has(outcome))) return 'expected';
    if (one.instead !== undefined && outcomes.has(one.instead[0])) return 'instead';
    if (Date.now() > end) return [...outcomes].join(', ');
    await pause(5);
  }
}

/** Plays each case on its own connection, and returns the outcomes; the operator sees each connection that broke. */
async function results(cases: readonly H2Case[]): Promise<readonly string[]> {
  const { gateway } = await securelyServed((socket, request) => {
    if (!request.includes('/slow')) socket.write(ok('"fine"'));
  });
  const results: string[] = [];
  for (let at = 0; at < cases.length; at += AT_ONCE)
    results.push(
      ...(await Promise.all(cases.slice(at, at + AT_ONCE).map((one) => played(gateway.port, one)))),
    );
  await until(() => gateway.gateway.inFlight === 0);
  // It got the reason in a frame, and no response.
  const broken = gateway.entries().filter(({ failure, status }) => failure === 'bad-request' && status === 0);
  expect(broken.length).toBeGreaterThanOrEqual(cases.filter(isBroken).length);
  return results;
}

function isBroken({ expected }: H2Case): boolean {
  return expected.every((outcome) => outcome === 'close' || /^goaway [^0]/.test(outcome));
}

test('there are 147 cases of h2spec, and at least 128 have the outcome that it expects', async () => {
  expect(new Set(H2_CASES.map(({ name }) => name)).size).toBe(147);
  const outcomes = await results(H2_CASES);
  const wrong = H2_CASES.flatMap(({ name, expected }, at) =>
    ['expected', 'instead'].includes(outcomes[at] ?? '')
      ? []
      : [`${name}: ${outcomes[at]}, not ${expected.join(' or ')}`],
  );
  expect(wrong).toEqual([]);
  expect(outcomes.filter((outcome) => outcome === 'expected').length).toBeGreaterThanOrEqual(128);
});

test('what else breaks a connection does', async () => {
  const outcomes = await results(FURTHER_CASES);
  expect(FURTHER_CASES.map(({ name }, at) => [name, outcomes[at]])).toEqual(
    FURTHER_CASES.map(({ name }) => [name, 'expected']),
  );
});
