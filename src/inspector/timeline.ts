import { knownClient } from '../report/text.ts';
import type { EndingClient } from '../report/endings.ts';
import type { Report } from '../report/report.ts';
import type { RolloutView } from '../rollout/rollout-tally.ts';

/** One date or time on the way to the end of V1. */
export interface TimelineMark {
  readonly kind: 'deprecation' | 'sunset' | 'brownout';
  /** `declared` by the rule book; `proposed` by the plan, if the rule book does not declare the same. */
  readonly source: 'declared' | 'proposed';
  /** The operation or change that it is for; absent for all of V1. */
  readonly of?: string;
  /** The brownout. */
  readonly id?: string;
  /** RFC 3339: its time, or its first and last. A brownout without a beginning is already on; one without an end continues. */
  readonly from?: string;
  readonly until?: string;
  readonly state: 'past' | 'now' | 'to-come';
  /** Percent of the requests that a brownout refuses, and its status. */
  readonly share?: number;
  readonly status?: number;
  /** Number of clients that a brownout would reach, for one that is proposed or to come. */
  readonly reaches?: number;
  /** The clients that it refused; for a sunset that refuses no request, those that still used V1 after it. */
  readonly clients: readonly EndingClient[];
}

/** The dates of the end of V1. */
export interface Timeline {
  /** RFC 3339. */
  readonly now: string;
  /** By time. */
  readonly marks: readonly TimelineMark[];
  /** Sentences about dates of the rule book that a plan would not choose. */
  readonly differences: readonly string[];
  /** The reason why nothing is proposed; absent if there is a proposal. */
  readonly noProposal?: string;
}

/** The dates of a plan: RFC 3339. */
export interface EndProposal {
  readonly deprecation: string;
  readonly sunset: string;
  /** Why the sunset is not earlier, as a part of a sentence. */
  readonly sunsetBecause: string;
  /** That the sunset of the rule book leaves less than the lead time, in a sentence. */
  readonly shortfall?: string;
  readonly brownouts: readonly {
    readonly id: string;
    readonly from: string;
    readonly until: string;
    /** Number of clients that it reaches. */
    readonly reaches: number;
  }[];
  /** Brownouts of the rule book that are not over, and the number of clients that each reaches. */
  readonly declared: readonly { readonly id: string; readonly reaches: number }[];
}

export interface TimelineFacts {
  /** Milliseconds since 1970. */
  readonly now: number;
  readonly rollout: Pick<RolloutView, 'deprecation' | 'sunset' | 'gone' | 'ends' | 'brownouts'> | undefined;
  readonly clients: Report['clients'];
  readonly proposal: EndProposal | undefined;
  readonly noProposal: string | undefined;
}

/** Puts declared and proposed dates on one axis, with the clients that met them. */
export function timelineOf(facts: TimelineFacts): Timeline {
  const { now, proposal, noProposal } = facts;
  const marks = [...declaredMarks(facts), ...proposedMarks(facts)];
  return {
    now: new Date(now).toISOString(),
    marks: marks.toSorted((one, other) => timeOf(one) - timeOf(other)),
    differences: differencesOf(facts),
    ...(proposal === undefined && noProposal !== undefined ? { noProposal } : {}),
  };
}

function timeOf({ from, until }: TimelineMark): number {
  return Date.parse(from ?? until ?? '') || 0;
}

function declaredMarks({ now, rollout, clients, proposal }: TimelineFacts): readonly TimelineMark[] {
  const { deprecation, sunset, gone, ends = [], brownouts = [] } = rollout ?? {};
  const source = 'declared';
  const date = (
    kind: 'deprecation' | 'sunset',
    at: string | undefined,
    of?: string,
  ): readonly TimelineMark[] =>
    at === undefined
      ? []
      : [
          {
            kind,
            source,
            ...(of === undefined ? {} : { of }),
            from: at,
            state: now < Date.parse(at) ? 'to-come' : 'past',
            clients:
              kind === 'sunset' && of === undefined
                ? (gone === undefined ? usedAfter : refusedAfter)(clients, at)
                : [],
          },
        ];
  return [
    ...date('deprecation', deprecation),
    ...date('sunset', sunset),
    ...ends.flatMap((end) => [
      ...date('deprecation', end.deprecation, end.id),
      ...date('sunset', end.sunset, end.id),
    ]),
    ...brownouts.map(({ id, state, from, until, share, status }): TimelineMark => ({
      kind: 'brownout',
      source,
      id,
      ...(from === undefined ? {} : { from }),
      ...(until === undefined ? {} : { until }),
      state: state === 'on' ? 'now' : state === 'over' ? 'past' : 'to-come',
      share,
      status,
      ...(state === 'to-come' ? reachOf(id, proposal) : {}),
      clients: metBy(clients, id),
    })),
  ];
}

function reachOf(id: string, proposal: EndProposal | undefined): Pick<TimelineMark, 'reaches'> {
  const reaches = proposal?.declared.find((one) => one.id === id)?.reaches;
  return reaches === undefined ? {} : { reaches };
}

function metBy(clients: Report['clients'], id: string): readonly EndingClient[] {
  return clients.flatMap((client) => {
    const met = client.brownouts.find(({ brownout }) => brownout === id);
    if (met === undefined) return [];
    return [{ ...knownClient(client), count: met.count, lastSeen: met.lastSeen }];
  });
}

function usedAfter(clients: Report['clients'], at: string): readonly EndingClient[] {
  return clients
    .filter(({ lastSeen }) => Date.parse(lastSeen) >= Date.parse(at))
    .map((client) => ({
      ...knownClient(client),
      count: client.outcomes.reduce((sum, { code, count }) => sum + (code === 'sunset' ? count : 0), 0),
      lastSeen: client.lastSeen,
    }));
}

/** The clients whose requests got 410 after the end, without those that it excepts. */
function refusedAfter(clients: Report['clients'], at: string): readonly EndingClient[] {
  return usedAfter(clients, at).filter(({ count }) => count > 0);
}

function proposedMarks({ now, rollout, proposal }: TimelineFacts): readonly TimelineMark[] {
  // After the sunset nothing is proposed.
  if (proposal === undefined || Date.parse(rollout?.sunset ?? '') <= now) return [];
  const source = 'proposed';
  const state = (at: string): TimelineMark['state'] => (now < Date.parse(at) ? 'to-come' : 'past');
  const date = (
    kind: 'deprecation' | 'sunset',
    at: string,
    declared: string | undefined,
  ): readonly TimelineMark[] =>
    isSameTime(at, declared) ? [] : [{ kind, source, from: at, state: state(at), clients: [] }];
  return [
    ...date('deprecation', proposal.deprecation, rollout?.deprecation),
    ...date('sunset', proposal.sunset, rollout?.sunset),
    ...proposal.brownouts
      .filter(
        ({ from, until }) =>
          !(rollout?.brownouts ?? []).some(
            (one) => isSameTime(from, one.from) && isSameTime(until, one.until),
          ),
      )
      .map(({ id, from, until, reaches }): TimelineMark => ({
        kind: 'brownout',
        source,
        id,
        from,
        until,
        state: state(from),
        reaches,
        clients: [],
      })),
  ];
}

/** Says that the declared sunset leaves less than the lead time; one that is over is not compared. */
function differencesOf({ now, rollout, proposal }: TimelineFacts): readonly string[] {
  if (proposal === undefined || Date.parse(rollout?.sunset ?? '') <= now) return [];
  return proposal.shortfall === undefined ? [] : [proposal.shortfall];
}

function isSameTime(one: string, other: string | undefined): boolean {
  return other !== undefined && Date.parse(one) === Date.parse(other);
}
