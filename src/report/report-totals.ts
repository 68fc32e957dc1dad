import type { LogGap } from './log-gaps.ts';
import type { Tally, ClientTally } from './tally/tally.ts';

/** The gateways whose traffic a report counts. */
export interface ReportCoverage {
  /** `gateway`: this one alone, without a store; `fleet`: all that share the store; `alone`: all, the others as last known. */
  readonly kind: 'gateway' | 'fleet' | 'alone';
  readonly sentence: string;
  /** Time since which they count, in milliseconds since 1970. */
  readonly since: number;
  /** Replicas that add their counts; absent without a store. */
  readonly replicas?: number;
  /** Age of the oldest counts of a replica that runs, in milliseconds; absent without a store. */
  readonly oldestMs?: number;
  /** Times for which counts are missing. */
  readonly gaps: readonly LogGap[];
}

/** The totals for a report: a tally, or totals whose clients are read one by one, and only once. */
export interface ReportTally extends Pick<
  Tally,
  'entries' | 'v1' | 'v2' | 'since' | 'until' | 'days' | 'census' | 'omittedClients' | 'unread'
> {
  /** Absent if gateways count it themselves. */
  readonly drift?: Tally['drift'];
  /** Reading them completes the days. */
  readonly clients: Iterable<readonly [hash: string, client: ClientTally]>;
}

/** Totals, and the times for which counts could not be read: known once the clients are read. */
export interface ReadTotals {
  readonly tally: ReportTally;
  readonly gaps: readonly LogGap[];
}

/** The live totals behind the page, `/report` and clients' own reports. */
export interface ReportTotals {
  /** The totals; awaits `pause` between steps of a few milliseconds each. */
  tally(pause: () => Promise<void>): Promise<ReadTotals>;
  /** Counts of one client; undefined when it was not seen. */
  client(hash: string): ClientTally | undefined;
  uses(): Pick<Tally, 'operations' | 'changes' | 'editedResponses'>;
  coverage(): ReportCoverage;
}

/** Totals of one gateway without a store. */
export class GatewayTotals implements ReportTotals {
  private readonly own: Tally;
  private readonly startedAt: number;

  /** `startedAt` is milliseconds since 1970. */
  constructor(own: Tally, startedAt: number) {
    this.own = own;
    this.startedAt = startedAt;
  }

  async tally(): Promise<ReadTotals> {
    return { tally: this.own, gaps: [] };
  }

  client(hash: string): ClientTally | undefined {
    return this.own.clients.get(hash);
  }

  uses(): Pick<Tally, 'operations' | 'changes' | 'editedResponses'> {
    return this.own;
  }

  coverage(): ReportCoverage {
    const since = new Date(this.startedAt).toISOString();
    return {
      kind: 'gateway',
      sentence: `Counts of this gateway alone, since ${since}: no store is set.`,
      since: this.startedAt,
      gaps: [],
    };
  }
}
