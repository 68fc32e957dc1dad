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
  /** Carries it out; each check is a finding that must hold beside the limits. `scale` is 1, or less in a test. */
  play(target: Target, scale: number): Promise<readonly Check[]>;
}

/** The maximum cost of an attack to everybody else. */
export interface Limits {
  /** Innocent requests that fail. */
  readonly failed: number;
  /** Milliseconds of the slowest innocent request. */
  readonly worst: number;
  /** Milliseconds of the median innocent request. */
  readonly median: number;
  /** Resident MiB of the gateway at the peak. */
  readonly memory: number;
  /** Milliseconds that the event loop is late, at most; a busy machine adds to it. */
  readonly loop: number;
  /** Milliseconds of processor time of one turn of the event loop. */
  readonly turn: number;
  /** Exchanges in flight when everybody has left. */
  readonly left: number;
}

/** The limits of an attack that states none: 512 MiB is the memory limit of the container that ships. */
export const USUAL_LIMITS: Limits = {
  failed: 0,
  worst: 1000,
  median: 50,
  memory: 512,
  loop: 250,
  turn: 50,
  left: 0,
};

/** The attacked gateway, as an attacker reaches it, and as the system and `/metrics` show it. */
export interface Target {
  readonly port: number;
  readonly adminPort: number;
  /** A folder of its own, with the rewrite log in `rewrite.log`. */
  readonly folder: string;
  /** Aborted when the time of the attack is over. */
  readonly signal: AbortSignal;
  /** Resident bytes. */
  memory(): number;
  /** A sample of `/metrics` by its name and labels; undefined where there is none, or no response in time. */
  metric(name: string): Promise<number | undefined>;
  stderr(): string;
}

/** A sentence that is true of the outcome, or is not. */
export interface Check {
  readonly sentence: string;
  readonly holds: boolean;
}

/** Makes a check. */
export function check(sentence: string, holds: boolean): Check {
  return { sentence, holds };
}
