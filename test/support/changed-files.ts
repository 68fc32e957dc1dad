import { mkdirSync, readdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryFolder } from './temporary-folder.ts';

/** A folder of files that someone renews while a gateway reads them. */
export interface RenewedFolder {
  readonly path: (name: string) => string;
  /** Gives the files these texts; the others stay. */
  readonly renew: (texts: Readonly<Record<string, string>>) => void;
}

/** The ways in which files are renewed. */
export const RENEWALS: Readonly<Record<string, (texts: Readonly<Record<string, string>>) => RenewedFolder>> =
  {
    'the kubelet swaps ..data': (texts) => kubeletFolder(texts),
    'a rewrite in place': (texts) => plainFolder(texts, (path, text) => writeFileSync(path, text)),
    'a rename over the file': (texts) =>
      plainFolder(texts, (path, text) => {
        writeFileSync(`${path}.new`, text);
        renameSync(`${path}.new`, path);
      }),
  };

function plainFolder(
  texts: Readonly<Record<string, string>>,
  write: (path: string, text: string) => void,
): RenewedFolder {
  const folder = temporaryFolder('renewed');
  const path = (name: string): string => join(folder, name);
  const renew = (next: Readonly<Record<string, string>>): void => {
    for (const [name, text] of Object.entries(next)) write(path(name), text);
  };
  renew(texts);
  return { path, renew };
}

/** Each name is a link through `..data`, itself a link to a folder of the time of the renewal, which is replaced whole. */
function kubeletFolder(texts: Readonly<Record<string, string>>): RenewedFolder {
  const folder = temporaryFolder('kubelet');
  let all: Record<string, string> = {};
  let version = 0;
  const renew = (next: Readonly<Record<string, string>>): void => {
    all = { ...all, ...next };
    version += 1;
    const target = `..2026_${version}`;
    mkdirSync(join(folder, target));
    for (const [name, text] of Object.entries(all)) writeFileSync(join(folder, target, name), text);
    symlinkSync(target, join(folder, '..data_tmp'));
    renameSync(join(folder, '..data_tmp'), join(folder, '..data'));
    for (const old of readdirSync(folder))
      if (old.startsWith('..2026_') && old !== target) rmSync(join(folder, old), { recursive: true });
  };
  renew(texts);
  for (const name of Object.keys(texts)) symlinkSync(join('..data', name), join(folder, name));
  return { path: (name) => join(folder, name), renew };
}
