import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { found } from '../peers/peer.ts';

/** A server in place of V2, and the way its operators restart it. */
export interface RestartingServer {
  readonly name: string;
  /** The package that brings it; undefined when it is there. */
  missing(): string | undefined;
  /** How it is started on 127.0.0.1; `folder` is its own. */
  command(port: number, folder: string): { readonly file: string; readonly args: readonly string[] };
  /** The signal by which it replaces its workers itself; undefined for one that is ended and started again. */
  readonly signal: NodeJS.Signals | undefined;
}

/** Milliseconds for which a server that is ended is not there. */
const DOWN_MS = 700;

const PYTHON_APP = `
async def app(scope, receive, send):
    if scope['type'] != 'http':
        return
    more = True
    while more:
        more = (await receive()).get('more_body', False)
    await send({'type': 'http.response.start', 'status': 200, 'headers': [(b'content-type', b'application/json'), (b'content-length', b'11')]})
    await send({'type': 'http.response.body', 'body': b'{"data":{}}'})
`;
const RACK_APP = `run ->(env) { env['rack.input'].read; [200, { 'Content-Type' => 'application/json' }, ['{"data":{}}']] }\n`;
const NODE_APP = `require('node:http').createServer((request, response) => {
  request.resume().on('end', () => response.writeHead(200, { 'content-type': 'application/json' }).end('{"data":{}}'));
}).listen(Number(process.argv[2]), '127.0.0.1');
`;

/** The servers that can be played; those not installed are reported. */
export const restartingServers: readonly RestartingServer[] = [
  {
    name: 'Node http, ended and started',
    missing: () => undefined,
    command: (port, folder) => ({
      file: process.execPath,
      args: [written(folder, 'server.cjs', NODE_APP), String(port)],
    }),
    signal: undefined,
  },
  {
    name: 'nginx, reloaded',
    missing: () => (found('nginx') === undefined ? 'nginx' : undefined),
    command: (port, folder) => ({
      file: found('nginx') ?? '',
      args: ['-p', folder, '-c', written(folder, 'nginx.conf', nginxStatic(port, folder))],
    }),
    signal: 'SIGHUP',
  },
  {
    name: 'uvicorn, ended and started',
    missing: () => (found('uvicorn') === undefined ? 'uvicorn' : undefined),
    command: (port, folder) => {
      written(folder, 'app.py', PYTHON_APP);
      const args = [
        '--app-dir',
        folder,
        '--port',
        String(port),
        '--log-level',
        'warning',
        '--no-access-log',
        'app:app',
      ];
      return { file: found('uvicorn') ?? '', args };
    },
    signal: undefined,
  },
  {
    name: 'gunicorn + uvicorn, HUP',
    missing: () => (found('gunicorn') === undefined ? 'gunicorn' : undefined),
    command: (port, folder) => {
      written(folder, 'app.py', PYTHON_APP);
      const workers = ['-w', '2', '-k', 'uvicorn.workers.UvicornWorker', '--log-level', 'error'];
      return {
        file: found('gunicorn') ?? '',
        args: [...workers, '--chdir', folder, '-b', `127.0.0.1:${port}`, 'app:app'],
      };
    },
    signal: 'SIGHUP',
  },
  {
    name: 'Puma, phased restart',
    missing: () => (found('puma') === undefined ? 'puma' : undefined),
    command: (port, folder) => {
      const app = written(folder, 'config.ru', RACK_APP);
      return {
        file: found('puma') ?? '',
        args: ['-q', '-w', '2', '-t', '4:4', '-b', `tcp://127.0.0.1:${port}`, app],
      };
    },
    signal: 'SIGUSR1',
  },
];

/** A server that runs, and can be restarted as it is in use. */
export class RunningServer {
  private readonly server: RestartingServer;
  private readonly port: number;
  private readonly folder: string;
  private child: ChildProcess;

  private constructor(server: RestartingServer, port: number, folder: string) {
    this.server = server;
    this.port = port;
    this.folder = folder;
    this.child = this.spawn();
  }

  /** Starts one in a folder of its own; resolves when it takes connections. */
  static async start(server: RestartingServer, port: number, folder: string): Promise<RunningServer> {
    mkdirSync(folder, { recursive: true });
    const running = new RunningServer(server, port, folder);
    await takesConnections(port);
    return running;
  }

  /** Restarts it: by its signal, or by an end and a new start; resolves when it takes connections again. */
  async restart(): Promise<void> {
    const { signal } = this.server;
    if (signal !== undefined) {
      this.child.kill(signal);
      await delay(DOWN_MS);
      return;
    }
    await this.stop();
    await delay(DOWN_MS);
    this.child = this.spawn();
    await takesConnections(this.port);
  }

  /** Ends it in order, so that it ends its workers. */
  async stop(): Promise<void> {
    if (this.child.exitCode !== null || this.child.signalCode !== null) return;
    const ended = once(this.child, 'exit');
    this.child.kill('SIGTERM');
    // Servers that wait for idle connections to be closed would wait for those of a proxy.
    const late = setTimeout(() => this.child.kill('SIGKILL'), 2000);
    await ended;
    clearTimeout(late);
  }

  private spawn(): ChildProcess {
    const { file, args } = this.server.command(this.port, this.folder);
    return spawn(file, args, { stdio: 'ignore', cwd: this.folder });
  }
}

/** Resolves when something listens on the port; fails after ten seconds. */
export async function takesConnections(port: number): Promise<void> {
  for (let count = 0; count < 1000; count += 1) {
    if (await connects(port)) return;
    await delay(10);
  }
  throw new Error(`nothing listens on port ${port}`);
}

function connects(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => {
      socket.destroy();
      resolve(true);
    });
    socket.on('error', () => resolve(false));
  });
}

function written(folder: string, name: string, text: string): string {
  const file = join(folder, name);
  writeFileSync(file, text);
  return file;
}

function nginxStatic(port: number, folder: string): string {
  return `daemon off; worker_processes 2; pid ${folder}/pid; error_log /dev/null;
events {}
http {
  access_log off; client_body_temp_path ${folder}/body; proxy_temp_path ${folder}/proxy; fastcgi_temp_path ${folder}/fastcgi;
  uwsgi_temp_path ${folder}/uwsgi; scgi_temp_path ${folder}/scgi;
  server { listen 127.0.0.1:${port} reuseport; default_type application/json; location / { return 200 '{"data":{}}'; } }
}
`;
}
