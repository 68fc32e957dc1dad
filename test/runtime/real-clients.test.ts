/**
 * @module-tag bash
 * @module-tag curl
 * @module-tag java
 * @module-tag python
 */
import { execFile } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { DEMO_REQUESTS } from '../../src/cli/demo/demo.ts';
import { spawnGateway } from '../support/spawn-gateway.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { until } from '../support/until.ts';

const run = promisify(execFile);
const here = (name: string): string => fileURLToPath(new URL(`clients/${name}`, import.meta.url));

const FETCH = `async (method, address, body, headers) => {
  const response = await fetch(address, { method, headers, body });
  return [response.status, await response.text()];
}`;

/** Without a length: the body goes in chunks. */
const NODE_HTTP = `(method, address, body, headers) => new Promise((resolve, reject) => {
  const request = require('node:http').request(address, { method, headers }, async (response) => {
    let text = '';
    for await (const part of response.setEncoding('utf8')) text += part;
    resolve([response.statusCode, text]);
  });
  request.on('error', reject);
  request.write(body.slice(0, 5));
  request.end(body.slice(5));
})`;

function nodeClient(file: string, send: string): readonly string[] {
  const script = `(async () => {
    const headers = { Authorization: 'Bearer node', 'Content-Type': 'application/json' };
    for (const line of require('node:fs').readFileSync(process.argv[1], 'utf8').trim().split('\\n')) {
      const [method, address, body] = line.split('\\t');
      console.log(...(await (${send})(method, address, body, headers)));
    }
  })()`;
  return [process.execPath, '-e', script, file];
}

/** The command of each client; the file has the requests, one per line. */
const clients: readonly (readonly [name: string, start: (file: string) => readonly string[]])[] = [
  [
    'curl',
    (file) => [
      'bash',
      '-c',
      String.raw`while IFS=$'\t' read -r method address body; do
        curl -sS -X "$method" "$address" -H 'Authorization: Bearer curl' -H 'Content-Type: application/json' -d "$body" -w '\n' -D - | tr -d '\r' |
          awk 'NR == 1 { status = $2 } body { print status, $0; body = 0 } /^$/ { body = 1 }'
      done < "$0"`,
      file,
    ],
  ],
  ['Python requests', (file) => ['python3', here('client.py'), file]],
  ['Python urllib3', (file) => ['python3', here('client.py'), file, 'urllib3']],
  ['Python urllib.request', (file) => ['python3', here('client.py'), file, 'urllib.request']],
  [
    'Python http.client, in the absolute form and in chunks,',
    (file) => ['python3', here('client.py'), file, 'http.client'],
  ],
  ['Node fetch', (file) => nodeClient(file, FETCH)],
  ['Node http', (file) => nodeClient(file, NODE_HTTP)],
  ['Java HttpClient', (file) => ['java', here('Client.java'), file]],
];

test.each(clients)(
  '%s passes the seven operations through V1',
  async (_name, start) => {
    const gateway = await spawnGateway({});
    const folder = temporaryFolder('gateway-clients');
    const file = join(folder, 'requests.tsv');
    const lines = DEMO_REQUESTS.map(({ method, path, body }) =>
      // Line breaks between members are only white space; the format is one request a line.
      [method, `http://127.0.0.1:${gateway.port}/api/v1${path}`, body.replaceAll('\n', ' ')].join('\t'),
    );
    writeFileSync(file, `${lines.filter((line) => !line.includes('{property}')).join('\n')}\n`);
    const [command = '', ...args] = start(file);
    const { stdout } = await run(command, args, { timeout: 110_000 });
    const responses = stdout.trim().split('\n');
    expect(responses.map((response) => response.slice(0, 3))).toEqual(Array.from({ length: 6 }, () => '201'));
    const property = /"property_id":(\d+)/.exec(responses.join(''))?.[1] ?? '';
    writeFileSync(
      file,
      `${lines
        .filter((line) => line.includes('{property}'))
        .join('\n')
        .replace('{property}', property)}\n`,
    );
    const { stdout: updated } = await run(command, args, { timeout: 110_000 });
    expect(updated).toMatch(/^200 .*Harbour Loft, renovated/);
    await until(() => gateway.stdout().trim().split('\n').length === 7);
    const operations = [...gateway.stdout().matchAll(/"operation":"(\w+)"/g)].map(
      ([, operation]) => operation,
    );
    expect(new Set(operations)).toEqual(new Set(DEMO_REQUESTS.map(({ operation }) => operation)));
    expect(gateway.stdout()).not.toContain('"verdict":"refused"');
  },
  90_000,
);
