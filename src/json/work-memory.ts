/** The memory that work on one text may use. */
export interface WorkMemory {
  /** Reserves bytes; false when they do not fit, and the work must stop. */
  readonly take: (bytes: number) => boolean;
  /** Returns memory of at least so many bytes for the result; without it, the result has new memory. */
  readonly room?: ((bytes: number) => Uint8Array) | undefined;
}

/** Memory without a limit, for work that clients cannot cause. */
export const unlimitedMemory: WorkMemory = { take: () => true };
