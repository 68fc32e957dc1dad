import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { startGatewayProcess } from '../gateway-process.ts';
import { nginx } from '../peers/nginx-peers.ts';
import { found } from '../peers/peer.ts';
import { takesConnections } from './restarting-server.ts';
import { freePort } from '../../test/support/free-port.ts';

/** A proxy in front of a server that is restarted. */
export interface RestartProxy {
  readonly name: string;
  /** The package that brings it; undefined when it is there. */
  missing(): string | undefined;
  /** Starts it; resolves when it takes connections. */
  start(upstream: number, folder: string): Promise<RunningProxy>;
}

/** One that runs. */
export interface RunningProxy {
  readonly port: number;
  stop(): Promise<void>;
}

/** The gateway with its defaults, and its alternatives. */
export const restartProxies: readonly RestartProxy[] = [
  {
    name: 'gateway',
    missing: () => undefined,
    start: async (upstream) => {
      const gateway = await startGatewayProcess({
        upstream: `http://127.0.0.1:${upstream}`,
        'log-file': '/dev/null',
      });
      return { port: gateway.port, stop: () => gateway.stop().then(() => {}) };
    },
  },
  {
    name: 'nginx',
    missing: () => nginx.missing(),
    start: async (upstream, folder) => {
      const port = await freePort();
      mkdirSync(folder, { recursive: true });
      const { file, args } = nginx.command({ port, upstream, folder });
      return started(spawn(file, args, { stdio: 'ignore' }), port);
    },
  },
  {
    name: 'HAProxy',
    missing: () => (found('haproxy') === undefined ? 'haproxy' : undefined),
    start: async (upstream, folder) => {
      const port = await freePort();
      mkdirSync(folder, { recursive: true });
      const file = join(folder, 'haproxy.cfg');
      writeFileSync(file, haproxy(port, upstream));
      return started(spawn(found('haproxy') ?? '', ['-db', '-f', file], { stdio: 'ignore' }), port);
    },
  },
];

async function started(child: ChildProcess, port: number): Promise<RunningProxy> {
  await takesConnections(port);
  return {
    port,
    stop: async () => {
      const ended = once(child, 'exit');
      child.kill('SIGTERM');
      await ended;
    },
  };
}

/** HAProxy with its defaults: three tries, a second apart, and connections that are kept. */
function haproxy(port: number, upstream: number): string {
  return `defaults
  mode http
  timeout connect 5s
  timeout client 60s
  timeout server 60s
  option http-keep-alive
  http-reuse safe
frontend clients
  bind 127.0.0.1:${port}
  default_backend v2
backend v2
  server one 127.0.0.1:${upstream}
`;
}
