import { isUnfit, NO_KEY } from '../rewrite-log/entry.ts';
import type { ClientReport } from '../report/client-report.ts';
import type { Report } from '../report/report.ts';
import { clientName, countedClients, nameIn as nameOf, percentWords } from '../report/text.ts';
import { count, counted, listed } from '../rules/words.ts';
import { printFilter } from '../rewrite-log/filter.ts';
import type { IsAsked } from '../rewrite-log/history.ts';
import {
  type BodyCheckCount,
  faultPlaces,
  placeWords,
  wouldFail,
  wouldFailWords,
} from '../rollout/body-checks.ts';
import {
  chooseMode,
  isAsked,
  modeChanges,
  movesToV2,
  ownMode,
  sendsToV2,
  shareOf,
  withChosen,
} from '../rollout/modes-in-force.ts';
import {
  type EarlierModes,
  leastDifference,
  NOTICED_MS,
  points,
  reasonSentence,
} from '../rollout/rollout-state.ts';
import type { ModeView, RollbackView, RolloutRequest, RolloutView } from '../rollout/rollout-tally.ts';
import type { Mode, Modes } from '../rules/rollout.ts';
import { withArticle } from '../rules/rule-book-fault.ts';
import { hasEnded, hasEndedFor } from './end-of-v1.ts';

/** The effect of a command, for the operator to confirm. */
export interface RolloutEffect {
  /** The command in words, such as `Migrate 25 % of the clients`. */
  readonly title: string;
  /** A further line of a sentence has details. */
  readonly sentences: readonly string[];
  /** Effects that the operator may wrongly expect, beside the warnings of the gateway. */
  readonly warnings: readonly string[];
  /** What would help if a single client has the trouble: a mode of that client. */
  readonly instead?: {
    readonly sentence: string;
    readonly title: string;
    readonly request: RolloutRequest;
  };
  /** What the dry runs say of the requests that go from V1 to V2; absent where they say nothing. */
  readonly dryRuns?: {
    readonly sentence: string;
    /** Those with the most failures first. */
    readonly failing: readonly FailingOperation[];
  };
}

/** Requests of one operation that would fail at V2. */
export interface FailingOperation {
  /** The operation; `other requests` for those that the rule book does not name. */
  readonly name: string;
  /** How many, of which clients, and at which places, without a full stop. */
  readonly words: string;
  /** A filter for them. */
  readonly filter: string;
}

/** Dry runs of one client and operation, with the display name of the client. */
export type DryRuns = NonNullable<RolloutView['bodyChecks']>['counts'][number];

/** The clients in a report with their V1 requests by operation, and the report's coverage. */
export type SeenClients = Pick<Report, 'omittedClients'> & {
  readonly coverage?: Pick<NonNullable<Report['coverage']>, 'sentence'>;
  readonly clients: readonly SeenClient[];
};

type SeenClient = Pick<ClientReport, 'client' | 'name'> & {
  readonly failed?: number;
  readonly operations: readonly Pick<ClientReport['operations'][number], 'operation' | 'count'>[];
};

const COMMANDS: Readonly<Record<ModeView['mode'], string>> = {
  migrate: 'Migrate',
  observe: 'Observe',
  shadow: 'Shadow',
  canary: 'Migrate',
  verify: 'Verify',
};

/** Maximum names in a sentence. */
const MAX_NAMES = 20;

/** Maximum hashes beside names, and of all clients below a sentence. */
const MAX_HASHES = 3;
const MAX_OTHERS = 500;

/** Maximum operations whose comparisons a sentence lists. */
const MAX_COMPARED = 5;

/** Maximum operations and clients that are named where a mode is for everything but them. */
const MAX_EXCEPT = 3;

/** Maximum places of faults of one operation. */
const MAX_PLACES = 3;

/**
 * Computes which of the clients seen, with which of their requests, a command would move; it uses the decision for live requests. The
 * rollout has all dry runs.
 */
