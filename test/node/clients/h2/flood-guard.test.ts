import { expect, test } from 'vitest';
import { FloodGuard } from '../../../../src/node/clients/http2/frames.ts';

const MIB = 1024 * 1024;

interface Traffic {
  readonly read: number;
  readonly sent?: number;
  readonly received?: number;
}

function isFlood({ read, sent = 0, received = 0 }: Traffic): boolean {
  const guard = new FloodGuard();
  guard.sent(sent);
  guard.receive(received);
  guard.read(read);
  return guard.isFlood;
}

test.each<[title: string, traffic: Traffic, isFlood: boolean]>([
  ['that brings nothing', { read: 0 }, false],
  ['that brings some frames', { read: 4 * MIB }, false],
  ['that brings little else than frames', { read: 4 * MIB + 1 }, true],
  ['that brings eight bytes for each of content', { read: 12 * MIB, received: MIB }, false],
  ['that brings more than eight', { read: 12 * MIB + 1, received: MIB }, true],
  ['that grants windows for what it reads', { read: 12 * MIB, sent: 8 * MIB }, false],
  ['that brings more than it reads', { read: 12 * MIB + 1, sent: 8 * MIB }, true],
  ['with bodies of gigabytes', { read: 4096 * MIB, received: 4000 * MIB }, false],
])('a connection %s is judged by its bytes', (_title, traffic, expected) => {
  expect(isFlood(traffic)).toBe(expected);
});

test('bytes add up, and content makes up for them', () => {
  const guard = new FloodGuard();
  for (let piece = 0; piece < 1000; piece += 1) guard.read(9000);
  expect(guard.isFlood).toBe(true);
  for (let piece = 0; piece < 1000; piece += 1) guard.receive(1000);
  expect(guard.isFlood).toBe(false);
});

test('a thousand demands at once are none, many more are', () => {
  const guard = new FloodGuard();
  for (let demand = 0; demand < 1000; demand += 1) guard.demand();
  expect(guard.isFlood).toBe(false);
  // Some are forgiven with each second that this takes.
  for (let demand = 0; demand < 100_000; demand += 1) guard.demand();
  expect(guard.isFlood).toBe(true);
});
