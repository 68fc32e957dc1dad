import { copyFileSync, existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { build } from 'esbuild';
import { bundleWorkerWith } from '../../src/node/twin/twin-services.ts';
import type { Peer } from '../peers/peer.ts';

/** A worker in workerd, without the proxy of `wrangler dev`. */
export interface EdgePeer extends Peer {
  /** Bytes of its modules, minified and gzipped: what each isolate reads before its first response, and what it loads when asked. */
  readonly gzipped: { readonly first: number; readonly others: number };
}

/** Names of the workers, as they are printed. */
export const NAMES = { gateway: 'capture-gateway', hono: 'Hono', hand: 'by hand' } as const;

const path = (relative: string): string => fileURLToPath(new URL(relative, import.meta.url));
const workerd = path('../../deploy/edge/node_modules/workerd/bin/workerd');

/** Bundles the workers into folders below `folder`. */
export async function makeEdgePeers(folder: string): Promise<readonly EdgePeer[]> {
  const gateway = await bundleWorkerWith(path('../rules.yaml'), join(folder, 'gateway'));
  return [
    edgePeer(NAMES.gateway, gateway),
    edgePeer(NAMES.hono, await bundled('hono-worker.ts', folder)),
    edgePeer(NAMES.hand, await bundled('hand-worker.ts', folder)),
  ];
}

async function bundled(name: string, folder: string): Promise<string> {
  const outfile = join(folder, name, 'main.js');
  await build({
    entryPoints: [path(`./${name}`)],
    outfile,
    bundle: true,
    minify: true,
    format: 'esm',
    target: 'es2024',
    conditions: ['workerd', 'worker', 'browser'],
    logLevel: 'error',
  });
  return outfile;
}

/** `file` is the first module; the others stand beside it. */
function edgePeer(name: string, file: string): EdgePeer {
  const from = dirname(file);
  const others = readdirSync(from).filter((one) => one.endsWith('.js') && join(from, one) !== file);
  const gzipped = (one: string): number => gzipSync(readFileSync(one), { level: 9 }).length;
  return {
    name,
    works: ['pass', 'migrate'],
    hasTls: false,
    gzipped: {
      first: gzipped(file),
      others: others.reduce((sum, one) => sum + gzipped(join(from, one)), 0),
    },
    missing: () => (existsSync(workerd) ? undefined : 'npm ci --prefix deploy/edge'),
    command: ({ port, upstream, folder }) => {
      copyFileSync(file, join(folder, 'main.js'));
      for (const one of others) copyFileSync(join(from, one), join(folder, one));
      const config = join(folder, 'config.capnp');
      writeFileSync(config, configText(port, upstream, ['main.js', ...others]));
      return { file: workerd, args: ['serve', config] };
    },
  };
}

function configText(port: number, upstream: number, modules: readonly string[]): string {
  const embedded = modules.map((name) => `(name = "${name}", esModule = embed "${name}")`);
  return `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [
    (name = "main", worker = .worker),
    (name = "internet", network = (allow = ["local", "private", "public"])),
  ],
  sockets = [(name = "http", address = "127.0.0.1:${port}", http = (), service = "main")],
);
const worker :Workerd.Worker = (
  modules = [${embedded.join(', ')}],
  bindings = [
    (name = "GATEWAY_UPSTREAM", text = "http://127.0.0.1:${upstream}"),
    (name = "GATEWAY_CLIENT_SECRET", text = "a secret of the bench"),
  ],
  compatibilityDate = "2026-10-20",
  compatibilityFlags = ["enable_request_signal"],
);
`;
}
