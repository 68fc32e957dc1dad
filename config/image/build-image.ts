import { execFileSync, spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { readManifest } from '../release/manifest.ts';
import { type AssembledImage, assembleImage } from './assemble-image.ts';
import { removeImage } from './remove-image.ts';

/** How the image was built, in one sentence. */
export type BuiltImage = string;

/**
 * Builds the image by the first engine that can: Docker, Podman or Buildah with the base image of the Dockerfile; where no registry
 * is in reach, Buildah from the assembled files, with the machine's C library in place of the base image. Throws if none can.
 */
export function buildImage(project: URL): BuiltImage {
  const tag = `capture-gateway:${readManifest(project).version}`;
  const faults: string[] = [];
  for (const [engine, ...given] of ENGINES) {
    const built = spawnSync(engine, [...given, '-t', tag, '.'], {
      cwd: fileURLToPath(project),
      encoding: 'utf8',
    });
    if (built.status === 0) return `${tag} was built by ${engine}, as the Dockerfile says.`;
    faults.push(`${engine}: ${faultOf(built)}`);
  }
  if (spawnSync('buildah', ['--version']).status !== 0)
    throw new Error(`No engine can build the image.\n${faults.join('\n')}`);
  const image = assembleImage(project);
  try {
    const container = execFileSync('buildah', ['from', 'scratch'], { encoding: 'utf8' }).trim();
    for (const step of scratchSteps(image, container, tag))
      execFileSync('buildah', step, { stdio: 'ignore' });
    return `${tag} was built by buildah from the assembled files, without the base image (${faults.join('; ')}).`;
  } finally {
    removeImage(image);
  }
}

const ENGINES = [
  ['docker', 'build'],
  // Podman's and Buildah's own format has no health check.
  ['podman', 'build', '--format=docker'],
  ['buildah', 'build', '--format=docker'],
] as const;

/** The arguments of Buildah that make an image of the assembled files, with the settings of the Dockerfile. */
export function scratchSteps(
  { root, dockerfile }: AssembledImage,
  container: string,
  tag: string,
): readonly (readonly string[])[] {
  const { env, labels, user, workdir, entrypoint, cmd, ports, healthcheck, healthcheckOptions } = dockerfile;
  return [
    ['copy', container, root, '/'],
    [
      'config',
      ...Object.entries(env).map(([name, value]) => `--env=${name}=${value}`),
      ...Object.entries(labels).map(([name, value]) => `--label=${name}=${value}`),
      ...ports.map((port) => `--port=${port}`),
      `--user=${user}`,
      `--workingdir=${workdir}`,
      `--entrypoint=${JSON.stringify(entrypoint)}`,
      `--cmd=${cmd.join(' ')}`,
      '--stop-signal=SIGTERM',
      `--healthcheck=CMD ${healthcheck.join(' ')}`,
      ...Object.entries(healthcheckOptions).map(([name, value]) => `--healthcheck-${name}=${value}`),
      container,
    ],
    ['commit', '--rm', '--format=docker', container, tag],
  ];
}

function faultOf({ error, stderr }: { readonly error?: Error; readonly stderr: string | null }): string {
  return error?.message ?? stderr?.trim().split('\n').at(-1) ?? 'it failed';
}
