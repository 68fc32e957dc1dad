/**
 * @module-tag bash
 * @module-tag curl
 * @module-tag java
 * @module-tag python
 */
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, onTestFinished, test } from 'vitest';
import { gatewayFor } from '../support/gateway.ts';
import { JAVA } from '../support/java.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const run = promisify(execFile);
const here = (name: string): string => fileURLToPath(new URL(`clients/${name}`, import.meta.url));
const UPLOAD_BYTES = 12_000_000;

const clients: readonly (readonly [
  name: string,
  start: (address: string, file: string) => readonly string[],
])[] = [
  [
    'curl',
    (address, file) => [
      'bash',
      '-c',
      `for framing in X-None Transfer-Encoding; do
        curl -sS -o /dev/null -w '%{http_code}\\n' -H 'Content-Type: application/json' -H 'Expect:' -H "$framing: chunked" --data-binary "@$1" "$0"
      done`,
      address,
      file,
    ],
  ],
  [
    'Python requests and http.client',
    (address) => ['python3', here('upload.py'), address, `${UPLOAD_BYTES}`],
  ],
  ['Java HttpURLConnection', (address) => [...JAVA, here('Upload.java'), address, `${UPLOAD_BYTES}`]],
];

// They send all of a body before they read: a reset in the middle loses the response that says why.
describe.each(clients)('%s reads the response to an upload that is refused early', (_name, start) => {
  test.each([
    ['by the gateway', '/api/v1/x'],
    ['by V2', '/api/v2/x'],
  ])(
    '%s',
    async (_who, path) => {
      const v2 = createServer((incoming, outgoing) => {
        outgoing.writeHead(413, { 'Content-Length': 2 }).end('no');
        incoming.resume();
      });
      v2.listen(0, '127.0.0.1');
      await once(v2, 'listening');
      const folder = temporaryFolder('gateway-upload');
      onTestFinished(() => {
        v2.closeAllConnections();
        v2.close();
      });
      const file = join(folder, 'body');
      writeFileSync(file, Buffer.alloc(UPLOAD_BYTES, 'x'));
      const bound = v2.address();
      const gateway = await gatewayFor(`http://127.0.0.1:${typeof bound === 'object' ? bound?.port : 0}`);
      const [command = '', ...args] = start(`${gateway.origin}${path}`, file);
      for (let count = 0; count < 3; count += 1) {
        const { stdout } = await run(command, args, { timeout: 110_000 });
        expect(stdout.trim().split('\n')).toEqual(
          stdout
            .trim()
            .split('\n')
            .map(() => '413'),
        );
        expect(stdout).toContain('413');
      }
      expect(gateway.gateway.v2.breaker.state).toBe('closed');
    },
    120_000,
  );
});
