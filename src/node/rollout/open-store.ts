import { readFileSync } from 'node:fs';
import type { Store } from '../../rollout/store.ts';
import type { Settings } from '../../settings/read-settings.ts';
import { settings as table } from '../../settings/settings.ts';
import { FileStore } from './file-store.ts';
import { RedisStore } from './redis-store.ts';

/** A store of the settings. */
export interface OpenStore {
  readonly store: Store;
  /** The place, for people. */
  readonly place: string;
  /** File for the last known state. */
  readonly copy: string | undefined;
  /** True when a store that cannot be read is a fault of the settings. */
  readonly isLocal: boolean;
}

/** Opens the store that the settings name; undefined when replicas share nothing. Throws when a file cannot be read. */
export async function openStore(settings: Settings): Promise<OpenStore | undefined> {
  const address = settings.get(table.store);
  const file = settings.get(table.rolloutFile);
  if (address.kind === 'redis') {
    const ca = settings.get(table.storeCa);
    const store = await RedisStore.open({
      url: address.url,
      password: settings.get(table.storePassword),
      ca: ca === undefined ? undefined : readFileSync(ca, 'utf8'),
      name: settings.get(table.storeName),
    });
    return { store, place: address.url, copy: file, isLocal: false };
  }
  const path = address.kind === 'file' ? address.path : file;
  if (path === undefined) return undefined;
  return { store: new FileStore(path, Date.now), place: path, copy: copyOf(path), isLocal: true };
}

/** Path of the last known state beside the file of a rollout. */
export function copyOf(path: string): string {
  return `${path}.last-good`;
}
