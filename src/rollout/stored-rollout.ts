import type { Mode } from '../rules/rollout.ts';
import type {
  CommandRecord,
  LatencyHarm,
  OriginCount,
  Rollback,
  RollbackCause,
  RolloutState,
} from './rollout-state.ts';

/** Key of the rollout in a store. */
export const ROLLOUT_KEY = 'rollout';

/** Version of the layout of the text. */
const FORMAT = 1;
const MAX_ROLLBACKS = 100;
const MAX_HISTORY = 200;
const MODES = ['migrate', 'observe', 'shadow'] as const;

/** Returns the text of a state, for a store: JSON that people can read. */
export function rolloutText(state: RolloutState): string {
  const { revision, changed, by, default: standard, operations, clients } = state;
  const rollbacks = state.rollbacks.map(orderedRollback);
  // Always in this order, so that equal states have equal texts.
  const ordered = {
    format: FORMAT,
    revision,
    changed,
    by,
    default: standard,
    operations,
    clients,
    rollbacks,
    stages: state.stages,
    history: state.history?.map(({ at, by: replica, who, why, operation, client, mode }) => ({
      at,
      by: replica,
      who,
      why,
      operation,
      client,
      mode,
    })),
  };
  return `${JSON.stringify(ordered, undefined, 2)}\n`;
}

function orderedRollback({
  at,
  by,
  operation,
  share,
  migrated,
  v1,
  latency,
  cause,
  resolved,
}: Rollback): object {
  return { at, by, operation, share, migrated, v1, latency, cause, resolved };
}

/** Returns the state in parsed JSON; undefined when it is damaged, or when a newer version wrote it. */
export function readRollout(value: unknown): RolloutState | undefined {
  const read = object(value, [
    'format',
    'revision',
    'changed',
    'by',
    'default',
    'operations',
    'clients',
    'rollbacks',
    'stages',
    'history',
  ]);
  if (read?.['format'] !== FORMAT) return undefined;
  const { revision, changed, by } = read;
  const standard = read['default'] === undefined ? undefined : readMode(read['default']);
  const operations = readModes(read['operations'], () => true);
  const clients = readModes(read['clients'], (name) => /^[0-9a-f]{16}$/.test(name));
  const rollbacks = readAll(read['rollbacks'], MAX_ROLLBACKS, readRollback);
  const stages = readStages(read['stages']);
  if (!isWhole(revision) || revision === 0 || !isInstant(changed) || !isText(by)) return undefined;
  if (standard === undefined && read['default'] !== undefined) return undefined;
  if (operations === undefined || clients === undefined || rollbacks === undefined) return undefined;
  if (stages === undefined && read['stages'] !== undefined) return undefined;
  const history = readAll(read['history'], MAX_HISTORY, readCommand);
  if (history === undefined && read['history'] !== undefined) return undefined;
  return {
    revision,
    changed,
    ...(by === undefined ? {} : { by }),
    ...(standard === undefined ? {} : { default: standard }),
    operations,
    clients,
    rollbacks,
    ...(stages === undefined ? {} : { stages }),
    ...(history === undefined ? {} : { history }),
  };
}

function readStages(value: unknown): Record<string, number> | undefined {
  const entries = Object.entries(object(value) ?? {});
  const stages = entries.filter((entry): entry is [string, number] => isWhole(entry[1]));
  return object(value) === undefined || stages.length < entries.length
    ? undefined
    : Object.fromEntries(stages);
}

/** Reads a list; undefined when it is too long, or one of its items is damaged. */
function readAll<Item>(
  value: unknown,
  limit: number,
  read: (item: unknown) => Item | undefined,
): readonly Item[] | undefined {
  if (!Array.isArray(value) || value.length > limit) return undefined;
  const items = value.map(read).filter((item) => item !== undefined);
  return items.length === value.length ? items : undefined;
}

function readCommand(value: unknown): CommandRecord | undefined {
  const read = object(value, ['at', 'by', 'who', 'why', 'operation', 'client', 'mode']);
  if (read === undefined) return undefined;
  const { at, by, who, why, operation, client } = read;
  const mode = read['mode'] === undefined ? undefined : readMode(read['mode']);
  if (mode === undefined && read['mode'] !== undefined) return undefined;
  if (!isInstant(at) || !isText(by) || !isText(who) || !isText(why)) return undefined;
  if (!isText(operation) || !isText(client)) return undefined;
  return {
    at,
    ...(by === undefined ? {} : { by }),
    ...(who === undefined ? {} : { who }),
    ...(why === undefined ? {} : { why }),
    ...(operation === undefined ? {} : { operation }),
    ...(client === undefined ? {} : { client }),
    ...(mode === undefined ? {} : { mode }),
  };
}

