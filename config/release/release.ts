import { type ChildProcessByStdio, execFileSync, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import {
  copyFileSync,
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
import { dirname, join } from 'node:path';
import type { Readable } from 'node:stream';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import { assembleImage } from '../image/assemble-image.ts';
import { removeImage } from '../image/remove-image.ts';
import { chartTrialFault, tryChart } from '../image/try-chart.ts';
import { auditDependencies } from './audit.ts';
import { cutChangelog, sectionOf, tagMessage } from './changelog.ts';
import { licenseList } from './license-list.ts';
import { readManifest } from './manifest.ts';
import { softwareBillOfMaterials } from './sbom.ts';
import { LISTED_NAMES, nameList, publicNames } from './surface.ts';
import { OWNER, publications, withVersion } from './version-places.ts';

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
export async function prepareRelease(root: URL, { version, date }: ReleaseOptions): Promise<PreparedRelease> {
  const before = readManifest(root).version;
  const changes = readFileSync(new URL('CHANGELOG.md', root), 'utf8');
  // What package.json has is the next release until the changelog has a section for it.
  const isFirst = version === before && !changes.includes(`## [${version}]`);
  if (!isFirst && !isLater(version, before)) throw new Error(`${version} is not a version after ${before}.`);
  const faults = auditDependencies(root);
  if (faults.length > 0) throw new Error(faults.join('\n'));
  const changelog = cutChangelog(changes, version, date);
  const changed = [
    ...withVersion(root, before, version),
    ['CHANGELOG.md', changelog.text] as const,
    [LISTED_NAMES, nameList(await publicNames(root))] as const,
  ];
  for (const [file, text] of changed) writeFileSync(new URL(file, root), text);
  const made = makeArtefacts(root, { version, date }, changelog.section);
  copyFileSync(
    new URL(`${made.folder}/capture-gateway-${version}.tgz`, root),
    new URL(PREVIOUS_PACKAGE, root),
  );
  return { changed: [...changed.map(([file]) => file), PREVIOUS_PACKAGE], ...made };
}

/**
 * Makes the artefacts of the release that is checked out, whose section the changelog has: what a tag publishes. Throws if it has
 * none.
 */
export function makeTaggedRelease(root: URL): PreparedRelease {
  const { version } = readManifest(root);
  const { date, section } = sectionOf(readFileSync(new URL('CHANGELOG.md', root), 'utf8'), version);
  return { changed: [], ...makeArtefacts(root, { version, date }, section) };
}

function makeArtefacts(
  root: URL,
  { version, date }: ReleaseOptions,
  section: string,
): Omit<PreparedRelease, 'changed'> {
  const folder = `release/${version}`;
  const target = new URL(`${folder}/`, root);
  rmSync(target, { recursive: true, force: true });
  mkdirSync(target, { recursive: true });
  pack(root, target);
  packChart(root, target, version);
  const message = tagMessage(version, section);
  writeFileSync(new URL('sbom.cdx.json', target), softwareBillOfMaterials(root, date));
  writeFileSync(new URL('THIRD-PARTY-LICENSES.md', target), licenseList(root));
  writeFileSync(new URL('tag-message.txt', target), message);
  const names = readdirSync(target).sort();
  writeFileSync(
    new URL('SHA256SUMS', target),
    names.map((name) => `${sha256(new URL(name, target))}  ${name}\n`).join(''),
  );
  return { folder, artefacts: [...names, 'SHA256SUMS'], tagMessage: message };
}

/** The package of the last release, as it was packed: a test runs it beside the working tree, on one store. */
export const PREVIOUS_PACKAGE = 'test/release/previous.tgz';

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

/** Writes the Helm chart as `helm package` does, without helm: the same files give the same bytes. */
function packChart(root: URL, target: URL, version: string): void {
  const archive = fileURLToPath(new URL(`capture-gateway-chart-${version}.tgz`, target));
  const same = ['--sort=name', '--owner=0', '--group=0', '--numeric-owner', '--mtime=1980-01-01T00:00Z'];
  const folder = fileURLToPath(new URL('deploy/helm', root));
  execFileSync('tar', [
    ...same,
    '--use-compress-program=gzip -n',
    '-cf',
    archive,
    '-C',
    folder,
    'capture-gateway',
  ]);
}

/**
 * Installs a packed package in an empty folder, with nothing of the checkout in reach, and uses it as a stranger does: the version,
 * a check of the rule book that ships, a V1 order through the gateway, the page. Returns a sentence for each; throws at the first
 * that does not work.
 */
export async function tryPackage(tarball: string, version: string): Promise<readonly string[]> {
  const folder = mkdtempSync(join(tmpdir(), 'stranger-'));
  const environment = { PATH: `${dirname(process.execPath)}:/usr/bin:/bin`, HOME: folder, NO_COLOR: '1' };
  const options = { cwd: folder, env: environment, encoding: 'utf8' } as const;
  try {
    writeFileSync(join(folder, 'package.json'), '{"private":true}');
    execFileSync(
      'npm',
      ['install', '--prefer-offline', '--ignore-scripts', '--no-audit', '--no-fund', tarball],
      {
        ...options,
        // The registry and the cache are those of whoever releases.
        env: process.env,
        stdio: ['ignore', 'ignore', 'pipe'],
      },
    );
    const program = join(folder, 'node_modules/.bin/capture-gateway');
    const said = execFileSync(program, ['--version'], options).trim();
    if (said !== version) throw new Error(`The installed package says that it is ${said}, not ${version}.`);
    execFileSync(program, ['check'], options);
    // The tutorial begins so where there is no checkout.
    cpSync(join(folder, 'node_modules/capture-gateway/examples'), join(folder, 'examples'), {
      recursive: true,
    });
    execFileSync(program, ['test', '--rules', 'examples/invoicing/rules.yaml'], options);
    const gateway = spawn(program, ['serve', ...ANY_PORTS], {
      ...options,
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    try {
      const banner = await bannerOf(gateway);
      const clients = /clients +(http:\S+)/.exec(banner)?.[1] ?? '';
      const admin = /admin +(http:\S+)/.exec(banner)?.[1] ?? '';
      const ordered = await fetch(`${clients}/api/v1/orders/floor_plans`, {
        method: 'POST',
        headers: { authorization: 'Bearer any-key', 'content-type': 'application/json' },
        body: '{"data":{"property":{"street_address":"1 Main St"}}}',
      });
      if (ordered.status !== 201)
        throw new Error(`A V1 order got ${ordered.status}: ${await ordered.text()}`);
      const page = await fetch(`${admin}/`);
      if (page.status !== 200 || !(await page.text()).includes('<script'))
        throw new Error(`The page got ${page.status}.`);
    } finally {
      gateway.kill('SIGTERM');
      await once(gateway, 'exit');
    }
    return [
      `${version} installs into an empty folder, and its check finds no fault.`,
      'The tutorial’s rule book is in the package, and its cases pass.',
      'A V1 order through it gets 201, and the page is served.',
    ];
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** The image of `root` with a packed chart, tried without an engine; or a sentence that says why it was not. */
async function triedChart(root: URL, chart: string): Promise<string> {
  const fault = chartTrialFault();
  if (fault !== undefined) return `The image was not tried with the chart: ${fault}.`;
  const image = assembleImage(root);
  try {
    return await tryChart(image, chart);
  } finally {
    removeImage(image);
  }
}

const ANY_PORTS = [
  '--listen',
  '127.0.0.1:0',
  '--admin-listen',
  '127.0.0.1:0',
  '--log-file',
  'off',
  '--log-format',
  'text',
] as const;

/** What a gateway prints until it is ready; throws with it if it ends before. */
async function bannerOf(gateway: ChildProcessByStdio<null, null, Readable>): Promise<string> {
  let text = '';
  for await (const part of gateway.stderr) {
    text += String(part);
    if (text.includes('curl -i')) return text;
  }
  throw new Error(`The installed gateway ended: ${text}`);
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

async function main(): Promise<void> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: { 'dry-run': { type: 'boolean', default: false }, date: { type: 'string' } },
  });
  const project = new URL('../../', import.meta.url);
  if (positionals[0] === 'artefacts') {
    const { folder } = makeTaggedRelease(project);
    const { version: tagged } = readManifest(project);
    const packed = fileURLToPath(new URL(`${folder}/capture-gateway-${tagged}.tgz`, project));
    for (const sentence of await tryPackage(packed, tagged)) console.log(sentence);
    return;
  }
  const [version = readManifest(project).version] = positionals;
  const date = values.date ?? new Date().toISOString().slice(0, 10);
  const isDry = values['dry-run'];
  const changes = execFileSync('git', ['status', '--porcelain'], { cwd: project, encoding: 'utf8' });
  if (!isDry && changes !== '') throw new Error('There are changes that are not committed.');
  const root = isDry ? copyProject(project) : project;
  try {
    const { changed, folder, artefacts, tagMessage } = await prepareRelease(root, { version, date });
    console.log(`${isDry ? 'Would change' : 'Changed'}: ${changed.join(', ')}`);
    console.log(
      `${isDry ? 'Would write' : 'Wrote'} to ${folder}:\n${artefacts.map((name) => `  ${name}`).join('\n')}`,
    );
    console.log(readFileSync(new URL(`${folder}/SHA256SUMS`, root), 'utf8'));
    const tarball = fileURLToPath(new URL(`${folder}/capture-gateway-${version}.tgz`, root));
    for (const sentence of await tryPackage(tarball, version)) console.log(sentence);
    const chart = fileURLToPath(new URL(`${folder}/capture-gateway-chart-${version}.tgz`, root));
    console.log(await triedChart(root, chart));
    console.log(
      `From the tag v${version}, .github/workflows/release.yml publishes:\n${publications(version).join('\n')}`,
    );
    console.log(
      `${OWNER} is a placeholder for the owner until a person confirms it in config/release/version-places.ts.`,
    );
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
    await main();
  } catch (error) {
    console.error(error instanceof Error ? error.message : error);
    process.exitCode = 1;
  }
}
