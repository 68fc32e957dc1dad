import { expect, test } from 'vitest';
import { memoryShares } from '../../src/settings/read-settings.ts';

const MIB = 2 ** 20;

test.each([
  [undefined, 1, 256, 64],
  [8192, 1, 256, 64],
  [512, 1, 128, 32],
  [256, 1, 64, 16],
  [512, 4, 32, 32],
  [512, 8, 32, 32],
  [64, 1, 32, 4],
])(
  'of %s MiB, %i processes hold %i MiB of bodies each, and %i MiB for the inspector',
  (limit, processes, buffer, capture) => {
    expect(memoryShares(limit === undefined ? undefined : limit * MIB, processes)).toEqual({
      bufferBytes: buffer * MIB,
      captureBytes: capture * MIB,
    });
  },
);