export function rolloutEffect(
  request: RolloutRequest,
  rollout: RolloutView,
  { clients: seen, omittedClients, coverage }: SeenClients,
  methodOf: (operation: string) => string | undefined = () => undefined,
): RolloutEffect {
  const names = new Map(Object.entries(rollout.names ?? {}));
  const clients = seen.map((one) => {
    const name = one.name ?? names.get(one.client);
    return name === undefined ? one : { ...one, name };
  });
  const title = commandTitle(request, rollout, names);
  const command = withMode(request, rollout);
  const { mode } = command;
  const dryRuns = dryRunsOf(command, rollout);
  const instead = insteadOf(command, rollout, clients);
  return {
    title,
    ...(instead === undefined ? {} : { instead }),
    ...(dryRuns === undefined ? {} : { dryRuns }),
    sentences: [
      ...(request.mode === undefined ? [clearedWords(request, command, rollout, names)] : []),
      ...(mode === 'shadow' || mode === 'verify' ? comparedWords(command, methodOf) : []),
      ...keptWords(command, rollout),
      ...moveWords(command, rollout, clients),
      ...(omittedClients > 0
        ? [`${counted(omittedClients, 'request')} of further clients were not counted by client.`]
        : []),
      ...(coverage === undefined ? [] : [coverage.sentence]),
      ...(mode === 'canary' ? canaryWords(command, rollout) : []),
    ],
    warnings: [
      ...(mode !== undefined && sendsToV2({ mode }) ? rollbackWarnings(request, rollout) : []),
      ...(mode === 'canary' ? emptyCanaryWarnings(command, rollout, clients) : []),
    ],
  };
}

/** The mode of a single client that spares all others a move: of the client that alone has failed, or that alone would fail on V2. */
function insteadOf(
  request: RolloutRequest,
  rollout: RolloutView,
  seen: SeenClients['clients'],
): RolloutEffect['instead'] {
  if (request.client !== undefined || rollout.v1Origin === undefined) return undefined;
  const moved = seen
    .flatMap((client) => concernedClient(request, rollout, client))
    .filter((one) => one.moved > 0);
  const wouldFailOnV2 = new Set(
    movedDryRuns(request, rollout).flatMap((pair) =>
      wouldFail([pair]).failing === 0 ? [] : [pair.client ?? NO_KEY],
    ),
  );
  const troubled = moved.filter(({ client, to }) =>
    to === 'v1' ? (client.failed ?? 0) > 0 : wouldFailOnV2.has(client.client),
  );
  const [one, ...others] = troubled;
  // Requests without a key have no mode.
  if (one === undefined || others.length > 0 || moved.length < 2 || one.client.client === NO_KEY)
    return undefined;
  const { client, name } = one.client;
  const alone: RolloutRequest = { mode: 'observe', client };
  const names = new Map(name === undefined ? [] : [[client, name]]);
  const how =
    one.to === 'v1' ? 'has failed: it can go to V1 alone' : 'would fail on V2: it can stay on V1 alone';
  return {
    sentence: `Of these clients, only ${names.get(client) ?? client} ${how}, by its own mode.`,
    title: commandTitle(alone, rollout, names),
    request: alone,
  };
}

/**
 * Describes a command, such as `Migrate 25 % of the clients for create_client`; `before` are the modes at its time, and `names` those of
 * the clients.
 */
export function commandTitle(
  request: RolloutRequest,
  before: ChosenModes,
  names: ReadonlyMap<string, string> = new Map(),
): string {
  const { operation, client, mode } = request;
  const target =
    operation ??
    (client === undefined ? defaultTarget(before, names) : `the client ${names.get(client) ?? client}`);
  const present = ownMode(before.operations, operation ?? '') ?? before.default;
  if (mode === 'observe') return `Send ${target} to V1`;
  if (mode === 'shadow' && client === undefined && sendsToV2(present))
    return `Send ${target} to V1 in shadow`;
  if (mode === undefined)
    return operation === undefined && client === undefined
      ? `Take the mode of ${target} from the rule book`
      : `Clear the mode of ${target}`;
  return request.share === undefined
    ? `${COMMANDS[mode]} ${target}`
    : shareTitle(COMMANDS[mode], request, target);
}

/** Describes what is done to a share of the clients, or of the reads, of a target: `Verify 5 % of the reads`. */
export function shareTitle(
  verb: string,
  { mode, share = 0 }: Pick<RolloutRequest, 'mode' | 'share'>,
  target: string,
): string {
  const what = `${verb} ${share} % of the ${mode === 'verify' ? 'reads' : 'clients'}`;
  return target === 'everything' ? what : `${what} for ${target}`;
}

