import type { Choice } from './choices.ts';
import type { PlayedExchange } from './play.ts';

/** Counts and differences of everything that was played. */
export interface TwinReport {
  readonly played: number;
  readonly alike: number;
  /** Those that both services answered with 404, alike: only errors were compared, as on a path that neither has. */
  readonly missing: number;
  /** Those that differ, and no choice explains it. */
  readonly different: readonly PlayedExchange[];
  /** Those that differ by choice. */
  readonly chosen: readonly (PlayedExchange & { readonly choice: Choice })[];
  /** Exchanges that were left out, by reason. */
  readonly skipped: Readonly<Record<string, number>>;
}

/** Adds up played exchanges. */
export class TwinTally {
  private alike = 0;
  private missing = 0;
  private readonly different: PlayedExchange[] = [];
  private readonly chosen: (PlayedExchange & { readonly choice: Choice })[] = [];
  private readonly skipped: Record<string, number> = {};

  add(played: PlayedExchange): void {
    if (played.skipped !== undefined) this.skipped[played.skipped] = (this.skipped[played.skipped] ?? 0) + 1;
    else if (played.differences.length === 0 && played.statuses[0] === 404) this.missing += 1;
    else if (played.differences.length === 0) this.alike += 1;
    else if (played.choice !== undefined) this.chosen.push({ ...played, choice: played.choice });
    else this.different.push(played);
  }

  get report(): TwinReport {
    const { alike, missing, different, chosen, skipped } = this;
    const played = alike + missing + different.length + chosen.length;
    return { played, alike, missing, different, chosen, skipped };
  }
}
