import { performance } from 'node:perf_hooks';
import { setTimeout as pause } from 'node:timers/promises';
import type { Hono } from 'hono';
import { Gateway } from '../gateway/gateway.ts';
import type { GatewayParts } from '../gateway/gateway-context.ts';
import { OTHER_MODES } from '../gateway/v1/other-modes.ts';
import { type OpenSubscriber, SignedWebhooks } from '../gateway/webhooks.ts';
import {
  connectionDrainTime,
  drainDelay,
  gatewayOptions,
  memoryShares,
  type Settings,
} from '../settings/read-settings.ts';
import type { Replica } from '../rollout/replica.ts';
import type { SharedState } from '../rollout/shared-state.ts';
import { RolloutControl } from '../rollout/rollout-control.ts';
import { settings as table } from '../settings/settings.ts';
import type { OriginSetting } from '../settings/setting-kinds.ts';
import { onCheckPhase } from './fair-turns.ts';
import { BodyMemory } from './body-memory.ts';
import { connectionLimits, openFilesLimit } from './connection-limits.ts';
import { createAdminServer } from './admin/admin-server.ts';
import { type ClientListener, listen } from './clients/listen.ts';
import { createClientHash, hashBody, memoryLimit, randomHex, randomUuids } from './runtime.ts';
import { type PrivatePart, probe } from './node-internals.ts';
import { decodeBody, encodeBody, openDecoder, peekBody } from './decode-body.ts';
import { GatewayServer } from './clients/server.ts';
import { TicketKeys } from './clients/ticket-keys.ts';
import { type RuleBooks, secretReader } from './rule-books.ts';
import type { TlsTexts } from './files.ts';
import { DescriptionThread } from './threads/operator-thread.ts';
import { TransformThreads } from './threads/transform-thread.ts';
import { ThreadedRewriter } from './threads/threaded-rewriter.ts';
import { createSocketUpstream } from './upstream/pool.ts';
import type { NodeUpstream, UpstreamOptions } from './upstream/origin.ts';

export interface NodeGatewayParts extends Pick<
  GatewayParts,
  'v2Schemas' | 'record' | 'observer' | 'ownReport' | 'onNotice' | 'onUnexpectedError'
> {
  readonly settings: Settings;
  readonly ruleBooks: RuleBooks;
  /** V2's origin: from the settings, or the embedded reference. */
  readonly origin: OriginSetting;
  /** V1's origin, if some traffic goes there. */
  readonly v1Origin?: OriginSetting | undefined;
  /** Routes V1 traffic; without it, the rule book's modes do. */
  readonly rollout?: RolloutControl | undefined;
  /** The state shared with other processes; absent if this process is alone. */
  readonly store?: SharedState | undefined;
  /** This gateway among those that share a store. */
  readonly replica?: Replica | undefined;
  readonly clientSecret: string;
  /** PEM texts for TLS to V2. */
  readonly upstreamTls: TlsTexts | undefined;
  readonly clientTls: TlsTexts | undefined;
  /** Contains the webhook secrets. */
  readonly environment?: Readonly<Record<string, string | undefined>> | undefined;
  /** The listener for clients, if it is not a server in this process. */
  readonly front?: ClientListener | undefined;
  /** True in a worker process, which shares the port and has no admin listener. */
  readonly isWorker?: boolean | undefined;
  /** Routes of the admin listener in addition to health. */
  readonly admin?: ((gateway: Gateway, rollout: RolloutControl) => Hono) | undefined;
}

/** A listening gateway. */
export interface RunningGateway {
  readonly gateway: Gateway;
  readonly rollout: RolloutControl;
  readonly server: ClientListener;
  /** Such as `http://127.0.0.1:8080`. */
  readonly origin: string;
  readonly adminOrigin: string;
  /** Private parts that this Node lacks; empty in a worker process, since the first process reports them. */
  readonly missingInternals: readonly PrivatePart[];
  /** Uses these PEM texts for new connections to V2, and their authorities for those to V1. */
  renewUpstream(tls: TlsTexts): void;
  /** Hashes API keys with this secret from now on. */
  renewClientSecret(secret: string): void;
  /** Stops accepting, finishes requests in flight within the drain time, and closes everything. */
  stop(): Promise<void>;
}

/** Milliseconds beyond all limits after which the watchdog ends an exchange. */
const WATCHDOG_SLACK_MS = 60_000;

/** Milliseconds that a start waits for the TLS ticket keys in the store. */
const TICKETS_MS = 500;

