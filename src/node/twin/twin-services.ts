import { type ChildProcess, spawn, execFile } from 'node:child_process';
import { randomBytes, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import {
  Agent as HttpAgent,
  createServer,
  type IncomingMessage,
  request as httpRequest,
  type Server,
} from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import { devNull, tmpdir } from 'node:os';
import { createInterface } from 'node:readline';
import { brotliDecompressSync, gunzipSync, inflateSync } from 'node:zlib';
import { getRequestListener } from '@hono/node-server';
import { createReference, type ReferenceParts } from '../../reference/reference.ts';
import type { NoResponse, Sender, Side, TwinRequest, TwinResponse } from '../../twin/script.ts';
import { listen } from '../clients/listen.ts';
import { openReferenceStore } from '../reference.ts';
import { type Store, StoreBusy } from '../../reference/resources.ts';
import { cpSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

/** Settings of both reference services: requests per minute, attributes that only V1 still takes, V2's reaction to unknown ones. */
export type ServiceSettings = Pick<ReferenceParts, 'rate' | 'deprecated' | 'unknown'>;

/** V1 and V2, each with its own data, empty at the start. */
export interface TwinServices {
  /** Such as `http://127.0.0.1:4711`. */
  readonly v1: string;
  readonly v2: string;
  /** Restarts both, with empty data and, if given, other settings. */
  reset(settings?: ServiceSettings): void;
  /** Breaks both stores, makes them busy, or repairs them. Throws if a service has met a bug since the last call. */
  setStore(state: 'broken' | 'busy' | undefined): void;
  close(): void;
}

/** Starts the two reference services on free ports of the loopback interface. Their clock is fixed. */
export async function startTwinServices(): Promise<TwinServices> {
  const [v1, v2] = [new Service('v1'), new Service('v2')];
  const origins = [await v1.listen(), await v2.listen()] as const;
  const both = (act: (service: Service) => void): void => [v1, v2].forEach(act);
  return {
    v1: origins[0],
    v2: origins[1],
    reset: (settings) => both((service) => service.reset(settings)),
    setStore: (state) => both((service) => service.setStore(state)),
    close: () => both((service) => service.close()),
  };
}

class Service {
  private readonly server: Server;
  private readonly dialect: 'v1' | 'v2';
  private settings: ServiceSettings = {};
  private store = openReferenceStore(undefined);
  private state: 'broken' | 'busy' | undefined = undefined;
  private bug: unknown = undefined;
  private app: ReturnType<typeof createReference>;

  constructor(dialect: 'v1' | 'v2') {
    this.dialect = dialect;
    this.app = this.createApp();
    const respond = getRequestListener((request) => this.app.fetch(request), {
      overrideGlobalObjects: false,
    });
    this.server = createServer(
      { keepAliveTimeout: 65_000 },
      (incoming, outgoing) => void respond(incoming, outgoing),
    );
  }

  async listen(): Promise<string> {
    return listen(this.server, { host: '127.0.0.1', port: 0 }, 'http');
  }

  reset(settings: ServiceSettings | undefined): void {
    this.store.close();
    this.store = openReferenceStore(undefined);
    this.state = undefined;
    if (settings === undefined) return;
    this.settings = settings;
    this.app = this.createApp();
  }

  setStore(state: 'broken' | 'busy' | undefined): void {
    // The comparison would miss a bug that both services share.
    if (this.bug !== undefined) throw new Error(`The ${this.dialect} service failed`, { cause: this.bug });
    this.state = state;
  }

  close(): void {
    this.server.close();
    this.server.closeAllConnections();
    this.store.close();
  }

  private createApp(): ReturnType<typeof createReference> {
    return createReference({
      readOnlyKeys: ['reader'],
      ...this.settings,
      store: this.replaceableStore(),
      now: () => 0,
      report: (error) => {
        if (this.state !== 'broken') this.bug = error;
      },
      dialects: [this.dialect],
    });
  }

  /** A store that delegates to the current one, so that new data needs no new service. */
  private replaceableStore(): Store {
    const current = (): Store => {
      if (this.state === 'busy') throw new StoreBusy('another writer holds the store');
      if (this.state === 'broken') throw new Error('the store is broken');
      return this.store;
    };
    return {
      create: (...given) => current().create(...given),
      read: (...given) => current().read(...given),
      list: (...given) => current().list(...given),
      update: (...given) => current().update(...given),
      remove: (...given) => current().remove(...given),
      atomically: (work) => current().atomically(work),
      close: () => this.store.close(),
    };
  }
}

/** How requests are sent. */
export interface SenderOptions {
  /** Sends bodies in chunks, without a length. */
  readonly isChunked?: boolean;
  /** Fields that every request gets. */
  readonly fields?: readonly (readonly [name: string, value: string])[];
  /** PEM text of the authority that signed the service's certificate, if it is not a public one. */
  readonly ca?: string | undefined;
}

/** Time within which a response must be complete, in milliseconds. */
const TIMEOUT_MS = 30_000;

/** Sends requests to a service on its own kept-alive connections, which `close` ends. */
export function httpSide(origin: string, options: SenderOptions = {}): Side & { close(): void } {
  const url = new URL(origin);
  const isSecure = url.protocol === 'https:';
  const agent = isSecure
    ? new HttpsAgent({ keepAlive: true, ...(options.ca === undefined ? {} : { ca: options.ca }) })
    : new HttpAgent({ keepAlive: true });
  const send: Sender = (request) =>
    new Promise((resolve) => {
      const outgoing = (isSecure ? httpsRequest : httpRequest)(
        {
          agent,
          host: url.hostname.replace(/^\[|\]$/g, ''),
          port: url.port,
          method: request.method,
          path: `${url.pathname.replace(/\/$/, '')}${request.target}`,
          headers: headersOf(request, options, url.host),
          timeout: TIMEOUT_MS,
        },
        (incoming) => void readResponse(incoming).then(resolve),
      );
      outgoing.on('timeout', () => outgoing.destroy(new Error(`no response within ${TIMEOUT_MS / 1000} s`)));
      outgoing.on('error', (error) => {
        // The service closed the idle connection before it read the request (RFC 9112 §9.3.1).
        const isStale = outgoing.reusedSocket && 'code' in error && error.code === 'ECONNRESET';
        resolve(isStale ? send(request) : { fault: error.message });
      });
      outgoing.end(request.body);
    });
  return { origin: url.origin, send, close: () => agent.destroy() };
}

/** Returns raw fields, to which Node adds nothing: names, values and order are the script's. */
function headersOf({ method, headers, body }: TwinRequest, options: SenderOptions, host: string): string[] {
  const fields = [['Host', host] as const, ...headers, ...(options.fields ?? [])];
  if (body !== undefined && options.isChunked === true) fields.push(['Transfer-Encoding', 'chunked']);
  else if (body !== undefined) fields.push(['Content-Length', String(body.length)]);
  else if (method === 'POST' || method === 'PATCH' || method === 'PUT') fields.push(['Content-Length', '0']);
  return fields.flat();
}

async function readResponse(incoming: IncomingMessage): Promise<TwinResponse | NoResponse> {
  const chunks: Buffer[] = [];
  try {
    for await (const chunk of incoming) {
      if (Buffer.isBuffer(chunk)) chunks.push(chunk);
    }
    const { rawHeaders, statusCode = 0 } = incoming;
    const headers: (readonly [string, string])[] = [];
    for (let at = 0; at < rawHeaders.length; at += 2)
      headers.push([rawHeaders[at] ?? '', rawHeaders[at + 1] ?? '']);
    return { status: statusCode, headers, body: decoded(Buffer.concat(chunks), incoming) };
  } catch (error) {
    return { fault: error instanceof Error ? error.message : String(error) };
  }
}

function decoded(bytes: Buffer, { headers }: IncomingMessage): Uint8Array {
  const decode = DECODERS.get(headers['content-encoding'] ?? '');
  return bytes.length === 0 || decode === undefined ? bytes : decode(bytes);
}

const DECODERS: ReadonlyMap<string, (bytes: Buffer) => Buffer> = new Map([
  ['gzip', gunzipSync],
  ['deflate', inflateSync],
  ['br', brotliDecompressSync],
]);

/** A gateway in its own process. */
interface RuntimeGateway {
  /** Such as `http://127.0.0.1:4711`. */
  readonly origin: string;
  stop(): Promise<void>;
}

/** Commands that run the gateway's program, by runtime: this process's Node, or a program on the path. */
const COMMANDS: Readonly<Record<'node' | 'bun' | 'deno', readonly [command: string, ...args: string[]]>> = {
  node: [process.execPath],
  bun: ['bun'],
  deno: ['deno', 'run', '--allow-all', '--quiet'],
};

/** Milliseconds that a runtime may take to start: Deno and Bun read every module first. */
const START_MS = 30_000;

/**
 * Runs `serve` from `program`, the CLI's file, on a runtime in front of a V2, with the rule book at `rules`; rejects with its output if
 * it does not start.
 */
export async function startRuntimeGateway(
  runtime: keyof typeof COMMANDS,
  program: string,
  upstream: string,
  rules: string,
): Promise<RuntimeGateway> {
  const [command, ...args] = COMMANDS[runtime];
  const flags = {
    listen: '127.0.0.1:0',
    'admin-listen': '127.0.0.1:0',
    upstream,
    rules,
    'log-file': devNull,
  };
  const settings = Object.entries(flags).flatMap(([name, value]) => [`--${name}`, value]);
  const child = spawn(command, [...args, program, 'serve', ...settings], {
    env: {
      PATH: process.env['PATH'],
      HOME: process.env['HOME'],
      DENO_NO_UPDATE_CHECK: '1',
      GATEWAY_LOG_FORMAT: 'text',
      GATEWAY_CLIENT_SECRET: randomBytes(16).toString('hex'),
    },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const origin = await listening(child, /^ {2}clients +(http:\/\/\S+)$/);
  return { origin, stop: () => stop(child) };
}

async function listening(child: ChildProcess, ready: RegExp): Promise<string> {
  const said: string[] = [];
  const late = AbortSignal.timeout(START_MS);
  try {
    return await new Promise<string>((resolve, reject) => {
      if (child.stderr !== null) {
        createInterface({ input: child.stderr }).on('line', (line) => {
          said.push(line);
          const match = ready.exec(line);
          if (match !== null) resolve(match[1] ?? '');
        });
      }
      child.on('exit', () => reject(new Error(`${child.spawnfile} ended: ${said.join('\n')}`)));
      child.on('error', (error) => reject(new Error(`${child.spawnfile} does not start: ${error.message}`)));
      late.addEventListener('abort', () =>
        reject(new Error(`${child.spawnfile} did not start in time: ${said.join('\n')}`)),
      );
    });
  } catch (error) {
    await stop(child);
    throw error;
  }
}

async function stop(child: ChildProcess): Promise<void> {
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
  child.kill('SIGKILL');
  await once(child, 'exit');
}

const tool = (path: string): string =>
  fileURLToPath(new URL(`../../../deploy/edge/node_modules/${path}`, import.meta.url));

/** A worker on workerd itself, without the proxy of `wrangler dev`. */
export interface RunningWorkerd {
  readonly port: number;
  /** The worker's output, line by line. */
  readonly lines: readonly string[];
  readonly pid: number;
  stop(): Promise<void>;
}

/**
 * Bundles the gateway's worker with the rule book at `rules`, an absolute path, in a copy of the sources in `folder`, so that other
 * bundles can be made at the same time. Returns the file of its first module.
 */
export async function bundleWorkerWith(rules: string, folder: string): Promise<string> {
  const root = fileURLToPath(new URL('../../../', import.meta.url));
  for (const part of ['src', 'config', 'package.json', 'tsconfig.json'])
    cpSync(join(root, part), join(folder, part), { recursive: true });
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
  const bundle = join(folder, 'bundle');
  const { file } = await bundleWorker(join(folder, 'config/wrangler.jsonc'), bundle, {
    cwd: folder,
    rules,
  });
  return file;
}

/**
 * Bundles a worker as a deployment would, into `folder`; returns the file of its first module and Wrangler's output. Needs a checkout, with the
 * Wrangler and workerd that `deploy/edge` installs. `within` names the sources' folder and another rule book.
 */
export async function bundleWorker(
  configPath: string,
  folder: string,
  within?: { readonly cwd: string; readonly rules: string },
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
      },
    },
  );
  const names = readdirSync(folder).filter((file) => file.endsWith('.js'));
  const name = names.length === 1 ? names[0] : undefined;
  return { file: join(folder, name ?? 'main.js'), said: `${stdout}${stderr}` };
}

/** Serves a bundled worker on a free port of the loopback interface. */
export async function startWorkerd(
  file: string,
  variables: Readonly<Record<string, string>>,
): Promise<RunningWorkerd> {
  const { ports, ...running } = await serveWorkerd(dirname(file), configText(file, variables), 1);
  return { ...running, port: ports.get('http') ?? 0 };
}

/** Serves a Cap'n Proto configuration with a number of sockets; returns their ports by name. `folder` has the embedded files. */
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
  await listening;
  const end = async (): Promise<void> => {
    await stop(child);
    rmSync(config, { force: true });
  };
  return { ports, lines, pid: child.pid ?? 0, stop: end };
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
  modules = [${moduleList(file)}],
  bindings = [${bindings.join(', ')}],
  compatibilityDate = "2026-10-20",
  compatibilityFlags = ["enable_request_signal"],
);
`;
}

/** The modules of a worker for a configuration in their folder: first the one in `file`, then those beside it. */
export function moduleList(file: string): string {
  const others = readdirSync(dirname(file)).filter((name) => name.endsWith('.js') && name !== basename(file));
  const modules = others.map((name) => `(name = ${quoted(name)}, esModule = embed ${quoted(name)})`);
  return [`(name = "main.js", esModule = embed ${quoted(basename(file))})`, ...modules].join(', ');
}

function quoted(text: string): string {
  return JSON.stringify(text);
}

/** Starts the worker on workerd in front of a V2, with the rule book at `rules`. Needs a checkout. */
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
