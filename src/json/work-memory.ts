/** The memory that work on one text may use. */
export interface WorkMemory {
  /** Reserves bytes; false when they do not fit, and the work must stop. */
  take(bytes: number): boolean;
}

/** Memory without a limit, for work that clients cannot cause. */
export const unlimitedMemory: WorkMemory = { take: () => true };
