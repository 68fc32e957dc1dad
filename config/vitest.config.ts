import { defineConfig } from 'vitest/config';

export default defineConfig({
  root: new URL('..', import.meta.url).pathname,
  test: {
    include: ['test/**/*.test.ts'],
    setupFiles: ['test/support/overwritten-memory.ts'],
    pool: 'forks',
    // For what hangs, and for nothing else: a machine may be several times slower, or stand still for a while.
    testTimeout: 120_000,
    hookTimeout: 120_000,
    expect: { poll: { timeout: 60_000 } },
    // Two cores, shared: more workers only make the socket tests wait for each other.
    maxWorkers: 2,
  },
});
