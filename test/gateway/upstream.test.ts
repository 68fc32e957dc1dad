import { expect, test } from 'vitest';
import { isCounted, type UpstreamFault } from '../../src/gateway/upstream.ts';

const closed: UpstreamFault = { kind: 'closed', mayHaveArrived: true, cause: 'x' };

test("a close during a large body is not a sign of V2's health: the refusal is lost in the reset", () => {
  expect(isCounted(closed, null)).toBe(true);
  expect(isCounted(closed, new Uint8Array(16_384))).toBe(true);
  expect(isCounted(closed, new Uint8Array(16_385))).toBe(false);
  expect(isCounted({ ...closed, kind: 'timeout' }, new Uint8Array(16_385))).toBe(true);
});

test.each(['EMFILE', 'ENFILE'])('%s says nothing about the health of the origin', (cause) => {
  expect(isCounted({ kind: 'unreachable', mayHaveArrived: false, cause }, null)).toBe(false);
});
