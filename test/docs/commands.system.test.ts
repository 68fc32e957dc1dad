/**
 * @module-tag bash
 * @module-tag curl
 */
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, readdirSync, readFileSync, symlinkSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import { describe, expect, onTestFinished, test } from 'vitest';
import { commandsOf, docPages } from '../support/doc-pages.ts';
import { freePort } from '../support/free-port.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));
const pages = docPages().map(({ file, text }) => ({ file, commands: commandsOf(text) }));

/** Commands that this test does not run, with the reason. */
const NOT_RUN: readonly (readonly [pattern: RegExp, reason: string])[] = [
  [/^npm ci$/, 'installs what this test runs with; .ci/run begins with it'],
  [/^npm (?:test|run test:\w+)(?: -- .*)?$/, 'runs tests, this one among them; .ci/run runs each tier'],
  [/^npm run bench /, 'takes minutes'],
  [/^npm run (?:soak|attack|slow-clients)$/, 'takes minutes'],
  [/^npm run edge$/, 'needs workerd for minutes; test/runtime/edge.test.ts runs the worker'],
  [/^npm run release /, 'needs a git repository; test/release/release.test.ts prepares a release in a copy'],
  [/^npm pack$/, 'test/runtime/library.test.ts packs and installs the package'],
  [
    /^(?:npm install capture-gateway node@24|cp -r node_modules\/capture-gateway\/examples \.)$/,
    'installs the package; test/release/release.test.ts does the same with its tarball',
  ],
  [/^docker /, 'needs a container engine and a registry; test/runtime/container.test.ts checks the image'],
  [/^sudo /, 'needs a machine to change; test/runtime/deploy.test.ts verifies the unit'],
  [
    /^(?:kubectl|helm) /,
    'needs a cluster; test/runtime/deploy.test.ts validates the manifests and the chart',
  ],
  [
    /^(?:wrangler |npm ci --prefix deploy\/edge$|export PATH="\$PWD\/deploy\/edge)/,
    'needs a Cloudflare account; test/runtime/edge-deploy.test.ts rehearses the first deploy',
  ],
  [
    /^(?:clickhouse-client|capture-gateway serve \| vector) /,
    'needs ClickHouse; test/runtime/log-shipping.test.ts runs the queries',
  ],
];

/** Commands that go on until they are stopped, and what they print once they work. */
const SERVERS: readonly (readonly [pattern: RegExp, ready: RegExp])[] = [
  [/^npm start\b/, /"started"|clients +http/],
  [/^npm run -s reference /, /reference service on/],
  [/^npm run -s invoicing /, /invoicing on/],
  [/^npm run -s gateway -- tail --admin/, /outcome/],
  [/^npm run -s gateway -- try /, /operations drafted/],
];

/** Time that a server has to start. */
const SERVER_TIMEOUT_MS = 60_000;

/** Addresses that the pages name; each gets a free port of the machine. */
const ADDRESSES = [
  '127.0.0.1:8080',
  '127.0.0.1:8081',
  '127.0.0.1:8090',
  '127.0.0.1:8091',
  '127.0.0.1:8092',
] as const;

/** The path of a shell that knows nothing of the project, and so lacks the pinned Node. */
const PATH = (process.env['PATH'] ?? '')
  .split(delimiter)
  .filter((folder) => !folder.includes('node_modules'))
  .join(delimiter);

const isListed = (command: string): boolean => NOT_RUN.some(([pattern]) => pattern.test(command));

const runnable = pages
  .map(({ file, commands }) => ({ file, commands: commands.filter((command) => !isListed(command)) }))
  .filter(({ commands }) => commands.length > 0);

/** Pages whose commands leave no file behind, neither in the checkout nor in the folder for temporary files. */
const TIDY: ReadonlySet<string> = new Set(['docs/migrating.md']);

describe.each(runnable)('$file', ({ file, commands }) => {
  test('every command works, in order, on the machine’s own Node', { timeout: 360_000 }, async () => {
    const shell = await docShell();
    const before = shell.files();
    for (const command of commands) expect(await shell.run(command)).toBeUndefined();
    if (TIDY.has(file)) expect(shell.files()).toEqual(before);
  });
});

test('each exception matches a command of the pages', () => {
  const all = pages.flatMap(({ commands }) => commands);
  const stale = NOT_RUN.filter(([pattern]) => !all.some((command) => pattern.test(command)));
  expect(stale.map(([pattern]) => pattern.source)).toEqual([]);
});

/** The output of a failed command. */
type Complaint = string | undefined;

/** Runs the commands of one page in a copy of the checkout; servers that they start end with the test. */
async function docShell(): Promise<{ run(command: string): Promise<Complaint>; files(): readonly string[] }> {
  const folder = checkout();
  const temporary = temporaryFolder('docs-tmp');
  const ports = new Map(
    await Promise.all(ADDRESSES.map(async (address) => [address, `127.0.0.1:${await freePort()}`] as const)),
  );
  const address = (name: (typeof ADDRESSES)[number]): string => ports.get(name) ?? name;
  const environment: Record<string, string> = {
    PATH,
    HOME: folder,
    TMPDIR: temporary,
    NO_COLOR: '1',
    npm_config_update_notifier: 'false',
    GATEWAY_LISTEN: address('127.0.0.1:8080'),
    GATEWAY_ADMIN_LISTEN: address('127.0.0.1:8081'),
  };
  const here = (command: string): string => {
    let text = command.replace(/ &$/, '');
    for (const [from, to] of ports) text = text.replaceAll(from, to);
    const isRollout = text.startsWith('npm run -s rollout');
    if (!isRollout) return text;
    return `${text}${text.includes(' -- ') ? '' : ' --'} --admin http://${address('127.0.0.1:8081')}`;
  };
  const servers: ChildProcess[] = [];
  return {
    // Names, and what is in the rule book: npm keeps its own files in hidden folders.
    files: () => [
      ...[...readdirSync(folder), ...readdirSync(join(folder, 'config'))].filter(
        (name) => !name.startsWith('.'),
      ),
      ...readdirSync(temporary),
      readFileSync(join(folder, 'config/rules.yaml'), 'utf8'),
    ],
    run: async (command) => {
      if (command.startsWith('export ')) {
        const { stdout } = await promisify(execFile)('bash', ['-c', `${here(command)}; env -0`], {
          cwd: folder,
          env: environment,
        });
        const names = new Set([...command.matchAll(/(\w+)=/g)].map(([, name = '']) => name));
        for (const [, name = '', value = ''] of stdout.matchAll(/(\w+)=([^\0]*)\0/g))
          if (names.has(name)) environment[name] = value;
        return undefined;
      }
      // The page says so: a folder goes once the servers that write to it are stopped.
      if (command.startsWith('rm -r ')) await Promise.all(servers.splice(0).map(stopped));
      const server = SERVERS.find(([pattern]) => pattern.test(command));
      if (server === undefined) return finish(here(command), folder, environment);
      return serve(here(command), server[1], folder, environment, (child) => servers.push(child));
    },
  };
}

async function finish(
  command: string,
  cwd: string,
  env: Readonly<Record<string, string>>,
): Promise<Complaint> {
  // curl succeeds with any status: a reader who gets a 5xx has followed the page, and is stuck.
  const told = command.replace(/^curl /, "curl -w '%{stderr}status %{http_code}' ");
  try {
    const { stdout, stderr } = await promisify(execFile)('bash', ['-o', 'pipefail', '-c', told], {
      cwd,
      env,
      timeout: 110_000,
    });
    return /status 5\d\d$/.test(stderr) ? `$ ${command}\n${stdout}${stderr}` : undefined;
  } catch (error) {
    const { stdout, stderr } = error as { readonly stdout: string; readonly stderr: string };
    return `$ ${command}\n${stdout}${stderr}`;
  }
}

async function serve(
  command: string,
  ready: RegExp,
  cwd: string,
  env: Readonly<Record<string, string>>,
  onStarted: (child: ChildProcess) => void,
): Promise<Complaint> {
  // A separate process group, because npm does not pass on every signal.
  const child = spawn('bash', ['-c', command], {
    cwd,
    env,
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  onTestFinished(() => stopGroup(child));
  onStarted(child);
  let said = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => (said += text));
  }
  const end = Date.now() + SERVER_TIMEOUT_MS;
  while (!ready.test(said) && child.exitCode === null && Date.now() < end) await delay(20);
  return ready.test(said) ? undefined : `$ ${command}\n${said}`;
}

function stopGroup(child: ChildProcess): void {
  if (child.pid === undefined || child.exitCode !== null) return;
  process.kill(-child.pid, 'SIGKILL');
}

/** Ends a group, and waits until the last of its processes has closed its output. */
async function stopped(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const closed = once(child, 'close');
  stopGroup(child);
  await closed;
}

/** A checkout whose files commands may change. */
function checkout(): string {
  const folder = temporaryFolder('docs');
  for (const name of readdirSync(root)) {
    if (name === 'config') cpSync(join(root, name), join(folder, name), { recursive: true });
    else if (name !== '.git') symlinkSync(join(root, name), join(folder, name));
  }
  return folder;
}
