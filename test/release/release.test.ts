/**
 * @module-tag git
 * @module-tag packages
 */
import { Version } from '@cyclonedx/cyclonedx-library/Spec';
import { JsonStrictValidator } from '@cyclonedx/cyclonedx-library/Validation';
import { execFileSync } from 'node:child_process';
import { readFileSync, rmSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { parse } from 'yaml';
import { lockedPackages, productionPackages } from '../../config/release/locked-packages.ts';
import { packageReadme } from '../../config/release/package-readme.ts';
import {
  copyProject,
  makeTaggedRelease,
  type PreparedRelease,
  prepareRelease,
  tryPackage,
} from '../../config/release/release.ts';
import { softwareBillOfMaterials } from '../../config/release/sbom.ts';
import { IMAGE, REPOSITORY, withVersion } from '../../config/release/version-places.ts';

const project = new URL('../../', import.meta.url);
const current = versionIn(project);
/** The next major version, so that it is later than any that the project may have. */
const VERSION = `${Number(current.split('.')[0]) + 1}.0.0`;
const DATE = '2026-11-22';

let root = project;
let prepared: PreparedRelease | undefined;
let before = '';

/** A dry run: the same steps as a release, in a copy of the project. */
beforeAll(async () => {
  before = git('status', '--porcelain');
  root = copyProject(project);
  prepared = await prepareRelease(root, { version: VERSION, date: DATE });
});

afterAll(() => rmSync(root, { recursive: true }));

test('the artefacts match their checksums, and nothing in the project has changed', () => {
  expect(prepared?.artefacts).toEqual([
    'THIRD-PARTY-LICENSES.md',
    `capture-gateway-${VERSION}.tgz`,
    `capture-gateway-chart-${VERSION}.tgz`,
    'sbom.cdx.json',
    'tag-message.txt',
    'SHA256SUMS',
  ]);
  const cwd = new URL(`release/${VERSION}/`, root);
  const said = execFileSync('sha256sum', ['--check', '--strict', 'SHA256SUMS'], { cwd, encoding: 'utf8' });
  expect(said.match(/: OK$/gm)).toHaveLength(5);
  expect(git('status', '--porcelain')).toBe(before);
});

test('the package, the image, the manifests and the documentation have the version', () => {
  const tarball = fileURLToPath(new URL(`release/${VERSION}/capture-gateway-${VERSION}.tgz`, root));
  const packed = execFileSync('tar', ['-xzOf', tarball, 'package/package.json'], { encoding: 'utf8' });
  expect(JSON.parse(packed)).toMatchObject({ name: 'capture-gateway', version: VERSION });
  const listed = execFileSync('tar', ['-tzf', tarball], { encoding: 'utf8' });
  expect(listed).toContain('package/dist/library/capture-gateway.js\n');
  const readme = execFileSync('tar', ['-xzOf', tarball, 'package/README.md'], { encoding: 'utf8' });
  expect(readme).toBe(packageReadme(readFileSync(new URL('README.md', root), 'utf8'), VERSION));
  // What one machine compiled is no part of the package.
  expect(listed).not.toContain('compile-cache');
  const places = withVersion(root, VERSION, current).map(([file]) => file);
  expect(prepared?.changed).toEqual([
    ...places,
    'CHANGELOG.md',
    'config/release/surface.txt',
    'test/release/previous.tgz',
  ]);
  // What the next version shares its store with.
  expect(readFileSync(new URL('test/release/previous.tgz', root))).toEqual(readFileSync(tarball));
});

test('every file that names the version of the package or its image is changed', () => {
  const word = current.replaceAll('.', String.raw`\.`);
  const named = git(
    'grep',
    '-lE',
    `(capture-gateway[:-]|[vV]ersion"?[:=] ?"?|newTag: )${word}`,
    '--',
    '.',
    ':!test',
  );
  const changed = new Set<string>(prepared?.changed);
  expect(
    named
      .trim()
      .split('\n')
      .filter((file) => !changed.has(file)),
  ).toEqual([]);
});

test('the changelog and the message of the tag have the new entries', () => {
  const text = readFileSync(new URL('CHANGELOG.md', root), 'utf8');
  expect(text).toContain(`## [Unreleased]\n\n## [${VERSION}] - ${DATE}\n\n### Added\n`);
  expect(prepared?.tagMessage).toMatch(new RegExp(`^capture-gateway ${VERSION}\n\nAdded:\n\n- `));
  expect(prepared?.tagMessage).not.toMatch(/^#/m);
});

test('the bill of materials has every package that ships, with the hash of the lock file, and is the same when made again', () => {
  const text = readFileSync(new URL(`release/${VERSION}/sbom.cdx.json`, root), 'utf8');
  expect(softwareBillOfMaterials(root, DATE)).toBe(text);
  const bom = JSON.parse(text) as BillOfMaterials;
  expect(bom).toMatchObject({ bomFormat: 'CycloneDX', specVersion: '1.6', version: 1 });
  expect(bom.serialNumber).toMatch(/^urn:uuid:[\da-f]{8}-[\da-f]{4}-8[\da-f]{3}-8[\da-f]{3}-[\da-f]{12}$/);
  expect(bom.metadata.component).toMatchObject({ name: 'capture-gateway', version: VERSION });
  const shipped = productionPackages(lockedPackages(project));
  expect(bom.components.map(({ name, version }) => `${name}@${version}`)).toEqual(
    shipped.map(({ name, version }) => `${name}@${version}`),
  );
  for (const [at, { hashes }] of bom.components.entries()) {
    const base64 = Buffer.from(hashes[0]?.content ?? '', 'hex').toString('base64');
    expect(`sha512-${base64}`).toBe(shipped[at]?.integrity);
  }
  // Everything that ships is reached from the project, and nothing else is named.
  const graph = new Map(bom.dependencies.map(({ ref, dependsOn }) => [ref, dependsOn]));
  const reached = new Set([bom.metadata.component['bom-ref']]);
  for (const ref of reached) for (const next of graph.get(ref) ?? []) reached.add(next);
  expect([...reached].sort()).toEqual([...graph.keys()].sort());
  expect(reached.size).toBe(bom.components.length + 1);
});

test('the bill of materials is valid by the schema of CycloneDX, with the licences of SPDX', async () => {
  const text = readFileSync(new URL(`release/${VERSION}/sbom.cdx.json`, root), 'utf8');
  const schema = new JsonStrictValidator(Version.v1dot6);
  expect(await schema.validate(text)).toBeNull();
  for (const [right, wrong] of [
    ['urn:uuid:', 'urn:'],
    ['"id": "MIT"', '"id": "MITT"'],
    ['"scope": "required"', '"scop": "required"'],
  ] as const) {
    expect(text).toContain(right);
    expect(await schema.validate(text.replace(right, wrong))).not.toBeNull();
  }
});

test('the list of licences has the text of each', () => {
  const text = readFileSync(new URL(`release/${VERSION}/THIRD-PARTY-LICENSES.md`, root), 'utf8');
  for (const { name, version, license } of productionPackages(lockedPackages(project))) {
    expect(text).toContain(`| ${name} | ${version} | ${license} |`);
    expect(text).toContain(`## ${name} ${version}\n\n\`\`\`\n`);
  }
  // Packages that have none in their tarball; their licence is what package.json declares.
  const without = [...text.matchAll(/^The package (\S+) has no file with its licence\.$/gm)].map(
    ([, name]) => name,
  );
  expect(without).toEqual([]);
});

test('the package works in an empty folder, with nothing of the checkout in reach', async () => {
  const tarball = fileURLToPath(new URL(`release/${VERSION}/capture-gateway-${VERSION}.tgz`, root));
  expect(await tryPackage(tarball, VERSION)).toHaveLength(3);
  await expect(tryPackage(tarball, '0.0.1')).rejects.toThrow(`says that it is ${VERSION}, not 0.0.1`);
});

test('the tag of the release makes the same artefacts again', () => {
  const sums = (): string => readFileSync(new URL(`release/${VERSION}/SHA256SUMS`, root), 'utf8');
  const first = sums();
  expect(makeTaggedRelease(root).tagMessage).toBe(prepared?.tagMessage);
  expect(sums()).toBe(first);
});

test('the workflows run scripts that exist, and publish from a tag alone', () => {
  const { scripts } = JSON.parse(readFileSync(new URL('package.json', project), 'utf8')) as {
    readonly scripts: object;
  };
  const files = ['test', 'release'].map((name) =>
    readFileSync(new URL(`.github/workflows/${name}.yml`, project), 'utf8'),
  );
  const [testing, releasing] = files.map((text) => parse(text) as Workflow);
  expect(Object.keys(testing?.on ?? {})).toEqual(['push', 'pull_request']);
  expect(releasing?.on).toEqual({ push: { tags: ['v[0-9]+.[0-9]+.[0-9]+'] } });
  expect(Object.keys(releasing?.jobs ?? {})).toEqual(['prepare', 'package', 'image', 'chart', 'page']);
  for (const [, name = ''] of files.join('').matchAll(/npm run (?:-s )?([\w:]+)/g))
    expect(scripts).toHaveProperty(name);
  // A tag of an action can be moved to other code; a commit cannot. What runs in a shell gets no text of GitHub's put into it.
  const used = [...files.join('').matchAll(/uses: (.+)/g)].map(([, name = '']) => name);
  expect(used.filter((name) => !/^[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/.test(name))).toEqual([]);
  const steps = [testing, releasing].flatMap((workflow) =>
    Object.values(workflow?.jobs ?? {}).flatMap((job) => job.steps),
  );
  expect(steps.filter(({ run }) => run?.includes('${{'))).toEqual([]);
});

test('the chart has the version, and nothing but its files', () => {
  const archive = fileURLToPath(new URL(`release/${VERSION}/capture-gateway-chart-${VERSION}.tgz`, root));
  const chart = execFileSync('tar', ['-xzOf', archive, 'capture-gateway/Chart.yaml'], { encoding: 'utf8' });
  expect(chart).toContain(`\nversion: ${VERSION}\nappVersion: ${VERSION}\n`);
  const listed = execFileSync('tar', ['-tzf', archive], { encoding: 'utf8' }).trim().split('\n');
  expect(listed.filter((name) => !name.startsWith('capture-gateway/'))).toEqual([]);
});

test('every address of the project names the one owner', () => {
  const named = git(
    'grep',
    '-hoE',
    '(github\\.com|ghcr\\.io)/[a-z0-9-]+(/charts)?/capture-gateway',
    '--',
    '.',
    ':!test',
    ':!config/release',
  );
  const own = new Set([REPOSITORY, IMAGE].map((address) => address.replace('https://', '')));
  const addresses = named.trim().split('\n');
  expect(addresses.length).toBeGreaterThan(20);
  expect(addresses.filter((address) => !own.has(address))).toEqual([]);
});

test.each([VERSION, '0.0.1', '1.0', 'v9.0.0', ''])(
  '%s is refused before anything is written',
  async (version) => {
    const read = (): string => readFileSync(new URL('package.json', root), 'utf8');
    const text = read();
    await expect(prepareRelease(root, { version, date: DATE })).rejects.toThrow(/is not a version after/);
    expect(read()).toBe(text);
  },
);

interface Workflow {
  readonly on: object;
  readonly jobs: Readonly<Record<string, { readonly steps: readonly { readonly run?: string }[] }>>;
}

interface BillOfMaterials {
  readonly serialNumber: string;
  readonly metadata: { readonly component: { readonly 'bom-ref': string } };
  readonly components: readonly {
    readonly name: string;
    readonly version: string;
    readonly hashes: readonly { readonly content: string }[];
  }[];
  readonly dependencies: readonly { readonly ref: string; readonly dependsOn: readonly string[] }[];
}

function git(...given: readonly string[]): string {
  return execFileSync('git', given, { cwd: project, encoding: 'utf8' });
}

function versionIn(folder: URL): string {
  const { version } = JSON.parse(readFileSync(new URL('package.json', folder), 'utf8')) as {
    version: string;
  };
  return version;
}
