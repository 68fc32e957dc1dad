import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { nginxPaths } from '../peers/nginx-peers.ts';

/** A server in place of V2, and the way its operators restart it. */
export interface RestartingServer {
  readonly name: string;
  readonly program: string;
  /** Starts it on 127.0.0.1; `folder` is its own. */
  readonly args: (port: number, folder: string) => readonly string[];
  /** The signal by which it replaces its workers itself; one without is ended and started again. */
  readonly signal?: NodeJS.Signals;
}

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
    program: process.execPath,
    args: (port, folder) => [written(folder, 'server.cjs', NODE_APP), String(port)],
  },
  {
    name: 'nginx, reloaded',
    program: 'nginx',
    args: (port, folder) => ['-p', folder, '-c', written(folder, 'nginx.conf', nginxStatic(port, folder))],
    signal: 'SIGHUP',
  },
  {
    name: 'uvicorn, ended and started',
    program: 'uvicorn',
    args(port, folder) {
      written(folder, 'app.py', PYTHON_APP);
      const quiet = ['--log-level', 'warning', '--no-access-log'];
      return ['--app-dir', folder, '--port', String(port), ...quiet, 'app:app'];
    },
  },
  {
    name: 'gunicorn + uvicorn, HUP',
    program: 'gunicorn',
    args(port, folder) {
      written(folder, 'app.py', PYTHON_APP);
      const workers = ['-w', '2', '-k', 'uvicorn.workers.UvicornWorker', '--log-level', 'error'];
      return [...workers, '--chdir', folder, '-b', `127.0.0.1:${port}`, 'app:app'];
    },
    signal: 'SIGHUP',
  },
  {
    name: 'Puma, phased restart',
    program: 'puma',
    args(port, folder) {
      const app = written(folder, 'config.ru', RACK_APP);
      return ['-q', '-w', '2', '-t', '4:4', '-b', `tcp://127.0.0.1:${port}`, app];
    },
    signal: 'SIGUSR1',
  },
];

function written(folder: string, name: string, text: string): string {
  const file = join(folder, name);
  writeFileSync(file, text);
  return file;
}

function nginxStatic(port: number, folder: string): string {
  return `daemon off; worker_processes 2; pid ${folder}/pid; error_log /dev/null;
events {}
http {
  access_log off; ${nginxPaths(folder)}
  server { listen 127.0.0.1:${port} reuseport; default_type application/json; location / { return 200 '{"data":{}}'; } }
}
`;
}
