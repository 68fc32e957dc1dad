import type { RollbackRule } from '../../rules/rollout.ts';
import { clientOf, isOutage } from '../entry.ts';
import {
  addToRow,
  begun,
  end,
  endAsBefore,
  endOf,
  goOn,
  isLasting,
  type Request,
  type Trouble,
  troubleOf,
  unjudged,
} from './course.ts';
import { Failures, type HealthEntry } from './failures.ts';
import { beforeOf, dropRecent, type Health, recentAnsweredOf, recentOf, remember } from './past.ts';
import { ENOUGH, hasFailedSo, NONE, type OperationTrouble } from './trouble.ts';

/** Maximum clients of an operation whose failures are followed: more of them are trouble of the operation. */
const MAX_CLIENTS = 100;

/** The part of the other clients' requests from whose failure on an operation fails for them as well. */
const OTHERS_FAIL = 1 / 5;

/** Whether a request counts for its client alone: that client's trouble is kept apart from the operation or call. */
export function isApart({ clients }: Health, entry: HealthEntry): boolean {
  const trouble = clients.get(clientOf(entry))?.trouble;
  if (!isLasting(trouble) || !trouble.isApart) return false;
  // V2 refuses such a call also when it is back, so nothing would end an outage of that call.
  return entry.operation === undefined || !isOutage(entry.failure ?? '');
}

/**
 * Keeps the trouble of a call's only client apart from an outage of V2. Other clients show the same for an operation, but an undeclared call
 * often has one client.
 */
function separateFromOutage(health: Health, { entry }: Request): void {
  const { trouble, clients } = health;
  const own = clients.get(clientOf(entry))?.trouble;
  if (entry.operation !== undefined || !isLasting(own) || own.kind !== 'always') return;
  if (!isLasting(trouble) || trouble.kind !== 'always' || trouble.failures.clients.length > 1) return;
  own.isApart = true;
  health.trouble = undefined;
  health.row = unjudged(own.last).row;
  remember(health, { requests: trouble.requests - trouble.failures.count, failed: 0 });
}

/**
 * Keeps the trouble of a client that just failed apart from its operation once the requests of others show that the operation does not
 * fail: what the client failed until then counts for the operation no more.
 */
function separate(health: Health, client: string): void {
  const failing = [...health.clients].filter(
    ([, { trouble }]) => isLasting(trouble) && !trouble.isApart && trouble.kind === 'always',
  );
  const own = health.clients.get(client);
  if (own === undefined || !failing.some(([one]) => one === client)) return;
  const { trouble, row } = health;
  if (!isLasting(trouble)) {
    if (row.failed && row.requests >= own.row.requests) return;
    const { requests, failed } = recentOf(health);
    const othersFailed = failing.reduce((sum, [one]) => sum - recentAnsweredOf(health, one), failed);
    if (othersFailed >= (requests - failed + othersFailed) * OTHERS_FAIL) return;
  } else {
    const { requests, failures } = trouble;
    const others = failing.reduce((sum, [one]) => sum - failures.answeredOf(one), failures.answered);
    if (others >= ENOUGH || requests - failures.count < ENOUGH) return;
  }
  for (const [one, { trouble: ofClient }] of failing) {
    if (ofClient !== undefined) ofClient.isApart = true;
    dropRecent(health, one);
    if (isLasting(trouble)) {
      const dropped = trouble.failures.drop(one);
      trouble.requests -= dropped;
      trouble.upToLast -= dropped;
    }
  }
  if (!isLasting(trouble)) return;
  const { outage } = trouble.failures;
  if (outage === undefined) {
    const { requests, failures } = trouble;
    remember(health, { requests, failed: failures.count });
    health.trouble = undefined;
  } else if (trouble.failures.answered === 0)
    Object.assign(trouble, { since: outage.since, last: outage.last });
}

