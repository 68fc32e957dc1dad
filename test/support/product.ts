/**
 * The program that tests start in a process of its own, relative to the root of the checkout. Whoever starts it imports the path from
 * here: a spawned file is no import, and `npm run test:changed` would not know that these tests depend on it.
 */
export const PROGRAM = 'src/cli/main.ts';

/** Nobody calls it; the import is the dependency. */
export const loadProgram = (): Promise<unknown> => import('../../src/cli/main.ts');
