import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { found } from '../peers/peer.ts';
import { type Server, startEnded, startReplaced } from './server.ts';

const here = fileURLToPath(new URL('.', import.meta.url));

/** The servers that V2 may be made of, each restarted in the way of those who run it. */
export const servers: readonly Server[] = [
  {
    name: 'Node, 700 ms down',
    missing: () => undefined,
    start: (port) =>
      startEnded(
        { file: process.execPath, args: [join(here, 'node-server.ts'), String(port)] },
        port,
        'SIGTERM',
        700,
      ),
  },
  {
    name: 'Node, killed',
    missing: () => undefined,
    start: (port) =>
      startEnded(
        { file: process.execPath, args: [join(here, 'node-server.ts'), String(port)] },
        port,
        'SIGKILL',
        0,
      ),
  },
  {
    name: 'nginx, stopped and started',
    missing: () => lacks('nginx'),
    start: (port, folder) => startEnded(nginx(port, folder), port, 'SIGQUIT', 0),
  },
  {
    name: 'nginx, HUP',
    missing: () => lacks('nginx'),
    start: (port, folder) => startReplaced(nginx(port, folder), port, 'SIGHUP', 1000),
  },
  {
    name: 'uvicorn, stopped and started',
    missing: () => lacks('uvicorn'),
    start: (port) =>
      startEnded(
        {
          file: found('uvicorn') ?? '',
          args: ['app:app', '--port', String(port), '--no-access-log', '--log-level', 'critical'],
          cwd: here,
          env: PYTHON,
        },
        port,
        'SIGTERM',
        0,
      ),
  },
  {
    name: 'gunicorn with uvicorn workers, HUP',
    missing: () => lacks('gunicorn') ?? lacks('uvicorn'),
    start: (port) =>
      startReplaced(
        {
          file: found('gunicorn') ?? '',
          args: [
            'app:app',
            '-w',
            '2',
            '-k',
            'uvicorn.workers.UvicornWorker',
            '-b',
            `127.0.0.1:${port}`,
            '--log-level',
            'critical',
          ],
          cwd: here,
          env: PYTHON,
        },
        port,
        'SIGHUP',
        2000,
      ),
  },
  {
    name: 'Puma, phased restart',
    missing: () => lacks('puma'),
    start: (port) =>
      startReplaced(
        {
          file: found('puma') ?? '',
          args: ['-w', '2', '-t', '16:16', '-b', `tcp://127.0.0.1:${port}`, '--silent', 'config.ru'],
          cwd: here,
          env: { RACK_ENV: 'production' },
        },
        port,
        'SIGUSR1',
        3000,
      ),
  },
];

/** No compiled files beside the source. */
const PYTHON = { PYTHONDONTWRITEBYTECODE: '1' };

function lacks(name: string): string | undefined {
  return found(name) === undefined ? name : undefined;
}

function nginx(port: number, folder: string): { readonly file: string; readonly args: readonly string[] } {
  const file = join(folder, 'nginx.conf');
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'];
  writeFileSync(
    file,
    `daemon off; worker_processes 2; pid ${folder}/pid; error_log stderr crit;
events { worker_connections 1024; }
http {
  access_log off; ${temporary.map((name) => `${name}_temp_path ${folder}/${name};`).join(' ')}
  server {
    listen 127.0.0.1:${port};
    location / { default_type application/json; return 200 '{"data":{"id":"$http_x_id"}}'; }
  }
}
`,
  );
  return { file: found('nginx') ?? '', args: ['-c', file, '-p', folder] };
}
