import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import { auditDependencies } from './audit.ts';
import { cutChangelog, tagMessage } from './changelog.ts';
import { licenseList } from './license-list.ts';
import { readManifest } from './manifest.ts';
import { softwareBillOfMaterials } from './sbom.ts';
import { withVersion } from './version-places.ts';

/** The version of a release, and its date (`YYYY-MM-DD`). */
export interface ReleaseOptions {
  readonly version: string;
  readonly date: string;
}

/** A release that was prepared. */
export interface PreparedRelease {
  /** Files of the project that were changed. */
  readonly changed: readonly string[];
  /** The folder with the artefacts, below the project's root. */
  readonly folder: string;
  /** The artefacts, with `SHA256SUMS` last. */
  readonly artefacts: readonly string[];
  readonly tagMessage: string;
}

/**
 * Prepares a release in `root`: version and changelog in the project's files; package, bill of materials, licences, tag message and
 * checksums in `release/<version>`. Nothing is committed, tagged or published. Throws before anything is written if the version is
 * not a later one, the changelog has nothing, or the dependencies do not pass the audit.
 */
export function prepareRelease(root: URL, { version, date }: ReleaseOptions): PreparedRelease {
  const before = readManifest(root).version;
  if (!isLater(version, before)) throw new Error(`${version} is not a version after ${before}.`);
  const faults = auditDependencies(root);
  if (faults.length > 0) throw new Error(faults.join('\n'));
  const changelog = cutChangelog(readFileSync(new URL('CHANGELOG.md', root), 'utf8'), version, date);
  const changed = [...withVersion(root, before, version), ['CHANGELOG.md', changelog.text] as const];
  for (const [file, text] of changed) writeFileSync(new URL(file, root), text);
  const folder = `release/${version}`;
  const target = new URL(`${folder}/`, root);
  rmSync(target, { recursive: true, force: true });
  mkdirSync(target, { recursive: true });
  pack(root, target);
  const message = tagMessage(version, changelog.section);
  writeFileSync(new URL('sbom.cdx.json', target), softwareBillOfMaterials(root, date));
  writeFileSync(new URL('THIRD-PARTY-LICENSES.md', target), licenseList(root));
  writeFileSync(new URL('tag-message.txt', target), message);
  const names = readdirSync(target).sort();
  writeFileSync(
    new URL('SHA256SUMS', target),
    names.map((name) => `${sha256(new URL(name, target))}  ${name}\n`).join(''),
  );
  return {
    changed: changed.map(([file]) => file),
    folder,
    artefacts: [...names, 'SHA256SUMS'],
    tagMessage: message,
  };
}

/** Copies the files of `root` that git knows into a new folder, with the installed packages; returns it. */
export function copyProject(root: URL): URL {
  const folder = mkdtempSync(join(tmpdir(), 'release-'));
  const listed = execFileSync('git', ['ls-files', '-z'], { cwd: root, encoding: 'utf8' });
  for (const file of listed.split('\0').filter((name) => name !== ''))
    cpSync(join(fileURLToPath(root), file), join(folder, file));
  symlinkSync(fileURLToPath(new URL('node_modules', root)), join(folder, 'node_modules'));
  return pathToFileURL(`${folder}/`);
}

function pack(root: URL, target: URL): void {
  execFileSync('npm', ['pack', '--silent', '--pack-destination', fileURLToPath(target)], {
    cwd: root,
    stdio: ['ignore', 'ignore', 'inherit'],
  });
}

/** Compares by Semantic Versioning §11, without pre-releases: those are not released by this script. */
function isLater(version: string, before: string): boolean {
  const [next, last] = [version, before].map((text) =>
    /^(\d+)\.(\d+)\.(\d+)$/.exec(text)?.slice(1).map(Number),
  );
  if (next === undefined || last === undefined) return false;
  const at = next.findIndex((part, index) => part !== last[index]);
  return at !== -1 && (next[at] ?? 0) > (last[at] ?? 0);
}

function sha256(file: URL): string {
  return createHash('sha256').update(readFileSync(file)).digest('hex');
}

function main(): void {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: { 'dry-run': { type: 'boolean', default: false }, date: { type: 'string' } },
  });
  const [version = ''] = positionals;
  const date = values.date ?? new Date().toISOString().slice(0, 10);
  const project = new URL('../../', import.meta.url);
  const isDry = values['dry-run'];
  const changes = execFileSync('git', ['status', '--porcelain'], { cwd: project, encoding: 'utf8' });
  if (!isDry && changes !== '') throw new Error('There are changes that are not committed.');
  const root = isDry ? copyProject(project) : project;
  try {
    const { changed, folder, artefacts, tagMessage } = prepareRelease(root, { version, date });
    console.log(`${isDry ? 'Would change' : 'Changed'}: ${changed.join(', ')}`);
    console.log(
      `${isDry ? 'Would write' : 'Wrote'} to ${folder}:\n${artefacts.map((name) => `  ${name}`).join('\n')}`,
    );
    console.log(readFileSync(new URL(`${folder}/SHA256SUMS`, root), 'utf8'));
    console.log(tagMessage.split('\n', 1)[0]);
    if (isDry) return;
    console.log(
      `Next: git commit -am "Release ${version}" && git tag -a v${version} -F ${folder}/tag-message.txt`,
    );
  } finally {
    if (isDry) rmSync(root, { recursive: true });
  }
}

if (import.meta.main) {
  try {
    main();
  } catch (error) {
    console.error(error instanceof Error ? error.message : error);
    process.exitCode = 1;
  }
}
