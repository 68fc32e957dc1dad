import { spawnSync } from 'node:child_process';
import { accessSync, constants, existsSync, readdirSync, readFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** A program or a package that some tests run, and that `npm ci` does not install. */
export interface Tool {
  /** As a sentence names it. */
  readonly name: string;
  readonly isInstalled: () => boolean;
  /** False where it is installed, and the machine does not let it work: that is a reason to skip wherever the tests run. */
  readonly isAllowed?: () => boolean;
}

const root = new URL('../../', import.meta.url);

/** The browser, or Debian's build of it without windows, which takes a quarter less processor time for the same pages. */
export const CHROMIUM =
  process.env['CHROMIUM'] ??
  ['/usr/bin/chromium-headless-shell', '/usr/bin/chromium'].find((path) => existsSync(path)) ??
  '/usr/bin/chromium';

/**
 * The tools of tests, by their tag: a file that needs one says so in its first line (`@module-tag chromium`), a single test by its
 * option `tags`. `test/system.sh` installs them all.
 */
export const TOOLS: Readonly<Record<string, Tool>> = {
  bash: program('bash'),
  bun: installed('Bun', 'test/node_modules/bun/bin/bun.exe'),
  chromium: {
    name: 'Chromium',
    isInstalled: () => isExecutable(CHROMIUM),
  },
  clients: { name: 'What test/runtime/clients/debian.txt lists', isInstalled: hasClients },
  curl: program('curl'),
  deno: installed('Deno', 'test/node_modules/deno/deno'),
  fish: program('fish'),
  git: program('git'),
  helm: program('helm', 'Helm'),
  java: {
    name: 'Java with Jackson',
    isInstalled: () => isOnPath('java') && existsSync('/usr/share/java/jackson-databind.jar'),
  },
  kubectl: program('kubectl'),
  logrotate: program('logrotate'),
  mandoc: program('mandoc'),
  netns: {
    name: 'A network namespace (unshare and ip)',
    isInstalled: () => isOnPath('unshare') && isOnPath('ip'),
    isAllowed: () =>
      spawnSync('unshare', ['-rn', 'ip', 'link', 'set', 'lo', 'up'], { stdio: 'ignore' }).status === 0,
  },
  nginx: program('nginx'),
  openssl: program('openssl', 'OpenSSL'),
  packages: installed('What test/package.json lists', 'test/node_modules/.package-lock.json'),
  prometheus: { name: 'Prometheus', isInstalled: () => isOnPath('prometheus') && isOnPath('promtool') },
  python: {
    name: 'Python with requests',
    isInstalled: () => spawnSync('python3', ['-c', 'import requests'], { stdio: 'ignore' }).status === 0,
  },
  redis: {
    name: 'Redis (redis-server or valkey-server)',
    isInstalled: () => isOnPath('redis-server') || isOnPath('valkey-server'),
  },
  script: program('script', 'script, of util-linux,'),
  systemd: program('systemd-analyze', 'systemd'),
  wrangler: installed('Wrangler', 'deploy/edge/node_modules/wrangler/bin/wrangler.js'),
  zsh: program('zsh'),
};

/** True where a missing tool is a failure, and not a reason to skip: on the machine that decides. */
export const IS_CI = !['', '0', 'false'].includes(process.env['CI'] ?? '');

function program(command: string, name = command): Tool {
  return { name, isInstalled: () => isOnPath(command) };
}

function installed(name: string, path: string): Tool {
  return { name, isInstalled: () => existsSync(fileURLToPath(new URL(path, root))) };
}

/** Whether Debian's packages of client libraries are there. */
function hasClients(): boolean {
  const info = '/var/lib/dpkg/info';
  if (!existsSync(info)) return false;
  const installed = new Set(readdirSync(info).map((name) => name.replace(/(?::\w+)?\.list$/, '')));
  const wanted = readFileSync(new URL('test/runtime/clients/debian.txt', root), 'utf8').trim().split('\n');
  return wanted.every((name) => installed.has(name));
}

function isOnPath(command: string): boolean {
  const folders = (process.env['PATH'] ?? '').split(delimiter);
  return folders.some((folder) => isExecutable(join(folder, command)));
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
