import { existsSync } from 'node:fs';
import { hostname } from 'node:os';
import { parsedJson } from '../../rewrite-log/parsed-json.ts';
import { missingV1Fault, modesInForce } from '../../rollout/modes.ts';
import { Replica, type ReplicaNotice } from '../../rollout/replica.ts';
import { RolloutControl } from '../../rollout/rollout-control.ts';
import { initialRollout, type RolloutState } from '../../rollout/rollout-state.ts';
import type { RecordStore } from '../../rollout/record-store.ts';
import type { Store } from '../../rollout/store.ts';
import type { Rollout, Scope } from '../../rules/rollout.ts';
import type { RuleBook } from '../../rules/rule-book.ts';
import type { Settings } from '../../settings/read-settings.ts';
import type { OriginSetting } from '../../settings/setting-kinds.ts';
import { settings as table } from '../../settings/settings.ts';
import { SYSTEM_CLOCK } from '../system-clock.ts';
import type { ProcessLine, WriteProcessLine } from '../log/process-log.ts';
import { copyOf, type OpenStore, openStore, placeOf } from './open-store.ts';
import { RolloutCopy } from './rollout-copy.ts';

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
    onNotice: (sentence) =>
      log({ level: 'error', event: 'rollout-rolled-back', message: `rollout: ${sentence}` }),
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
        'rollout: client hashes are new at each start, so that shares, pins and names do not hold; set GATEWAY_CLIENT_SECRET, the same for every replica.',
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

/** Returns why the gateway would not start with the rollout in its file, as a sentence; starts nothing, and asks no server. */
export function storedRolloutFault(settings: Settings, book: RuleBook): string | undefined {
  const address = settings.get(table.store);
  const path = address.kind === 'file' ? address.path : settings.get(table.rolloutFile);
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
  return `${place} is not a stored rollout; name another file, or, if it was one, remove it to start over.`;
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
