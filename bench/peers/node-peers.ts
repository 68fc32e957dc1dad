import { fileURLToPath } from 'node:url';
import type { Peer } from './peer.ts';

/** The gateway as it ships: every check, the rewrite log, metrics and the inspector on. */
export const gateway: Peer = {
  name: 'capture-gateway',
  works: ['pass', 'migrate'],
  missing: () => undefined,
  command: ({ port, upstream }) => ({
    file: process.execPath,
    args: [
      path('../../src/cli/main.ts'),
      'serve',
      `--listen=127.0.0.1:${port}`,
      '--admin-listen=127.0.0.1:0',
      `--upstream=http://127.0.0.1:${upstream}`,
      `--rules=${path('../rules.yaml')}`,
    ],
  }),
};

export const fastify: Peer = nodePeer('Fastify + @fastify/http-proxy', 'fastify-server.ts');
export const express: Peer = nodePeer('Express + http-proxy-middleware', 'express-server.ts');
export const hono: Peer = nodePeer('Hono proxy()', 'hono-server.ts');

function nodePeer(name: string, file: string): Peer {
  return {
    name,
    works: ['pass', 'migrate'],
    missing: () => undefined,
    command: ({ port, upstream }) => ({
      file: process.execPath,
      args: [path(`./${file}`), String(port), String(upstream)],
      env: { NODE_ENV: 'production' },
    }),
  };
}

function path(relative: string): string {
  return fileURLToPath(new URL(relative, import.meta.url));
}
