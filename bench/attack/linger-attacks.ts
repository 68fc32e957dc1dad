import { setTimeout as delay } from 'node:timers/promises';
import { rawClient, statusOf } from '../../test/support/raw-client.ts';
import { type Attack, check, type Target, PATIENCE_MS } from './attack.ts';
import { longString } from './bodies.ts';
import { rawRequest } from './raw-request.ts';

/** Requests that are refused while they are sent. */
export const lingerAttacks: readonly Attack[] = [
  {
    id: 'M',
    sentence: 'Clients that go on writing behind a refused head get a reset instead of the response.',
    async play(target) {
      const lost: string[] = [];
      const long = `X-Long: ${'x'.repeat(20_000)}\r\n`;
      const body = longString(3e6);
      const variants: readonly (readonly [string, string])[] = [
        ['431', rawRequest('POST /api/v2/clients', body, long)],
        ['431 close', rawRequest('POST /api/v2/clients', body, `Connection: close\r\n${long}`)],
        ['431 HTTP/1.0', rawRequest('POST /api/v2/clients', body, long).replace('HTTP/1.1', 'HTTP/1.0')],
        ['413 close', rawRequest('POST /api/v1/clients', longString(12e6), 'Connection: close\r\n')],
        ['413', rawRequest('POST /api/v1/clients', longString(12e6))],
      ];
      for (const [name, request] of variants) {
        for (let round = 0; round < 6; round += 1) {
          const status = await statusAfterWriting(target, request);
          if (status !== 431 && status !== 413)
            lost.push(`${name} ${status === 0 ? 'lost' : `became ${status}`}`);
        }
      }
      return [
        check(
          `${lost.length} of 30 refusals could not be read (${[...new Set(lost)].join(', ')})`,
          lost.length === 0,
        ),
      ];
    },
  },
];

/** Writes everything before it reads, as blocking clients do; 0 when the response was lost. */
async function statusAfterWriting({ port }: Target, request: string): Promise<number> {
  const client = rawClient(port);
  client.socket.pause();
  const bytes = Buffer.from(request, 'latin1');
  // In two pieces, so that the head has been refused when more comes.
  client.socket.write(bytes.subarray(0, 30_000));
  await delay(50);
  await new Promise<void>((resolve) => {
    client.socket.on('close', resolve).on('error', () => resolve());
    client.socket.write(bytes.subarray(30_000), () => resolve());
  });
  client.socket.resume();
  const { text } = await client.until(/\r\n\r\n/, PATIENCE_MS);
  client.socket.destroy();
  return statusOf({ text });
}
