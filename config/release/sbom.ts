import { Buffer } from 'node:buffer';
import { createHash } from 'node:crypto';
import { type LockedPackage, lockedPackages, productionPackages, resolvePackage } from './locked-packages.ts';
import { type Manifest, readManifest } from './manifest.ts';

/**
 * Returns the bill of materials of the package in `root`, in CycloneDX 1.6: every package that an installation without development
 * has, from the lock file alone. `npm sbom --omit dev` leaves those out that development needs as well. The same lock file and
 * date (`YYYY-MM-DD`) yield the same bytes.
 */
export function softwareBillOfMaterials(root: URL, date: string): string {
  const manifest = readManifest(root);
  const shipped = productionPackages(lockedPackages(root));
  const byPath = new Map(shipped.map((locked) => [locked.path, locked]));
  const dependsOn = (names: readonly string[], path: string): readonly string[] =>
    names.flatMap((name) => {
      const found = resolvePackage(name, path, byPath);
      return found === undefined ? [] : [purl(found)];
    });
  const contents = {
    metadata: {
      timestamp: `${date}T00:00:00Z`,
      component: { type: 'application', ...component(manifest), description: manifest.description },
    },
    components: shipped.map((locked) => ({
      type: 'library',
      ...component(locked),
      scope: 'required',
      hashes: hashes(locked),
    })),
    dependencies: [
      { ref: purl(manifest), dependsOn: dependsOn(Object.keys(manifest.dependencies), '') },
      ...shipped.map((locked) => ({
        ref: purl(locked),
        dependsOn: dependsOn(locked.dependencies, locked.path),
      })),
    ],
  };
  const head = {
    $schema: 'http://cyclonedx.org/schema/bom-1.6.schema.json',
    bomFormat: 'CycloneDX',
    specVersion: '1.6',
    serialNumber: `urn:uuid:${uuidOf(JSON.stringify(contents))}`,
    version: 1,
  };
  return `${JSON.stringify({ ...head, ...contents }, undefined, 2)}\n`;
}

function component(item: Pick<LockedPackage | Manifest, 'name' | 'version' | 'license'>): object {
  const { name, version, license } = item;
  const licenses = license === undefined ? [] : [{ license: { id: license } }];
  return { 'bom-ref': purl(item), name, version, purl: purl(item), licenses };
}

/** A package URL; the scope's `@` is encoded. */
function purl({ name, version }: Pick<LockedPackage | Manifest, 'name' | 'version'>): string {
  return `pkg:npm/${name.replace('@', '%40')}@${version}`;
}

function hashes({ integrity = '' }: LockedPackage): readonly object[] {
  const [algorithm, hash = ''] = integrity.split(/-(.*)/s);
  if (algorithm !== 'sha512') return [];
  return [{ alg: 'SHA-512', content: Buffer.from(hash, 'base64').toString('hex') }];
}

/** A UUID of version 8 (RFC 9562 §5.8), from the contents, so that a release can be made again. */
function uuidOf(text: string): string {
  const hex = createHash('sha256').update(text).digest('hex');
  return [
    hex.slice(0, 8),
    hex.slice(8, 12),
    `8${hex.slice(13, 16)}`,
    `8${hex.slice(17, 20)}`,
    hex.slice(20, 32),
  ].join('-');
}
