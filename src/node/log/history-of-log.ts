import type { OperatorResult } from '../../inspector/entries/export-entry.ts';
import type { LoggedHistory } from '../../inspector/log-history.ts';
import type { HistoryWork } from '../../inspector/operator-work.ts';
import { ProblemTally } from '../../inspector/problems.ts';
import { countsOf, printCounts } from '../../report/fleet/fleet-texts.ts';
import { ClientTrends } from '../../report/tally/client-trends.ts';
import type { TallyEntry } from '../../report/tally/tally-entry.ts';
import { LineTally } from '../../report/tally/tally-lines.ts';
import { Tally } from '../../report/tally/tally.ts';
import { count } from '../../rules/words.ts';
import { AnswerJudge, answersData } from '../../rewrite-log/answers.ts';
import { ServiceOutages } from '../../rewrite-log/service-outages.ts';
import { TrafficSeries } from '../../rewrite-log/traffic-series.ts';
import { LOG_BYTES, readNewest } from './newest-log.ts';

/** Reads the traffic before a time from a log file and the rotated ones beside it, at most `most` bytes of the newest. */
export async function historyOfLog(
  { logFile, until, keepMs }: HistoryWork,
  most = LOG_BYTES,
): Promise<OperatorResult> {
  const counts = new HistoryTally();
  const end = new Date(until).toISOString();
  const lines = new LineTally(counts, () => end);
  const { bytesRead, isWhole } = await readNewest(logFile, most, lines);
  const { tally, series, trends, operations, problems, judge, outages } = counts;
  const unread = isWhole
    ? []
    : [`The log is larger: only its newest ${count(Math.ceil(bytesRead / 1024 / 1024))} MiB are read.`];
  const value: LoggedHistory = {
    logFile,
    entries: tally.entries,
    ...(tally.since === '' ? {} : { since: tally.since, until: tally.until }),
    texts: Object.fromEntries(
      tally.entries === 0 ? [] : printCounts(countsOf(tally), new Date(until - keepMs).toISOString()),
    ),
    gaps: lines.gaps,
    unread,
    series: series.data,
    trends: trends.data,
    operations: Object.fromEntries(operations),
    problems: problems.data,
    answers: answersData(judge),
    outages: outages.all,
  };
  return { status: 200, value };
}

/** Counts a log as a running gateway counts its traffic. */
class HistoryTally {
  readonly tally = new Tally();
  readonly series = new TrafficSeries();
  readonly trends = new ClientTrends();
  readonly problems = new ProblemTally();
  readonly operations = new Map<string, { requests: number; failed: number }>();
  readonly outages = new ServiceOutages();
  readonly judge = new AnswerJudge();

  add(entry: TallyEntry): void {
    const answer = this.judge.judge(entry);
    this.tally.add(entry, answer);
    const time = Date.parse(entry.time);
    if (Number.isNaN(time)) return;
    this.series.add(entry, time, answer);
    this.outages.add(entry, answer === 'failed', time);
    this.trends.add(entry, answer);
    this.problems.add(entry, time, answer);
    if (entry.operation === undefined || entry.route !== 'migrate' || answer === 'left') return;
    if (answer === 'on-purpose') return;
    const known = this.operations.get(entry.operation) ?? { requests: 0, failed: 0 };
    this.operations.set(entry.operation, known);
    known.requests += 1;
    if (answer === 'failed') known.failed += 1;
  }
}
