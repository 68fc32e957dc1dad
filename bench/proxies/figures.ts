import { type Bounds, boundsOfMedian, median } from '../statistics.ts';
import type { WorkName } from '../work.ts';
import type { Row } from './rows.ts';

/** Milliseconds from the request to the whole response, of one round. */
export interface Latency {
  readonly p50: number;
  readonly p99: number;
  /** Responses that count as timed out. */
  readonly late: number;
}

/** One round of one peer at one row. */
export interface Measured extends Latency {
  /** Microseconds of processor time a request. */
  readonly cpu: number;
}

/** The median of the ratios of single rounds, with its bounds. */
export interface Ratio extends Bounds {
  readonly of: number;
}

/** All measurements, by row, work and peer, one per round. */
export class Figures {
  private readonly measured: (Measured & Of)[] = [];
  private readonly bare: (Latency & Pick<Of, 'row'>)[] = [];

  add(row: Row, work: WorkName, peer: string, one: Measured): void {
    this.measured.push({ row, work, peer, ...one });
  }

  /** Adds what V2 itself took in a round. */
  addBare(row: Row, one: Latency): void {
    this.bare.push({ row, ...one });
  }

  /** Names of the peers at a row, in the order in which they were first measured. */
  peers(row: Row, work: WorkName): readonly string[] {
    return [
      ...new Set(this.measured.filter((one) => one.row === row && one.work === work).map((one) => one.peer)),
    ];
  }

  of(row: Row, work: WorkName, peer: string): readonly Measured[] {
    return this.measured.filter((one) => one.row === row && one.work === work && one.peer === peer);
  }

  /** The median of one figure; NaN where nothing was measured. */
  median(row: Row, work: WorkName, peer: string, figure: keyof Measured): number {
    return median(this.of(row, work, peer).map((one) => one[figure]));
  }

  /**
   * Processor time of `ours` by that of `theirs`, round by round: what slows the machine down slows both of a round down. NaN where one
   * was not measured.
   */
  ratio(
    ours: readonly [row: Row, work: WorkName, peer: string],
    theirs: readonly [row: Row, work: WorkName, peer: string],
  ): Ratio {
    const other = this.of(...theirs);
    const each = this.of(...ours).map(({ cpu }, round) => cpu / (other[round]?.cpu ?? Number.NaN));
    return { of: median(each), ...boundsOfMedian(each) };
  }

  /** Milliseconds beyond those of V2 itself: the median of rounds; NaN where V2 itself was not measured. */
  added(row: Row, work: WorkName, peer: string): number {
    const bare = this.bare.filter((one) => one.row === row);
    return median(this.of(row, work, peer).map(({ p50 }, round) => p50 - (bare[round]?.p50 ?? Number.NaN)));
  }
}

interface Of {
  readonly row: Row;
  readonly work: WorkName;
  readonly peer: string;
}
