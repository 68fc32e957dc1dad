import type { NamesFault } from './client-names.ts';

/** Display names of clients, by client hash. */
export interface NamesFile {
  readonly names: () => ReadonlyMap<string, string>;
  /** Keeps the name of a client, or takes it away; absent without a file. */
  readonly nameClient?: (client: string, name: string | undefined) => NamesFault | undefined;
}

/** Opens the file of client names; what reads YAML is loaded only where there is one. */
export async function openNamesFile(path: string | undefined): Promise<NamesFile> {
  if (path === undefined) return { names: () => NO_NAMES };
  const { watchClientNames } = await import('./client-names.ts');
  const { nameClient } = await import('./name-client.ts');
  return {
    names: watchClientNames(path),
    nameClient: (client, name) => nameClient(path, client, name),
  };
}

const NO_NAMES: ReadonlyMap<string, string> = new Map();
