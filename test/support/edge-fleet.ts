import { dirname } from 'node:path';
import { moduleList, serveWorkerd } from '../../src/node/twin/twin-services.ts';

/** Isolates that share one object, in one process of workerd. */
export interface EdgeFleet {
  /** Ports of the isolates. */
  readonly ports: readonly number[];
  /** The output of all of them, line by line. */
  readonly lines: readonly string[];
  /** Lets the calls of the object fail at once, or wait for half a minute. */
  setObject(state: 'up' | 'down' | 'hung'): Promise<void>;
  stop(): Promise<void>;
}

/** A fleet of isolates. */
export interface EdgeFleetOptions {
  /** The bundled worker, which exports `RolloutObject`. */
  readonly file: string;
  readonly isolates: number;
  readonly variables?: Readonly<Record<string, string>>;
  /** Folder in which the object keeps what it stores; in memory when absent. */
  readonly disk?: string;
  /** Whether Workers KV has a copy of the rollout. */
  readonly hasCopy?: boolean;
}

/** The object of the worker behind a switch, which a request to its service moves. */
const OBJECTS = `import { RolloutObject as Real } from 'main.js';
let state = 'up';
const through = async (call) => {
  if (state === 'hung') await new Promise((resolve) => setTimeout(resolve, 30_000));
  if (state === 'down') throw new Error('the object is overloaded');
  return call();
};
export class RolloutObject extends Real {
  read(...given) { return through(() => super.read(...given)); }
  compareAndSet(...given) { return through(() => super.compareAndSet(...given)); }
  exchange(...given) { return through(() => super.exchange(...given)); }
}
export default {
  async fetch(request) {
    state = new URL(request.url).pathname.slice(1);
    return new Response(state);
  },
};`;

/** The protocol by which workerd calls a namespace of Workers KV. */
const COPY = `const texts = new Map();
export default {
  async fetch(request) {
    const key = new URL(request.url).pathname;
    if (request.method === 'PUT') texts.set(key, await request.text());
    const text = texts.get(key);
    return new Response(text ?? null, { status: text === undefined ? 404 : 200 });
  },
};`;

/** Starts the isolates, each as a separate service. */
export async function edgeFleet(options: EdgeFleetOptions): Promise<EdgeFleet> {
  const { file, isolates, disk, hasCopy = false } = options;
  const names = Array.from({ length: isolates }, (_, number) => `isolate${number}`);
  const sockets = ['objects', ...names].map(
    (name) => `(name = "${name}", address = "127.0.0.1:0", http = (), service = "${name}")`,
  );
  const text = `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [
    (name = "objects", worker = .objects),
    (name = "copy", worker = .copy),
    ${names.map((name) => `(name = "${name}", worker = .isolate),`).join('\n')}
    ${disk === undefined ? '' : `(name = "disk", disk = (path = ${JSON.stringify(disk)}, writable = true)),`}
    (name = "internet", network = (allow = ["local", "private", "public"])),
  ],
  sockets = [${sockets.join(', ')}],
);
const copy :Workerd.Worker = (
  modules = [(name = "copy.js", esModule = ${JSON.stringify(COPY)})],
  compatibilityDate = "2026-10-20",
);
const objects :Workerd.Worker = (
  modules = [
    (name = "objects.js", esModule = ${JSON.stringify(OBJECTS)}),
    ${moduleList(file)},
  ],
  compatibilityDate = "2026-10-20",
  bindings = [${copyBinding(hasCopy)}],
  durableObjectNamespaces = [(className = "RolloutObject", uniqueKey = "rollout", enableSql = true)],
  durableObjectStorage = (${disk === undefined ? 'inMemory = void' : 'localDisk = "disk"'}),
);
const isolate :Workerd.Worker = (
  modules = [${moduleList(file)}],
  compatibilityDate = "2026-10-20",
  compatibilityFlags = ["enable_request_signal"],
  bindings = [${bindingsOf(options)}],
);
`;
  const { ports, lines, stop } = await serveWorkerd(dirname(file), text, sockets.length);
  return {
    ports: names.map((name) => ports.get(name) ?? 0),
    lines,
    setObject: async (state) => {
      await fetch(`http://127.0.0.1:${ports.get('objects') ?? 0}/${state}`);
    },
    stop,
  };
}

function bindingsOf({ variables = {}, hasCopy = false }: EdgeFleetOptions): string {
  return [
    '(name = "ROLLOUT", durableObjectNamespace = (className = "RolloutObject", serviceName = "objects"))',
    ...Object.entries(variables).map(
      ([name, value]) => `(name = ${JSON.stringify(name)}, text = ${JSON.stringify(value)})`,
    ),
    copyBinding(hasCopy),
  ]
    .filter((binding) => binding !== '')
    .join(', ');
}

function copyBinding(hasCopy: boolean): string {
  return hasCopy ? '(name = "ROLLOUT_COPY", kvNamespace = "copy")' : '';
}
