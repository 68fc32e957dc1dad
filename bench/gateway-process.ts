import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { certificate } from '../test/support/certificates.ts';
import { freePort } from '../test/support/free-port.ts';
import { PROGRAM_ENVIRONMENT } from '../test/support/program-environment.ts';
import type { TlsFiles } from './peers/peer.ts';
import { Running } from './running.ts';

const MAIN = fileURLToPath(new URL('../src/cli/main.ts', import.meta.url));
const PROBE = new URL('attack/turn-probe.ts', import.meta.url).href;
/** The heap that Node chooses in the container that ships, of 512 MiB: V8 takes memory from the system for as long as there is some. */
const HEAP = '--max-old-space-size=256';

/** A gateway as it ships, in a process of its own. */
export class GatewayProcess extends Running {
  readonly origin: string;
  readonly adminPort: number;
  private longestTurn = 0;

  constructor(port: number, adminPort: number, isTls: boolean, args: readonly string[]) {
    const command = { file: process.execPath, args, env: PROGRAM_ENVIRONMENT };
    super(port, command, ['ignore', 'ignore', 'pipe', 'ipc']);
    this.origin = `http${isTls ? 's' : ''}://127.0.0.1:${port}`;
    this.adminPort = adminPort;
    this.child.on('message', (turn) => (this.longestTurn = Math.max(this.longestTurn, Number(turn))));
  }

  /** Watches its event loop; the function returns the processor time of the longest turn since, in milliseconds. */
  watchTurns(): () => number {
    this.longestTurn = 0;
    return () => this.longestTurn;
  }
}

/** Starts `serve` with flags on free ports, and waits until it is ready. Its log and its certificate are in `folder`. */
export async function startGateway(
  flags: Readonly<Record<string, string>>,
  folder: string,
  isTls: boolean,
  nodeFlags: readonly string[] = [HEAP],
): Promise<GatewayProcess> {
  const [port, adminPort] = [await freePort(), await freePort()];
  const tls = isTls ? tlsFiles(folder) : undefined;
  const all = {
    listen: `127.0.0.1:${port}`,
    'admin-listen': `127.0.0.1:${adminPort}`,
    'log-file': join(folder, 'rewrite.log'),
    ...(tls && { 'tls-cert': tls.cert, 'tls-key': tls.key }),
    ...flags,
  };
  const serve = ['serve', ...Object.entries(all).flatMap(([name, value]) => [`--${name}`, value])];
  const gateway = new GatewayProcess(port, adminPort, isTls, [
    ...nodeFlags,
    '--import',
    PROBE,
    MAIN,
    ...serve,
  ]);
  return gateway.untilReady(async () => {
    const { ok, status } = await fetch(`http://127.0.0.1:${adminPort}/readyz`);
    if (!ok) throw new Error(`/readyz is ${status}`);
  });
}

/** Writes a certificate for this machine, and its key. */
export function tlsFiles(folder: string): TlsFiles {
  const files = { cert: join(folder, 'cert.pem'), key: join(folder, 'key.pem') };
  const { cert, key } = certificate({ name: 'gateway', hosts: ['localhost', '127.0.0.1'] });
  writeFileSync(files.cert, cert);
  writeFileSync(files.key, key, { mode: 0o600 });
  return files;
}
