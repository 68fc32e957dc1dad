import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type AssembledImage, assembleImage } from '../../config/image/assemble-image.ts';
import { scratchSteps } from '../../config/image/build-image.ts';
import { readDockerfile } from '../../config/image/dockerfile.ts';
import { removeImage } from '../../config/image/remove-image.ts';
import { tryChart } from '../../config/image/try-chart.ts';
import { tryImage } from '../../config/image/try-image.ts';

const project = new URL('../../', import.meta.url);

let image: AssembledImage = { root: '', folders: [], dockerfile: readDockerfile(project) };

/** The steps of the Dockerfile, without an engine: it builds and copies the same files as an engine would. */
beforeAll(() => {
  image = assembleImage(project);
}, 180_000);

afterAll(() => removeImage(image));

test('an installation without development has at most 25 packages and no scripts to run, and 40 MB with the optional peers', () => {
  const modules = join(image.root, 'app/node_modules');
  const lock = JSON.parse(readFileSync(join(modules, '.package-lock.json'), 'utf8')) as {
    readonly packages: Readonly<
      Record<string, { readonly hasInstallScript?: boolean; readonly license?: string }>
    >;
  };
  const packages = Object.entries(lock.packages).filter(([path]) => path !== '');
  const bytes = bytesOf(modules);
  console.log(`production install: ${packages.length} packages, ${(bytes / 1e6).toFixed(1)} MB`);
  expect(packages.length).toBeLessThanOrEqual(25);
  expect(bytes).toBeLessThanOrEqual(40_000_000);
  expect(packages.filter(([, { hasInstallScript }]) => hasInstallScript === true)).toEqual([]);
});

test('the image holds the files that run, and nothing else', () => {
  expect(readdirSync(join(image.root, 'app')).sort()).toEqual([
    'LICENSE',
    'config',
    'dist',
    'node_modules',
    'package.json',
  ]);
  expect(readdirSync(join(image.root, 'app/config')).sort()).toEqual([
    'rules.schema.json',
    'rules.yaml',
    'twin',
  ]);
});

test('starts as a user without rights in a root that is mounted read-only, responds, is healthy, and stops in order', async () => {
  expect(await tryImage(image)).toEqual({
    status: 201,
    page: 200,
    health: [0, 1],
    uid: process.getuid?.() === 0 ? 65_532 : 0,
    writing: 'EROFS',
    exit: 0,
    // Containers merge both streams: a collector parses every line.
    events: ['started', 'draining', 'stopped'],
  });
});

test('Buildah makes an image of the same files and settings where no base image is in reach', () => {
  const steps = scratchSteps(image, 'working', 'capture-gateway:1.0.0').map((step) => step.join(' '));
  expect(steps[0]).toBe(`copy working ${image.root} /`);
  expect(steps[1]).toContain('--env=NODE_ENV=production --env=GATEWAY_LISTEN=*:8080 ');
  expect(steps[1]).toContain('--label=org.opencontainers.image.licenses=MIT ');
  expect(steps[1]).toContain(
    '--port=8080 --port=8081 --user=65532:65532 --workingdir=/app --entrypoint=["/nodejs/bin/node","dist/cli/main.js"] --cmd=serve ',
  );
  expect(steps[1]).toContain(
    '--healthcheck=CMD /nodejs/bin/node dist/cli/health.js --healthcheck-interval=10s --healthcheck-timeout=3s --healthcheck-start-period=5s --healthcheck-retries=3 working',
  );
  expect(steps[2]).toBe('commit --rm --format=docker working capture-gateway:1.0.0');
});

function bytesOf(path: string): number {
  const stat = statSync(path, { throwIfNoEntry: false });
  if (stat === undefined) return 0;
  if (!stat.isDirectory()) return stat.size;
  return readdirSync(path).reduce((sum, name) => sum + bytesOf(join(path, name)), 0);
}

test(
  'starts with the settings, secrets and folders that the chart gives its pod',
  { tags: ['helm'] },
  async () => {
    const chart = fileURLToPath(new URL('deploy/helm/capture-gateway', project));
    expect(await tryChart(image, chart)).toContain('V2 gets a V1 request migrated');
  },
);
