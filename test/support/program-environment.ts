import { tmpdir } from 'node:os';
import { fileURLToPath } from 'node:url';

/**
 * Environment of processes that run the sources, without the settings in the environment of the tests. Their code is
 * stripped of types and compiled once for all of them: without the cache every start takes 0.8 s of processor time, with it 0.3 s.
 */
export const PROGRAM_ENVIRONMENT = {
  PATH: process.env['PATH'] ?? '',
  TMPDIR: tmpdir(),
  NODE_COMPILE_CACHE: fileURLToPath(new URL('../../node_modules/.cache/compile', import.meta.url)),
} as const;
