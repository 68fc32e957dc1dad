import { pointerSteps } from '../json/pointer.ts';
import { nameIn } from '../report/text.ts';
import type { Hono } from 'hono';
import { parsedJson } from '../rewrite-log/attributes.ts';
import {
  alwaysFailSentence,
  type BodyCheckCount,
  bodyCheckFault,
  type BodyCheckTally,
  NEEDS_FORCE,
  wouldFail,
} from '../rollout/body-checks.ts';
import type { Replica, ReplicaStatus } from '../rollout/replica.ts';
import type { RolloutControl } from '../rollout/rollout-control.ts';
import {
  chooseMode,
  modesInForce,
  movesToV2,
  ownMode,
  type RolloutSubject,
  sendsToV2,
} from '../rollout/modes-in-force.ts';
import { shareOfLimit } from '../rollout/rate-limit.ts';
import { boundedShare } from '../rollout/canary-window.ts';
import {
  type CommandRecord,
  commanded,
  type EarlierModes,
  isRolledBack,
  reasonSentence,
  type Rollback,
  type RolloutCommand,
} from '../rollout/rollout-state.ts';
import type {
  ChangeRecord,
  ModeView,
  ReplicaView,
  RolloutRequest,
  RolloutView,
} from '../rollout/rollout-tally.ts';
import type { End, Mode, Modes, Scope } from '../rules/rollout.ts';
import { nearNames } from '../rules/rule-book-fault.ts';
import type { RuleBook } from '../rules/rule-book.ts';
import type { RolloutScreen, State } from './api.ts';
import type { Condition } from './condition.ts';
import { endWarning } from './end-of-v1.ts';
import {
  ambiguityWords,
  commandTitle,
  comparedSentence,
  defaultTarget,
  dryRunsOnV1,
  shareTitle,
} from './rollout-effect.ts';
import { failure, jsonResponse, readCommand } from './routes/responses.ts';

/** Counts of all processes of a gateway, or of all isolates. */
export interface RolloutCounts {
  readonly requests: RolloutView['requests'];
  /** RFC 3339; absent for a process, which counts since its start. */
  readonly since?: string | undefined;
  readonly comparisons: { readonly list: RolloutView['shadows'] };
  readonly bodyChecks: {
    readonly isOn: boolean;
    readonly tally: Pick<BodyCheckTally, 'list'>;
    /** Sentences about the parts of these operations' bodies that are not checked. */
    readonly warnings: (operations: RuleBook['operations']) => readonly string[];
  };
}

/** Maximum pairs of client and operation that are listed. */
const MAX_COUNTS = 50;

/** Maximum bytes of a command. */
const COMMAND_BYTES = 4096;

const MODES: ReadonlySet<unknown> = new Set<RolloutRequest['mode']>([
  'migrate',
  'observe',
  'shadow',
  'canary',
  'verify',
]);

const isText = (value: unknown): boolean => typeof value === 'string';
const isFlag = (value: unknown): boolean => typeof value === 'boolean';

/** The values that each member of a command may have. */
const ACCEPTED: Readonly<Record<keyof RolloutRequest, (value: unknown) => boolean>> = {
  mode: (value) => MODES.has(value),
  share: (value) => typeof value === 'number',
  operation: isText,
  client: isText,
  force: isFlag,
  check: isFlag,
  who: isText,
  why: isText,
};

const CHECKS: ReadonlyMap<string, (value: unknown) => boolean> = new Map(Object.entries(ACCEPTED));

/** Maximum characters of an operator's name and reason, and changes that are listed. */
const MAX_WHO = 80;
const MAX_WHY = 200;
const MAX_CHANGES = 50;

/** Maximum other replicas that are named. */
const MAX_OTHERS = 20;

