import { randomBytes, randomUUID } from 'node:crypto';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Hono } from 'hono';
import { Gateway } from '../gateway/gateway.ts';
import type { Settings } from '../gateway/read-settings.ts';
import { settings as table } from '../gateway/settings.ts';
import type { ListenAddress, OriginSetting } from '../gateway/setting-kinds.ts';
import { entryLine } from '../rewrite-log/entry-line.ts';
import type { Entry } from '../rewrite-log/entry.ts';
import type { Observer } from '../rewrite-log/observer.ts';
import { createAdminServer } from './admin-server.ts';
import { createClientHash } from './client-hash.ts';
import { decodeBody } from './decode-body.ts';
import { drainServer } from './drain-server.ts';
import { createGatewayServer } from './gateway-server.ts';
import type { LogSink } from './log-sink.ts';
import type { RuleBooks } from './rule-books.ts';
import { createUndiciUpstream, type UndiciUpstream } from './undici-upstream.ts';

/** What a gateway on Node is made of. */
export interface NodeGatewayParts {
  readonly settings: Settings;
  readonly ruleBooks: RuleBooks;
  /** V2: the one of the settings, or the embedded reference. */
  readonly origin: OriginSetting;
  readonly clientSecret: string;
  readonly sink: LogSink;
  /** PEM texts for TLS to V2. */
  readonly upstreamTls: { readonly ca?: string; readonly cert?: string; readonly key?: string } | undefined;
  /** Told of bugs. */
  readonly surprised: (error: unknown) => void;
  readonly observer?: Observer | undefined;
  /** Routes of the admin listener beside health. */
  readonly admin?: ((gateway: Gateway) => Hono) | undefined;
}

/** A gateway that listens. */
export interface RunningGateway {
  readonly gateway: Gateway;
  readonly server: Server;
  /** Such as `http://127.0.0.1:8080`. */
  readonly origin: string;
  readonly adminOrigin: string;
  /** Stops accepting, finishes what is in flight within the drain time, and closes everything. */
  stop(): Promise<void>;
}

/** Starts a gateway; rejects when an address cannot be listened on. */
export async function startGateway(parts: NodeGatewayParts): Promise<RunningGateway> {
  const { settings } = parts;
  const upstream = upstreamOf(parts);
  const gateway = gatewayOf(parts, upstream);
  let draining = false;
  let listening = false;
  const server = createGatewayServer(gateway, {
    headerBytes: settings.get(table.headerBytes),
    headersTimeout: settings.get(table.clientHeadersTimeout),
    bodyTimeout: settings.get(table.clientBodyTimeout),
    idleTimeout: settings.get(table.idleTimeout),
    requestTimeout: settings.get(table.clientRequestTimeout),
    draining: () => draining,
  });
  const admin = createAdminServer({ ready: () => listening && !draining, mounted: parts.admin?.(gateway) });
  const adminOrigin = await listen(admin, settings.get(table.adminListen));
  const origin = await listen(server, settings.get(table.listen));
  listening = true;

  async function stop(): Promise<void> {
    draining = true;
    await drainServer(server, settings.get(table.drain));
    await upstream.close();
    admin.close();
    admin.closeAllConnections();
  }

  return { gateway, server, origin, adminOrigin, stop };
}

function upstreamOf({ settings, origin, upstreamTls }: NodeGatewayParts): UndiciUpstream {
  return createUndiciUpstream({
    origin: origin.origin,
    connections: settings.get(table.upstreamConnections),
    connectTimeout: settings.get(table.upstreamConnectTimeout),
    headersTimeout: settings.get(table.upstreamHeadersTimeout),
    bodyTimeout: settings.get(table.upstreamBodyTimeout),
    headerBytes: settings.get(table.headerBytes),
    headerCount: settings.get(table.headerCount),
    tls: upstreamTls,
  });
}

function gatewayOf(parts: NodeGatewayParts, upstream: UndiciUpstream): Gateway {
  const { settings, ruleBooks, sink } = parts;
  const logged = levelFilter(settings.get(table.logLevel));
  return new Gateway(
    {
      inForce: () => ruleBooks.current,
      upstream,
      originPath: parts.origin.path,
      record: (entry) => {
        if (logged(entry)) sink.write(entryLine(entry));
      },
      observer: parts.observer,
      now: () => performance.now(),
      time: () => Date.now(),
      newRequestId: () => randomUUID(),
      newTraceHex: randomHex(24),
      clientOf: createClientHash(parts.clientSecret),
      decode: decodeBody,
      after: (milliseconds, run) => {
        setTimeout(run, milliseconds);
      },
      random: () => Math.random(),
      surprised: parts.surprised,
    },
    {
      count: settings.get(table.headerCount),
      bytes: settings.get(table.headerBytes),
      trustedProxies: settings.get(table.trustedProxies),
      maxInFlight: settings.get(table.maxInFlight),
      bufferBytes: settings.get(table.bufferBytes),
      bodyLimit: settings.get(table.bodyLimit),
      forwarded: settings.get(table.forwarded),
      breakerFailures: settings.get(table.breaker) ? settings.get(table.breakerFailures) : 0,
      breakerOpenMs: settings.get(table.breakerOpen),
    },
  );
}

const severities = { info: 0, warn: 1, error: 2, silent: 3 } as const;

function levelFilter(lowest: keyof typeof severities): (entry: Entry) => boolean {
  const from = severities[lowest];
  return (entry) => severities[entry.level] >= from;
}

/** Random hex digits for `bytes` bytes, taken from a pool: one call of the system's generator serves many. */
function randomHex(bytes: number): () => string {
  let pool = '';
  let at = 0;
  return () => {
    if (at + bytes * 2 > pool.length) {
      pool = randomBytes(bytes * 256).toString('hex');
      at = 0;
    }
    at += bytes * 2;
    return pool.slice(at - bytes * 2, at);
  };
}

function listen(server: Server, { host, port }: ListenAddress): Promise<string> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen({ host, port, backlog: 1024 }, () => {
      server.off('error', reject);
      resolve(originOf(server.address(), 'http'));
    });
  });
}

function originOf(bound: AddressInfo | string | null, scheme: string): string {
  if (bound === null || typeof bound === 'string') return '';
  return `${scheme}://${bound.address.includes(':') ? `[${bound.address}]` : bound.address}:${bound.port}`;
}
