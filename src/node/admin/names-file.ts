import type { NamesFault } from './client-names.ts';

/** Display names of clients, by client hash. */
export interface NamesFile {
  readonly names: () => ReadonlyMap<string, string>;
  /** Keeps the name of a client, or takes it away; absent without a file. */
  readonly nameClient?: (client: string, name: string | undefined) => NamesFault | undefined;
  /** Reads the file again, and returns what is wrong with it, as sentences. */
  readonly reload: () => readonly string[];
}

/** Opens the file of client names; what reads YAML is loaded only where there is one. */
export async function openNamesFile(path: string | undefined): Promise<NamesFile> {
  if (path === undefined) return { names: () => NO_NAMES, reload: () => [] };
  const { ClientNames } = await import('./client-names.ts');
  const { nameClient } = await import('./name-client.ts');
  const names = new ClientNames(path);
  return {
    names: () => names.current,
    reload: () => names.reload(),
    nameClient: (client, name) => nameClient(path, client, name),
  };
}

const NO_NAMES: ReadonlyMap<string, string> = new Map();
