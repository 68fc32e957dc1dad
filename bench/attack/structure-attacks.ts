import { gzipSync } from 'node:zlib';
import { exchange, statusOf } from '../../test/support/raw-client.ts';
import { type Attack, check } from './attack.ts';
import { deepJson, smallObjects } from './bodies.ts';
import { rawRequest } from './raw-request.ts';

/** Attacks by the structure of JSON. */
export const structureAttacks: readonly Attack[] = [
  {
    id: 'A-gzip',
    sentence: 'A few 31 KB of gzip hold 10 MiB of JSON nested 250 deep, whose attribute names are listed.',
    async play({ port, signal }, scale) {
      const packed = gzipSync(deepJson(9.9 * 2 ** 20 * scale, 245)).toString('latin1');
      const request = rawRequest('POST /api/v1/clients', packed, 'Content-Encoding: gzip\r\n');
      const statuses: number[] = [];
      while (statuses.length < 3 && !signal.aborted)
        statuses.push(statusOf(await exchange(port, request, 15_000)));
      return [
        check(
          `the bodies got no response: ${statuses.join(', ')}`,
          statuses.every((one) => one > 0),
        ),
      ];
    },
  },
  {
    id: 'A-objects',
    sentence: 'Bodies of 1 MB of small objects, plain, ten a second.',
    limits: { median: 100 },
    async play({ port, signal }, scale) {
      const request = rawRequest('POST /api/v1/clients', smallObjects(1e6));
      const end = performance.now() + 8000 * scale;
      while (performance.now() < end && !signal.aborted) {
        const began = performance.now();
        await exchange(port, request);
        await new Promise((resolve) => {
          setTimeout(resolve, Math.max(0, 100 - (performance.now() - began)));
        });
      }
      return [];
    },
  },
];
