import { exchange } from '../../test/support/raw-client.ts';
import { entriesOf, sizeOf } from './admin-requests.ts';
import { type Attack, check } from './attack.ts';
import { deepJson } from './bodies.ts';
import { rawRequest } from './raw-request.ts';

/** Attacks that an operator carries out unknowingly, by viewing a request of the attacker. */
export const inspectorAttacks: readonly Attack[] = [
  {
    id: 'D-entry',
    sentence: 'The operator opens entries of bodies of 260 KB, nested 250 to 500 deep, that anybody sent.',
    async play({ port, adminPort, signal }) {
      for (let k = 0; k < 6; k += 1)
        await exchange(
          port,
          rawRequest('POST /api/v1/clients', deepJson(260_000, 250 + k * 48), `X-Id: ${k}\r\n`),
        );
      const entries = await entriesOf(adminPort);
      const deep = entries.filter(({ bytesIn = 0 }) => bytesIn > 100_000);
      const sizes: number[] = [];
      for (const { seq } of deep) if (!signal.aborted) sizes.push(await sizeOf(adminPort, `/entries/${seq}`));
      const most = Math.max(0, ...sizes) / 1e6;
      return [
        check(`an entry is ${most.toFixed(0)} MB`, most < 8),
        check(
          `${deep.length - sizes.length} of ${deep.length} entries were not shown in time`,
          sizes.length === deep.length && deep.length > 0,
        ),
      ];
    },
  },
  {
    id: 'D-explain',
    sentence: 'A request of 530 KB, nested 500 deep, is explained.',
    async play({ adminPort }) {
      const body = JSON.stringify({
        method: 'POST',
        target: '/api/v1/clients',
        headers: [['Content-Type', 'application/json']],
        body: deepJson(530_000, 495),
      });
      const bytes = await sizeOf(adminPort, '/explain', { method: 'POST', body });
      return [check(`the explanation is ${(bytes / 1e6).toFixed(0)} MB`, bytes > 0 && bytes < 8e6)];
    },
  },
];
