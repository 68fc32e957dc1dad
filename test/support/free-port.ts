import { once } from 'node:events';
import { createServer, type Server } from 'node:net';

/** Below the ports that systems give out by themselves: Linux begins at 32,768, others at 49,152 (RFC 6335, section 6). */
const FIRST = 15_000;
/** A block has so many ports. Whoever listens on the first owns the rest. */
const COUNT = 100;
const BLOCKS = 160;

/** The blocks of this process, and how many ports were tried: files of the fast tier share a process, but not what they import. */
interface Ports {
  readonly blocks: number[];
  tried: number;
}

declare global {
  var portsOfTests: Ports | undefined;
}

/**
 * Returns a port of 127.0.0.1 that is free now, and soon will be: it is none of those that a listener on port 0, or a connection, is
 * given, and it is of a block that this process of tests owns while it lives, whatever other runs the machine has. So nobody else is
 * found on it while a test has nobody there. Where all ports of its blocks are in use, it takes one block more.
 */
export async function freePort(): Promise<number> {
  const ports = (globalThis.portsOfTests ??= { blocks: [], tried: 0 });
  for (let misses = 0; ; misses += 1) {
    if (misses >= ports.blocks.length * (COUNT - 1)) {
      ports.tried = ports.blocks.length * (COUNT - 1);
      ports.blocks.push(await ownBlock());
    }
    const at = ports.tried % (ports.blocks.length * (COUNT - 1));
    // Counted before it is tried: another call goes on with the next.
    ports.tried += 1;
    const port = (ports.blocks[Math.floor(at / (COUNT - 1))] ?? 0) + 1 + (at % (COUNT - 1));
    const server = await listeningOn(port);
    if (server === undefined) continue;
    server.close();
    await once(server, 'close');
    return port;
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
