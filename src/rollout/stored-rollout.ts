import { isJsonObject } from '../json/values.ts';
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

/** Returns whether a member of the JSON is valid. */
type Check = (value: unknown) => boolean;

/** A check for each member of an object, in the order of the text. Written without zod, because the edge reads it as well. */
type Members<Value> = { readonly [Name in keyof Value]-?: Check };

const isWhole: Check = (value) => Number.isSafeInteger(value) && Number(value) >= 0;
const isNumber: Check = (value) => typeof value === 'number';
const isText: Check = (value) => typeof value === 'string';
/** RFC 3339, in UTC. */
const isInstant: Check = (value) =>
  typeof value === 'string' &&
  /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z$/.test(value) &&
  !Number.isNaN(Date.parse(value));

function isOneOf(...words: readonly unknown[]): Check {
  return (value) => words.includes(value);
}

function maybe(isSound: Check): Check {
  return (value) => value === undefined || isSound(value);
}

function isList(limit: number, isItem: Check): Check {
  return (value) => Array.isArray(value) && value.length <= limit && value.every(isItem);
}

/** Checks an object with any member names. */
function isRecord(isValue: Check, isName = (_name: string): boolean => true): Check {
  return (value) =>
    isJsonObject(value) && Object.entries(value).every(([name, member]) => isName(name) && isValue(member));
}

/** An object with exactly these members. */
function has<Value>(members: Members<Value>): (value: unknown) => value is Value {
  const checks = Object.entries<Check>(members);
  return (value): value is Value => {
    if (!isJsonObject(value)) return false;
    const known = new Map<string, unknown>(Object.entries(value));
    return (
      [...known.keys()].every((name) => Object.hasOwn(members, name)) &&
      checks.every(([name, isSound]) => isSound(known.get(name)))
    );
  };
}

const hasPlainMode = has<Mode>({
  mode: isOneOf('migrate', 'observe', 'shadow'),
  share: isOneOf(undefined),
});
const hasSharedMode = has<Mode>({
  mode: isOneOf('canary', 'verify'),
  share: (share) => typeof share === 'number' && share > 0 && share <= 100,
});
const isMode: Check = (value) => hasPlainMode(value) || hasSharedMode(value);

const isCount = has<OriginCount>({ requests: isWhole, failures: isWhole });

const COMMAND: Members<CommandRecord> = {
  at: isInstant,
  by: maybe(isText),
  who: maybe(isText),
  why: maybe(isText),
  operation: maybe(isText),
  client: maybe(isText),
  mode: maybe(isMode),
};

const ROLLBACK: Members<Rollback> = {
  at: isInstant,
  by: maybe(isText),
  operation: maybe(isText),
  share: isNumber,
  migrated: isCount,
  v1: isCount,
  latency: maybe(has<LatencyHarm>({ quantile: isOneOf('median', 'p99'), v1Ms: isNumber, v2Ms: isNumber })),
  cause: maybe(
    has<RollbackCause>({
      status: isText,
      client: maybe(isText),
      operation: maybe(isText),
      pointer: maybe(isText),
      count: isWhole,
    }),
  ),
  resolved: maybe(isInstant),
};

const STATE: Members<RolloutState & { readonly format: number }> = {
  format: isOneOf(FORMAT),
  revision: (value) => isWhole(value) && value !== 0,
  changed: isInstant,
  by: maybe(isText),
  default: maybe(isMode),
  operations: isRecord(isMode),
  clients: isRecord(isMode, (name) => /^[0-9a-f]{16}$/.test(name)),
  rollbacks: isList(MAX_ROLLBACKS, has(ROLLBACK)),
  stages: maybe(isRecord(isWhole)),
  history: maybe(isList(MAX_HISTORY, has(COMMAND))),
};

const isStored = has(STATE);

/** Returns the text of a state for a store: readable JSON. Its members have a fixed order, so that equal states have equal texts. */
export function rolloutText(state: RolloutState): string {
  const ordered = inOrder(STATE, {
    ...state,
    format: FORMAT,
    rollbacks: state.rollbacks.map((rollback) => inOrder(ROLLBACK, rollback)),
    history: state.history?.map((command) => inOrder(COMMAND, command)),
  });
  return `${JSON.stringify(ordered, undefined, 2)}\n`;
}

function inOrder(members: object, value: object): object {
  const known = new Map<string, unknown>(Object.entries(value));
  return Object.fromEntries(Object.keys(members).map((name) => [name, known.get(name)]));
}

/** Returns the state in parsed JSON; undefined if it is damaged, or was written by a newer version. */
export function readRollout(value: unknown): RolloutState | undefined {
  if (!isStored(value)) return undefined;
  const { format: _, ...state } = value;
  return state;
}
