import type { RollbackRule } from '../../rules/rollout.ts';
import { clientOf } from '../entry.ts';
import { addToRow, begun, end, goOn, isLasting, type Request, type Trouble, unjudged } from './course.ts';
import { Failures, type HealthEntry } from './failures.ts';
import {
  beforeOf,
  dropRecent,
  type Episode,
  type Health,
  keepEarlier,
  recentFailuresOf,
  recentOf,
  remember,
} from './past.ts';
import { ENOUGH, hasBegunToFail, NONE } from './trouble.ts';

/** Maximum clients of an operation whose failures are followed: more of them are trouble of the operation. */
const MAX_CLIENTS = 100;

/** The part of the other clients' requests from whose failure on an operation fails for them as well. */
const OTHERS_FAIL = 1 / 5;

/** Whether a request counts for its client alone: that client's trouble is kept apart from the operation or call. */
export function isApart({ clients }: Health, entry: HealthEntry): boolean {
  const trouble = clients.get(clientOf(entry))?.trouble;
  return isLasting(trouble) && trouble.isApart;
}

/**
 * Keeps the trouble of a client that just failed apart from its operation once the requests of others show that the operation does not
 * fail: what the client failed until then counts for the operation no more. Trouble of the operation that is told already keeps its
 * beginning and its count: it becomes that of the clients only if it was theirs from its first failure on.
 */
function separate({ responses, clients }: Health, client: string): void {
  const failing = [...clients].filter(
    ([, { trouble }]) => isLasting(trouble) && !trouble.isApart && trouble.kind === 'always',
  );
  const own = clients.get(client);
  if (own === undefined || !failing.some(([one]) => one === client)) return;
  const { trouble, row } = responses;
  if (!isLasting(trouble)) {
    if (row.failed && row.requests >= own.row.requests) return;
    const { requests, failed } = recentOf(responses);
    const othersFailed = failing.reduce((sum, [one]) => sum - recentFailuresOf(responses, one), failed);
    if (othersFailed >= (requests - failed + othersFailed) * OTHERS_FAIL) return;
  } else {
    const { requests, failures } = trouble;
    const theirs = failing.reduce((sum, [, one]) => sum + (one.trouble?.failures.count ?? 0), 0);
    const isTheirs = failing.every(([one, { trouble: its }]) => failures.of(one) === its?.failures.count);
    if (!isTheirs || theirs !== failures.count || requests - failures.count < ENOUGH) return;
  }
  for (const [one, { trouble: ofClient }] of failing) {
    if (ofClient !== undefined) ofClient.isApart = true;
    dropRecent(responses, one);
  }
  if (!isLasting(trouble)) return;
  remember(responses, { requests: trouble.requests - trouble.failures.count, failed: 0 });
  responses.trouble = undefined;
}

/** Keeps the troubles of clients that are over before another one begins: all of them, or the client's own while others' go on. */
function keepOver(health: Health, client: string): void {
  const ofClients = [...troublesOfClients(health)];
  const isGoingOn = ofClients.some(([, trouble]) => isLasting(trouble));
  const over = ofClients.filter(([one, trouble]) => !isLasting(trouble) && (!isGoingOn || one === client));
  if (over.length === 0) return;
  for (const [one] of over) {
    const known = health.clients.get(one);
    if (known !== undefined) known.trouble = undefined;
  }
  keepEarlier(health.responses, joined(over));
}

/**
 * Follows a client whose requests V2 or the gateway responds to, and fails: among many others it raises the share of the operation too
 * little to show.
 */
export function follow(health: Health, request: Request, rule: RollbackRule): void {
  const { entry, failed, time } = request;
  const client = clientOf(entry);
  const { clients } = health;
  const known = clients.get(client);
  if (known === undefined && !failed) return;
  const one = known ?? { ...unjudged(time), before: NONE, compared: NONE };
  if (failed && !one.row.failed) Object.assign(one, beforeOf(health.responses));
  addToRow(one, request);
  const { row, trouble, before, compared } = one;
  if (isLasting(trouble)) goOn(trouble, request, rule);
  else if (row.failed && hasBegunToFail(compared, { requests: row.requests, failed: row.requests }, rule)) {
    keepOver(health, client);
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

/** The troubles of clients of an operation that are not part of its own trouble. */
export function troublesOfClients({
  responses: { trouble: ofAll },
  clients,
}: Health): ReadonlyMap<string, Trouble> {
  const isPart = ({ isApart, since, last }: Trouble): boolean =>
    !isApart &&
    ofAll !== undefined &&
    since >= ofAll.since &&
    last <= (ofAll.until ?? Number.POSITIVE_INFINITY);
  return new Map(
    [...clients].flatMap(([client, { trouble }]) =>
      trouble === undefined || isPart(trouble) ? [] : [[client, trouble] as const],
    ),
  );
}

/** The troubles of several clients as one; what was before the first of them began to fail is their past. */
export function joined(all: readonly (readonly [client: string, trouble: Trouble])[]): Episode {
  const troubles = all.map(([, trouble]) => trouble).sort((one, other) => one.since - other.since);
  const [first] = troubles;
  if (first === undefined) throw new RangeError('trouble without a client');
  const isOver = troubles.every(({ until }) => until !== undefined);
  const trouble: Trouble = {
    ...first,
    kind: troubles.every(({ kind }) => kind === 'always') ? 'always' : 'more',
    requests: troubles.reduce((sum, { requests }) => sum + requests, 0),
    upToLast: troubles.reduce((sum, { upToLast }) => sum + upToLast, 0),
    failures: Failures.of(troubles.map(({ failures }) => failures)),
    last: Math.max(...troubles.map(({ last }) => last)),
    until: isOver ? Math.max(...troubles.map(({ until, last }) => until ?? last)) : undefined,
    recovered: Math.min(...troubles.map(({ recovered }) => recovered)),
  };
  return { trouble, clients: all.map(([client]) => client) };
}
