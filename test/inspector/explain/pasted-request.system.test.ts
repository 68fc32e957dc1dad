// @module-tag curl
// @module-tag bash
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { MEASURED_COMMANDS, printSent, SENT_FILES } from '../../support/sent-by-curl.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

type SentRequest = Parameters<typeof printSent>[0][number];

/** Fields that every request of curl has, or that say how it is framed. */
const EACH =
  /^(?:host: 127\.0\.0\.1:\d+|user-agent: curl\/.*|accept: \*\/\*|content-length: .*|expect: .*)$/i;

test('curl still sends the measured request, for every command of the table', async () => {
  const folder = temporaryFolder('curl-commands');
  for (const [name, text] of Object.entries(SENT_FILES)) writeFileSync(join(folder, name), text);
  const received: SentRequest[] = [];
  // Node would join or drop repeated fields, and refuse some of these: only the raw fields are those that were sent.
  const server = createServer({ insecureHTTPParser: true }, (request, response) => {
    const taken = async (): Promise<void> => {
      const body = (await buffer(request)).toString('latin1');
      const { rawHeaders } = request;
      const fields = rawHeaders.flatMap((name, at) =>
        at % 2 === 0 && !EACH.test(`${name}: ${rawHeaders[at + 1] ?? ''}`)
          ? [[name, rawHeaders[at + 1] ?? ''] as const]
          : [],
      );
      received.push({ method: request.method ?? '', target: request.url ?? '', fields, body });
      response.end();
    };
    void taken();
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  const differences: unknown[] = [];
  for (const { command, sent } of MEASURED_COMMANDS) {
    if (isBeyondNode(sent)) continue;
    received.length = 0;
    const shell = spawn('bash', ['-c', `${command.replaceAll('HOST', `127.0.0.1:${port}`)}\nwait`], {
      cwd: folder,
      stdio: ['ignore', 'ignore', 'ignore'],
      // Settings of the machine's user would be part of every command.
      env: { ...process.env, CURL_HOME: folder, HOME: folder },
    });
    await once(shell, 'exit');
    const [now, before] = [printSent(received), printSent(sent)];
    if (JSON.stringify(now) !== JSON.stringify(before)) differences.push({ command, now, before });
  }
  await new Promise((resolve) => {
    server.close(resolve);
    server.closeAllConnections();
  });
  expect(differences).toEqual([]);
});

/** Requests that curl sends and Node's parser refuses. */
function isBeyondNode(sent: readonly SentRequest[]): boolean {
  return sent.some(
    ({ method, target, fields }) =>
      method !== method.toUpperCase() ||
      method === '' ||
      /[\s\u0080-\u00ff]/.test(target) ||
      fields.some(([name, value]) => name.trim() !== name || value.includes('\n')),
  );
}
