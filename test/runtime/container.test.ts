import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  chownSync,
  cpSync,
  linkSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { done } from '../support/installed-package.ts';
import { exchange } from '../support/raw-client.ts';
import { until } from '../support/until.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));
const dockerfile = readFileSync(join(root, 'Dockerfile'), 'utf8');

/** The user of the image, where the test may switch to it; otherwise the user who runs the test. */
const rights = process.getuid?.() === 0 ? { uid: 65_532, gid: 65_532 } : {};

let image = '';
/** The folder of each stage, by its name. */
const stages = new Map<string, string>();

/** The steps of the Dockerfile, without an engine: it builds and copies the same files as an engine would. */
beforeAll(async () => {
  for (const stage of dockerfile.split(/^(?=FROM )/m).slice(1)) {
    const name = /^FROM \S+ AS (\S+)/.exec(stage)?.[1] ?? 'image';
    const folder = mkdtempSync(join(tmpdir(), `${name}-`));
    stages.set(name, folder);
    for (const [, line = ''] of stage.replaceAll('\\\n', ' ').matchAll(/^((?:COPY|RUN) .*)$/gm)) {
      if (line.startsWith('COPY')) copy(line, folder, stages);
      // The build uses the packages installed here; those that ship are installed anew.
      else if (name === 'build' && line.startsWith('RUN npm ci'))
        symlinkSync(join(root, 'node_modules'), join(folder, 'app/node_modules'));
      else await done('sh', ['-c', line.slice(4)], join(folder, 'app'));
    }
  }
  image = stages.get('image') ?? '';
  // The engine's own part: the runtime of the base image, and a root that nobody can write.
  mkdirSync(join(image, 'nodejs/bin'), { recursive: true });
  const node = join(root, 'node_modules/node/bin/node');
  try {
    linkSync(node, join(image, 'nodejs/bin/node'));
  } catch {
    cpSync(node, join(image, 'nodejs/bin/node'));
  }
  makeReadOnly(image);
}, 180_000);

afterAll(() => {
  for (const folder of stages.values()) {
    makeWritable(folder);
    rmSync(folder, { recursive: true });
  }
});

test('an installation without development has at most 25 packages and 30 MB, and no scripts to run', () => {
  const modules = join(image, 'app/node_modules');
  const lock = JSON.parse(readFileSync(join(modules, '.package-lock.json'), 'utf8')) as {
    readonly packages: Readonly<
      Record<string, { readonly hasInstallScript?: boolean; readonly license?: string }>
    >;
  };
  const packages = Object.entries(lock.packages).filter(([path]) => path !== '');
  const bytes = bytesOf(modules);
  console.log(`production install: ${packages.length} packages, ${(bytes / 1e6).toFixed(1)} MB`);
  expect(packages.length).toBeLessThanOrEqual(25);
  expect(bytes).toBeLessThanOrEqual(30_000_000);
  expect(packages.filter(([, { hasInstallScript }]) => hasInstallScript === true)).toEqual([]);
});

test('the image holds the files that run, and nothing else', () => {
  expect(readdirSync(join(image, 'app')).sort()).toEqual([
    'LICENSE',
    'config',
    'dist',
    'node_modules',
    'package.json',
  ]);
  expect(readdirSync(join(image, 'app/config')).sort()).toEqual(['rules.schema.json', 'rules.yaml', 'twin']);
});

