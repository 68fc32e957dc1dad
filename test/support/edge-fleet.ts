import { basename, dirname } from 'node:path';
import { serveWorkerd } from '../../src/node/twin/workerd.ts';

/** Isolates that share one object, in one process of workerd. */
export interface EdgeFleet {
  /** Ports of the isolates. */
  readonly ports: readonly number[];
  /** The output of all of them, line by line. */
  readonly lines: readonly string[];
  readonly pid: number;
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
}

/** Starts the isolates, each as a service of its own. */
export async function edgeFleet({
  file,
  isolates,
  variables = {},
  disk,
}: EdgeFleetOptions): Promise<EdgeFleet> {
  const names = Array.from({ length: isolates }, (_, number) => `isolate${number}`);
  const bindings = Object.entries(variables).map(
    ([name, text]) => `(name = ${JSON.stringify(name)}, text = ${JSON.stringify(text)})`,
  );
  const rollout =
    '(name = "ROLLOUT", durableObjectNamespace = (className = "RolloutObject", serviceName = "objects"))';
  const worker = (more: string): string => `(
  modules = [(name = "main.js", esModule = embed ${JSON.stringify(basename(file))})],
  compatibilityDate = "2026-10-20",
  compatibilityFlags = ["enable_request_signal"],
  ${more}
)`;
  const storage = disk === undefined ? 'inMemory = void' : 'localDisk = "disk"';
  const text = `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [
    (name = "objects", worker = .objects),
    ${names.map((name) => `(name = "${name}", worker = .isolate),`).join('\n')}
    ${disk === undefined ? '' : `(name = "disk", disk = (path = ${JSON.stringify(disk)}, writable = true)),`}
    (name = "internet", network = (allow = ["local", "private", "public"])),
  ],
  sockets = [${names.map((name) => `(name = "${name}", address = "127.0.0.1:0", http = (), service = "${name}")`).join(', ')}],
);
const objects :Workerd.Worker = ${worker(
    `durableObjectNamespaces = [(className = "RolloutObject", uniqueKey = "rollout", enableSql = true)],
  durableObjectStorage = (${storage}),`,
  )};
const isolate :Workerd.Worker = ${worker(`bindings = [${[rollout, ...bindings].join(', ')}],`)};
`;
  const { ports, lines, pid, stop } = await serveWorkerd(dirname(file), text, isolates);
  return { ports: names.map((name) => ports.get(name) ?? 0), lines, pid, stop };
}
