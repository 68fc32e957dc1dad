import { FleetTotals } from '../../src/report/fleet/fleet-totals.ts';
import { makeReport, type Report } from '../../src/report/report.ts';
import type { TallyEntry } from '../../src/report/tally/tally-entry.ts';
import { Tally } from '../../src/report/tally/tally.ts';
import type { Answer } from '../../src/rewrite-log/answers.ts';
import type { SharedState } from '../../src/rollout/shared-state.ts';
import type { VirtualTime } from './virtual-time.ts';

/** The options of a replica. */
interface PlayedReplicaOptions {
  readonly skewMs?: number;
  readonly maxClients?: number;
  readonly keepMs?: number;
  /** Its facts for other replicas. */
  readonly said?: () => string;
}

/** A replica that counts entries in virtual time. */
export class PlayedReplica {
  readonly totals: FleetTotals;
  private own: Tally;

  constructor(
    name: string,
    state: SharedState,
    time: VirtualTime,
    { skewMs = 0, maxClients = 5000, keepMs = 180 * 86_400_000, said }: PlayedReplicaOptions = {},
  ) {
    this.own = new Tally(maxClients);
    this.totals = new FleetTotals({
      state,
      clock: time.clock(skewMs),
      name,
      keepMs,
      onLost: () => {},
      onFound: () => {},
      own: () => this.own,
      said,
      take: () => {
        const { own } = this;
        this.own = new Tally(maxClients);
        return own;
      },
    });
    this.totals.start();
  }

  /** Counts an entry, with what it was to its client as the gateway judged it. */
  add(entry: TallyEntry, answer?: Answer): void {
    this.own.add(entry, answer);
  }

  /** The report that an operator gets from this replica. */
  async report(now: number): Promise<Report> {
    const { tally, gaps } = await this.totals.tally(() => Promise.resolve());
    const known = this.totals.coverage();
    const coverage = {
      ...known,
      get gaps() {
        return [...known.gaps, ...gaps];
      },
    };
    return makeReport(tally, {
      now: new Date(now).toISOString(),
      observed: { since: new Date(coverage.since).toISOString(), until: new Date(now).toISOString() },
      coverage,
    });
  }
}

/** A report whose lists are in an order that depends on their members only. */
export function inOneOrder(value: unknown): unknown {
  if (Array.isArray(value))
    return value
      .map((one) => inOneOrder(one))
      .sort((one, other) => (JSON.stringify(one) < JSON.stringify(other) ? -1 : 1));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .map(([name, member]): [string, unknown] => [name, inOneOrder(member)])
      .sort(([one], [other]) => (one < other ? -1 : 1)),
  );
}
