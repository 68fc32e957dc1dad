/**
 * The program that tests start in a separate process, relative to the root of the checkout. They take the path from here: a file that
 * is spawned is no import, and `npm run test:changed` would not know that these tests depend on it.
 */
export const PROGRAM = imported('src/cli/main.ts', () => import('../../src/cli/main.ts'));

/** Never called: its existence makes the module one that tests depend on. */
function imported(path: string, _load: () => Promise<unknown>): string {
  return path;
}
