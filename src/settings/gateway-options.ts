import type { AddressRange } from '../http/address-range.ts';
import type { ForwardedMode } from '../http/forwarded.ts';
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
  /** Bytes held for rewriting, all requests together. */
  readonly bufferBytes: number;
  /** Bytes of a body to rewrite; undefined leaves it to the rule book. */
  readonly bodyLimit: number | undefined;
  readonly forwarded: ForwardedMode;
  /** Upstream failures in a row that open the circuit; 0 never opens it. */
  readonly breakerFailures: number;
  readonly breakerOpenMs: number;
}

/** Reads the gateway's options from the settings, for Node and the edge alike. */
export function gatewayOptions(settings: Settings): GatewayOptions {
  return {
    count: settings.get(table.headerCount),
    bytes: settings.get(table.headerBytes),
    trustedProxies: settings.get(table.trustedProxies),
    maxInFlight: settings.get(table.maxInFlight),
    bufferBytes: settings.get(table.bufferBytes),
    bodyLimit: settings.get(table.bodyLimit),
    forwarded: settings.get(table.forwarded),
    breakerFailures: settings.get(table.breaker) ? settings.get(table.breakerFailures) : 0,
    breakerOpenMs: settings.get(table.breakerOpen),
  };
}