interface RolloutAdminParts {
  readonly control: RolloutControl;
  readonly counts: RolloutCounts;
  /** This gateway as one of several replicas or processes; absent for one process without a store. */
  readonly replica?: Pick<Replica, 'status' | 'processes' | 'isTogether' | 'follow'> | undefined;
  /** False where only the processes of this gateway share a state, so that the view names no replica. */
  readonly hasStore: boolean;
  readonly ruleBook: () => RuleBook;
  /** RFC 3339: when the rules last changed in this run; undefined if they did not. */
  readonly rulesSince?: () => string | undefined;
  /** Reloads of the rule book; absent where it is never read again. */
  readonly reloads?: () => readonly ChangeRecord[];
  /** Origin of V1; undefined when there is none. */
  readonly v1Origin: string | undefined;
  /** False if the secret is generated at each start, so that client hashes change. */
  readonly isSticky: boolean;
  /** Display names by client hash, including those of the rule book. */
  readonly names: () => ReadonlyMap<string, string>;
  /** The modes before each change, for its words; without them, it has those of the present modes. */
  readonly earlier?: (() => readonly EarlierModes[]) | undefined;
  /** The change of the rule book that removes members with a name; undefined without one. */
  readonly removedBy?: ((member: string) => string | undefined) | undefined;
  /** Logs each choice of an operator in a sentence. */
  readonly onCommand?: ((sentence: string) => void) | undefined;
}

/** Why a command changed nothing; with `canInsist` it would with `force`. */
interface CommandFault {
  readonly fault: string;
  readonly canInsist?: true;
}

/** Shows and changes the state of the rollout. */
export interface RolloutAdmin {
  /** `dryRuns` says how many pairs of client and operation it lists: the first, or all. */
  view(dryRuns?: 'first' | 'all'): RolloutView;
  /**
   * Executes a command and shares it with the other replicas; resolves to a fault, in a sentence, when nothing was changed. `conditions`
   * are those that an operator must know before.
   */
  command(
    request: RolloutRequest,
    conditions?: readonly Condition[],
  ): Promise<CommandFault | Pick<RolloutView, 'warnings' | 'refusal'>>;
}

/** Creates the functions behind the rollout routes. */
export function createRolloutAdmin(parts: RolloutAdminParts): RolloutAdmin {
  return {
    view: (dryRuns = 'first') => viewOf(parts, dryRuns === 'all' ? Infinity : MAX_COUNTS),
    command: async (request, conditions = []) => {
      const command = commandOf(parts, request);
      if ('fault' in command) return command;
      const refusal = request.force === true ? undefined : gateFault(parts, command);
      if (refusal !== undefined && request.check !== true) return { fault: refusal, canInsist: true };
      const warnings = warningsOf(parts, command, conditions, refusal !== undefined);
      const outcome = {
        ...(warnings.length === 0 ? {} : { warnings }),
        ...(refusal === undefined ? {} : { refusal }),
      };
      if (request.check === true) return outcome;
      const before = parts.control.modes(parts.ruleBook());
      parts.control.command(command);
      parts.onCommand?.(commandSentence(command, before, parts.names(), request.force));
      // Another operator may have chosen at the same time: the response shows the result.
      if (parts.replica?.isTogether === true) await parts.replica.follow();
      return outcome;
    },
  };
}

/** Describes a choice in the modes `before` it, with the operator's name and reason. */
export function commandSentence(
  command: RolloutCommand,
  before: Modes,
  names: ReadonlyMap<string, string> = new Map(),
  force = false,
): string {
  const { who = 'an operator who gave no name', why } = command;
  const reason = why === undefined ? '' : ` (${why})`;
  return `${commandTitle(requestOf(command), before, names)}, chosen by ${who}${reason}${force ? ', against a warning' : ''}.`;
}

/** The comparisons, with the changes that explain why V2 has no such member. */
function explained(
  shadows: RolloutView['shadows'],
  removedBy: RolloutAdminParts['removedBy'],
): RolloutView['shadows'] {
  if (removedBy === undefined) return shadows;
  return shadows.map((shadow) => ({
    ...shadow,
    fields: shadow.fields.map((field) => {
      const change = field.kind === 'missing' ? removedBy(pointerSteps(field.path).at(-1) ?? '') : undefined;
      return change === undefined ? field : { ...field, change };
    }),
  }));
}

/** The target and the mode of a command. */
function requestOf({ operation, client, mode }: RolloutCommand): RolloutRequest {
  return {
    ...mode,
    ...(operation === undefined ? {} : { operation }),
    ...(client === undefined ? {} : { client }),
  };
}