/** Names the modes that a rule book changed, such as `modes: everything observe → migrate, by the rule book`; empty if it changed none. */
export function bookChangeWords(before: Modes, after: Modes, names: ReadonlyMap<string, string>): string {
  const most = [before, after]
    .map((modes) => defaultTarget(modes, names))
    .sort()
    .at(-1);
  const changes = modeChanges(before, after).map(({ operation, client, from, to }) => {
    const target = operation ?? (client === undefined ? most : `the client ${names.get(client) ?? client}`);
    return `${target} ${shortWords(from)} → ${shortWords(to)}`;
  });
  return changes.length === 0 ? '' : `modes: ${listed(changes, MAX_NAMES)}, by the rule book`;
}

function shortWords(mode: Mode | undefined): string {
  if (mode === undefined) return 'as its operations';
  return mode.share === undefined ? mode.mode : `${mode.mode} ${mode.share} %`;
}

/** The modes, or their views. */
type ChosenModes = Pick<Modes, 'default' | 'operations' | 'clients'>;

/**
 * The command with the mode that its target has afterwards, also where the command only clears one. Without a mode only for a client for
 * which the rule book has none: each of its operations then has its own.
 */
function withMode(
  request: RolloutRequest,
  { default: other, ruleBook, clients }: RolloutView,
): RolloutRequest {
  const { mode, operation, client } = request;
  if (mode !== undefined) return request;
  if (operation !== undefined)
    return { ...request, ...(ownMode(ruleBook.operations, operation) ?? plain(other)) };
  if (client === undefined) return { ...request, ...ruleBook.default };
  const named = Object.entries(clients).find(([, { name }]) => name === client);
  return { ...request, ...ownMode(ruleBook.clients, named?.[0] ?? client) };
}

function plain({ mode, share }: ModeView): Mode {
  return { mode, ...(share === undefined ? {} : { share }) };
}

/** Says which mode applies to a target after its own is cleared. */
function clearedWords(
  { operation, client }: RolloutRequest,
  { mode, share }: RolloutRequest,
  { ruleBook }: RolloutView,
  names: ReadonlyMap<string, string>,
): string {
  if (mode === undefined)
    return `The rule book has no mode for the client ${nameOf(names, client ?? NO_KEY)}: its requests have the modes of their operations, or that of everything else.`;
  const words = `${mode}${share === undefined ? '' : ` ${share} %`}`;
  return operation === undefined || ownMode(ruleBook.operations, operation) !== undefined
    ? `The mode of the rule book applies: ${words}.`
    : `The rule book has no mode for ${operation}, so the mode of everything else applies: ${words}.`;
}

/** Warns of a canary that would migrate no client, and names the smallest share that would migrate one. */
function emptyCanaryWarnings(
  request: RolloutRequest,
  rollout: RolloutView,
  seen: SeenClients['clients'],
): readonly string[] {
  const concerned = seen.flatMap((client) => concernedClient(request, rollout, client));
  if (concerned.length === 0 || concerned.some(({ to }) => to === 'v2')) return [];
  const { share = 0 } = request;
  const none = `No client is migrated: ${share} % of all possible hashes include none of those seen (${seenWords(concerned)}), so there is nothing to watch.`;
  const shares = concerned.map(({ client }) => shareOf(client.client === NO_KEY ? undefined : client.client));
  const least = Math.min(...shares);
  if (least >= 100) return [`${none} Requests without a key are only in a share of 100 %.`];
  // A share contains the clients whose position is smaller than the share.
  return [`${none} A share of ${Math.floor(least) + 1} % would migrate the first of them.`];
}

/** Says what a shadow, or `verify`, does not compare: only reads are sent to both services. */
function comparedWords(
  { mode, operation }: RolloutRequest,
  methodOf: (operation: string) => string | undefined,
): readonly string[] {
  const method = operation === undefined ? undefined : methodOf(operation);
  if (operation === undefined)
    return [`Only reads are compared: ${mode === 'verify' ? 'V2' : 'V1'} alone gets every other request.`];
  if (method === undefined || method === 'GET' || method === 'HEAD') return [];
  return [
    `Nothing is compared: ${operation} is ${withArticle(method)}, and only reads are sent to both services. Its requests are handled as in ${mode === 'verify' ? 'migrate' : 'observe'}.`,
  ];
}