function readMode(value: unknown): Mode | undefined {
  const { mode, share } = object(value, ['mode', 'share']) ?? {};
  if (mode === 'canary' || mode === 'verify')
    return typeof share === 'number' && share > 0 && share <= 100 ? { mode, share } : undefined;
  const plain = MODES.find((candidate) => candidate === mode);
  return plain === undefined || share !== undefined ? undefined : { mode: plain };
}

function readModes(value: unknown, isName: (name: string) => boolean): Record<string, Mode> | undefined {
  const read = object(value);
  if (read === undefined) return undefined;
  const modes: [string, Mode][] = [];
  for (const [name, entry] of Object.entries(read)) {
    const mode = readMode(entry);
    if (mode === undefined || !isName(name)) return undefined;
    modes.push([name, mode]);
  }
  return Object.fromEntries(modes);
}

function readRollback(value: unknown): Rollback | undefined {
  const read = object(value, [
    'at',
    'by',
    'operation',
    'share',
    'migrated',
    'v1',
    'latency',
    'cause',
    'resolved',
  ]);
  if (read === undefined) return undefined;
  const { at, by, operation, share, resolved } = read;
  const cause = read['cause'] === undefined ? undefined : readCause(read['cause']);
  if (cause === undefined && read['cause'] !== undefined) return undefined;
  const latency = read['latency'] === undefined ? undefined : readLatency(read['latency']);
  if (latency === undefined && read['latency'] !== undefined) return undefined;
  const migrated = readCount(read['migrated']);
  const v1 = readCount(read['v1']);
  if (!isInstant(at) || typeof share !== 'number' || migrated === undefined || v1 === undefined)
    return undefined;
  if (!isText(by) || !isText(operation)) return undefined;
  if (resolved !== undefined && !isInstant(resolved)) return undefined;
  return {
    at,
    ...(by === undefined ? {} : { by }),
    ...(operation === undefined ? {} : { operation }),
    share,
    migrated,
    v1,
    ...(latency === undefined ? {} : { latency }),
    ...(cause === undefined ? {} : { cause }),
    ...(resolved === undefined ? {} : { resolved }),
  };
}

function readLatency(value: unknown): LatencyHarm | undefined {
  const { quantile, v1Ms, v2Ms } = object(value, ['quantile', 'v1Ms', 'v2Ms']) ?? {};
  if (quantile !== 'median' && quantile !== 'p99') return undefined;
  if (typeof v1Ms !== 'number' || typeof v2Ms !== 'number') return undefined;
  return { quantile, v1Ms, v2Ms };
}

function readCause(value: unknown): RollbackCause | undefined {
  const { status, client, operation, pointer, count } =
    object(value, ['status', 'client', 'operation', 'pointer', 'count']) ?? {};
  if (typeof status !== 'string' || !isWhole(count)) return undefined;
  if (!isText(client) || !isText(operation) || !isText(pointer)) return undefined;
  return {
    status,
    ...(client === undefined ? {} : { client }),
    ...(operation === undefined ? {} : { operation }),
    ...(pointer === undefined ? {} : { pointer }),
    count,
  };
}

function readCount(value: unknown): OriginCount | undefined {
  const { requests, failures } = object(value, ['requests', 'failures']) ?? {};
  return isWhole(requests) && isWhole(failures) ? { requests, failures } : undefined;
}

/** Returns an object whose members are all among `names`. */
function object(value: unknown, names?: readonly string[]): { readonly [name: string]: unknown } | undefined {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined;
  if (names !== undefined && Object.keys(value).some((name) => !names.includes(name))) return undefined;
  return { ...value };
}

function isWhole(value: unknown): value is number {
  return Number.isSafeInteger(value) && Number(value) >= 0;
}

function isText(value: unknown): value is string | undefined {
  return value === undefined || typeof value === 'string';
}

/** RFC 3339, in UTC. */
function isInstant(value: unknown): value is string {
  return (
    typeof value === 'string' &&
    /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z$/.test(value) &&
    !Number.isNaN(Date.parse(value))
  );
}