/** Starts a gateway; rejects when it cannot listen on an address. */
export async function startGateway(parts: NodeGatewayParts): Promise<RunningGateway> {
  const { settings } = parts;
  const upstream = upstreamOf(parts, parts.origin, parts.upstreamTls);
  const v1 = parts.v1Origin && {
    origin: parts.v1Origin,
    upstream: upstreamOf(parts, parts.v1Origin, v1Tls(parts.upstreamTls)),
  };
  const subscribers: NodeUpstream[] = [];
  const rewriter = new ThreadedRewriter();
  const transforms = new TransformThreads();
  parts.ruleBooks.prepare = transforms.warm;
  const memory = new BodyMemory();
  let clientHash = createClientHash(parts.clientSecret);
  // With the system's authorities: those configured for V2 are not for subscribers.
  const subscriber: OpenSubscriber = (address) => {
    const made = upstreamOf(parts, { origin: address, path: '', socketPath: undefined }, undefined);
    subscribers.push(made);
    return { upstream: made, path: '', hosts: [] };
  };
  const rollout = parts.rollout ?? new RolloutControl({ time: Date.now, onNotice: () => {} });
  const gateway = gatewayOf(parts, upstream, v1, {
    rollout,
    rewriter,
    transform: transforms.run,
    bodyMemory: memory,
    clientOf: (authorization) => clientHash(authorization),
    webhooks: new SignedWebhooks(secretReader(parts.environment ?? {}), subscriber),
  });
  parts.replica?.share({
    queue: gateway.rateLimitQueue,
    shieldOf: () => parts.ruleBooks.current.ruleBook.rollout?.shield,
    counts: [gateway.knownClients],
  });
  let listening = false;
  let watchdog: NodeJS.Timeout | undefined;
  const server: ClientListener = parts.front ?? serverOf(parts, gateway, memory);
  // A worker gets its keys from the first process.
  const tickets =
    parts.clientTls === undefined || parts.isWorker
      ? undefined
      : new TicketKeys(parts.store, Date.now, (keys) => server.useTicketKeys?.(keys));
  const admin = createAdminServer({
    ready: () => listening && !server.draining,
    aloneSince: () => parts.replica?.status.aloneSince,
    mounted: parts.admin?.(gateway, rollout),
  });
  const adminOrigin = parts.isWorker ? '' : await listen(admin, settings.get(table.adminListen), 'http');
  try {
    await transforms.warm(parts.ruleBooks.current.ruleBook);
    // An unreachable store must not keep clients waiting.
    await Promise.race([tickets?.look(), pause(TICKETS_MS)]);
    const origin = await server.listen(settings.get(table.listen));
    listening = true;
    watchdog = watch(gateway, settings);
    const missingInternals = parts.isWorker ? [] : probe(admin);
    return {
      gateway,
      rollout,
      server,
      origin,
      adminOrigin,
      missingInternals,
      renewUpstream,
      renewClientSecret,
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }

  function renewUpstream(tls: TlsTexts): void {
    upstream.renew(tls);
    v1?.upstream.renew(v1Tls(tls));
    server.renewUpstream?.(tls);
  }

  function renewClientSecret(secret: string): void {
    clientHash = createClientHash(secret);
    server.renewClientSecret?.(secret);
  }

  async function stop(): Promise<void> {
    clearInterval(watchdog);
    tickets?.close();
    if (listening) await server.drain(connectionDrainTime(settings.get(table.drain)));
    await Promise.all([upstream, v1?.upstream, ...subscribers].map(async (origin) => origin?.close()));
    rewriter.close();
    transforms.close();
    // The last connections emit `close` in the turn after the server's.
    await new Promise((resolve) => {
      setImmediate(resolve);
    });
    gateway.recordQueue.flush();
    admin.close();
    admin.closeAllConnections();
  }
}

/** Starts checking for exchanges older than all limits together. If one of the limits is off, an old exchange may be healthy. */
function watch(gateway: Gateway, settings: Settings): NodeJS.Timeout | undefined {
  const limits = [
    table.clientBodyTimeout,
    table.upstreamConnectTimeout,
    table.upstreamHeadersTimeout,
    table.upstreamBodyTimeout,
  ].map((setting) => settings.get(setting));
  if (limits.includes(0)) return undefined;
  const limitMs = limits.reduce((sum, limit) => sum + limit, WATCHDOG_SLACK_MS);
  const check = (): void => void gateway.watchdog.check(performance.now(), limitMs);
  return setInterval(() => onCheckPhase(check), limitMs / 8).unref();
}

function serverOf(
  { settings, clientTls, isWorker }: NodeGatewayParts,
  gateway: Gateway,
  memory: BodyMemory,
): GatewayServer {
  const { clients } = connectionLimits(settings, openFilesLimit());
  return new GatewayServer(gateway, {
    memory,
    headerBytes: settings.get(table.headerBytes),
    headerCount: settings.constants.headerCount,
    headersTimeout: settings.get(table.clientHeadersTimeout),
    bodyTimeout: settings.get(table.clientBodyTimeout),
    idleTimeout: settings.get(table.idleTimeout),
    minDataRate: settings.get(table.minDataRate),
    minDataRateGrace: settings.constants.minDataRateGrace,
    drainDelay: drainDelay(settings),
    connections: clients,
    proxyProtocol: settings.get(table.proxyProtocol),
    trustedProxies: settings.get(table.trustedProxies),
    tls: clientTls,
    reusePort: isWorker,
  });
}

/** The authorities for V1's certificate. The client certificate for V2 is sent to no other server. */
function v1Tls(upstreamTls: TlsTexts | undefined): TlsTexts | undefined {
  return upstreamTls?.ca === undefined ? undefined : { ca: upstreamTls.ca };
}

function upstreamOf(
  parts: NodeGatewayParts,
  origin: OriginSetting,
  upstreamTls: TlsTexts | undefined,
): NodeUpstream {
  const { settings } = parts;
  const isV2 = origin === parts.origin;
  return createSocketUpstream({
    origin: origin.origin,
    connections: connectionLimits(settings, openFilesLimit()).upstream,
    connectTimeout: settings.get(table.upstreamConnectTimeout),
    headersTimeout: settings.get(table.upstreamHeadersTimeout),
    bodyTimeout: settings.get(table.upstreamBodyTimeout),
    headerBytes: settings.get(table.upstreamHeaderBytes),
    headerCount: settings.constants.upstreamHeaderCount,
    isLenient: !isV2,
    needsCloseNotify: origin.sendsCloseNotify !== false,
    idleTimeout: settings.get(table.upstreamIdleTimeout),
    maxAge: settings.get(table.upstreamMaxAge),
    waiting: waitingLimits(parts),
    socketPath: origin.socketPath,
    host: isV2 ? settings.get(table.upstreamHost) : undefined,
    sni: isV2 ? settings.get(table.upstreamSni) : undefined,
    tls: upstreamTls,
  });
}

/** Limits on requests that wait for an unreachable service: with two services, each gets a part. */
function waitingLimits({ settings, v1Origin }: NodeGatewayParts): UpstreamOptions['waiting'] {
  const share = v1Origin === undefined ? 1 : 0.5;
  return {
    count: Math.ceil(settings.get(table.maxInFlight) * share),
    bytes: Math.ceil(gatewayOptions(settings, memoryShares(memoryLimit())).bufferBytes * share),
  };
}

function gatewayOf(
  parts: NodeGatewayParts,
  upstream: NodeUpstream,
  v1: { readonly origin: OriginSetting; readonly upstream: NodeUpstream } | undefined,
  own: Pick<GatewayParts, 'rollout' | 'rewriter' | 'transform' | 'bodyMemory' | 'clientOf' | 'webhooks'>,
): Gateway {
  const { settings, ruleBooks } = parts;
  return new Gateway(
    {
      rules: () => ruleBooks.current,
      v2: {
        upstream,
        path: parts.origin.path,
        // The host in requests to V2, and the host of its address.
        hosts: [settings.get(table.upstreamHost), new URL(parts.origin.origin).host].filter(
          (host) => host !== undefined,
        ),
      },
      v1: v1 && { upstream: v1.upstream, path: v1.origin.path, hosts: [new URL(v1.origin.origin).host] },
      v2Schemas: parts.v2Schemas,
      record: parts.record,
      observer: parts.observer,
      ...NODE_PARTS,
      ...own,
      encode: settings.get(table.responseCoding) === 'keep' ? encodeBody : undefined,
      ownReport: parts.ownReport,
      describe: new DescriptionThread().describe,
      after: (milliseconds, run) => {
        setTimeout(run, milliseconds);
      },
      random: () => Math.random(),
      onNotice: parts.onNotice,
      onUnexpectedError: parts.onUnexpectedError,
    },
    gatewayOptions(settings, memoryShares(memoryLimit())),
    OTHER_MODES,
  );
}

/** Parts that are the same for every gateway on Node. */
export const NODE_PARTS = {
  now: () => performance.now(),
  time: () => Date.now(),
  newRequestId: randomUuids(),
  newTraceHex: randomHex(24),
  decode: decodeBody,
  hash: hashBody,
  openDecoder,
  peek: peekBody,
  onCheckPhase,
} as const satisfies Partial<GatewayParts>;
