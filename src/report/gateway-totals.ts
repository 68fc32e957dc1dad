import type { ClientTally } from './tally/client-tally.ts';
import type { ReadTotals, ReportCoverage, ReportTotals } from './report-totals.ts';
import type { Tally } from './tally/tally.ts';

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

  uses(): Pick<Tally, 'operations' | 'changes' | 'rules'> {
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
