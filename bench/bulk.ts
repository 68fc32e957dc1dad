/**
 * `npm run bulk [GiB]`: as much through `/api/v2` in each direction, and the most memory that the gateway ever took.
 * Its SHA-256 is compared on both ends.
 */
import { createHash, type Hash } from 'node:crypto';
import { once } from 'node:events';
import { createServer, request } from 'node:http';
import { startGatewayProcess } from './gateway-process.ts';

const gibibytes = Number(process.argv[2] ?? 2);
const block = Buffer.alloc(256 * 1024, 'the same bytes again and again, ');
const blocks = Math.round((gibibytes * 2 ** 30) / block.length);

const server = createServer((incoming, outgoing) => {
  const hash = createHash('sha256');
  incoming.on('data', (chunk: Buffer) => hash.update(chunk));
  incoming.on('end', () => {
    if (incoming.method === 'POST') outgoing.end(hash.digest('hex'));
    else void send(outgoing, createHash('sha256'));
  });
});
server.listen(0, '127.0.0.1');
await once(server, 'listening');
const bound = server.address();
const port = typeof bound === 'object' && bound !== null ? bound.port : 0;
const gateway = await startGatewayProcess({ upstream: `http://127.0.0.1:${port}`, 'log-file': '/dev/null' });
const idle = gateway.memory();
let grown = 0;

const up = createHash('sha256');
let began = performance.now();
const upload = request({ port: gateway.port, host: '127.0.0.1', method: 'POST', path: '/api/v2/up' });
const responding = once(upload, 'response');
await send(upload, up);
const [response] = (await responding) as [AsyncIterable<Buffer>];
let digest = '';
for await (const chunk of response) digest += chunk.toString();
const expected = up.digest('hex');
report('up', digest === expected);

began = performance.now();
const download = request({ port: gateway.port, host: '127.0.0.1', path: '/api/v2/down' });
download.end();
const [long] = (await once(download, 'response')) as [AsyncIterable<Buffer>];
const down = createHash('sha256');
for await (const chunk of long) down.update(chunk);
report('down', down.digest('hex') === expected);

await gateway.stop();
server.close();
server.closeAllConnections();
process.exit(grown < 128 * 2 ** 20 && process.exitCode === undefined ? 0 : 1);

function report(way: string, isWhole: boolean): void {
  const seconds = (performance.now() - began) / 1000;
  grown = gateway.peak() - idle;
  if (!isWhole) process.exitCode = 1;
  console.log(
    `${way.padEnd(4)} ${gibibytes} GiB in ${seconds.toFixed(1)} s (${((gibibytes * 1024) / seconds).toFixed(0)} MiB/s), ` +
      `${isWhole ? 'every byte the same' : 'BYTES DIFFER'}; memory ${mib(idle)} idle, ${mib(gateway.peak())} at most`,
  );
}

async function send(to: NodeJS.WritableStream, hash: Hash): Promise<void> {
  for (let sent = 0; sent < blocks; sent += 1) {
    hash.update(block);
    if (!to.write(block)) await once(to, 'drain');
  }
  to.end();
}

function mib(bytes: number): string {
  return `${(bytes / 2 ** 20).toFixed(0)} MiB`;
}
