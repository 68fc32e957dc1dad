import { execFile, spawn } from 'node:child_process';
import { randomBytes, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { cpSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { RuntimeGateway } from './twin-services.ts';

const tool = (path: string): string =>
  fileURLToPath(new URL(`../../../deploy/edge/node_modules/${path}`, import.meta.url));

/** A worker on workerd itself, without the proxy of `wrangler dev` before it. */
export interface RunningWorkerd {
  readonly port: number;
  /** The output of the worker, line by line. */
  readonly lines: readonly string[];
  readonly pid: number;
  stop(): Promise<void>;
}

/**
 * Bundles the gateway's worker with the rule book at `rules`, an absolute path, in a copy of the sources in `folder`: the bundle
 * of another rule book may be made at the same time. `description` is V2's OpenAPI, a file or an address. Returns its file.
 */
export async function bundleWorkerWith(rules: string, folder: string, description?: string): Promise<string> {
  const root = fileURLToPath(new URL('../../../', import.meta.url));
  for (const part of ['src', 'config', 'package.json'])
    cpSync(join(root, part), join(folder, part), { recursive: true });
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
  const bundle = join(folder, 'bundle');
  const { file } = await bundleWorker(join(folder, 'config/wrangler.jsonc'), bundle, {
    cwd: folder,
    rules,
    description,
  });
  return file;
}

/**
 * Bundles a worker as a deployment would, into one module in `folder`; returns its file, and the output of Wrangler. Needs a
 * checkout: Wrangler and workerd are what `deploy/edge` installs. `within` is the folder of its sources, and a rule book other
 * than theirs.
 */
export async function bundleWorker(
  configPath: string,
  folder: string,
  within?: { readonly cwd: string; readonly rules: string; readonly description?: string | undefined },
): Promise<{ readonly file: string; readonly said: string }> {
  const { stdout, stderr } = await promisify(execFile)(
    process.execPath,
    [
      tool('wrangler/bin/wrangler.js'),
      'deploy',
      '--dry-run',
      '--env',
      '',
      '--outdir',
      folder,
      '--config',
      configPath,
    ],
    {
      ...(within === undefined ? {} : { cwd: within.cwd }),
      env: {
        ...process.env,
        WRANGLER_SEND_METRICS: 'false',
        CI: 'true',
        NO_COLOR: '1',
        ...(within === undefined ? {} : { GATEWAY_RULES: within.rules }),
        ...(within?.description === undefined ? {} : { GATEWAY_V2_OPENAPI: within.description }),
      },
    },
  );
  const name = readdirSync(folder).find((file) => file.endsWith('.js')) ?? 'main.js';
  return { file: join(folder, name), said: `${stdout}${stderr}` };
}

/** Serves a bundled worker on a free port of the loopback interface. */
export async function startWorkerd(
  file: string,
  variables: Readonly<Record<string, string>>,
): Promise<RunningWorkerd> {
  const { ports, ...running } = await serveWorkerd(dirname(file), configText(basename(file), variables), 1);
  return { ...running, port: ports.get('http') ?? 0 };
}

/**
 * Serves a configuration in Cap'n Proto with so many sockets, of which the ports are by name. Embedded files are looked for in
 * `folder`.
 */
export async function serveWorkerd(
  folder: string,
  text: string,
  sockets: number,
): Promise<Omit<RunningWorkerd, 'port'> & { readonly ports: ReadonlyMap<string, number> }> {
  const config = join(folder, `${randomUUID()}.capnp`);
  writeFileSync(config, text);
  const child = spawn(tool('workerd/bin/workerd'), ['serve', config, '--control-fd=3'], {
    stdio: ['ignore', 'pipe', 'pipe', 'pipe'],
  });
  const lines: string[] = [];
  for (const stream of [child.stdout, child.stderr]) {
    if (stream !== null) createInterface({ input: stream }).on('line', (line) => lines.push(line));
  }
  const control = child.stdio[3];
  if (!(control instanceof Readable)) throw new Error('workerd has no control pipe');
  const ports = new Map<string, number>();
  const { promise: listening, resolve, reject } = Promise.withResolvers<void>();
  createInterface({ input: control }).on('line', (line) => {
    // {"event":"listen","socket":"http","port":…}
    const [, socket, port] = /"socket": *"([^"]+)", *"port": *(\d+)/.exec(line) ?? [];
    if (socket !== undefined) ports.set(socket, Number(port));
    if (ports.size === sockets) resolve();
  });
  child.once('exit', () => reject(new Error(`workerd ended:\n${lines.join('\n')}`)));
  const stop = async (): Promise<void> => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    child.kill('SIGKILL');
    await once(child, 'exit');
    rmSync(config, { force: true });
  };
  await listening;
  return { ports, lines, pid: child.pid ?? 0, stop };
}

function configText(file: string, variables: Readonly<Record<string, string>>): string {
  const bindings = Object.entries(variables).map(
    ([name, text]) => `(name = ${quoted(name)}, text = ${quoted(text)})`,
  );
  return `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [
    (name = "main", worker = .worker),
    (name = "internet", network = (allow = ["local", "private", "public"])),
  ],
  sockets = [(name = "http", address = "127.0.0.1:0", http = (), service = "main")],
);
const worker :Workerd.Worker = (
  modules = [(name = "main.js", esModule = embed ${quoted(file)})],
  bindings = [${bindings.join(', ')}],
  compatibilityDate = "2026-10-20",
  compatibilityFlags = ["enable_request_signal"],
);
`;
}

function quoted(text: string): string {
  return JSON.stringify(text);
}

/** Starts the worker on workerd in front of a V2, with the rule book at `rules`. Only in a checkout. */
export async function startWorkerdGateway(upstream: string, rules: string): Promise<RuntimeGateway> {
  const folder = mkdtempSync(join(tmpdir(), 'twin-worker-'));
  const file = await bundleWorkerWith(resolve(rules), folder);
  const worker = await startWorkerd(file, {
    GATEWAY_UPSTREAM: upstream,
    GATEWAY_CLIENT_SECRET: randomBytes(16).toString('hex'),
  });
  return {
    origin: `http://127.0.0.1:${worker.port}`,
    stop: async () => {
      await worker.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
