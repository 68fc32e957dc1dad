import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { expect, onTestFinished, test } from 'vitest';
import { certificate } from '../../support/certificates.ts';
import { upstreamTo, called } from './upstream-calls.ts';

const leaf = certificate({ name: 'V2', hosts: ['localhost'] });

/** Responds at once with the number of handshakes so far: from a separate process, a response comes before the write is reported as finished. */
const PROGRAM = `
const { cert, key, version } = JSON.parse(process.argv[1]);
const tls = { cert, key, minVersion: version, maxVersion: version, keepAliveTimeout: 60000 };
let handshakes = 0;
const server = require('node:https').createServer(tls, (request, response) => {
  request.resume().on('end', () => response.end(String(handshakes)));
});
server.on('secureConnection', () => { handshakes += 1; });
server.listen(0, '127.0.0.1', () => console.log(server.address().port));
`;

async function secureV2(version: string): Promise<string> {
  const given = JSON.stringify({ cert: leaf.cert, key: leaf.key, version });
  const child = spawn(process.execPath, ['-e', PROGRAM, given], { stdio: ['ignore', 'pipe', 'inherit'] });
  onTestFinished(() => void child.kill('SIGKILL'));
  const [port] = await once(child.stdout, 'data');
  return `https://localhost:${String(port).trim()}`;
}

test('other authorities are asked by the next connection: no session of the old ones lets V2 pass', async () => {
  const origin = await secureV2('TLSv1.3');
  const other = certificate({ name: 'other', hosts: ['localhost'] });
  const upstream = upstreamTo(origin, { maxAge: 1, tls: { ca: leaf.cert } });
  const outcomes: string[] = [];
  for (const ca of [leaf.cert, leaf.cert, other.cert, leaf.cert]) {
    if (outcomes.length > 1) upstream.renew({ ca });
    const call = await called(upstream);
    outcomes.push(call.fault?.kind ?? call.outcome);
  }
  expect(outcomes).toEqual(['end', 'end', 'unreachable', 'end']);
});

test.each([
  ['TLSv1.2', 1, 500],
  ['TLSv1.3', 1, 500],
  ['TLSv1.2', 16, 1000],
  ['TLSv1.3', 64, 1000],
] as const)(
  '%s, %i at once: %i POSTs make no more handshakes than are under way at once',
  async (version, width, total) => {
    const origin = await secureV2(version);
    const upstream = upstreamTo(origin, { connections: 64, tls: { ca: leaf.cert } });
    let left = total;
    const outcomes: string[] = [];
    let handshakes = 0;
    const client = async (): Promise<void> => {
      while (left > 0) {
        left -= 1;
        // Large ones take several writes of TLS records.
        const body = Buffer.alloc(left % 10 === 0 ? 100_000 : 300, 'x');
        const call = await called(upstream, { method: 'POST', body });
        outcomes.push(call.outcome);
        handshakes = Math.max(handshakes, Number(call.body));
      }
    };
    await Promise.all(Array.from({ length: width }, client));
    expect(outcomes).toEqual(Array.from({ length: total }, () => 'end'));
    expect(handshakes).toBeLessThanOrEqual(width + 1);
  },
);