/** Names the scope of the default mode: everything, or everything but what has its own mode. */
export function defaultTarget(
  { operations, clients }: Pick<RolloutView | ChosenModes, 'operations' | 'clients'>,
  names: ReadonlyMap<string, string> = new Map(),
): string {
  const own = [
    ...Object.keys(operations),
    ...Object.entries<Mode & { readonly name?: string }>(clients).map(
      ([hash, { name }]) => name ?? names.get(hash) ?? hash,
    ),
  ];
  return own.length === 0 ? 'everything' : `everything but ${listed(own, MAX_EXCEPT)}`;
}

/** Operations and clients with their own modes, which the command does not change. */
function keptWords({ operation, client }: RolloutRequest, rollout: RolloutView): string[] {
  if (client !== undefined) return [];
  const clients = Object.entries(rollout.clients).map(([hash, { name }]) => name ?? hash);
  const operations = operation === undefined ? Object.keys(rollout.operations) : [];
  const kept = [...operations, ...clients];
  return kept.length === 0 ? [] : [`These keep their own modes: ${listed(kept, MAX_NAMES)}.`];
}

/** The V1 requests of a client that a command affects. */
interface ConcernedClient {
  readonly client: SeenClient;
  /** Service that receives them after the command. */
  readonly to: Origin;
  /** Number of them that the other service receives now. */
  readonly moved: number;
}

type Origin = 'v1' | 'v2';

function moveWords(
  request: RolloutRequest,
  rollout: RolloutView,
  seen: SeenClients['clients'],
): readonly string[] {
  const named = seen.filter((one) => request.client === undefined || isClient(one, request.client));
  if (request.client !== undefined && named.length > 1)
    return [
      ambiguityWords(
        request.client,
        named.map(({ client }) => client),
      ),
    ];
  const concerned = named.flatMap((client) => concernedClient(request, rollout, client));
  if (concerned.length === 0)
    return ['This affects none of the V1 requests seen, so no client can be named.'];
  const stay = (['v1', 'v2'] as const).flatMap((at) => {
    const clients = concerned.filter(({ to, moved }) => to === at && moved === 0);
    return clients.length === 0 ? [] : [`${seenWords(clients)} on ${at.toUpperCase()}`];
  });
  return [
    ...(['v2', 'v1'] as const).flatMap((to) => {
      const clients = concerned.filter((one) => one.to === to && one.moved > 0);
      return clients.length === 0 ? [] : [movedWords(to, clients, seen)];
    }),
    ...(stay.length === 0 ? [] : [`No change for ${stay.join(' and for ')}.`]),
  ];
}

/** Says that several clients have a name, and how to choose one of them. */
export function ambiguityWords(name: string, hashes: readonly string[]): string {
  return `${count(hashes.length)} clients are called ${name}: ${hashes.join(', ')}; give the hash of one.`;
}

function movedWords(to: Origin, clients: readonly ConcernedClient[], seen: readonly SeenClient[]): string {
  const all = seen.reduce((sum, { operations }) => sum + sumOf(operations), 0);
  const moved = clients.reduce((sum, one) => sum + one.moved, 0);
  // A name says more than a hash.
  const isNamed = ({ client: { client, name } }: ConcernedClient): boolean =>
    name !== undefined || client === NO_KEY;
  const named = clients.filter(isNamed).map(({ client }) => nameIn(seen, client));
  const hashes = clients.filter((one) => !isNamed(one)).map(({ client }) => nameIn(seen, client));
  const first = [
    ...named.slice(0, MAX_NAMES),
    ...(named.length === 0 || hashes.length <= MAX_HASHES ? hashes.slice(0, MAX_HASHES) : []),
  ];
  const others = [...named, ...hashes].filter((one) => !first.includes(one));
  // Requests without a key are named, but are not counted as a client.
  const keyed = clients.filter(({ client }) => client.client !== NO_KEY).length;
  const known = seen.filter(({ client }) => client !== NO_KEY).length;
  const count = known === 0 ? '' : `${keyed} of ${counted(known, 'client')} seen, `;
  return `From V${to === 'v2' ? '1 to V2' : '2 to V1'}: ${first.join(', ')}${others.length === 0 ? '' : ` and ${others.length} more`} (${count}with ${percentWords(moved / all)} of all V1 requests).${others.length === 0 ? '' : `\nThe others: ${listed(others, MAX_OTHERS)}.`}`;
}

