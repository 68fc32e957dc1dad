import { readFileSync } from 'node:fs';

/** The parts of package.json that a release depends on. */
export interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly license: string;
  readonly description: string;
  readonly dependencies: Readonly<Record<string, string>>;
  readonly devDependencies: Readonly<Record<string, string>>;
  /** Decisions on install scripts, by package. */
  readonly allowScripts: Readonly<Record<string, boolean>>;
}

/** Reads the package.json in `root`. */
export function readManifest(root: URL): Manifest {
  const manifest: Manifest = JSON.parse(readFileSync(new URL('package.json', root), 'utf8'));
  return manifest;
}
