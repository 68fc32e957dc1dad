import { addAnswers, type AnswersData } from '../rewrite-log/answers.ts';
import { parsedJson } from '../rewrite-log/attributes.ts';
import type { LoggedCounts } from '../report/logged-totals.ts';
import type { TrendsData } from '../report/tally/client-trends.ts';
import type { NoticeCounts } from '../rewrite-log/notices.ts';
import type { OutageOf } from '../rewrite-log/service-outages.ts';
import type { SeriesData } from '../rewrite-log/traffic-series.ts';
import type { OperatorView } from './operator-view.ts';
import type { ProblemsData } from './problems.ts';
import type { HistoryWork, OperatorText } from './operator-work.ts';

/** The facts in a log about the time before this run. */
export interface LoggedHistory extends LoggedCounts {
  readonly series: SeriesData;
  readonly trends: TrendsData;
  readonly problems: ProblemsData;
  readonly answers: AnswersData;
  readonly outages: readonly OutageOf[];
  readonly notices: NoticeCounts;
  /** What `OperationHealth` knows of V1 operations. */
  readonly health: string;
}

export interface LogHistoryParts {
  readonly view: Pick<OperatorView, 'series' | 'trends' | 'history' | 'health' | 'problems' | 'answers'>;
  /** Milliseconds since 1970. */
  readonly startedAt: number;
  readonly keepMs: number;
  /** The test of canaries, and the changes of modes that are known. */
  readonly judged: () => Pick<HistoryWork, 'rule' | 'moves'>;
  /** Reads the log in its own thread. */
  readonly run: (work: Omit<HistoryWork, 'logFile'>) => Promise<OperatorText>;
}

/**
 * The log from before the start of this run. Because it never changes, it is read once, when an operator first requests facts from it, a
 * request first fails, or V2 first refuses what V1 may have refused before; its counts are added to those of this run.
 */
export class LogHistory {
  private readonly parts: LogHistoryParts;
  private reading: Promise<LoggedHistory | undefined> | undefined;
  /** Since when requests are counted: milliseconds since 1970, 0 once the log is read. */
  countedFrom: number;
  /** True once the first attempt has ended. */
  private isRead = false;

  constructor(parts: LogHistoryParts) {
    this.parts = parts;
    this.countedFrom = parts.startedAt;
  }

  /** Whether the log is read for the first time; the first call begins to read it. */
  isAwaited(): boolean {
    if (this.isRead) return false;
    void this.read();
    return true;
  }

  /** Reads the log, and adds its traffic to that of this run; undefined if it cannot be read. Later calls try again. */
  read(): Promise<LoggedHistory | undefined> {
    this.reading ??= this.readNow()
      .then(
        (history) => this.add(history),
        () => {
          this.reading = undefined;
          return undefined;
        },
      )
      // A part of the log is added already: it must not be added again.
      .catch(() => undefined)
      .finally(() => {
        this.isRead = true;
      });
    return this.reading;
  }

  private async readNow(): Promise<LoggedHistory> {
    const { startedAt, keepMs, judged, run } = this.parts;
    const { status, bytes } = await run({ kind: 'history', until: startedAt, keepMs, ...judged() });
    const text = new TextDecoder().decode(bytes);
    if (status !== 200 || typeof parsedJson(text) !== 'object') throw new Error(text);
    return JSON.parse(text);
  }

  private add(history: LoggedHistory): LoggedHistory {
    const { view } = this.parts;
    view.series.merge(history.series);
    view.trends.merge(history.trends);
    view.health.learn(history.health);
    view.problems.learn(history.problems);
    addAnswers(view.answers, history.answers);
    view.history.outages.learn(history.outages);
    view.history.notices.learn(history.notices);
    this.countedFrom = 0;
    return history;
  }
}
