import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { found, type Peer } from './peer.ts';

/** HAProxy with one thread. */
export const haproxy: Peer = {
  name: 'HAProxy',
  works: ['pass'],
  hasTls: true,
  missing: () => (found('haproxy') === undefined ? 'haproxy' : undefined),
  command({ port, upstream, folder, clientTls, upstreamCa }) {
    const file = join(folder, 'haproxy.cfg');
    const pem = join(folder, 'haproxy.pem');
    if (clientTls !== undefined)
      writeFileSync(pem, `${readFileSync(clientTls.cert, 'utf8')}${readFileSync(clientTls.key, 'utf8')}`);
    writeFileSync(
      file,
      `global
  nbthread 1
  maxconn 4096
defaults
  mode http
  timeout connect 5s
  timeout client 600s
  timeout server 600s
  option http-keep-alive
  http-reuse always
frontend clients
  bind 127.0.0.1:${port}${clientTls === undefined ? '' : ` ssl crt ${pem} alpn h2,http/1.1`}
  default_backend v2
backend v2
  server v2 127.0.0.1:${upstream}${upstreamCa === undefined ? '' : ` ssl verify required ca-file ${upstreamCa}`}
`,
    );
    return { file: found('haproxy') ?? 'haproxy', args: ['-db', '-f', file] };
  },
};

/** Caddy with one processor. */
export const caddy: Peer = {
  name: 'Caddy',
  works: ['pass'],
  hasTls: false,
  missing: () => (found('caddy') === undefined ? 'caddy' : undefined),
  command({ port, upstream, folder }) {
    const file = join(folder, 'Caddyfile');
    writeFileSync(
      file,
      `{
  admin off
  auto_https off
}
http://127.0.0.1:${port}, http://gateway.test:${port} {
  bind 127.0.0.1
  reverse_proxy 127.0.0.1:${upstream}
}
`,
    );
    return {
      file: found('caddy') ?? 'caddy',
      args: ['run', '--adapter', 'caddyfile', '--config', file],
      env: { GOMAXPROCS: '1', HOME: folder, XDG_DATA_HOME: folder, XDG_CONFIG_HOME: folder },
    };
  },
};
