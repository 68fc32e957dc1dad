/**
 * `node bench/fetch-corpora.ts <folder>`: fetches the tests of other projects that hold HTTP messages, for `message-corpora.ts`, with git. They
 * are data under their own licences, and not part of this repository. Go's, which are the largest, come from a package of Debian where GitHub
 * cannot be reached. Ends with 1 when one of them is missing.
 */
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

interface Corpus {
  readonly name: string;
  /** On GitHub. */
  readonly repository: string;
  /** A tag or a commit. */
  readonly version: string;
  /** The folder or file with the tests; the whole repository without it. */
  readonly path?: string;
  readonly licence: string;
  /** A package of Debian that has the tests as well. */
  readonly debian?: string;
}

const CORPORA: readonly Corpus[] = [
  { name: 'llhttp', repository: 'nodejs/llhttp', version: 'v9.4.2', path: 'test', licence: 'MIT' },
  {
    name: 'picohttpparser',
    repository: 'h2o/picohttpparser',
    version: 'f8326098f63eefabfa2b6ec595d90e9ed5ed958a',
    licence: 'MIT',
  },
  { name: 'h11', repository: 'python-hyper/h11', version: 'v0.16.0', path: 'h11/tests', licence: 'MIT' },
  { name: 'gunicorn', repository: 'benoitc/gunicorn', version: '26.1.0', path: 'tests', licence: 'MIT' },
  { name: 'puma', repository: 'puma/puma', version: 'v7.2.1', path: 'test', licence: 'BSD-3-Clause' },
  {
    name: 'aiohttp',
    repository: 'aio-libs/aiohttp',
    version: 'v3.14.3',
    path: 'tests',
    licence: 'Apache-2.0',
  },
  { name: 'hyper', repository: 'hyperium/hyper', version: 'v1.11.0', licence: 'MIT' },
  {
    name: 'go',
    repository: 'golang/go',
    version: 'go1.24.0',
    path: 'src/net/http',
    licence: 'BSD-3-Clause',
    debian: 'golang-1.19-src',
  },
];

const [folder] = process.argv.slice(2);
if (folder === undefined) throw new Error('Name a folder for the sources of other projects.');
mkdirSync(folder, { recursive: true });
let missing = 0;
for (const corpus of CORPORA) {
  console.log(`${corpus.name.padEnd(16)}${fetchCorpus(corpus, resolve(folder, corpus.name))}`);
}
process.exitCode = missing === 0 ? 0 : 1;

/** Returns the origin and the licence, or what went wrong. */
function fetchCorpus(corpus: Corpus, into: string): string {
  const { repository, version, debian, licence } = corpus;
  try {
    fetchByGit(corpus, into);
    return `${repository} ${version}, ${licence}`;
  } catch (error) {
    if (debian === undefined) return missed(error);
  }
  try {
    unpackPackage(debian, corpus, into);
    return `${debian} of Debian, ${licence}`;
  } catch (error) {
    return missed(error);
  }
}

/** Fetches one commit, and of that the files below the path only. */
function fetchByGit({ repository, version, path }: Corpus, into: string): void {
  rmSync(into, { recursive: true, force: true });
  mkdirSync(into);
  run('git', ['init', '--quiet'], into);
  run('git', ['remote', 'add', 'origin', `https://github.com/${repository}.git`], into);
  if (path !== undefined) run('git', ['sparse-checkout', 'set', '--no-cone', `/${path}`], into);
  run('git', ['fetch', '--quiet', '--depth=1', '--filter=blob:none', 'origin', version], into);
  run('git', ['checkout', '--quiet', 'FETCH_HEAD'], into);
}

function unpackPackage(name: string, { path = '' }: Corpus, into: string): void {
  const packages = mkdtempSync(join(tmpdir(), 'corpora-'));
  try {
    run('apt-get', ['download', '-qq', name], packages);
    const [file = ''] = readdirSync(packages);
    rmSync(into, { recursive: true, force: true });
    mkdirSync(into);
    const unpack = 'dpkg-deb --fsys-tarfile "$1" | tar -x -C "$2" --wildcards "*/$3/*"';
    run('sh', ['-c', unpack, 'sh', join(packages, file), into, path], packages);
  } finally {
    rmSync(packages, { recursive: true, force: true });
  }
}

function run(command: string, args: readonly string[], cwd: string): void {
  const env = { ...process.env, GIT_TERMINAL_PROMPT: '0' };
  execFileSync(command, args, { cwd, env, stdio: ['ignore', 'ignore', 'pipe'], timeout: 300_000 });
}

function missed(error: unknown): string {
  missing += 1;
  const text = error instanceof Error ? error.message : String(error);
  return `missing: ${text.trim().split('\n').at(-1)}`;
}
