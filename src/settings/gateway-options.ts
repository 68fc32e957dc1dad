import type { AddressRange } from '../http/address-range.ts';
import type { ForwardedMode } from '../http/forwarded.ts';
import type { MemoryShares } from './memory-shares.ts';
import type { Settings } from './read-settings.ts';
import { settings as table } from './settings.ts';

/** The operator's limits and choices that apply on every runtime. */
export interface GatewayOptions {
  /** Maximum number of header fields. */
  readonly count: number;
  /** Maximum bytes of a header section. */
  readonly bytes: number;
  readonly trustedProxies: readonly AddressRange[];
  readonly maxInFlight: number;
  /** Minimum bytes per second at which a client must read a response; 0 is no minimum. */
  readonly minDataRate: number;
  /** Maximum bytes held for rewriting, all requests together. */
  readonly bufferBytes: number;
  /** Maximum bytes of a body to rewrite; undefined uses the rule book's limit. */
  readonly bodyLimit: number | undefined;
  readonly forwarded: ForwardedMode;
  /** The pseudonym of the gateway in `Via`; empty where there is no such field. */
  readonly via: string;
  /** Number of consecutive upstream failures that open the circuit; 0 never opens it. */
  readonly breakerFailures: number;
  readonly breakerOpenMs: number;
  /** Path at which a client gets its own report; undefined where none is given. */
  readonly selfService?: string | undefined;
  /** The same path, where responses to V1 clients point to it. */
  readonly selfServiceLink?: string | undefined;
}

/** Reads the gateway's options from the settings, for Node and the edge alike; `shares` are the defaults of unset ones. */
export function gatewayOptions(
  settings: Settings,
  shares: Pick<MemoryShares, 'bufferBytes'>,
): GatewayOptions {
  const selfService = settings.get(table.selfService) ? settings.get(table.selfServicePath) : undefined;
  return {
    selfService,
    selfServiceLink: settings.get(table.selfServiceLink) ? selfService : undefined,
    count: settings.get(table.headerCount),
    bytes: settings.get(table.headerBytes),
    trustedProxies: settings.get(table.trustedProxies),
    maxInFlight: settings.get(table.maxInFlight),
    minDataRate: settings.get(table.minDataRate),
    bufferBytes: settings.get(table.bufferBytes) ?? shares.bufferBytes,
    bodyLimit: settings.get(table.bodyLimit),
    forwarded: settings.get(table.forwarded),
    via: settings.get(table.via),
    breakerFailures: settings.get(table.breaker) ? settings.get(table.breakerFailures) : 0,
    breakerOpenMs: settings.get(table.breakerOpen),
  };
}
