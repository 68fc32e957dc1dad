import { once } from 'node:events';
import { createServer } from 'node:net';

/** Below the ports that systems give out by themselves: Linux begins at 32,768, others at 49,152 (RFC 6335, section 6). */
const FIRST = 15_000;
/** Ports of each worker of Vitest. */
const COUNT = 2000;
const WORKERS = 8;

const first = FIRST + (Number(process.env['VITEST_POOL_ID'] ?? 0) % WORKERS) * COUNT;
let last = Math.floor(Math.random() * COUNT);

/**
 * Returns a port of 127.0.0.1 that is free now, and soon will be: it is none of those that a listener on port 0, or a connection, is
 * given, and no other worker returns it. So nobody else is found on it while a test has nobody there.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    last = (last + 1) % COUNT;
    if (await isFree(first + last)) return first + last;
  }
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer();
  const listening = once(server, 'listening').then(
    () => true,
    () => false,
  );
  server.listen(port, '127.0.0.1');
  if (!(await listening)) return false;
  server.close();
  await once(server, 'close');
  return true;
}