function viewOf(parts: RolloutAdminParts, maxCounts: number): RolloutView {
  const { control, counts, v1Origin, isSticky } = parts;
  const book = parts.ruleBook();
  const { state } = control;
  const modes = control.modes(book);
  const names = parts.names();
  const ofBook = book.rollout?.modes;
  const end = endOfV1(book, names);
  const before = new Map(parts.earlier?.().map(({ change, modes: earlier }) => [change, earlier]));
  return {
    ...(v1Origin === undefined ? {} : { v1Origin }),
    ...(parts.replica === undefined || !parts.hasStore ? {} : { replica: replicaView(parts.replica.status) }),
    revision: state.revision,
    ...(state.revision === 0 ? {} : { changed: state.changed }),
    isSticky,
    default: {
      ...modes.default,
      from: sourceOf(state.default, ofBook?.default, isRolledBack(state, {})),
    },
    operations: Object.fromEntries(
      Object.entries(modes.operations).map(([id, mode]) => [
        id,
        {
          ...mode,
          ...hadMode(mode, id, before),
          from: sourceOf(ownMode(state.operations, id), mode, isRolledBack(state, { operation: id })),
        },
      ]),
    ),
    clients: Object.fromEntries(
      Object.entries(modes.clients).map(([hash, mode]) => {
        const name = names.get(hash);
        const from = sourceOf(state.clients[hash], mode, false);
        return [hash, { ...mode, from, ...(name === undefined ? {} : { name }) }];
      }),
    ),
    rollback: modes.rollback,
    canaries: [...control.counts].map(([operation, count]) => ({
      ...(operation === undefined ? {} : { operation }),
      ...count,
    })),
    rollbacks: state.rollbacks.map((rollback) => {
      const { cause, migrated, v1, operation } = rollback;
      const name = names.get(cause?.client ?? '');
      return {
        ...ofReplica(parts, rollback),
        target: operation ?? defaultTarget(before.get(rollback) ?? modes, names),
        ...(cause === undefined || name === undefined ? {} : { cause: { ...cause, name } }),
        failed: {
          migrated: boundedShare(migrated, modes.rollback),
          v1: boundedShare(v1, modes.rollback),
        },
      };
    }),
    changes: changesOf(parts, names, before),
    ruleBook: modesInForce(ofBook, undefined),
    shadows: explained(counts.comparisons.list, parts.removedBy),
    ...bodyChecksOf(parts, (counts) => dryRunsOnV1(counts, modes, end, Date.now()), maxCounts),
    ...(maxCounts === Infinity ? { names: Object.fromEntries(names) } : {}),
    requests: counts.requests,
    ...rateLimitOf(parts, book),
    ...(counts.since === undefined ? {} : { countedSince: counts.since }),
    ...end,
  };
}

/** The mode that an operation had before it was sent back to V1: an operator may return to it. */
function hadMode(
  mode: Mode,
  operation: string,
  before: ReadonlyMap<EarlierModes['change'], Modes>,
): Pick<ModeView, 'had'> {
  if (sendsToV2(mode)) return {};
  const modes = [...before.values()].map((all) => ownMode(all.operations, operation) ?? all.default);
  const had = modes.find(sendsToV2);
  return had === undefined ? {} : { had };
}

/** Commands, roll-backs and rule books in one list, newest first, in the words of the modes `before` each of them. */
function changesOf(
  parts: RolloutAdminParts,
  names: ReadonlyMap<string, string>,
  before: ReadonlyMap<EarlierModes['change'], Modes>,
): readonly ChangeRecord[] {
  const { state } = parts.control;
  const modesBefore = (change: CommandRecord | Rollback): Modes =>
    before.get(change) ?? parts.control.modes(parts.ruleBook());
  const commands = (state.history ?? []).map((command): ChangeRecord => {
    const { at, by, who, why } = command;
    return {
      at,
      kind: 'command',
      what: commandTitle(requestOf(command), modesBefore(command), names),
      ...(who === undefined ? {} : { who }),
      ...(by === undefined ? {} : { by }),
      ...(why === undefined ? {} : { why }),
    };
  });
  const rollbacks = state.rollbacks.map((rollback): ChangeRecord => {
    const { at, by, operation, share, cause } = rollback;
    return {
      at,
      kind: 'roll-back',
      what: shareTitle(
        'Roll back the canary of',
        { share },
        operation ?? defaultTarget(modesBefore(rollback), names),
      ),
      ...(by === undefined ? {} : { by }),
      why: reasonSentence(ofReplica(parts, rollback), names.get(cause?.client ?? '')),
    };
  });
  return [...commands, ...rollbacks, ...(parts.reloads?.() ?? [])]
    .sort((one, other) => Date.parse(other.at) - Date.parse(one.at))
    .slice(0, MAX_CHANGES)
    .map((change) => ofReplica(parts, change));
}

