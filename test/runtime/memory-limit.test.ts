import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync, existsSync, mkdirSync, rmdirSync } from 'node:fs';
import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { until } from '../support/until.ts';
import { PROGRAM } from '../support/product.ts';

const MIB = 2 ** 20;
/** The limit of the container that ships. */
const LIMIT_BYTES = 512 * MIB;
const CLIENTS = 25;
const BODY = Buffer.from(`{"data":{"name":"${'x'.repeat(9e6)}"}}`);
/** Three million objects, each of which a rule looks at. */
const OBJECTS = Buffer.from(`{"data":{"floors":[${'{},'.repeat(3e6)}{}]}}`);

/** A V2 that reads everything and takes its time. */
async function slowV2(): Promise<string> {
  const server = createServer((incoming, outgoing) => {
    incoming.resume();
    incoming.on('end', () => setTimeout(() => outgoing.end('{"data":{}}'), 200));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

function post(port: number, body: Buffer): Promise<number | string> {
  return new Promise((resolve) => {
    const headers = { 'content-type': 'application/json', 'content-length': body.length };
    const options = { port, host: '127.0.0.1', method: 'POST', path: '/api/v1/clients', headers };
    const outgoing = request(options, (response) => {
      response.resume();
      response.on('end', () => resolve(response.statusCode ?? 0));
    });
    outgoing.on('error', (error) => resolve('code' in error ? String(error.code) : error.message));
    outgoing.end(body);
  });
}

/** The rule book that ships, with a rule that reads every element of a list. */
function rulesPath(): string {
  const shipped = new URL('../../config/rules.yaml', import.meta.url);
  const path = `${temporaryFolder('memory-limit')}/rules.yaml`;
  writeFileSync(path, readFileSync(shipped, 'utf8').replace('strip: []', 'strip: [floors.*.code]'));
  return path;
}

// Attack: legal bodies just below the limit, all at once, until the container is killed for memory.
test.each([
  ['one long string', BODY, CLIENTS, 4],
  ['three million objects that a rule reads', OBJECTS, 8, 0],
])(
  'bodies of 9 MB (%s) at once in the memory of the container that ships: some get 503, and the process lives',
  async (_name, body, clients, minimum) => {
    const group = memoryGroup(LIMIT_BYTES);
    const main = new URL(`../../${PROGRAM}`, import.meta.url).pathname;
    const serve = `exec ${process.execPath} ${main} serve --rules ${rulesPath()} --listen 127.0.0.1:0 --admin-listen 127.0.0.1:0 --upstream ${await slowV2()}`;
    const child = spawn('sh', ['-c', group === undefined ? serve : `echo $$ > ${group}; ${serve}`], {
      // Where no group can be created, the gateway is given the limit that it would find in one.
      env: {
        PATH: process.env['PATH'] ?? '',
        GATEWAY_LOG_FORMAT: 'text',
        ...(group === undefined ? { GATEWAY_BUFFER_BYTES: '128MiB', GATEWAY_CAPTURE_MEMORY: '32MiB' } : {}),
      },
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    onTestFinished(() => void child.kill('SIGKILL'));
    let output = '';
    child.stderr.on('data', (chunk: Buffer) => {
      output += chunk.toString();
    });
    await until(() => output.includes('-d '));
    const port = Number(/clients +http:\S+:(\d+)/.exec(output)?.[1]);
    const outcomes = await Promise.all(Array.from({ length: clients }, () => post(port, body)));
    expect(child.exitCode ?? child.signalCode).toBeNull();
    expect(outcomes.filter((outcome) => outcome === 200).length).toBeGreaterThanOrEqual(minimum);
    // A client that is refused may be reset while it is still sending.
    const refused = outcomes.filter((outcome) => outcome !== 200);
    expect(refused.length).toBeGreaterThan(0);
    for (const outcome of refused) expect([503, 'ECONNRESET', 'EPIPE']).toContain(outcome);
    const peak = Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${child.pid}/status`, 'utf8'))?.[1]) / 1024;
    console.log(`peak ${peak.toFixed(0)} MiB, ${group === undefined ? 'by setting' : 'in a cgroup'}`);
    // With the code of the program, which the limit does not count.
    expect(peak).toBeLessThan(600);
    await until(async () => (await post(port, BODY)) === 200);
  },
  90_000,
);

/**
 * Makes a memory cgroup (v1 or v2) that goes with the test; returns the file that a process writes its id to. Undefined where none can
 * be had: it takes root.
 */
function memoryGroup(limitBytes: number): string | undefined {
  const isFirst = existsSync('/sys/fs/cgroup/memory/memory.limit_in_bytes');
  const folder = `/sys/fs/cgroup/${isFirst ? 'memory/' : ''}gateway-test-${process.pid}`;
  try {
    mkdirSync(folder);
    writeFileSync(`${folder}/${isFirst ? 'memory.limit_in_bytes' : 'memory.max'}`, String(limitBytes));
  } catch {
    return undefined;
  }
  // A group can go once the last of its processes has.
  onTestFinished(() => until(() => isRemoved(folder)));
  return `${folder}/cgroup.procs`;
}

function isRemoved(folder: string): boolean {
  try {
    rmdirSync(folder);
    return true;
  } catch {
    return !existsSync(folder);
  }
}
