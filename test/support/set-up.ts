import nodeModule from 'node:module';
import fc from 'fast-check';
import { afterAll, beforeEach } from 'vitest';
import { fuzzRuns } from './fuzz.ts';
import './overwritten-memory.ts';
import { removeTemporaryFolders } from './temporary-folder.ts';
import { IS_CI, TOOLS } from './tools.ts';

// The slow tiers have several processes: they compile the modules once, into the run's folder. Deno, which runs the contract's
// tests, has no such cache.
if ('enableCompileCache' in nodeModule) nodeModule.enableCompileCache();

// Properties that name no number of runs.
fc.configureGlobal({ numRuns: fuzzRuns(100) });

afterAll(removeTemporaryFolders);

// Elsewhere the configuration skips such a test.
if (IS_CI)
  beforeEach(({ task }) => {
    for (const tag of task.tags ?? [])
      if (TOOLS[tag]?.isInstalled() === false)
        throw new Error(`${TOOLS[tag].name} is not installed; \`test/system.sh\` installs it.`);
  });
