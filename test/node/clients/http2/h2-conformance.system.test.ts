import { setTimeout as pause } from 'node:timers/promises';
import { connect } from 'node:tls';
import { expect, onTestFinished, test } from 'vitest';
import { type RawH2, rawH2 } from '../../../support/raw-h2.ts';
import { ok, rawServer } from '../../../support/raw-server.ts';
import { ca, secureGateway } from '../../../support/secure-gateway.ts';
import { H2_CASES, type H2Case, outcomesOf } from './h2-cases.ts';

/** Milliseconds after which a gateway that has done nothing of what it may has done something else. */
const WAITS_MS = 5000;
/** Cases at a time: each has a connection of its own. */
const AT_ONCE = 30;

async function connected(port: number, { preface, settings }: H2Case): Promise<RawH2> {
  if (preface === undefined) return rawH2(port, ca.cert, settings);
  const socket = connect({ port, host: 'localhost', ca: ca.cert, ALPNProtocols: ['h2'] });
  socket.on('error', () => {}).resume();
  onTestFinished(() => void socket.destroy());
  socket.write(preface);
  return { socket, frames: [], frame: () => {}, head: () => {} };
}

/** What came of a case: `expected`, `instead`, or the words for it. */
async function played(port: number, one: H2Case): Promise<string> {
  const raw = await connected(port, one);
  try {
    one.send(raw);
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

test('of the 147 cases of h2spec none is wrong, and at least 128 have the outcome that it expects', async () => {
  expect(new Set(H2_CASES.map(({ name }) => name)).size).toBe(147);
  const v2 = await rawServer((socket, request) => {
    if (!request.includes('/slow')) socket.write(ok('"fine"'));
  });
  const gateway = await secureGateway(v2.origin);
  const results: string[] = [];
  for (let at = 0; at < H2_CASES.length; at += AT_ONCE) {
    const some = H2_CASES.slice(at, at + AT_ONCE);
    results.push(...(await Promise.all(some.map((one) => played(gateway.port, one)))));
  }
  const wrong = H2_CASES.flatMap(({ name, expected }, at) => {
    const result = results[at] ?? '';
    return result === 'expected' || result === 'instead'
      ? []
      : [`${name}: ${result}, not ${expected.join(' or ')}`];
  });
  expect(wrong).toEqual([]);
  expect(results.filter((result) => result === 'expected').length).toBeGreaterThanOrEqual(128);
  expect(gateway.surprises).toEqual([]);
});
