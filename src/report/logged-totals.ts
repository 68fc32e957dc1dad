import { fleetClient, fleetSums, fleetTally, type TallyParts } from './fleet/fleet-totals.ts';
import { type LogGap, timeText } from './log-gaps.ts';
import { GatewayTotals, type ReadTotals, type ReportCoverage, type ReportTotals } from './report-totals.ts';
import type { ClientTally, Tally } from './tally/tally.ts';

/** The counts of a log up to the start of this gateway. */
export interface LoggedCounts {
  /** Path of the log. */
  readonly logFile: string;
  readonly entries: number;
  /** RFC 3339: its first and last entry before the start; absent without any. */
  readonly since?: string;
  readonly until?: string;
  /** The counts by key, as replicas share them. */
  readonly texts: Readonly<Record<string, string>>;
  readonly gaps: readonly LogGap[];
  /** Sentences about the parts of the log that were not read. */
  readonly unread: readonly string[];
}

interface LoggedTotalsParts {
  readonly own: Tally;
  /** Milliseconds since 1970. */
  readonly startedAt: number;
  readonly time: () => number;
  /** Milliseconds after which a client that was not seen is dropped. */
  readonly keepMs: number;
  /** Reads the log, once; resolves to undefined if there is nothing from before the start. */
  readonly read: () => Promise<LoggedCounts | undefined>;
}

/** Time between the last entry and the start from which on it is unknown whether the gateway ran. */
const UNKNOWN_MS = 3_600_000;

/** Totals of one gateway without a store: its counts since the start, and its log from before. */
export class LoggedTotals implements ReportTotals {
  private readonly parts: LoggedTotalsParts;
  private readonly alone: GatewayTotals;
  private before: LoggedCounts | undefined;

  constructor(parts: LoggedTotalsParts) {
    this.parts = parts;
    this.alone = new GatewayTotals(parts.own, parts.startedAt);
  }

  async tally(pause: () => Promise<void>): Promise<ReadTotals> {
    this.before ??= await this.parts.read();
    const parts = this.tallyParts;
    return parts === undefined ? this.alone.tally() : fleetTally(parts, pause);
  }

  client(hash: string): ClientTally | undefined {
    const parts = this.tallyParts;
    return parts === undefined ? this.alone.client(hash) : fleetClient(hash, parts);
  }

  uses(): Pick<Tally, 'operations' | 'changes' | 'editedResponses'> {
    const parts = this.tallyParts;
    return parts === undefined ? this.alone.uses() : fleetSums(parts);
  }

  coverage(): ReportCoverage {
    const { before } = this;
    if (before?.since === undefined || before.until === undefined) return this.alone.coverage();
    const start = timeText(this.parts.startedAt);
    const isGap = this.parts.startedAt - Date.parse(before.until) >= UNKNOWN_MS;
    const gap: LogGap = {
      log: before.logFile,
      kind: 'silent',
      from: before.until,
      until: start,
      sentence: `The log has nothing between ${before.until} and the start at ${start}: whether the gateway ran then is not known.`,
    };
    return {
      kind: 'gateway',
      sentence: [
        `Counts of this gateway alone, since ${before.since}: those before its start at ${start} are from ${before.logFile}.`,
        ...before.unread,
      ].join(' '),
      since: Date.parse(before.since),
      gaps: [...before.gaps, ...(isGap ? [gap] : [])],
    };
  }

  /** Undefined while nothing from before is known. */
  private get tallyParts(): TallyParts | undefined {
    const { before } = this;
    if (before === undefined || before.entries === 0) return undefined;
    const now = this.parts.time();
    return {
      texts: new Map(Object.entries(before.texts).map(([key, text]) => [key, [text]])),
      own: this.parts.own,
      from: timeText(now - this.parts.keepMs),
      now: timeText(now),
    };
  }
}
