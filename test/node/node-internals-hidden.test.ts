import { once } from 'node:events';
import { connect as tlsConnect } from 'node:tls';
import { describe, expect, onTestFinished, test } from 'vitest';
import {
  hidePart,
  missingPartsLine,
  PRIVATE_PARTS,
  type PrivatePart,
} from '../../src/node/node-internals.ts';
import { command } from '../support/command.ts';
import { gatewayFor, type TestGateway } from '../support/gateway.ts';
import { rawClient } from '../support/raw-client.ts';
import { ok, rawServer } from '../support/raw-server.ts';
import { ca, secureGateway } from '../support/secure-gateway.ts';

const LARGE = JSON.stringify('x'.repeat(300_000));
const BODY = 'y'.repeat(200_000);
const CONNECTIONS = 12;

/** Plays requests small and large, one behind the other and on many connections at once, and a restart. */
async function play(gateway: TestGateway): Promise<void> {
  const clients = Array.from({ length: CONNECTIONS }, () => rawClient(gateway.port));
  const pipelined = 'GET /api/v2/small HTTP/1.1\r\nHost: g\r\n\r\n'.repeat(20);
  for (const client of clients) {
    client.write(`POST /api/v2/large HTTP/1.1\r\nHost: g\r\nContent-Length: ${BODY.length}\r\n\r\n`);
    client.write(BODY);
    client.write(pipelined);
    client.write('GET /api/v2/last HTTP/1.1\r\nHost: g\r\nConnection: close\r\n\r\n');
  }
  for (const client of clients) {
    const { text, reset } = await client.end();
    expect(reset).toBe(false);
    expect(text.match(/HTTP\/1\.1 200 OK/g)).toHaveLength(22);
  }
  await gateway.stop();
}

async function playOverTls(gateway: TestGateway): Promise<void> {
  const socket = tlsConnect({ port: gateway.port, host: 'localhost', ca: ca.cert });
  onTestFinished(() => void socket.destroy());
  await once(socket, 'secureConnect');
  let text = '';
  socket.on('data', (bytes) => (text += bytes.toString('latin1')));
  socket.write('GET /api/v2/last HTTP/1.1\r\nHost: g\r\nConnection: close\r\n\r\n');
  await once(socket, 'end');
  expect(text).toMatch(/^HTTP\/1\.1 200 OK/);
  expect(text.endsWith(LARGE)).toBe(true);
}

const large = () => rawServer((socket) => void socket.write(ok(LARGE)));

test('this Node has all of the parts, and nothing is said', async () => {
  const gateway = await gatewayFor((await large()).origin);
  expect(gateway.missingInternals).toEqual([]);
  expect(missingPartsLine(gateway.missingInternals)).toBeUndefined();
  await play(gateway);
});

/** Parts that cannot be found without the hidden one. */
const BEHIND_HANDLE: readonly PrivatePart[] = [
  '_handle',
  'useUserBuffer',
  'readStop',
  'readStart',
  'reading',
  'listen',
  'getsockname',
  'getpeername',
  'bytesWritten',
  'writeQueueSize',
  '_parent',
];

describe.each(PRIVATE_PARTS)('without %s', (part) => {
  test('the gateway serves, over plain connections and over TLS, and names the missing part', async () => {
    onTestFinished(hidePart(part));
    const missing = part === '_handle' ? BEHIND_HANDLE : [part];
    const gateway = await gatewayFor((await large()).origin);
    expect(gateway.missingInternals).toEqual(missing);
    expect(missingPartsLine(gateway.missingInternals)).toMatchObject({
      level: 'warn',
      event: 'node-internals',
      message: expect.stringContaining(`lacks ${missing.join(', ')}: `),
      fields: { missing },
    });
    await play(gateway);
    await playOverTls(await secureGateway((await large()).origin));
  });
});

test('the process log and the metrics name the missing part', async () => {
  const module = new URL('../../src/node/node-internals.ts', import.meta.url).href;
  const code = `import { hidePart } from '${module}'; hidePart('readStop');`;
  const gateway = command(['serve', '--listen', '127.0.0.1:0', '--admin-listen', '127.0.0.1:0'], {
    NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(code)}`,
  });
  await gateway.until(/lacks readStop: one busy connection may delay the others/);
  const [, admin] = await gateway.until(/admin +(http\S+)/);
  const metrics = await (await fetch(`${admin}/metrics`)).text();
  expect(metrics).toContain('\ngateway_node_internals_missing{part="readStop"} 1\n');
});
