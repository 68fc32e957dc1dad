import { once } from 'node:events';
import { createServer, type Server } from 'node:net';

/** Below the ports that systems give out by themselves: Linux begins at 32,768, others at 49,152 (RFC 6335, section 6). */
const FIRST = 15_000;
/** A block has so many ports. Whoever listens on the first owns the rest. */
const COUNT = 100;
const BLOCKS = 160;

let block: Promise<number> | undefined;
let last = 0;

/**
 * Returns a port of 127.0.0.1 that is free now, and soon will be: it is none of those that a listener on port 0, or a connection, is
 * given, and it is of a block that this file of tests owns while its process lives, whatever other runs the machine has. So nobody
 * else is found on it while a test has nobody there.
 */
export async function freePort(): Promise<number> {
  const first = await (block ??= ownBlock());
  for (;;) {
    last = (last % (COUNT - 1)) + 1;
    const server = await listeningOn(first + last);
    if (server === undefined) continue;
    server.close();
    await once(server, 'close');
    return first + last;
  }
}

async function ownBlock(): Promise<number> {
  const start = Math.floor(Math.random() * BLOCKS);
  for (let tried = 0; tried < BLOCKS; tried += 1) {
    const first = FIRST + ((start + tried) % BLOCKS) * COUNT;
    const owner = await listeningOn(first);
    owner?.unref();
    if (owner !== undefined) return first;
  }
  throw new Error(`${BLOCKS} processes of tests have all ports from ${FIRST} on.`);
}

async function listeningOn(port: number): Promise<Server | undefined> {
  const server = createServer();
  const listening = once(server, 'listening').then(
    () => server,
    () => undefined,
  );
  server.listen({ port, host: '127.0.0.1', exclusive: true });
  return listening;
}
