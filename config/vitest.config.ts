import { delimiter } from 'node:path';
import { defineConfig, type TestProjectInlineConfiguration } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';
import { MissingTools } from '../test/support/missing-tools.ts';
import { IS_CI, TOOLS } from '../test/support/tools.ts';

const RUNTIMES = new URL('../test/node_modules/.bin', import.meta.url).pathname;

const TIERS = ['sockets', 'page', 'system'] as const;

type Tier = (typeof TIERS)[number];

/**
 * Folders of each tier but the fast one, which has the rest. A name wins over a folder: `metrics.system.test.ts` is of the tier
 * `system`, wherever it is. So each test is of one tier, and a new one of the fast tier unless its place or name says otherwise.
 */
const FOLDERS: Readonly<Record<Tier, readonly string[]>> = {
  sockets: ['attack', 'contract', 'gateway', 'node'],
  page: ['inspector/page'],
  system: ['bench', 'edge', 'release', 'runtime'],
};

const SHARED = {
  setupFiles: 'test/support/set-up.ts',
  // For what hangs, and for nothing else: a machine may be several times slower, or stand still for a while.
  testTimeout: 300_000,
  hookTimeout: 300_000,
  expect: { poll: { timeout: 60_000 } },
  // Node strips the types itself: modules that Vite transforms take a fifth longer.
  experimental: { viteModuleRunner: false },
} as const;

/** It waits for a minute and a half, and works for ten seconds of it: begun last, it would be waited for alone. */
const LONGEST = '/test/runtime/shared-totals.test.ts';

/** The order of vitest, by project and size, but for the file that takes longest: it comes first of all. */
class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId }: TestSpecification): number => (moduleId.endsWith(LONGEST) ? 0 : 1);
    return (await super.sort(files)).toSorted((one, other) => rank(one) - rank(other));
  }
}

export default defineConfig({
  root: new URL('..', import.meta.url).pathname,
  test: {
    // Two cores, shared. But for the page's, all tests wait for a third of their time and more: their commands ask for three.
    maxWorkers: 2,
    sequence: { sequencer: LongestFirst },
    globalSetup: 'test/support/run-folder.ts',
    reporters: ['default', new MissingTools(), ...resultsFile()],
    // A test is skipped where a tool that it names is missing, unless the run decides: there it fails (test/support/set-up.ts).
    tags: Object.entries(TOOLS).map(([name, { isInstalled, isAllowed = () => true }]) => ({
      name,
      skip: isInstalled() ? !isAllowed() : !IS_CI,
    })),
    projects: [fastTier(), ...TIERS.map((tier) => slowTier(tier))],
  },
});

/** `.ci/run` names a file for the results, from which it counts. */
function resultsFile(): readonly ['json', { readonly outputFile: string }][] {
  const { TEST_RESULTS } = process.env;
  return TEST_RESULTS === undefined ? [] : [['json', { outputFile: TEST_RESULTS }]];
}

/** Tests that need Node alone: threads without a context for each file save more than half of the time. */
function fastTier(): TestProjectInlineConfiguration {
  const others = TIERS.flatMap((tier) => [...inFolders(tier), byName(tier)]);
  return {
    extends: true,
    test: {
      ...SHARED,
      name: 'fast',
      include: ['test/**/*.test.ts'],
      exclude: ['**/node_modules/**', ...others],
      pool: 'threads',
      isolate: false,
      // Properties are played at three hundredths of their runs here; `npm run test:long` plays them all.
      env: { FUZZ: process.env['FUZZ'] ?? '0.03' },
    },
  };
}

function slowTier(tier: Tier): TestProjectInlineConfiguration {
  return {
    extends: true,
    test: {
      ...SHARED,
      name: tier,
      include: [...inFolders(tier), byName(tier)],
      exclude: [
        '**/node_modules/**',
        ...TIERS.filter((other) => other !== tier).map((other) => byName(other)),
      ],
      pool: 'forks',
      // A process plays many files: one for each costs half a second of processor time more, a tenth of the run.
      isolate: false,
      env: {
        // Runtimes that `test/system.sh` installs.
        PATH: [RUNTIMES, process.env['PATH'] ?? ''].join(delimiter),
        // A run over sockets costs as much as ten without: three tenths of them here, all in `npm run test:long`.
        FUZZ: process.env['FUZZ'] ?? '0.3',
      },
    },
  };
}

function inFolders(tier: Tier): readonly string[] {
  return FOLDERS[tier].map((folder) => `test/${folder}/**/*.test.ts`);
}

function byName(tier: Tier): string {
  return `test/**/*.${tier}.test.ts`;
}
