import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  copyFileSync,
  cpSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  realpathSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Dockerfile, readDockerfile, type Stage } from './dockerfile.ts';

/** The root file system of the image, and the folders of the stages before it. */
export interface AssembledImage {
  /** The folder with every file that the image holds. */
  readonly root: string;
  readonly dockerfile: Dockerfile;
  /** All folders that were made, for the one who removes them. */
  readonly folders: readonly string[];
}

/**
 * Carries out the Dockerfile of `project` without an engine: the same files are built and copied. In place of the base image, which
 * needs a registry, there are the project's own Node with the libraries that it is linked to, and the user of the image.
 */
export function assembleImage(project: URL): AssembledImage {
  const dockerfile = readDockerfile(project);
  const stages = new Map<string, string>();
  for (const stage of dockerfile.stages) {
    const folder = mkdtempSync(join(tmpdir(), `${stage.name}-`));
    stages.set(stage.name, folder);
    carryOut(stage, folder, stages, fileURLToPath(project));
  }
  const root = stages.get('image') ?? '';
  addBase(root, dockerfile, fileURLToPath(project));
  return { root, dockerfile, folders: [...stages.values()] };
}

function carryOut(
  { name, steps }: Stage,
  folder: string,
  stages: ReadonlyMap<string, string>,
  project: string,
): void {
  const PATH = [join(project, 'node_modules/.bin'), process.env['PATH'] ?? ''].join(delimiter);
  const env = { ...process.env, PATH, NODE_ENV: '', npm_config_audit: 'false', npm_config_fund: 'false' };
  for (const step of steps) {
    if (step.startsWith('COPY')) copy(step, folder, stages, project);
    // The build uses the packages installed here; those that ship are installed anew.
    else if (name === 'build' && step.startsWith('RUN npm ci'))
      symlinkSync(join(project, 'node_modules'), join(folder, 'app/node_modules'));
    else
      execFileSync('sh', ['-c', step.slice(4)], {
        cwd: join(folder, 'app'),
        env,
        stdio: ['ignore', 'ignore', 'inherit'],
      });
  }
}

function copy(step: string, folder: string, stages: ReadonlyMap<string, string>, project: string): void {
  const from = /--from=(\S+)/.exec(step)?.[1];
  const owner = /--chown=(\d+):(\d+)/.exec(step)?.slice(1).map(Number);
  const words = step.split(/\s+/).filter((word) => word !== 'COPY' && !word.startsWith('--'));
  const target = words.pop() ?? '';
  for (const word of words) {
    const source = from === undefined ? join(project, word) : join(stages.get(from) ?? '', word);
    const into = target.endsWith('/') ? join(target, word.split('/').at(-1) ?? '') : target;
    const path = join(folder, into.startsWith('/') ? '' : 'app', into);
    mkdirSync(dirname(path), { recursive: true });
    cpSync(source, path, { recursive: true });
    // Only root may give a file away.
    if (owner !== undefined && process.getuid?.() === 0) chownSync(path, owner[0] ?? 0, owner[1] ?? 0);
  }
}

/** Adds the parts of the base image: Node, its libraries, the user, and the places that a runtime mounts. */
function addBase(root: string, { user }: Dockerfile, project: string): void {
  // A temporary folder is its owner's alone; the root of an image is everybody's.
  chmodSync(root, 0o755);
  const node = realpathSync(join(project, 'node_modules/node/bin/node'));
  place(node, join(root, 'nodejs/bin/node'));
  for (const library of librariesOf(node)) place(realpathSync(library), join(root, library));
  for (const folder of ['dev', 'etc', 'proc', 'tmp']) mkdirSync(join(root, folder), { recursive: true });
  const [id = ''] = user.split(':');
  writeFileSync(join(root, 'etc/passwd'), `nonroot:x:${id}:${id}:nonroot:/nonexistent:/sbin/nologin\n`);
  writeFileSync(join(root, 'etc/group'), `nonroot:x:${id}:\n`);
  writeFileSync(join(root, 'dev/null'), '');
}

/** The shared libraries of a program, and its loader. */
function librariesOf(program: string): readonly string[] {
  const said = execFileSync('ldd', [program], { encoding: 'utf8' });
  return [...said.matchAll(/(?:=> )?(\/\S+) \(0x/g)].map(([, path = '']) => path);
}

/** A link where the file system allows one, otherwise a copy. */
function place(source: string, target: string): void {
  mkdirSync(dirname(target), { recursive: true });
  try {
    linkSync(source, target);
  } catch {
    copyFileSync(source, target);
  }
}
