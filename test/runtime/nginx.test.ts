/** @module-tag nginx */
import { spawn } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { freePort } from '../support/free-port.ts';
import { exchange } from '../support/raw-client.ts';
import { ok, rawServer } from '../support/raw-server.ts';
import { spawnGateway } from '../support/spawn-gateway.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { until } from '../support/until.ts';

/** Starts nginx with the configuration that ships, on another port and before another gateway; returns its port. */
async function startNginx(gatewayPort: number): Promise<number> {
  const folder = temporaryFolder('nginx');
  const port = await freePort();
  const shipped = readFileSync(new URL('../../deploy/nginx/capture-gateway.conf', import.meta.url), 'utf8');
  const placed = shipped
    .replace('server 127.0.0.1:8080;', `server 127.0.0.1:${gatewayPort};`)
    .replace('listen 80;', `listen 127.0.0.1:${port};`);
  const folders = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (name) => `${name}_temp_path ${folder}/${name};`,
  );
  const lines = ['daemon off; master_process off; events {}', `pid ${folder}/pid; error_log stderr warn;`];
  writeFileSync(
    join(folder, 'nginx.conf'),
    [...lines, 'http {', 'access_log off;', ...folders, placed, '}'].join('\n'),
  );
  const child = spawn('nginx', ['-e', 'stderr', '-p', folder, '-c', join(folder, 'nginx.conf')], {
    stdio: ['ignore', 'inherit', 'pipe'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  let said = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => (said += text));
  await until(async () => {
    if (child.exitCode !== null) throw new Error(said);
    const { text } = await exchange(port, 'GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n');
    return text !== '';
  });
  return port;
}

test('behind nginx the target crosses byte for byte, V2 gets the address of the client, and a POST is sent once', async () => {
  const v2 = await rawServer((socket, request) => {
    if (request.startsWith('POST /api/v2/contacts')) socket.destroy();
    else socket.write(ok());
  });
  const gateway = await spawnGateway({
    upstream: v2.origin,
    'trusted-proxies': '127.0.0.1',
    forwarded: 'x-forwarded',
    'client-secret': 'a secret for the hashes',
  });
  const port = await startNginx(gateway.port);
  const post = (path: string): Promise<{ readonly text: string }> => {
    const body = '{"data":{"name":"Acme"}}';
    return exchange(
      port,
      `POST ${path} HTTP/1.1\r\nHost: api.example\r\nAuthorization: Bearer k\r\nX-Forwarded-For: 6.6.6.6\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\nConnection: close\r\n\r\n${body}`,
      20_000,
    );
  };

  expect((await post('/api/v1/clients/a%2Fb;v=1//c?x=%20y')).text).toMatch(/^HTTP\/1\.1 200 /);
  const [request = ''] = v2.received.join('').split(/(?=POST )/);
  expect(request).toMatch(/^POST \/api\/v2\/clients\/a%2Fb;v=1\/\/c\?x=%20y HTTP\/1\.1\r\n/);
  expect(request).toMatch(/\r\n\r\n\{"name":"Acme"\}$/);
  expect(request).toMatch(/\r\nx-forwarded-host: api\.example\r\n/i);
  expect(request).toMatch(/\r\nx-forwarded-for: 127\.0\.0\.1(?:, 127\.0\.0\.1)?\r\n/i);
  expect(request).not.toContain('6.6.6.6');

  // V2 breaks: no proxy on the way tries a second time, and the client reads the gateway's own envelope.
  const broken = await post('/api/v1/contacts');
  expect(broken.text).toMatch(/^HTTP\/1\.1 502 /);
  expect(broken.text).toContain('"code":"upstream-closed"');
  expect(v2.received.join('').match(/POST \/api\/v2\/contacts/g)).toHaveLength(1);

  // A request that two readers could read differently is refused by one of them, and reaches no later one.
  const sent = v2.received.join('').length;
  const refused = [
    ['/api/v1/..%2f..%2fadmin', 404],
    ['/metrics', 404],
    ['/api/v1/%2e%2e%2fx', 400],
    ['/api/v1/clients/..;/x', 400],
  ] as const;
  for (const [path, status] of refused)
    expect([path, (await post(path)).text.slice(9, 12)]).toEqual([path, String(status)]);
  expect(v2.received.join('')).toHaveLength(sent);
});
