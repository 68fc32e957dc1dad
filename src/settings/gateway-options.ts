import type { AddressRange } from '../http/address-range.ts';
import type { ForwardedMode } from '../http/forwarded.ts';
import type { MemoryShares } from './memory-shares.ts';
import type { Settings } from './read-settings.ts';
import { settings as table } from './settings.ts';

/** The limits and choices of the operator that hold on every runtime. */
export interface GatewayOptions {
  /** Fields of a header section. */
  readonly count: number;
  /** Bytes of a header section. */
  readonly bytes: number;
  readonly trustedProxies: readonly AddressRange[];
  readonly maxInFlight: number;
  /** Minimum bytes a second at which a client reads a response; 0 is no minimum. */
  readonly minDataRate: number;
  /** Bytes held for rewriting, all requests together. */
  readonly bufferBytes: number;
  /** Bytes of a body to rewrite; undefined leaves it to the rule book. */
  readonly bodyLimit: number | undefined;
  readonly forwarded: ForwardedMode;
  /** Upstream failures in a row that open the circuit; 0 never opens it. */
  readonly breakerFailures: number;
  readonly breakerOpenMs: number;
}

/** Reads the gateway's options from the settings, for Node and the edge alike; `shares` are what holds where they say nothing. */
export function gatewayOptions(
  settings: Settings,
  shares: Pick<MemoryShares, 'bufferBytes'>,
): GatewayOptions {
  return {
    count: settings.get(table.headerCount),
    bytes: settings.get(table.headerBytes),
    trustedProxies: settings.get(table.trustedProxies),
    maxInFlight: settings.get(table.maxInFlight),
    minDataRate: settings.get(table.minDataRate),
    bufferBytes: settings.get(table.bufferBytes) ?? shares.bufferBytes,
    bodyLimit: settings.get(table.bodyLimit),
    forwarded: settings.get(table.forwarded),
    breakerFailures: settings.get(table.breaker) ? settings.get(table.breakerFailures) : 0,
    breakerOpenMs: settings.get(table.breakerOpen),
  };
}
