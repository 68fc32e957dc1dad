import type { GatewayProcess } from '../gateway-process.ts';
import type { InnocentKind } from './innocent.ts';

/** One attack: the attacker's actions in one sentence, and the limits of their effect. */
export interface Attack {
  /** As on the command line, such as `A` or `E-memory`; the part before the dash names the finding. */
  readonly id: string;
  readonly sentence: string;
  /** Settings that differ from those that ship, by flag. */
  readonly flags?: Readonly<Record<string, string>>;
  /** Clients speak TLS, and HTTP/2 if they like. */
  readonly isTls?: boolean;
  /** V2 accepts requests and never responds, while V1 does. */
  readonly isV2Silent?: boolean;
  /** The requests of the innocent client; all kinds without it. Where V2 closes connections, a write may be lost with one: only reads. */
  readonly innocents?: readonly InnocentKind[];
  /** Milliseconds for an attack that takes longer than others: it is only carried out when it is named. */
  readonly milliseconds?: number;
  /** Limits that differ from the usual ones. */
  readonly limits?: Partial<Limits>;
  /** Carries it out, and returns what is wrong beside the limits, in sentences. `scale` is 1, or less in a test. */
  play(target: Target, scale: number): Promise<readonly string[]>;
}

/** The attacked gateway, as an attacker reaches it, and as the system and `/metrics` show it. */
export interface Target extends GatewayProcess {
  /** A folder of its own, with the rewrite log in `rewrite.log`. */
  readonly folder: string;
  /** Aborted when the time of the attack is over. */
  readonly signal: AbortSignal;
}

/** The maximum cost of an attack to everybody else. */
export type Limits = Readonly<Record<keyof typeof MEASURES, number>>;

/** What is measured of an attack: the column of the table, the unit, and what is said when it passes its limit. */
export const MEASURES = {
  failed: ['failed', '', 'innocent requests failed'],
  median: ['median', ' ms', 'was the median time of an innocent request'],
  worst: ['worst', ' ms', 'was the time of an innocent request'],
  memory: ['peak memory', ' MiB', 'was the resident memory of the gateway'],
  loop: ['loop late', ' ms', 'was the delay of the event loop; a busy machine adds to it'],
  turn: ['longest turn', ' ms', 'of processor time were taken by one turn of the event loop'],
  left: ['left in flight', '', 'exchanges are in flight for nobody when everybody has left'],
  ended: ['ended', '', 'process ended'],
  bugs: ['bug lines', '', 'lines on stderr speak of a bug, or are of a stack trace'],
} as const;

/** The limits of an attack that states none: 512 MiB is the memory limit of the container that ships. */
export const USUAL_LIMITS: Limits = {
  failed: 0,
  median: 50,
  worst: 1000,
  memory: 512,
  loop: 250,
  turn: 50,
  left: 0,
  ended: 0,
  bugs: 0,
};
