const MEBIBYTE = 2 ** 20;

/** Bytes that parts of the gateway may hold where the operator says nothing. */
export interface MemoryShares {
  /** Of bodies under way, in every copy. */
  readonly bufferBytes: number;
  /** Of exchanges kept for the inspector. */
  readonly captureBytes: number;
}

/**
 * Divides the memory there is, such as the limit of a container in bytes: a quarter for bodies, a sixteenth for the inspector, and
 * never more than 256 and 64 MiB. The rest is for the runtime, and for what is free but not collected yet. `processes` share it.
 */
export function memoryShares(limit: number = Number.POSITIVE_INFINITY, processes = 1): MemoryShares {
  return {
    bufferBytes: Math.min(256 * MEBIBYTE, Math.floor(limit / 4 / processes)),
    captureBytes: Math.min(64 * MEBIBYTE, Math.floor(limit / 16)),
  };
}