test('starts as a user without rights in a root that it cannot write, responds, is healthy, and stops in order', async () => {
  const env = { PATH: '/nonexistent', HOME: '/nonexistent', TMPDIR: '/nonexistent', ...imageEnvironment() };
  const settings = { ...env, GATEWAY_LISTEN: '127.0.0.1:0', GATEWAY_ADMIN_LISTEN: '127.0.0.1:0' };
  const [command = '', ...given] = [...execForm('ENTRYPOINT'), ...execForm('CMD')];
  const child = spawn(join(image, command), given, { cwd: join(image, 'app'), env: settings, ...rights });
  onTestFinished(() => void child.kill('SIGKILL'));
  const said: string[] = [];
  const lines: string[] = [];
  createInterface({ input: child.stderr }).on('line', (line) => said.push(line));
  createInterface({ input: child.stdout }).on('line', (line) => lines.push(line));
  const portOf = (name: string): number =>
    Number(new RegExp(`"${name}":"http://127\\.0\\.0\\.1:(\\d+)"`).exec(said.join('\n'))?.[1] ?? 0);
  await until(() => portOf('admin') > 0).catch(() => {
    throw new Error(said.join('\n'));
  });

  const body = '{"data":{"name":"Acme"}}';
  const response = await exchange(
    portOf('clients'),
    `POST /api/v1/clients HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer k\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
  );
  expect(response.text).toMatch(/^HTTP\/1\.1 201 /);
  // The page is put together from files of the image.
  const page = await exchange(portOf('admin'), 'GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n');
  expect(page.text).toMatch(/^HTTP\/1\.1 200 /);

  const health = (port: number): Promise<number> =>
    healthOf({ ...env, GATEWAY_ADMIN_LISTEN: `127.0.0.1:${port}` });
  expect(await health(portOf('admin'))).toBe(0);
  expect(await health(1)).toBe(1);

  child.kill('SIGTERM');
  expect(await once(child, 'exit')).toEqual([0, null]);
  expect(lines).toHaveLength(1);
  // Containers merge both streams: a collector parses every line.
  expect(said.map((line) => JSON.parse(line).event)).toEqual(['started', 'draining', 'stopped']);
});

async function healthOf(env: NodeJS.ProcessEnv): Promise<number> {
  const [command = '', ...given] = execForm('HEALTHCHECK');
  const child = spawn(join(image, command), given, { cwd: join(image, 'app'), env, ...rights });
  const [code] = (await once(child, 'exit')) as [number];
  return code;
}

/** The words of an instruction in exec form, of the last stage. */
function execForm(instruction: string): readonly string[] {
  const match = new RegExp(`^${instruction} .*?(\\[.*\\])$`, 'm').exec(dockerfile);
  return JSON.parse(match?.[1] ?? '[]') as string[];
}

function imageEnvironment(): Readonly<Record<string, string>> {
  const text = /^ENV ((?:.*\\\n)*.*)$/m.exec(dockerfile)?.[1] ?? '';
  return Object.fromEntries(
    [...text.matchAll(/(\w+)=(\S+)/g)].map(([, name = '', value = '']) => [name, value]),
  );
}

function copy(line: string, folder: string, stages: ReadonlyMap<string, string>): void {
  const from = /--from=(\S+)/.exec(line)?.[1];
  const words = line.split(/\s+/).filter((word) => word !== 'COPY' && !word.startsWith('--'));
  const target = words.pop() ?? '';
  for (const word of words) {
    const source = from === undefined ? join(root, word) : join(stages.get(from) ?? '', word);
    const into = join(
      folder,
      target.startsWith('/') ? '' : 'app',
      target.endsWith('/') ? join(target, word.split('/').at(-1) ?? '') : target,
    );
    mkdirSync(dirname(into), { recursive: true });
    cpSync(source, into, { recursive: true });
  }
}

function makeReadOnly(path: string): void {
  const { mode, uid } = statSync(path);
  chmodSync(path, mode & 0o111 ? 0o555 : 0o444);
  if (uid !== 0 && process.getuid?.() === 0) chownSync(path, 0, 0);
  if (!statSync(path).isDirectory()) return;
  for (const name of readdirSync(path))
    if (name !== '.bin' && name !== 'node') makeReadOnly(join(path, name));
}

function makeWritable(path: string): void {
  const stat = lstatSync(path);
  if (!stat.isDirectory()) return;
  chmodSync(path, 0o755);
  for (const name of readdirSync(path)) makeWritable(join(path, name));
}

function bytesOf(path: string): number {
  const stat = statSync(path, { throwIfNoEntry: false });
  if (stat === undefined) return 0;
  if (!stat.isDirectory()) return stat.size;
  return readdirSync(path).reduce((sum, name) => sum + bytesOf(join(path, name)), 0);
}
