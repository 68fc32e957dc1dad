let waiting: (() => void)[] = [];

/**
 * Runs a function once all sockets that can be read in this turn of the event loop have been; one that is added meanwhile runs right
 * after.
 */
export function afterReads(run: () => void): void {
  if (waiting.length === 0) setImmediate(runAll);
  waiting.push(run);
}

function runAll(): void {
  // Those that are added meanwhile are part of it.
  for (const run of waiting) {
    try {
      run();
    } catch (error) {
      throwLater(error);
    }
  }
  waiting = [];
}

/** Throws an error in a turn of its own: it keeps nothing else from running. */
export function throwLater(error: unknown): void {
  setImmediate(() => {
    throw error;
  });
}
