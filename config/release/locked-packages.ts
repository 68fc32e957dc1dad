import { readFileSync } from 'node:fs';

/** A package of package-lock.json. */
export interface LockedPackage {
  /** Its folder, such as `node_modules/hono`. */
  readonly path: string;
  readonly name: string;
  readonly version: string;
  /** Subresource integrity: an algorithm and a hash in Base64. */
  readonly integrity: string | undefined;
  readonly resolved: string | undefined;
  /** SPDX expression; undefined if the package declares none. */
  readonly license: string | undefined;
  readonly hasInstallScript: boolean;
  /** True for packages that only development needs. */
  readonly isDev: boolean;
  /** Names of the packages that it depends on. */
  readonly dependencies: readonly string[];
}

/** A part of package-lock.json in version 3. */
interface LockEntry {
  readonly name?: string;
  readonly version?: string;
  readonly integrity?: string;
  readonly resolved?: string;
  readonly license?: string;
  readonly hasInstallScript?: boolean;
  readonly dev?: boolean;
  readonly devOptional?: boolean;
  readonly link?: boolean;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}

/** Reads the packages of the lock file in `root`, without the project itself. */
export function lockedPackages(root: URL): readonly LockedPackage[] {
  const text = readFileSync(new URL('package-lock.json', root), 'utf8');
  const { packages }: { readonly packages: Readonly<Record<string, LockEntry>> } = JSON.parse(text);
  return Object.entries(packages).flatMap(([path, entry]) =>
    path === '' || entry.link === true ? [] : [packageOf(path, entry)],
  );
}

/** Returns the packages that an installation without development has, in the order of their names. */
export function productionPackages(packages: readonly LockedPackage[]): readonly LockedPackage[] {
  return packages
    .filter(({ isDev }) => !isDev)
    .toSorted((one, other) => (one.name < other.name ? -1 : one.name > other.name ? 1 : 0));
}

/** Returns the package that `name` means within the folder `path`, as Node finds it: in the nearest `node_modules`. */
export function resolvePackage(
  name: string,
  path: string,
  packages: ReadonlyMap<string, LockedPackage>,
): LockedPackage | undefined {
  for (let folder = path; ; folder = folder.slice(0, Math.max(folder.lastIndexOf('/node_modules/'), 0))) {
    const found = packages.get(folder === '' ? `node_modules/${name}` : `${folder}/node_modules/${name}`);
    if (found !== undefined || folder === '') return found;
  }
}

function packageOf(path: string, entry: LockEntry): LockedPackage {
  return {
    path,
    name: entry.name ?? path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length),
    version: entry.version ?? '',
    integrity: entry.integrity,
    resolved: entry.resolved,
    license: entry.license,
    hasInstallScript: entry.hasInstallScript === true,
    isDev: entry.dev === true || entry.devOptional === true,
    dependencies: Object.keys({ ...entry.dependencies, ...entry.optionalDependencies }),
  };
}
