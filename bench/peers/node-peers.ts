import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Peer } from './peer.ts';

/** The gateway as it ships: every check, the rewrite log, metrics and the inspector on. */
export const gateway: Peer = gatewayIn(path('../..'), 'capture-gateway');

/** The same with its log in a file instead of a pipe. */
export const gatewayLogFile: Peer = {
  ...gateway,
  name: 'capture-gateway, log into a file',
  command(place) {
    const { file, args } = gateway.command(place);
    return { file, args: [...args, `--log-file=${logFile(place.folder)}`] };
  },
};

/** The log of the gateway that writes into a file. */
export function logFile(folder: string): string {
  return join(folder, 'rewrite.log');
}

/** The gateway whose sources are in this folder. */
export function gatewayIn(root: string, name: string): Peer {
  return {
    name,
    works: ['pass', 'migrate'],
    hasTls: true,
    missing: () => undefined,
    command: ({ port, upstream, clientTls, upstreamCa }) => ({
      file: process.execPath,
      args: [
        join(root, 'src/cli/capture-gateway.js'),
        'serve',
        `--listen=127.0.0.1:${port}`,
        '--admin-listen=127.0.0.1:0',
        `--upstream=http${upstreamCa === undefined ? '' : 's'}://127.0.0.1:${upstream}`,
        `--rules=${path('../rules.yaml')}`,
        ...(clientTls === undefined ? [] : [`--tls-cert=${clientTls.cert}`, `--tls-key=${clientTls.key}`]),
        ...(upstreamCa === undefined ? [] : [`--upstream-ca=${upstreamCa}`]),
      ],
    }),
  };
}

/** Fastify's proxy, which parses a V1 body and prints it again. */
export const fastify: Peer = nodePeer(
  'Fastify + @fastify/http-proxy',
  'fastify-server.ts',
  '@fastify/http-proxy',
);
/** Express with the proxy that most of its users install. */
export const express: Peer = nodePeer(
  'Express + http-proxy-middleware',
  'express-server.ts',
  'http-proxy-middleware',
);
/** Node's own server and client, piped: what a proxy in Node costs without a framework. */
export const plain: Peer = { ...nodePeer('Node http, piped', 'plain-server.ts'), works: ['pass'] };
/** What Node itself takes for reading and writing. */
export const sockets: Peer = {
  ...nodePeer('two sockets of Node, joined', 'sockets-server.ts'),
  works: ['pass'],
};

function nodePeer(name: string, file: string, needs?: string): Peer {
  return {
    name,
    works: ['pass', 'migrate'],
    hasTls: false,
    missing: () => (needs === undefined || isInstalled(needs) ? undefined : 'npm ci --prefix bench'),
    command: ({ port, upstream }) => ({
      file: process.execPath,
      args: [path(`./${file}`), String(port), String(upstream)],
      env: { NODE_ENV: 'production' },
    }),
  };
}

function isInstalled(name: string): boolean {
  try {
    import.meta.resolve(name);
    return true;
  } catch {
    return false;
  }
}

function path(relative: string): string {
  return fileURLToPath(new URL(relative, import.meta.url));
}
