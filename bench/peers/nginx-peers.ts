import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Command, found, type Peer, type PeerPlace } from './peer.ts';

const MODULES = '/usr/lib/nginx/modules';

/** nginx as a plain proxy. */
export const nginx: Peer = {
  name: 'nginx proxy_pass',
  works: ['pass'],
  hasTls: true,
  missing: () => missing(),
  command: (place) => command(place, [], '', `location / { proxy_pass ${v2(place)}; }`),
};

/** nginx with Lua and cjson, as in Kong's request-transformer. */
export const nginxLua: Peer = {
  name: 'nginx + Lua + cjson',
  works: ['migrate'],
  hasTls: true,
  missing: () =>
    missing(
      ['ngx_http_lua_module.so', 'libnginx-mod-http-lua'],
      ['ndk_http_module.so', 'libnginx-mod-http-ndk'],
    ) ??
    (found(
      '/usr/lib/x86_64-linux-gnu/lua/5.1/cjson.so',
      '/usr/share/lua/5.1/cjson.so',
      '/usr/lib/aarch64-linux-gnu/lua/5.1/cjson.so',
    ) === undefined
      ? 'lua-cjson'
      : undefined),
  command(place) {
    writeFileSync(join(place.folder, 'migrate.lua'), LUA);
    return command(
      place,
      ['ndk_http_module.so', 'ngx_http_lua_module.so'],
      `lua_package_path '${place.folder}/?.lua;;'; init_by_lua_block { migrate = require 'migrate' }`,
      `location /api/v1/ { rewrite_by_lua_block { migrate() } proxy_pass ${v2(place)}; }`,
    );
  },
};

function missing(...needed: readonly (readonly [module: string, name: string])[]): string | undefined {
  if (found('nginx') === undefined) return 'nginx-full';
  return needed.find(([module]) => found(join(MODULES, module)) === undefined)?.[1];
}

/** The address of V2 as `proxy_pass` has it. */
function v2({ upstreamCa }: PeerPlace): string {
  return upstreamCa === undefined ? 'http://v2' : 'https://v2';
}

/** The directives for TLS: with clients, and with V2, whose connections are kept. */
function tlsOf({ clientTls, upstreamCa }: PeerPlace): string {
  return [
    ...(clientTls === undefined
      ? []
      : [
          `ssl_certificate ${clientTls.cert};`,
          `ssl_certificate_key ${clientTls.key};`,
          'ssl_protocols TLSv1.2 TLSv1.3;',
        ]),
    ...(upstreamCa === undefined
      ? []
      : [
          'proxy_ssl_verify on; proxy_ssl_name localhost; proxy_ssl_protocols TLSv1.2 TLSv1.3;',
          `proxy_ssl_trusted_certificate ${upstreamCa};`,
        ]),
  ].join(' ');
}

function command(place: PeerPlace, load: readonly string[], http: string, location: string): Command {
  const file = join(place.folder, 'nginx.conf');
  writeFileSync(
    file,
    `${load.map((module) => `load_module ${MODULES}/${module};`).join('\n')}
daemon off; worker_processes 1; pid ${place.folder}/pid; error_log stderr error;
events { worker_connections 16384; }
http {
  access_log off; keepalive_requests 100000000; keepalive_timeout 600s; client_body_buffer_size 2m; client_max_body_size 16m;
  ${nginxPaths(place.folder)}
  upstream v2 { server 127.0.0.1:${place.upstream}; keepalive 1024; keepalive_requests 100000000; }
  proxy_http_version 1.1; proxy_set_header Connection '';
  ${http}
  server { listen 127.0.0.1:${place.port}${place.clientTls === undefined ? '' : ' ssl http2'}; ${tlsOf(place)} ${location} }
}
`,
  );
  return { file: found('nginx') ?? 'nginx', args: ['-c', file, '-p', place.folder] };
}

/** The folders that nginx wants to write to, below one that it may. */
export function nginxPaths(folder: string): string {
  const kinds = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'];
  return kinds.map((kind) => `${kind}_temp_path ${folder}/${kind};`).join(' ');
}

const LUA = `
local cjson = require 'cjson'
local address = { 'street_address', 'suburb', 'state', 'postcode', 'country', 'latitude', 'longitude' }
return function()
  ngx.req.read_body()
  local body = cjson.decode(ngx.req.get_body_data())
  body = body.data or body
  local property = body.property
  if property then
    local nested = {}
    for _, name in ipairs(address) do nested[name] = property[name]; property[name] = nil end
    property.address = nested
  end
  body.highlight_type = body.transition_type
  body.transition_type = nil
  body.legacy = nil
  ngx.req.set_body_data(cjson.encode(body))
  ngx.req.set_header('x-api-version', '2025-01-01')
  ngx.req.set_uri('/api/v2/' .. string.sub(ngx.var.uri, 9))
end
`;
