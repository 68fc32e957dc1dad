import { existsSync, readFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { parsedJson } from '../../rewrite-log/attributes.ts';
import { MemoryState, type SharedState } from '../../rollout/shared-state.ts';
import { initialRollout, type RolloutState } from '../../rollout/rollout-state.ts';
import { missingV1Fault, modesInForce } from '../../rollout/modes-in-force.ts';
import { NOTICE_EVENTS, Replica, type ReplicaNotice } from '../../rollout/replica.ts';
import { RolloutControl } from '../../rollout/rollout-control.ts';
import { readRollout, ROLLOUT_KEY, rolloutText } from '../../rollout/stored-rollout.ts';
import type { Rollout, Scope } from '../../rules/rollout.ts';
import type { RuleBook } from '../../rules/rule-book.ts';
import type { Settings } from '../../settings/read-settings.ts';
import { modesFile, type OriginSetting } from '../../settings/setting-kinds.ts';
import { settings as table } from '../../settings/settings.ts';
import { replaceFile } from '../files.ts';
import { systemReason } from '../system-reason.ts';
import type { ProcessLine, WriteProcessLine } from '../log/process-log.ts';
import { SYSTEM_CLOCK } from '../runtime.ts';
import { FileStore } from './file-store.ts';
import { RedisStore } from './redis-store.ts';

/** Routes V1 traffic while the gateway runs. */
export interface OpenRollout {
  readonly control: RolloutControl;
  /** This gateway among those that share its store; undefined without a store. */
  readonly replica: Replica | undefined;
  /** The store that this gateway's processes and replicas share. */
  readonly store: SharedState | undefined;
  /** The same store if replicas share it; undefined if only this gateway's processes do. */
  readonly fleetStore: SharedState | undefined;
  /** See `OpenStore.renewCa`. */
  readonly renewStoreCa: OpenStore['renewCa'];
  readonly v1Origin: OriginSetting | undefined;
  /** Returns a sentence that says why a rule book cannot be in force here, if it cannot. */
  readonly faultOf: (book: RuleBook) => string | undefined;
  /** Waits until the last change is saved. */
  readonly close: () => Promise<void>;
}

/** This process among its gateway's. */
export interface RolloutProcess {
  /** Number of processes that serve clients. */
  readonly processes: number;
  /** In a worker, the first process's store. Only the first process logs what happens to the rollout. */
  readonly store?: SharedState | undefined;
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
      ? await openStore(settings, own.processes, log)
      : { store: own.store, place: 'the first process', copy: undefined, isLocal: false, isOfFleet: false };
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
    fleetStore: opened?.isOfFleet === true ? opened.store : undefined,
    renewStoreCa: opened?.renewCa,
    v1Origin,
    faultOf,
    close,
  };
}

/** Returns a sentence that says why the gateway would not start with the rollout in its file, if it would not; contacts no server. */
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

/** Adds this gateway to those that share the store. */
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
  // No state is created beside a file of another program.
  const unusable = isLocal && last === undefined ? await faultOfFile(store, place) : undefined;
  if (unusable !== undefined) {
    await close();
    return { fault: unusable };
  }
  // Removing the file starts over; emptying a store does not.
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

/** Returns a sentence that says why a file is not a store, before anything is written to it; undefined if it is one, or is missing. */
async function faultOfFile(store: SharedState, place: string): Promise<string | undefined> {
  try {
    const text = await store.read(ROLLOUT_KEY);
    return text === undefined || readRollout(parsedJson(text)) !== undefined ? undefined : damageOf(place);
  } catch (error) {
    return `${place} cannot be read (${error instanceof Error ? error.message : String(error)}).`;
  }
}

function noticeLine({ kind, sentence }: ReplicaNotice): ProcessLine {
  const [level, event] = NOTICE_EVENTS[kind];
  return { level, event, message: `rollout: ${sentence.charAt(0).toLowerCase()}${sentence.slice(1)}` };
}

function namesClients(rollout: Rollout | undefined): boolean {
  if (rollout === undefined) return false;
  const scopes: readonly Scope[] = [...rollout.brownouts, ...rollout.pins, rollout.gone ?? {}];
  const named = scopes.some(({ clients, except }) => clients !== undefined || except !== undefined);
  return named || Object.keys(rollout.clients).length > 0;
}

/** The store that the settings name. */
interface OpenStore {
  readonly store: SharedState;
  /** The setting as the operator set it, and the store's place. */
  readonly place: string;
  /** File for the last known state. */
  readonly copy: string | undefined;
  /** True if an unreadable store is a fault of the settings. */
  readonly isLocal: boolean;
  /** False if only one gateway's processes share the store. */
  readonly isOfFleet: boolean;
  /** Uses these authorities (PEM text) for new connections to the store. */
  readonly renewCa?: ((ca: string) => void) | undefined;
}

/**
 * Opens the store that the settings name; undefined if there is nothing to share. Several processes of one gateway share the first one's
 * memory. Throws if a file cannot be read.
 */
async function openStore(
  settings: Settings,
  processes: number,
  log: WriteProcessLine,
): Promise<OpenStore | undefined> {
  const address = settings.get(table.store);
  if (address.kind === 'redis') {
    const { url, ca, copy, prefix } = address;
    const store = await RedisStore.open({
      url,
      password: () => settings.get(table.storePassword),
      ca: ca === undefined ? undefined : readFileSync(ca, 'utf8'),
      name: prefix,
      onForeign: (sentence) =>
        log({ level: 'warn', event: 'store-stranger', message: `rollout: ${sentence}` }),
    });
    const renewCa = (renewed: string): void => store.renew(renewed);
    return { store, place: placeOf(settings, url), copy, isLocal: false, isOfFleet: true, renewCa };
  }
  if (address.kind === 'memory') {
    if (processes === 1) return undefined;
    return {
      store: new MemoryState(Date.now),
      place: 'memory',
      copy: undefined,
      isLocal: true,
      isOfFleet: false,
    };
  }
  const { path } = address;
  const store = new FileStore(path);
  return { store, place: placeOf(settings, path), copy: copyOf(path), isLocal: true, isOfFleet: true };
}

/** Names a store's place with its setting, as the operator set it. */
function placeOf(settings: Settings, place: string): string {
  return `${settings.nameOf(table.store)} ${place}`;
}

/** Path of the last known state, beside the rollout's file. */
function copyOf(path: string): string {
  return `${path}.last-good`;
}

/** A file with a rollout's last known state, for starts at which the store is damaged or unreachable. */
export class RolloutCopy {
  private readonly path: string;
  private readonly onFault: (sentence: string) => void;
  private work: Promise<void> = Promise.resolve();
  private latest: RolloutState | undefined;

  constructor(path: string, onFault: (sentence: string) => void) {
    this.path = path;
    this.onFault = onFault;
  }

  /** Returns the state; undefined if the file is missing or damaged. */
  read(): RolloutState | undefined {
    try {
      return readRollout(parsedJson(readFileSync(this.path, 'utf8')));
    } catch {
      return undefined;
    }
  }

  /** Replaces the file; writes only the last of several states in quick succession. */
  write(state: RolloutState): void {
    const isWriting = this.latest !== undefined;
    this.latest = state;
    if (!isWriting) this.work = this.work.then(() => this.writeLatest());
  }

  /** Waits until the file is written. */
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
      this.onFault(`The last known state cannot be kept in ${this.path}: ${systemReason(error)}.`);
    }
  }
}
