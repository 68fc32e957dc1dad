import { once } from 'node:events';
import { createServer } from 'node:net';

/** Below the ports that systems give out by themselves: Linux begins at 32,768, others at 49,152 (RFC 6335, section 6). */
const FIRST = 15_000;
const COUNT = 17_000;

/**
 * Returns a port of 127.0.0.1 that is free now. It is none of those that a listener on port 0, or a connection, is given: one of these
 * is soon somebody else's.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = FIRST + Math.floor(Math.random() * COUNT);
    if (await isFree(port)) return port;
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