function seenWords(clients: readonly ConcernedClient[]): string {
  return countedClients(clients.map(({ client }) => client.client));
}

/** The name of a client, with its hash where several clients have that name. */
function nameIn(seen: readonly SeenClient[], { client, name }: SeenClient): string {
  if (name === undefined) return clientName({ client });
  return seen.some((other) => other.name === name && other.client !== client) ? `${name} (${client})` : name;
}

/** The requests of a client that a command affects; empty for a client that sent only others. */
function concernedClient(
  request: RolloutRequest,
  rollout: RolloutView,
  client: SeenClient,
): readonly ConcernedClient[] {
  const before = modesOf(rollout);
  const after = modesAfter(request, before, client.client);
  const calls = client.operations.flatMap(({ operation: name, count }) => {
    const operation = operationOf(name);
    if (!isTargeted(request, before, operation)) return [];
    if (hasEndedFor(rollout, Date.now(), operation, [client.client])) return [];
    const subject = { client: client.client === NO_KEY ? undefined : client.client, operation };
    return [{ count, from: chooseMode(before, subject).origin, to: chooseMode(after, subject).origin }];
  });
  // A mode has one `to`, as the share depends only on the client; without one, the client's operations may have several.
  return [...Map.groupBy(calls, ({ to }) => to)].map(([to, all]) => ({
    client,
    to,
    moved: sumOf(all.filter(({ from }) => from !== to)),
  }));
}

/** The dry runs of the requests that a command sends from V1 to V2. */
function movedDryRuns(request: RolloutRequest, rollout: RolloutView): readonly DryRuns[] {
  const before = modesOf(rollout);
  const { counts = [] } = rollout.bodyChecks ?? {};
  return counts.filter(({ client, name, operation }) => {
    const hash = client ?? NO_KEY;
    const isMeant = request.client === undefined || isClient({ client: hash, name }, request.client);
    if (!isMeant || !isTargeted(request, before, operation)) return false;
    return movesToV2(before, modesAfter(request, before, hash), { client, operation });
  });
}

/** What is known of the requests that a command sends from V1 to V2. */
function dryRunsOf(request: RolloutRequest, rollout: RolloutView): RolloutEffect['dryRuns'] {
  const moved = movedDryRuns(request, rollout);
  const sum = wouldFail(moved);
  if (sum.judged === 0) return undefined;
  return {
    sentence: `Of what moves to V2, ${wouldFailWords(sum)}.`,
    failing: [...Map.groupBy(moved, ({ operation }) => operation)]
      .map(([operation, all]) => ({ operation, all, failing: wouldFail(all).failing }))
      .filter(({ failing }) => failing > 0)
      .sort((one, other) => other.failing - one.failing)
      .map(({ operation, all }) => failingOperation(operation, all, request.client)),
  };
}

function failingOperation(
  operation: string | undefined,
  all: readonly DryRuns[],
  client: string | undefined,
): FailingOperation {
  const { failing } = wouldFail(all);
  const hashes = all.filter((one) => wouldFail([one]).failing > 0).map((one) => one.client ?? NO_KEY);
  const term = (field: 'client' | 'op' | 'error', ...values: string[]): Parameters<typeof printFilter>[0] => [
    { negated: false, field, values },
  ];
  return {
    name: operation ?? 'other requests',
    words: `${counted(failing, 'checked request')}, of ${countedClients(hashes)}: ${placeWords(faultPlaces(all), MAX_PLACES)}`,
    filter: printFilter([
      ...(client === undefined ? [] : term('client', client)),
      ...term('op', operation ?? '-'),
      ...term('error', 'schema-*', 'would-*'),
    ]),
  };
}

/** The dry runs of requests that V1 still responds to, those with the most failures first: a migration makes the others history. */
export function dryRunsOnV1(
  counts: readonly BodyCheckCount[],
  modes: Modes,
  end: Parameters<typeof hasEnded>[0],
  now: number,
): readonly BodyCheckCount[] {
  if (hasEnded(end, now)) return [];
  return counts
    .filter(({ client, operation }) => chooseMode(modes, { client, operation }).origin === 'v1')
    .map((one) => ({ one, ...wouldFail([one]) }))
    .sort((one, other) => other.failing - one.failing || other.judged - one.judged)
    .map(({ one }) => one);
}

