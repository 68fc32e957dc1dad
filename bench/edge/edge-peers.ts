import { copyFileSync, existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { build } from 'esbuild';
import { bundleWorkerWith, moduleList } from '../../src/node/twin/twin-services.ts';
import type { Peer } from '../peers/peer.ts';

/** A worker in workerd, without the proxy of `wrangler dev`. */
export interface EdgePeer extends Peer {
  /** Bytes of its modules, minified and gzipped: what each isolate evaluates before its first response, and what it imports when asked. */
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
  const modules = readdirSync(from).filter((name) => name.endsWith('.js'));
  const first = firstModules(from, basename(file));
  const gzipped = (names: readonly string[]): number =>
    gzipSync(Buffer.concat(names.map((name) => readFileSync(join(from, name)))), { level: 9 }).length;
  return {
    name,
    works: ['pass', 'migrate'],
    hasTls: false,
    gzipped: {
      first: gzipped([...first]),
      others: gzipped(modules.filter((name) => !first.has(name))),
    },
    missing: () => (existsSync(workerd) ? undefined : 'npm ci --prefix deploy/edge'),
    command: ({ port, upstream, folder }) => {
      for (const name of modules) copyFileSync(join(from, name), join(folder, name));
      const config = join(folder, 'config.capnp');
      writeFileSync(config, configText(port, upstream, moduleList(join(folder, basename(file)))));
      return { file: workerd, args: ['serve', config] };
    },
  };
}

/** The names of a module and of all that it imports before it is evaluated, without what waits for an `import()`. */
function firstModules(folder: string, name: string, found = new Set<string>()): ReadonlySet<string> {
  if (found.has(name)) return found;
  found.add(name);
  for (const [, imported = ''] of readFileSync(join(folder, name), 'utf8').matchAll(
    /\b(?:from|import)\s*"\.\/([\w.-]+\.js)"/g,
  ))
    firstModules(folder, imported, found);
  return found;
}

function configText(port: number, upstream: number, modules: string): string {
  return `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [
    (name = "main", worker = .worker),
    (name = "internet", network = (allow = ["local", "private", "public"])),
  ],
  sockets = [(name = "http", address = "127.0.0.1:${port}", http = (), service = "main")],
);
const worker :Workerd.Worker = (
  modules = [${modules}],
  bindings = [
    (name = "GATEWAY_UPSTREAM", text = "http://127.0.0.1:${upstream}"),
    (name = "GATEWAY_CLIENT_SECRET", text = "a secret of the bench"),
  ],
  compatibilityDate = "2026-10-20",
  compatibilityFlags = ["enable_request_signal"],
);
`;
}
