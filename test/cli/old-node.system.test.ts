import { execFile } from 'node:child_process';
import { accessSync, constants, cpSync, readFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, test } from 'vitest';
import { temporaryFolder } from '../support/temporary-folder.ts';

const run = promisify(execFile);
const root = new URL('../../', import.meta.url);
const launcher = fileURLToPath(new URL('src/cli/capture-gateway.js', root));
const ONE_SENTENCE =
  /^capture-gateway needs Node 24 \(24\.18\.1 or later\) or 26 \(26\.5\.1 or later\), and this is Node [\d.]+\. [^\n]+\n$/;

/** Claims to be another version before the launcher runs, for machines on which every Node is recent. */
const pretend = (version: string): string =>
  `data:text/javascript,Object.defineProperty(process,"versions",{value:{...process.versions,node:"${version}"}})`;

/** Runs a Node with arguments that it must refuse. */
async function refused(
  node: string,
  args: readonly string[],
): Promise<{ readonly code: unknown; readonly stderr: string }> {
  try {
    await run(node, [...args]);
  } catch (error) {
    const { code, stderr } = error as { readonly code: unknown; readonly stderr: string };
    return { code, stderr };
  }
  throw new Error('it started');
}

/** The Node that the machine has beside the pinned one, if any. */
async function systemNode(): Promise<{ readonly path: string; readonly major: number } | undefined> {
  for (const folder of (process.env['PATH'] ?? '').split(delimiter)) {
    const path = join(folder, 'node');
    if (folder.includes('node_modules') || !isExecutable(path)) continue;
    const { stdout } = await run(path, ['--version']);
    return { path, major: Number.parseInt(stdout.slice(1), 10) };
  }
  return undefined;
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

describe('a Node that is too old', () => {
  test.each(['18.20.8', '20.20.2', '22.11.0', '24.18.0', '25.9.0', '26.5.0'])(
    '%s gets one sentence and exit code 2',
    async (version) => {
      const { code, stderr } = await refused(process.execPath, [
        '--import',
        pretend(version),
        launcher,
        'report',
      ]);
      expect(code).toBe(2);
      expect(stderr).toMatch(ONE_SENTENCE);
      expect(stderr).toContain(version);
    },
  );

  test('the machine’s own Node, where it is old, reads the launcher and gets the same sentence', async () => {
    const own = await systemNode();
    const old = own !== undefined && own.major < 24;
    const { code, stderr } = old
      ? await refused(own.path, [launcher, 'serve'])
      : await refused(process.execPath, ['--import', pretend('20.0.0'), launcher, 'serve']);
    expect(code).toBe(2);
    expect(stderr).toMatch(ONE_SENTENCE);
    expect(stderr).toContain('npm run -s gateway');
  });

  test('installed as a package, which does not contain Node, it says how to get one', async () => {
    const installed = join(temporaryFolder('old-node'), 'node_modules/capture-gateway/node-version.js');
    cpSync(fileURLToPath(new URL('src/cli/node-version.js', root)), installed);
    const { code, stderr } = await refused(process.execPath, ['--import', pretend('20.0.0'), installed]);
    expect(code).toBe(2);
    expect(stderr).toMatch(ONE_SENTENCE);
    expect(stderr).toContain('"npm install node@24" adds one');
  });
});

/** What starts a program of the project: every npm script that runs Node, the container, and the package's executable. */
const { scripts, bin } = JSON.parse(readFileSync(new URL('package.json', root), 'utf8')) as {
  readonly scripts: Readonly<Record<string, string>>;
  readonly bin: Readonly<Record<string, string>>;
};
const starts = Object.entries(scripts).filter(([, line]) => /^node (?!-e )/.test(line));

describe('each way of starting, on a Node that is too old', () => {
  test('some npm scripts run Node, so that the next test tries them', () => {
    expect(starts.length).toBeGreaterThan(12);
    expect(Object.values(bin)).toEqual(['./dist/cli/capture-gateway.js']);
  });

  test.each(starts)('npm run %s prints one sentence', async (_, line) => {
    const args = line.split(' ').slice(1);
    const own = await systemNode();
    const [node, before] =
      own !== undefined && own.major < 24
        ? [own.path, []]
        : [process.execPath, ['--import', pretend('20.0.0')]];
    const { code, stderr } = await refused(node, [...before, ...args.filter((arg) => arg !== '--watch')]);
    expect(code).toBe(2);
    expect(stderr).toMatch(ONE_SENTENCE);
  });

  test('the container checks it before anything else', () => {
    expect(readFileSync(new URL('Dockerfile', root), 'utf8')).toContain('"dist/cli/main.js"');
    expect(readFileSync(new URL('src/cli/main.ts', root), 'utf8')).toMatch(
      /^import '\.\/node-version\.js';\n/,
    );
  });
});

test.each(['24.18.1', '24.19.0', '26.5.1', '26.10.0', '28.0.0'])('%s runs the command', async (version) => {
  const { stdout } = await run(process.execPath, ['--import', pretend(version), launcher, '--version']);
  expect(stdout).toMatch(/^\d+\.\d+\.\d+\n$/);
});

test('the sentence, package.json and the docs name the same versions of Node', () => {
  const { engines } = JSON.parse(readFileSync(new URL('package.json', root), 'utf8')) as {
    readonly engines: { readonly node: string };
  };
  expect(engines.node).toBe('>=24.18.1 <25 || >=26.5.1 <27');
  const pages = ['docs/deploying.md', 'docs/operating.md', 'docs/SECURITY.md', 'README.md'];
  const silent = (page: string): boolean =>
    !/24\.18\.1.*26\.5\.1/s.test(readFileSync(new URL(page, root), 'utf8'));
  expect(pages.filter(silent)).toEqual([]);
});