/** Whether V1 responds to some of its requests, so that a migration of them is still to come. */
export function hasV1Mode(rollout: RolloutView, now: number): boolean {
  if (rollout.v1Origin === undefined || hasEnded(rollout, now)) return false;
  return [rollout.default, ...otherModes(rollout).map((one) => one.mode)].some(
    ({ mode }) => mode !== 'migrate' && mode !== 'verify',
  );
}

/** Whether a mode sends reads to both services: in shadow, or in `verify`. */
export function isComparing(
  { default: other, operations, clients }: Pick<RolloutView, 'default' | 'operations' | 'clients'>,
  isVerified: boolean,
): boolean {
  return [other, ...Object.values(operations), ...Object.values(clients)].some(
    ({ mode }) => mode === (isVerified ? 'verify' : 'shadow'),
  );
}

/**
 * Says how many of the reads that both services got differed, in which operations, and in which member of each most often; undefined if
 * none was compared. `where` narrows the reads.
 */
export function comparedSentence(shadows: RolloutView['shadows'], where = ''): string | undefined {
  const [compared, different] = [totalOf(shadows, comparedOf), totalOf(shadows, (one) => one.different)];
  if (compared === 0) return undefined;
  const worst = differing(shadows).toSorted((one, other) => other.different - one.different);
  const named = worst.map((one) => {
    const [most] = one.fields;
    const how =
      most === undefined ? '' : `, mostly ${most.path}${most.kind === 'status' ? '' : ` (${most.kind})`}`;
    return `${one.operation ?? '(other)'} ${count(one.different)} of ${count(comparedOf(one))}${how}`;
  });
  const last = worst.reduce(
    (latest, { lastDifferent = '' }) => (lastDifferent > latest ? lastDifferent : latest),
    '',
  );
  const meant = isMeant(shadows) ? ', only in members that the rule book removes' : '';
  const which = different === 0 ? '' : `: ${listed(named, MAX_COMPARED, '; ')}; the last at ${last}${meant}`;
  return `Of ${counted(compared, 'read')} that both services got${where}, ${count(different)} differed${which}.`;
}

/** Whether reads differed, and only in members that the rule book removes. */
export function isMeant(shadows: RolloutView['shadows']): boolean {
  const fields = differing(shadows).map((one) => one.fields);
  return (
    fields.length > 0 &&
    fields.every((all) => all.length > 0 && all.every(({ change }) => change !== undefined))
  );
}

function differing(shadows: RolloutView['shadows']): RolloutView['shadows'] {
  return shadows.filter(({ different }) => different > 0);
}

function comparedOf({ same, different }: RolloutView['shadows'][number]): number {
  return same + different;
}

function totalOf(
  shadows: RolloutView['shadows'],
  number: (one: RolloutView['shadows'][number]) => number,
): number {
  return shadows.reduce((sum, one) => sum + number(one), 0);
}

/** The operation of a call in a report; undefined for other requests, which reports name by method and path or count together. */
export function operationOf(call: string): string | undefined {
  return isUnfit(call) ? undefined : call;
}

function isTargeted(
  { operation: wanted, client }: RolloutRequest,
  { operations }: Modes,
  operation: string | undefined,
): boolean {
  if (client !== undefined) return true;
  if (wanted !== undefined) return operation === wanted;
  return operation === undefined || ownMode(operations, operation) === undefined;
}

function sumOf(calls: readonly { readonly count: number }[]): number {
  return calls.reduce((sum, { count }) => sum + count, 0);
}

function isClient(
  { client, name }: { readonly client: string; readonly name?: string | undefined },
  wanted: string,
): boolean {
  return client === wanted || name === wanted;
}

export function modesOf({ default: other, operations, clients, rollback }: RolloutView): Modes {
  return { default: other, operations, clients, rollback };
}

/** Tells which services get requests for which operations in the modes in force; after the end of V1, none do. */
export function askedIn(rollout: RolloutView, earlier: readonly EarlierModes[], now: number): IsAsked {
  const modes = modesOf(rollout);
  const since = new Map<string, number | undefined>();
  return (service, call, at = Number.POSITIVE_INFINITY, clients = []) => {
    const operation = operationOf(call);
    const key = `${service} ${call}`;
    if (!since.has(key)) since.set(key, askedSince(modes, earlier, service, operation));
    const from = since.get(key);
    return from !== undefined && at >= from && !hasEndedFor(rollout, now, operation, clients);
  };
}

