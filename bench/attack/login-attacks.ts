import { randomBytes } from 'node:crypto';
import { exchange, rawClient, statusOf } from '../../test/support/raw-client.ts';
import { type Attack, check } from './attack.ts';
import { mebibytes } from './bodies.ts';
import { ADMIN_TOKEN } from './metric.ts';
import { pour, rawRequest } from './raw-request.ts';

/** Attacks by clients that reach the admin listener and have no token. */
export const loginAttacks: readonly Attack[] = [
  {
    id: 'K-body',
    sentence: 'A client without a token sends 600 MiB to /login.',
    flags: { 'admin-token': ADMIN_TOKEN },
    async play({ adminPort, signal }, scale) {
      const client = rawClient(adminPort);
      client.write('POST /login HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 4000000000\r\n\r\n');
      const sent = await pour(client.socket, mebibytes(600 * scale), signal);
      client.socket.destroy();
      return [check(`/login took ${(sent / 2 ** 20).toFixed(0)} MiB`, sent < 64 * 2 ** 20)];
    },
  },
  {
    id: 'K-tries',
    sentence: 'Tokens are tried at /login as fast as it responds.',
    flags: { 'admin-token': ADMIN_TOKEN },
    async play({ adminPort, signal }, scale) {
      let tried = 0;
      const end = performance.now() + 4000 * scale;
      const attacker = async (): Promise<void> => {
        while (performance.now() < end && !signal.aborted) {
          const body = `{"token":"${randomBytes(8).toString('hex')}"}`;
          const response = await exchange(
            adminPort,
            rawRequest('POST /login', body).replace('Host: gateway', 'Host: 127.0.0.1'),
            1000,
          );
          if (statusOf(response) === 401) tried += 1;
        }
      };
      await Promise.all(Array.from({ length: 8 }, attacker));
      return [check(`${tried} tokens were tried in ${4 * scale} s`, tried <= 100)];
    },
  },
];
