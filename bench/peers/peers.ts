import { express, fastify, gateway, hono } from './node-peers.ts';
import { nginx, nginxJs, nginxLua } from './nginx-peers.ts';
import type { Peer } from './peer.ts';
import { caddy, haproxy } from './plain-peers.ts';

/** Everything that the gateway is measured beside, and the gateway. */
export const peers: readonly Peer[] = [
  gateway,
  nginx,
  nginxLua,
  nginxJs,
  haproxy,
  caddy,
  fastify,
  express,
  hono,
];