/** When the first such request could go to the service after the last change before which none did: milliseconds since 1970. */
function askedSince(
  modes: Modes,
  earlier: readonly EarlierModes[],
  service: 'v1' | 'v2',
  operation: string | undefined,
): number | undefined {
  if (!isAsked(modes, service, operation)) return undefined;
  return earlier.find((one) => !isAsked(one.modes, service, operation))?.at ?? 0;
}

function modesAfter({ mode, share, operation, client }: RolloutRequest, modes: Modes, hash: string): Modes {
  if (mode === undefined) {
    const { [hash]: _, ...clients } = modes.clients;
    return client === undefined ? modes : { ...modes, clients };
  }
  const chosen = { mode, ...(share === undefined ? {} : { share }) };
  return withChosen(modes, chosen, { operation, client: client === undefined ? undefined : hash });
}

function canaryWords({ share = 0, client }: RolloutRequest, { rollback, isSticky }: RolloutView): string[] {
  return [
    ...(client === undefined ? [`New clients: ${share} % of all possible hashes are in the share.`] : []),
    `The gateway goes ${ruleWords(rollback)}.`,
    ...(isSticky
      ? []
      : [
          'The gateway makes new client hashes at each start, so other clients will be in the share: set GATEWAY_CLIENT_SECRET.',
        ]),
  ];
}

/** Says which part of each client's rate limit one process has. */
export function rateLimitSentence({
  requests,
  per,
  processes,
  each,
}: NonNullable<RolloutView['rateLimit']>): string {
  return `Each client's rate limit of ${counted(requests, 'request')} in ${per / 1000} s is divided by ${processes} processes: ${each} in each.`;
}

/** Says when a canary is rolled back. */
export function ruleWords(rule: Modes['rollback']): string {
  const { slower, certainty, requests } = rule;
  const slow =
    slower === false
      ? ''
      : `, or when their median or 99 % latency is at least ${slower} times V1's and ${NOTICED_MS} ms more`;
  return `back to observe by itself when migrated requests fail more often than V1's by at least ${points(leastDifference(rule))}${slow}, with ${certainty} % certainty, from ${requests} requests on`;
}

/** What failed on V2 before the command sends it there again. */
function rollbackWarnings(
  { operation, client }: RolloutRequest,
  { rollbacks }: RolloutView,
): readonly string[] {
  if (client !== undefined) return [];
  return rollbacks
    .filter((one) => one.resolved === undefined)
    .filter((one) => operation === undefined || one.operation === undefined || one.operation === operation)
    .map(rollbackWords);
}

/** Says that a canary was rolled back, when and why. */
export function rollbackWords(rollback: RollbackView): string {
  const { operation, share, at, by, cause } = rollback;
  const stage = operation === undefined ? 'The canary' : `The canary of ${operation}`;
  const where = by === undefined ? '' : ` by ${by}`;
  return `${stage} of ${share} % was rolled back at ${at}${where}: ${reasonSentence(rollback, cause?.name)}`;
}

/** The heading of the stage of everything, whose mode has these words, with the operations whose canary was rolled back. */
export function stageHeading({ rollbacks }: Pick<RolloutView, 'rollbacks'>, mode: string): string {
  const standing = rollbacks.filter(({ resolved }) => resolved === undefined);
  const isAll = standing.some(({ operation }) => operation === undefined);
  const operations = standing.flatMap(({ operation }) => operation ?? []);
  return [
    isAll ? 'Rolled back: V1 responds' : mode,
    ...(operations.length === 0 ? [] : [`${listed(operations, MAX_NAMES)} rolled back`]),
  ].join('; ');
}

/** The operations and clients with another mode than everything else, by name. */
export function otherModes({
  default: most,
  operations,
  clients,
}: RolloutView): readonly { readonly name: string; readonly mode: ModeView }[] {
  return [
    ...Object.entries(operations).map(([name, mode]) => ({ name, mode })),
    ...Object.entries(clients).map(([hash, mode]) => ({ name: mode.name ?? hash, mode })),
  ].filter(({ mode }) => mode.mode !== most.mode || mode.share !== most.share);
}
