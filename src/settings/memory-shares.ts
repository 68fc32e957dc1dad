const MEBIBYTE = 2 ** 20;

/**
 * Copies of a body in memory while it is rewritten: the received one and the rewritten one. Room for both is reserved together,
 * so that no body is accepted whose rewritten form does not fit.
 */
export const REWRITING_COPIES = 2;

/** Default memory limits of parts of the gateway, in bytes. */
export interface MemoryShares {
  /** For bodies in flight, counting every copy. */
  readonly bufferBytes: number;
  /** For exchanges kept for the inspector. */
  readonly captureBytes: number;
}

/**
 * Divides the available memory, such as the limit of a container in bytes: a quarter for bodies, a sixteenth for the inspector,
 * and at most 256 and 64 MiB. The rest is for the runtime and for garbage that is not collected yet. `processes` share the memory
 * for bodies.
 */
export function memoryShares(limit: number = Number.POSITIVE_INFINITY, processes = 1): MemoryShares {
  return {
    bufferBytes: Math.min(256 * MEBIBYTE, Math.floor(limit / 4 / processes)),
    captureBytes: Math.min(64 * MEBIBYTE, Math.floor(limit / 16)),
  };
}
