import { readFileSync } from 'node:fs';
import { MemoryStore } from '../../rollout/memory-store.ts';
import type { RecordStore } from '../../rollout/record-store.ts';
import type { Store } from '../../rollout/store.ts';
import type { Settings } from '../../settings/read-settings.ts';
import { settings as table } from '../../settings/settings.ts';
import { FileStore } from './file-store.ts';
import { RedisStore } from './redis-store.ts';

/** A store of the settings. */
export interface OpenStore {
  readonly store: Store;
  /** The setting that names it, as the operator set it, and the place. */
  readonly place: string;
  /** File for the last known state. */
  readonly copy: string | undefined;
  /** True when a store that cannot be read is a fault of the settings. */
  readonly isLocal: boolean;
  /** Records of replicas; undefined where only processes of one gateway share the store. */
  readonly records: RecordStore | undefined;
  /** Checks new connections to the store against these authorities, as PEM text. */
  readonly renewCa?: ((ca: string) => void) | undefined;
}

/**
 * Opens the store that the settings name; undefined when one process shares nothing with any other. `processes` of one gateway
 * share the memory of the first. Throws when a file cannot be read.
 */
export async function openStore(settings: Settings, processes: number): Promise<OpenStore | undefined> {
  const address = settings.get(table.store);
  const file = settings.get(table.rolloutFile);
  if (address.kind === 'redis') {
    const ca = settings.get(table.storeCa);
    const store = await RedisStore.open({
      url: address.url,
      password: () => settings.get(table.storePassword),
      ca: ca === undefined ? undefined : readFileSync(ca, 'utf8'),
      name: settings.get(table.storeName),
    });
    const records = store.records(settings.get(table.reportKeep) * DAY_MS);
    const renewCa = (renewed: string): void => store.renew(renewed);
    return { store, place: placeOf(settings, address.url), copy: file, isLocal: false, records, renewCa };
  }
  const path = address.kind === 'file' ? address.path : file;
  if (path === undefined) {
    if (processes === 1) return undefined;
    return {
      store: new MemoryStore(Date.now),
      place: 'memory',
      copy: undefined,
      isLocal: true,
      records: undefined,
    };
  }
  const store = new FileStore(path, Date.now);
  return { store, place: placeOf(settings, path), copy: copyOf(path), isLocal: true, records: store.records };
}

/** Names the place of a store with its setting, as the operator set it. */
export function placeOf(settings: Settings, place: string): string {
  const setting = settings.get(table.store).kind === 'memory' ? table.rolloutFile : table.store;
  return `${settings.nameOf(setting)} ${place}`;
}

const DAY_MS = 86_400_000;

/** Path of the last known state beside the file of a rollout. */
export function copyOf(path: string): string {
  return `${path}.last-good`;
}
