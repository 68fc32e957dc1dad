import { existsSync, readFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { parsedJson } from '../../rewrite-log/attributes.ts';
import { MemoryStore, type RecordStore, type Store } from '../../rollout/store.ts';
import {
  missingV1Fault,
  modesInForce,
  initialRollout,
  type RolloutState,
} from '../../rollout/rollout-state.ts';
import { Replica, type ReplicaNotice } from '../../rollout/replica.ts';
import { RolloutControl } from '../../rollout/rollout-control.ts';
import { readRollout, rolloutText } from '../../rollout/stored-rollout.ts';
import type { Rollout, Scope } from '../../rules/rollout.ts';
import type { RuleBook } from '../../rules/rule-book.ts';
import type { Settings } from '../../settings/read-settings.ts';
import { modesFile, type OriginSetting } from '../../settings/setting-kinds.ts';
import { settings as table } from '../../settings/settings.ts';
import { replaceFile } from '../files.ts';
import type { ProcessLine, WriteProcessLine } from '../log/process-log.ts';
import { SYSTEM_CLOCK } from '../runtime.ts';
import { FileStore } from './file-store.ts';
import { RedisStore } from './redis-store.ts';

/** Routes V1 traffic while the gateway runs. */
export interface OpenRollout {
  readonly control: RolloutControl;
  /** This gateway among those that share its store; undefined without a store. */
  readonly replica: Replica | undefined;
  /** What the processes of this gateway share, and its replicas. */
  readonly store: Store | undefined;
  /** Records that it shares with its replicas; undefined where only its own processes share anything. */
  readonly records: RecordStore | undefined;
  /** See `OpenStore.renewCa`. */
  readonly renewStoreCa: OpenStore['renewCa'];
  readonly v1Origin: OriginSetting | undefined;
  /** Returns why a rule book cannot be in force here, as a sentence. */
  readonly faultOf: (book: RuleBook) => string | undefined;
  /** Waits until the last change is saved. */
  readonly close: () => Promise<void>;
}

/** This process among those of its gateway. */
export interface RolloutProcess {
  /** Number of processes that serve clients. */
  readonly processes: number;
  /** In one of several processes: the store of the first, which also tells what happens to the rollout. */
  readonly store?: Store | undefined;
}

/** Reads the stored rollout, and checks that it can continue with these settings. */
export async function openRollout(
  settings: Settings,
  book: RuleBook,
  log: WriteProcessLine,
  own: RolloutProcess = { processes: 1 },
): Promise<OpenRollout | { readonly fault: string }> {
  const v1Origin = settings.get(table.v1Upstream);
  const control = new RolloutControl({
    time: Date.now,
    hasV1: v1Origin !== undefined,
    onNotice: (sentence, event) => log({ level: 'error', event, message: `rollout: ${sentence}` }),
  });
  const opened: OpenStore | undefined =
    own.store === undefined
      ? await openStore(settings, own.processes)
      : { store: own.store, place: 'the first process', copy: undefined, isLocal: false, records: undefined };
  const shared = opened && (await share(control, opened, own, own.store === undefined ? log : () => {}));
  if (shared !== undefined && 'fault' in shared) return shared;
  const close = shared?.close ?? (() => Promise.resolve());
  const faultOf = (next: RuleBook): string | undefined => v1Fault(settings, next, control.state);
  const fault = faultOf(book);
  if (fault !== undefined) {
    await close();
    return { fault };
  }
  if (
    settings.get(table.clientSecret) === undefined &&
    (v1Origin !== undefined || namesClients(book.rollout))
  ) {
    log({
      level: 'warn',
      event: 'client-secret-random',
      message:
        'rollout: client hashes are new at each start, so shares, pins and names do not last; set GATEWAY_CLIENT_SECRET to the same value on every replica.',
    });
  }
  return {
    control,
    replica: shared?.replica,
    store: opened?.store,
    records: opened?.records,
    renewStoreCa: opened?.renewCa,
    v1Origin,
    faultOf,
    close,
  };
}

/** Returns as a sentence why the gateway would not start with the rollout in its file; starts nothing, and asks no server. */
export function storedRolloutFault(settings: Settings, book: RuleBook): string | undefined {
  const path = modesFile(settings.get(table.store));
  if (path === undefined || !existsSync(path)) return v1Fault(settings, book, initialRollout);
  const noFault = (): void => {};
  const state = new RolloutCopy(path, noFault).read() ?? new RolloutCopy(copyOf(path), noFault).read();
  return state === undefined ? damageOf(placeOf(settings, path)) : v1Fault(settings, book, state);
}

function v1Fault(settings: Settings, { rollout }: RuleBook, state: RolloutState): string | undefined {
  if (settings.get(table.v1Upstream) !== undefined) return undefined;
  return missingV1Fault(modesInForce(rollout?.modes, state), settings.nameOf(table.v1Upstream));
}

function damageOf(place: string): string {
  return `${place} is not a stored rollout; name another file, or remove it to start over if it was one.`;
}

/** Makes this gateway one of those that share the store. */
async function share(
  control: RolloutControl,
  { store, place, copy: copyPath, isLocal }: OpenStore,
  { processes, store: ofFirst }: RolloutProcess,
  log: WriteProcessLine,
): Promise<{ readonly replica: Replica; readonly close: () => Promise<void> } | { readonly fault: string }> {
  const copy =
    copyPath === undefined
      ? undefined
      : new RolloutCopy(copyPath, (sentence) =>
          log({ level: 'error', event: 'rollout-file', message: `rollout: ${sentence}` }),
        );
  const replica = new Replica({
    control,
    store,
    name: `${hostname()}/${process.pid}`,
    isServing: processes === 1,
    isGateway: ofFirst === undefined,
    clock: SYSTEM_CLOCK,
    parse: parsedJson,
    onNotice: (notice) => log(noticeLine(notice)),
    onKnown: (state) => copy?.write(state),
  });
  const close = async (): Promise<void> => {
    await replica.close();
    await store.close();
    await copy?.close();
  };
  const last = copy?.read();
  // A file that was removed starts over; a store that was emptied does not.
  if (!isLocal && last !== undefined) replica.begin(last);
  await replica.start();
  const { aloneSince, aloneReason } = replica.status;
  if (isLocal && aloneSince !== undefined) {
    await close();
    return { fault: `${place} cannot be read (${aloneReason}).` };
  }
  if (replica.isDamaged && control.isInitial) {
    if (last === undefined) {
      await close();
      return { fault: damageOf(place) };
    }
    replica.begin(last);
  }
  return { replica, close };
}

const LEVELS = {
  alone: ['warn', 'store-lost'],
  together: ['info', 'store-found'],
  changed: ['info', 'rollout-changed'],
  'rolled-back': ['error', 'rollout-rolled-back'],
  overtaken: ['warn', 'rollout-overtaken'],
  damaged: ['error', 'rollout-damaged'],
} as const;

function noticeLine({ kind, sentence }: ReplicaNotice): ProcessLine {
  const [level, event] = LEVELS[kind];
  return { level, event, message: `rollout: ${sentence.charAt(0).toLowerCase()}${sentence.slice(1)}` };
}

function namesClients(rollout: Rollout | undefined): boolean {
  if (rollout === undefined) return false;
  const scopes: readonly Scope[] = [...rollout.brownouts, ...rollout.pins, rollout.gone ?? {}];
  const named = scopes.some(({ clients, except }) => clients !== undefined || except !== undefined);
  return named || Object.keys(rollout.clients).length > 0;
}

/** A store of the settings. */
interface OpenStore {
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
async function openStore(settings: Settings, processes: number): Promise<OpenStore | undefined> {
  const address = settings.get(table.store);
  if (address.kind === 'redis') {
    const { url, ca, copy, prefix } = address;
    const store = await RedisStore.open({
      url,
      password: () => settings.get(table.storePassword),
      ca: ca === undefined ? undefined : readFileSync(ca, 'utf8'),
      name: prefix,
    });
    const records = store.records(settings.constants.reportKeepDays * DAY_MS);
    const renewCa = (renewed: string): void => store.renew(renewed);
    return { store, place: placeOf(settings, url), copy, isLocal: false, records, renewCa };
  }
  if (address.kind === 'memory') {
    if (processes === 1) return undefined;
    return {
      store: new MemoryStore(Date.now),
      place: 'memory',
      copy: undefined,
      isLocal: true,
      records: undefined,
    };
  }
  const { path } = address;
  const store = new FileStore(path, Date.now);
  return { store, place: placeOf(settings, path), copy: copyOf(path), isLocal: true, records: store.records };
}

/** Names the place of a store with its setting, as the operator set it. */
function placeOf(settings: Settings, place: string): string {
  return `${settings.nameOf(table.store)} ${place}`;
}

const DAY_MS = 86_400_000;

/** Path of the last known state beside the file of a rollout. */
function copyOf(path: string): string {
  return `${path}.last-good`;
}

/** The last known state of a rollout in a file, for a start at which the store is damaged or out of reach. */
export class RolloutCopy {
  private readonly path: string;
  private readonly onFault: (sentence: string) => void;
  private work: Promise<void> = Promise.resolve();
  private latest: RolloutState | undefined;

  constructor(path: string, onFault: (sentence: string) => void) {
    this.path = path;
    this.onFault = onFault;
  }

  /** Returns the state; undefined when there is no file, or a damaged one. */
  read(): RolloutState | undefined {
    try {
      return readRollout(parsedJson(readFileSync(this.path, 'utf8')));
    } catch {
      return undefined;
    }
  }

  /** Replaces the file; of states in quick succession only the last is written. */
  write(state: RolloutState): void {
    const isWriting = this.latest !== undefined;
    this.latest = state;
    if (!isWriting) this.work = this.work.then(() => this.writeLatest());
  }

  /** Waits for the file. */
  close(): Promise<void> {
    return this.work;
  }

  private async writeLatest(): Promise<void> {
    const state = this.latest;
    this.latest = undefined;
    if (state === undefined) return;
    try {
      await replaceFile(this.path, rolloutText(state));
    } catch (error) {
      const reason = error instanceof Error && 'code' in error ? String(error.code) : String(error);
      this.onFault(`The last known state cannot be kept in ${this.path} (${reason}).`);
    }
  }
}