/** Leaves out the name of this replica if it has no others. */
function ofReplica<Change extends { readonly by?: string }>(
  { replica }: RolloutAdminParts,
  change: Change,
): Omit<Change, 'by'> & { readonly by?: string } {
  const { name, others } = replica?.status ?? {};
  if (others?.length !== 0 || change.by !== name) return change;
  const { by: _, ...rest } = change;
  return rest;
}

function rateLimitOf({ replica }: RolloutAdminParts, { rollout }: RuleBook): Pick<RolloutView, 'rateLimit'> {
  const { shield } = rollout ?? {};
  const processes = replica?.processes ?? 1;
  if (shield === undefined || processes < 2) return {};
  const { requests, per } = shield;
  return { rateLimit: { requests, per, processes, each: shareOfLimit(requests, processes) } };
}

function replicaView({ aloneSince, unsteady, ...status }: ReplicaStatus): ReplicaView {
  return {
    ...status,
    ...(status.others === undefined ? {} : { others: status.others.slice(0, MAX_OTHERS) }),
    ...(aloneSince === undefined ? {} : { aloneSince: new Date(aloneSince).toISOString() }),
    ...(unsteady === undefined
      ? {}
      : { unsteady: { ...unsteady, since: new Date(unsteady.since).toISOString() } }),
  };
}

function sourceOf(
  chosen: Mode | undefined,
  ofBook: Mode | undefined,
  isRolledBack: boolean,
): ModeView['from'] {
  if (isRolledBack) return 'roll-back';
  if (chosen !== undefined) return 'operator';
  return ofBook === undefined ? 'default' : 'rule-book';
}

function bodyChecksOf(
  parts: RolloutAdminParts,
  onV1: (counts: readonly BodyCheckCount[]) => readonly BodyCheckCount[],
  maxCounts: number,
): Pick<RolloutView, 'bodyChecks'> {
  const { bodyChecks } = parts.counts;
  const all = bodyChecks.tally.list(parts.ruleBook().hash);
  const isRefused = all.some(({ refused }) => refused > 0);
  if (!bodyChecks.isOn && !isRefused) return {};
  const fault = gateFault(parts, { mode: { mode: 'migrate' } });
  const warnings = bodyChecks.warnings(parts.ruleBook().operations);
  const names = parts.names();
  const named = <Counted extends { readonly client?: string }>(one: Counted): Counted & { name?: string } => {
    const name = names.get(one.client ?? '');
    return name === undefined ? one : { ...one, name };
  };
  const counts = onV1(all);
  const clients = [...Map.groupBy(counts, ({ client }) => client)]
    .filter(([, pairs]) => pairs.length > 1)
    .map(([client, pairs]) => named({ ...(client === undefined ? {} : { client }), ...wouldFail(pairs) }))
    .sort((one, other) => other.failing - one.failing);
  return {
    bodyChecks: {
      ...(warnings.length === 0 ? {} : { warnings }),
      counts: counts.slice(0, maxCounts).map((pair) => named(pair)),
      ...(clients.length === 0 ? {} : { clients: clients.slice(0, maxCounts) }),
      omitted: Math.max(0, counts.length - maxCounts),
      past: all.length - counts.length,
      ...(fault === undefined ? {} : { fault }),
    },
  };
}

/** The reason not to migrate more requests that follows from body checks; undefined without one. */
function gateFault(
  parts: RolloutAdminParts,
  { mode, operation, client }: RolloutCommand,
): string | undefined {
  const { control, counts, rulesSince } = parts;
  if (mode?.mode !== 'canary' && mode?.mode !== 'migrate') return undefined;
  const book = parts.ruleBook();
  const names = parts.names();
  return bodyCheckFault(
    counts.bodyChecks.tally.list(book.hash),
    { operation, client, mode },
    control.modes(book),
    (hash) => names.get(hash),
    rulesSince?.(),
  );
}

