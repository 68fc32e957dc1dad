import type { Ends } from '../rules/rollout.ts';
import { type ClientReport, dayBefore } from './client-report.ts';
import { counted } from './text.ts';

/** An operation or change that ends before V1 as a whole does, and who still uses it. */
export interface Ending {
  readonly kind: 'operation' | 'change';
  readonly id: string;
  /** RFC 3339; absent where it has no date of its own. */
  readonly deprecation?: string;
  readonly sunset?: string;
  /** True where its requests get 410 from the sunset on. */
  readonly isRefused: boolean;
  /** Clients that still use it, most requests first; a client that used it last before its usual silence is none. */
  readonly clients: readonly EndingClient[];
  /** The whole, in a sentence. */
  readonly sentence: string;
}

/** A client that uses what ends. */
export interface EndingClient {
  /** The keyed hash, or `-` for requests without a key. */
  readonly client: string;
  readonly name?: string;
  readonly count: number;
  /** RFC 3339. */
  readonly lastSeen: string;
}

/** Clients named in a sentence. */
const MAX_NAMED = 3;

/** The ends of operations and changes in the order of the rule book, with the clients of a report made at `now` (RFC 3339). */
export function endingsOf(clients: readonly ClientReport[], ends: Ends, now: string): readonly Ending[] {
  return (['operation', 'change'] as const).flatMap((kind) =>
    Object.entries(ends[`${kind}s`]).map(([id, { since, sunset, gone }]) => {
      const users = clients.flatMap((client) => {
        const uses: readonly EndingUse[] = kind === 'operation' ? client.operations : client.changes;
        const use = uses.find((one) => (kind === 'operation' ? one.operation : one.change) === id);
        if (use === undefined || use.lastSeen < dayBefore(now, client.goneAfterDays)) return [];
        const { name } = client;
        const { count, lastSeen } = use;
        return [{ client: client.client, ...(name === undefined ? {} : { name }), count, lastSeen }];
      });
      const ending = {
        kind,
        id,
        ...(since === undefined ? {} : { deprecation: new Date(since).toISOString() }),
        ...(sunset === undefined ? {} : { sunset: new Date(sunset).toISOString() }),
        isRefused: gone !== undefined,
        clients: users.sort((one, other) => other.count - one.count),
      };
      return { ...ending, sentence: sentenceOf(ending, now) };
    }),
  );
}

/** The clients that a brownout refused. */
export interface MetByBrownout {
  readonly brownout: string;
  /** Those it refused most first. */
  readonly clients: readonly EndingClient[];
  /** The whole, in a sentence. */
  readonly sentence: string;
}

/** Whom each brownout met, by its id in the rule book or in the log; the latest first. */
export function metByBrownouts(clients: readonly ClientReport[]): readonly MetByBrownout[] {
  const all = clients.flatMap(({ client, name, brownouts }) =>
    brownouts.map(({ brownout, count: times, lastSeen }) => ({
      brownout,
      met: { client, ...(name === undefined ? {} : { name }), count: times, lastSeen },
    })),
  );
  return [...Map.groupBy(all, ({ brownout }) => brownout)]
    .map(([brownout, rows]) => {
      const met = rows.map((row) => row.met).toSorted((one, other) => other.count - one.count);
      return { brownout, clients: met, sentence: metSentence(brownout, met) };
    })
    .toSorted((one, other) => (latestOf(one.clients) < latestOf(other.clients) ? 1 : -1));
}

function latestOf(clients: readonly EndingClient[]): string {
  return clients.reduce((latest, { lastSeen }) => (lastSeen > latest ? lastSeen : latest), '');
}

function metSentence(brownout: string, clients: readonly EndingClient[]): string {
  const refused = clients.reduce((sum, one) => sum + one.count, 0);
  return `Brownout ${brownout} met ${counted(clients.length, 'client')} and refused ${counted(refused, 'request')}, the last one at ${latestOf(clients)}: ${namesOf(clients)}.`;
}

function namesOf(clients: readonly EndingClient[]): string {
  const names = clients.map(
    ({ name, client }) => name ?? (client === '-' ? 'requests without a key' : client),
  );
  const more = names.length - MAX_NAMED;
  return names.slice(0, MAX_NAMED).join(', ') + (more > 0 ? ` and ${counted(more, 'other')}` : '');
}

interface EndingUse {
  readonly operation?: string;
  readonly change?: string;
  readonly count: number;
  readonly lastSeen: string;
}

/** Says what ends and when, such as `Operation create_order ends on 2027-01-01: 2 clients still use it, acme and globex.` */
function sentenceOf(
  { kind, id, sunset, deprecation, clients }: Omit<Ending, 'sentence'>,
  now: string,
): string {
  const dates = [
    ...(deprecation === undefined
      ? []
      : [`${deprecation > now ? 'is deprecated from' : 'has been deprecated since'} ${dayOf(deprecation)}`]),
    ...(sunset === undefined ? [] : [`${sunset > now ? 'ends' : 'ended'} on ${dayOf(sunset)}`]),
  ];
  const who =
    clients.length === 0
      ? 'nobody uses it any more'
      : `${counted(clients.length, 'client')} still ${clients.length === 1 ? 'uses' : 'use'} it: ${namesOf(clients)}`;
  const what = kind === 'operation' ? 'Operation' : 'What change';
  const rest = kind === 'operation' ? '' : ' translates';
  return `${what} ${id}${rest} ${dates.length === 0 ? 'has an end of its own' : dates.join(' and ')}; ${who}.`;
}

function dayOf(time: string): string {
  return time.slice(0, 10);
}
