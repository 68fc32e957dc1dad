import { readFileSync } from 'node:fs';

/**
 * Who publishes: the owner of the repository, of the package's scope and of the image. A placeholder until a person confirms it. A
 * test finds every place that names another one.
 */
export const OWNER = 'capture-gateway';

/** The repository, where links of package, alerts and documentation lead. */
export const REPOSITORY = `https://github.com/${OWNER}/capture-gateway`;

/** The image, and the registry of the chart. */
export const IMAGE = `ghcr.io/${OWNER}/capture-gateway`;

/** What a release makes public, one line each. */
export function publications(version: string): readonly string[] {
  return [
    `  the package capture-gateway@${version} on the npm registry, with provenance`,
    `  the image ${IMAGE}:${version} for amd64 and arm64, signed, with bill of materials and provenance`,
    `  the chart oci://ghcr.io/${OWNER}/charts/capture-gateway ${version}, signed`,
    `  ${REPOSITORY}/releases/tag/v${version} with the files above`,
  ];
}

/** A file that names the version, and the words around it: `0.0.0` stands for the version. */
const PLACES: readonly (readonly [file: string, words: readonly string[]])[] = [
  ['package.json', ['"version": "0.0.0"']],
  [
    'package-lock.json',
    [
      '"name": "capture-gateway",\n  "version": "0.0.0"',
      '"name": "capture-gateway",\n      "version": "0.0.0"',
    ],
  ],
  ['Dockerfile', ['org.opencontainers.image.version="0.0.0"']],
  ['deploy/compose/compose.yaml', ['image: capture-gateway:0.0.0']],
  ['deploy/kubernetes/sidecar-component/sidecar.yaml', ['image: capture-gateway:0.0.0']],
  ['deploy/kubernetes/standalone/kustomization.yaml', ['newTag: 0.0.0']],
  ['deploy/helm/capture-gateway/Chart.yaml', ['\nversion: 0.0.0', '\nappVersion: 0.0.0']],
  ['docs/deploying.md', ['capture-gateway-0.0.0.tgz']],
];

/** Returns the files in `root` that name the version `from`, with `to` in its place; throws if one does not name it where it should. */
export function withVersion(
  root: URL,
  from: string,
  to: string,
): readonly (readonly [file: string, text: string])[] {
  return PLACES.map(([file, words]) => {
    let text = readFileSync(new URL(file, root), 'utf8');
    for (const place of words) {
      const old = place.replace('0.0.0', from);
      if (!text.includes(old)) throw new Error(`${file} does not have ${JSON.stringify(old)}.`);
      text = text.replaceAll(old, place.replace('0.0.0', to));
    }
    return [file, text];
  });
}
