import { median } from '../statistics.ts';
import type { WorkName } from '../work.ts';
import type { Measured } from './measure.ts';
import type { Row } from './rows.ts';

/** A ratio of two medians, with the least and the most of the ratios of single rounds. */
export interface Ratio {
  readonly of: number;
  readonly least: number;
  readonly most: number;
}

/** All measurements, by row, work and peer, one per round. */
export class Figures {
  private readonly measured = new Map<string, Measured[]>();
  private readonly bare = new Map<string, Pick<Measured, 'p50' | 'p99'>[]>();

  add(row: Row, work: WorkName, peer: string, one: Measured): void {
    listed(this.measured, key(row, work, peer)).push(one);
  }

  /** Adds what V2 itself took in a round. */
  addBare(row: Row, one: Pick<Measured, 'p50' | 'p99'>): void {
    listed(this.bare, row.id).push(one);
  }

  /** Names of all peers, in the order in which they were first measured. */
  peers(): readonly string[] {
    return [...new Set([...this.measured.keys()].map((each) => each.split(' ').slice(2).join(' ')))];
  }

  of(row: Row, work: WorkName, peer: string): readonly Measured[] {
    return this.measured.get(key(row, work, peer)) ?? [];
  }

  /** The median of one figure; undefined where nothing was measured. */
  median(row: Row, work: WorkName, peer: string, pick: (one: Measured) => number): number | undefined {
    const all = this.of(row, work, peer);
    return all.length === 0 ? undefined : median(all.map(pick));
  }

  /** Processor time of `ours` by that of `theirs`, whose rounds were played one after the other. */
  ratio(
    ours: readonly [row: Row, work: WorkName, peer: string],
    theirs: readonly [row: Row, work: WorkName, peer: string],
  ): Ratio | undefined {
    const [mine, other] = [this.of(...ours), this.of(...theirs)].map((all) => all.map(({ cpu }) => cpu));
    if (mine === undefined || other === undefined || mine.length === 0 || other.length === 0)
      return undefined;
    const each = mine.map((cpu, round) => cpu / (other[round] ?? Number.NaN));
    return { of: median(mine) / median(other), least: Math.min(...each), most: Math.max(...each) };
  }

  /** Milliseconds beyond those of V2 itself: medians of rounds. */
  added(row: Row, work: WorkName, peer: string): number | undefined {
    const bare = this.bare.get(row.id) ?? [];
    const all = this.of(row, work, peer);
    if (all.length === 0 || bare.length === 0) return undefined;
    return median(all.map((one, round) => one.p50 - (bare[round]?.p50 ?? Number.NaN)));
  }
}

function key(row: Row, work: WorkName, peer: string): string {
  return `${row.id} ${work} ${peer}`;
}

function listed<Item>(map: Map<string, Item[]>, name: string): Item[] {
  const known = map.get(name) ?? [];
  map.set(name, known);
  return known;
}