/** Follows a client whose requests fail: among many others it raises the share of the operation too little to show. */
export function follow(health: Health, request: Request, rule: RollbackRule): void {
  const { entry, failed, time } = request;
  const client = clientOf(entry);
  if (isOutage(entry.failure ?? '')) {
    separateFromOutage(health, request);
    return;
  }
  const { clients } = health;
  const known = clients.get(client);
  if (known === undefined && !failed) return;
  const one = known ?? { ...unjudged(time), before: NONE, compared: NONE };
  if (failed && !one.row.failed) Object.assign(one, beforeOf(health));
  addToRow(one, request);
  endAsBefore(one, request, rule);
  const { row, trouble, before, compared } = one;
  if (isLasting(trouble)) goOn(trouble, request);
  else if (failed && row.requests >= ENOUGH && !hasFailedSo(compared)) {
    const { requests, since } = row;
    const failures = Failures.of([row.failures]);
    one.trouble = begun({ kind: 'always', requests, failures, since, before, compared }, time);
  } else if (!failed && trouble !== undefined) trouble.recovered += 1;
  if (failed) {
    clients.delete(client);
    clients.set(client, one);
    const [first] = clients.keys();
    if (clients.size > MAX_CLIENTS && first !== undefined) clients.delete(first);
    separate(health, client);
    if (health.trouble?.failures.outage !== undefined) separateFromOutage(health, request);
  } else if (trouble === undefined) clients.delete(client);
}

/** V1 serves this client: it is not in trouble any more. */
export function moveClient({ clients }: Health, client: string, time: number): void {
  const one = clients.get(client);
  if (one?.trouble === undefined) clients.delete(client);
  else {
    one.row = unjudged(time).row;
    end(one.trouble, true);
  }
}

/** Whether trouble of a client is that of its whole operation; an outage of V2 does not explain what V2 responded to. */
function isPartOf({ last }: Trouble, ofAll: OperationTrouble | undefined): boolean {
  if (ofAll?.isOwn !== true) return false;
  return last <= (ofAll.until ?? Number.POSITIVE_INFINITY);
}

/** The trouble of an operation, and that of its clients which is not part of it. */
interface Troubles {
  readonly ofAll: OperationTrouble | undefined;
  readonly ofClients: ReadonlyMap<string, Trouble>;
}

export function troublesOf(operation: string, { trouble, clients }: Health, rule: RollbackRule): Troubles {
  const ofAll = trouble && troubleOf(operation, trouble, rule);
  const ofClients = [...clients].flatMap(([client, { trouble: own }]) =>
    own === undefined || (!own.isApart && isPartOf(own, ofAll)) ? [] : [[client, own] as const],
  );
  return { ofAll, ofClients: new Map(ofClients) };
}

/** The trouble of the clients that fail, or of those that did lately; what was before the first of them began to fail is their past. */
export function troubleOfClients(
  operation: string,
  all: readonly (readonly [client: string, trouble: Trouble])[],
  rule: RollbackRule,
): OperationTrouble {
  const lasting = all.filter(([, { until }]) => until === undefined);
  const reported = lasting.length === 0 ? all : lasting;
  const troubles = reported.map(([, trouble]) => trouble).sort((one, other) => one.since - other.since);
  const [first] = troubles;
  if (first === undefined) throw new RangeError('trouble without a client');
  const joined: Trouble = {
    ...first,
    kind: troubles.every(({ kind }) => kind === 'always') ? 'always' : 'more',
    requests: troubles.reduce((sum, { requests }) => sum + requests, 0),
    upToLast: troubles.reduce((sum, { upToLast }) => sum + upToLast, 0),
    failures: Failures.of(troubles.map(({ failures }) => failures)),
    last: Math.max(...troubles.map(({ last }) => last)),
    until: lasting.length === 0 ? Math.max(...troubles.map((one) => endOf(one))) : undefined,
    recovered: Math.min(...troubles.map(({ recovered }) => recovered)),
  };
  return { ...troubleOf(operation, joined, rule), clients: reported.map(([client]) => client) };
}
