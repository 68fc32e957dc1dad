import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { found, type Peer } from './peer.ts';

/** HAProxy with one thread, and its defaults: three tries, a second apart, and connections that are kept. */
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
  timeout client 60s
  timeout server 60s
  option http-keep-alive
  http-reuse safe
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
