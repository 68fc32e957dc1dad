import type { IsAsked, OriginFailures } from '../rewrite-log/history.ts';
import type { OperationTrouble, TroubleEvidence } from '../rewrite-log/health/trouble.ts';
import type { RolloutRequest, RolloutView } from '../rollout/rollout-tally.ts';
import type { RolloutSubject } from '../rollout/modes-in-force.ts';
import type { Mode } from '../rules/rollout.ts';
import type { FleetFacts } from './fleet-facts.ts';

/** State of one part: with `bad` requests fail now, with `note` they will or may fail; `unknown` means that it was not used lately. */
export type ConditionLevel = 'bad' | 'note' | 'unknown' | 'good';

/** Current state of one part of the gateway, or of a service behind it. */
export interface Condition {
  readonly about:
    | 'v2'
    | 'v1'
    | 'operation'
    | 'rule-book'
    | 'roll-back'
    | 'brownout'
    | 'end'
    | 'certificate'
    | 'replicas'
    | 'log';
  readonly level: ConditionLevel;
  /** A few words for the header, such as `V2 does not respond`. */
  readonly label: string;
  /** The state, and its effect on requests. */
  readonly sentence: string;
  /** Where the page shows more: a view, and a filter of its exchanges. */
  readonly place?: Place;
  /** The operation that fails, with the shares that failed before and since. */
  readonly operation?: string;
  readonly evidence?: TroubleEvidence;
  /** RFC 3339: since when it fails, and until when; absent where that is not known, and while it lasts. */
  readonly since?: string;
  readonly until?: string;
  /** A command for `POST /rollout` that ends it, and its title. */
  readonly action?: { readonly title: string; readonly request: RolloutRequest };
  /** Failed requests of a fault that is past: it is over, and all can be well again. */
  readonly past?: number;
  /** The requests that V2 failed and does not get now, so that nothing shows that it is well; absent otherwise. */
  readonly left?: readonly RolloutSubject[] | 'all';
  /** True if an earlier condition reports the same fault of a service for the service's operations. */
  readonly isRepeated?: true;
}

/** A view of the page, and a filter of its exchanges. */
export interface Place {
  readonly view: 'overview' | 'traffic' | 'clients' | 'rules' | 'rollout';
  /** The problems, a part of the view of the traffic. */
  readonly part?: 'problems';
  readonly filter?: string;
}

/** An operation that the gateway rolled back automatically. */
export interface StandingRollBack {
  readonly operation: string;
  /** RFC 3339. */
  readonly at: string;
  /** The counts that showed it. */
  readonly why: string;
}

export interface ConditionFacts {
  readonly stats: FleetFacts['stats'];
  /** When each service responded last, also to a copy of a read: milliseconds since 1970. */
  readonly lastResponses: FleetFacts['lastResponses'];
  /** The requests that notices of V1's end refused, and since when these are counted: milliseconds since 1970. */
  readonly notices?: FleetFacts['notices'];
  readonly countedFrom?: number;
  /** Requests and failures of the services in the last `RECENT_MINUTES`. */
  readonly recent: OriginFailures;
  /** The trouble of operations, now or within the last hour. */
  readonly operations: readonly OperationTrouble[];
  /** Display names by client hash. */
  readonly names: ReadonlyMap<string, string>;
  /** Texts by which people recognise clients without a name, by client hash. */
  readonly agents: FleetFacts['agents'];
  /** Milliseconds since 1970. */
  readonly now: number;
  /** Hash of the rule book in force. */
  readonly ruleBook: string;
  /** Number of faults in the rule book that was refused last, and when: milliseconds since 1970; undefined once a valid one is read. */
  readonly refusal: { readonly faults: number; readonly at: number } | undefined;
  /** Absent if the rollout cannot be read. */
  readonly rollout: RolloutView | undefined;
  /** See `askedIn`; absent if the rollout cannot be read. */
  readonly isAsked?: IsAsked | undefined;
  /** Operations that the gateway rolled back automatically. */
  readonly rolledBack?: readonly StandingRollBack[] | undefined;
  /** The replicas of these facts; absent without others. */
  readonly fleet?: FleetOf | undefined;
  /** The mode that takes an operation off V2; undefined if it sends nothing to V2, or there is no V1 to go back to. */
  readonly modeOnV1?: ((operation: string) => Mode | undefined) | undefined;
}

/** Several replicas that share a store. */
export interface FleetOf extends Pick<FleetFacts, 'replicas' | 'broken' | 'ruleBooks' | 'ruleBookSince'> {
  /** Silent replicas; `at` is milliseconds since 1970. */
  readonly silent: readonly { readonly name: string; readonly at: number }[];
}

/** Minutes over which a service is evaluated. */
export const RECENT_MINUTES = 2;

/** Percentage of failed requests from which a service or an operation fails. */
export const FAILING = 50;

/** Milliseconds for which a condition is reported after its end. */
export const REPORTED_MS = 3_600_000;