/**
 * What an operator must know before a command: V1's end, what V2 failed, the reads that differed in shadow, and the calls that would always
 * fail, unless the command is refused for those.
 */
function warningsOf(
  { control, counts, ruleBook, names, rulesSince, removedBy }: RolloutAdminParts,
  command: RolloutCommand,
  conditions: readonly Condition[],
  isRefused: boolean,
): readonly string[] {
  const book = ruleBook();
  const known = names();
  const before = control.modes(book);
  const at = new Date().toISOString();
  const after = modesInForce(book.rollout?.modes, commanded(control.state, command, at));
  const moves = (subject: RolloutSubject): boolean => movesToV2(before, after, subject);
  const moved = counts.bodyChecks.tally
    .list(book.hash)
    .filter(({ client, operation }) => moves({ client, operation }));
  const isForward = sendsToV2(
    chooseMode(after, { client: command.client, operation: command.operation }).mode,
  );
  const operations = new Set(moved.map(({ operation }) => operation));
  const since = rulesSince?.() ?? '';
  const compared = explained(counts.comparisons.list, removedBy).filter(
    ({ operation, verified }) => verified !== true && operations.has(operation),
  );
  const isDifferent = compared.some(
    ({ different, lastDifferent = '' }) => different > 0 && lastDifferent >= since,
  );
  return [
    ...endWarning(endOfV1(book, known), Date.now(), command.operation),
    ...conditions
      .filter(({ left = [] }) => (left === 'all' ? isForward : left.some(moves)))
      .map(({ sentence }) => sentence),
    ...[
      isDifferent ? comparedSentence(compared, ' in operations that would move') : undefined,
      isRefused ? undefined : alwaysFailSentence(moved, (hash) => known.get(hash)),
    ].filter((one) => one !== undefined),
  ];
}

/** The clients of a scope by their names, and by their hashes without one. */
export function namedScope(
  { clients, except }: Pick<Scope, 'clients' | 'except'>,
  names: ReadonlyMap<string, string>,
): NonNullable<RolloutView['gone']> {
  const named = (hashes: readonly string[]): readonly string[] => hashes.map((hash) => nameIn(names, hash));
  const hashes = {
    ...(clients === undefined ? {} : { clients }),
    ...(except === undefined ? {} : { except }),
  };
  return {
    ...(clients === undefined ? {} : { clients: named(clients) }),
    ...(except === undefined ? {} : { except: named(except) }),
    ...(clients === undefined && except === undefined ? {} : { hashes }),
  };
}

function endOfV1(
  { rollout }: RuleBook,
  names: ReadonlyMap<string, string>,
): Pick<RolloutView, 'sunset' | 'deprecation' | 'gone' | 'ends' | 'brownouts'> {
  const { since, sunset } = rollout?.signals ?? {};
  const datesOf = (
    end: Pick<End, 'since' | 'sunset' | 'gone'>,
  ): Pick<RolloutView, 'sunset' | 'deprecation' | 'gone'> => {
    return {
      ...(end.since === undefined ? {} : { deprecation: new Date(end.since).toISOString() }),
      ...(end.sunset === undefined ? {} : { sunset: new Date(end.sunset).toISOString() }),
      ...(end.gone === undefined ? {} : { gone: namedScope(end.gone, names) }),
    };
  };
  const endsOf = (kind: 'operation' | 'change', ends: Readonly<Record<string, End>>): RolloutView['ends'] =>
    Object.entries(ends).map(([id, end]) => ({ kind, id, ...datesOf(end) }));
  const { ends } = rollout ?? {};
  const now = Date.now();
  return {
    ...datesOf({
      ...(since === undefined ? {} : { since }),
      ...(sunset === undefined ? {} : { sunset }),
      ...(rollout?.gone === undefined ? {} : { gone: rollout.gone }),
    }),
    ...(ends === undefined
      ? {}
      : {
          ends: [...(endsOf('operation', ends.operations) ?? []), ...(endsOf('change', ends.changes) ?? [])],
        }),
    brownouts: (rollout?.brownouts ?? []).map(({ id, from, until, share, status }) => ({
      id,
      state:
        until !== undefined && now >= until ? 'over' : from !== undefined && now < from ? 'to-come' : 'on',
      ...(from === undefined ? {} : { from: new Date(from).toISOString() }),
      ...(until === undefined ? {} : { until: new Date(until).toISOString() }),
      share,
      status,
    })),
  };
}

function commandOf(
  parts: RolloutAdminParts,
  request: RolloutRequest,
): RolloutCommand | { readonly fault: string } {
  const { mode, share, operation, client } = request;
  if (operation !== undefined && client !== undefined)
    return { fault: 'Name an operation or a client, not both.' };
  if ((mode === 'canary' || mode === 'verify') !== (share !== undefined))
    return {
      fault:
        'A canary needs a share of the clients in percent, and verify a share of the reads; no other mode has one.',
    };
  if (share !== undefined && !(share > 0 && share <= 100))
    return { fault: `The share must be above 0 and at most 100 percent, not ${share}.` };
  if (mode !== undefined && mode !== 'migrate' && parts.v1Origin === undefined) {
    return { fault: `The mode ${mode} sends requests to V1; start the gateway with GATEWAY_V1_UPSTREAM.` };
  }
  if (operation !== undefined) {
    const ids = parts.ruleBook().operations.map(({ id }) => id);
    if (!ids.includes(operation))
      return {
        fault: `The rule book has no operation ${operation}${nearNames(operation, ids, 'the command check')}`,
      };
  }
  const [hash, ...others] = client === undefined ? [] : hashesOf(parts, client);
  if (client !== undefined && hash === undefined)
    return {
      fault: `No client is called ${client}; give its hash of 16 hex digits, or name it in the rule book.`,
    };
  if (client !== undefined && hash !== undefined && others.length > 0)
    return { fault: ambiguityWords(client, [hash, ...others]) };
  const chosen: Mode | undefined =
    mode === undefined ? undefined : { mode, ...(share === undefined ? {} : { share }) };
  return {
    mode: chosen,
    operation,
    client: hash,
    ...said('who', request.who, MAX_WHO),
    ...said('why', request.why, MAX_WHY),
  };
}

/** A text from an operator, on one line and shortened; empty for a blank text. */
function said(name: 'who' | 'why', text: string | undefined, limit: number): Partial<RolloutCommand> {
  const words = text?.replaceAll(/\s+/g, ' ').trim().slice(0, limit) ?? '';
  return words === '' ? {} : { [name]: words };
}

function hashesOf(parts: RolloutAdminParts, client: string): readonly string[] {
  if (/^[0-9a-f]{16}$/.test(client)) return [client];
  const all = [...parts.names()];
  return [...new Set(all.flatMap(([hash, name]) => (name === client ? [hash] : [])))];
}

/**
 * Adds `GET /rollout`, which returns a `RolloutView`, and `POST /rollout`, which takes a `RolloutRequest` and returns the updated
 * view; both with the `state` of that moment where a page shows it. The media type is required, because another site's form cannot send it.
 */
export function rolloutRoutes(app: Hono, rollout: RolloutAdmin, state?: () => State): void {
  const shown = (dryRuns?: 'first' | 'all'): RolloutView | RolloutScreen => ({
    ...rollout.view(dryRuns),
    ...(state === undefined ? {} : { state: state() }),
  });
  app.get('/rollout', ({ req }) => jsonResponse(shown(req.query('dryRuns') === 'all' ? 'all' : 'first')));
  app.post('/rollout', async (c) => {
    const body = await readCommand(c.req.raw, COMMAND_BYTES);
    if (body instanceof Response) return body;
    const request = parsedJson(body.text);
    if (!isRequest(request))
      return failure(
        400,
        'bad-request',
        `Send JSON with ${[...CHECKS.keys()].join(', ')}; mode is one of ${[...MODES].join(', ')}.`,
      );
    const outcome = await rollout.command(request, state?.().conditions);
    return 'fault' in outcome
      ? failure(422, outcome.canInsist === true ? NEEDS_FORCE : 'not-changed', outcome.fault)
      : jsonResponse({ ...shown(), ...outcome });
  });
}

function isRequest(value: unknown): value is RolloutRequest {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
  return Object.entries(value).every(([name, member]) => CHECKS.get(name)?.(member) === true);
}
