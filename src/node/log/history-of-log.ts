import type { OperatorResult } from '../../inspector/entries/export-entry.ts';
import type { LoggedHistory } from '../../inspector/log-history.ts';
import type { HistoryWork } from '../../inspector/operator-work.ts';
import { ProblemTally } from '../../inspector/problems.ts';
import { countsOf, printCounts } from '../../report/fleet/fleet-texts.ts';
import { ClientTrends } from '../../report/tally/client-trends.ts';
import type { TallyEntry } from '../../report/tally/tally-entry.ts';
import { LineTally, LogLineReader } from '../../report/tally/tally-lines.ts';
import { Tally } from '../../report/tally/tally.ts';
import { isAsked } from '../../rollout/modes-in-force.ts';
import type { EarlierModes } from '../../rollout/rollout-state.ts';
import type { RollbackRule } from '../../rules/rollout.ts';
import { count } from '../../rules/words.ts';
import { AnswerJudge, answersData } from '../../rewrite-log/answers.ts';
import { OperationHealth } from '../../rewrite-log/health/operation-health.ts';
import { Notices } from '../../rewrite-log/notices.ts';
import { ServiceOutages } from '../../rewrite-log/service-outages.ts';
import { TrafficSeries } from '../../rewrite-log/traffic-series.ts';
import { LOG_BYTES, readNewest } from './newest-log.ts';

/** Reads the traffic before a time from a log file and the rotated ones beside it, at most `most` bytes of the newest. */
export async function historyOfLog(
  { logFile, until, keepMs, rule, moves }: HistoryWork,
  most = LOG_BYTES,
): Promise<OperatorResult> {
  const counts = new HistoryTally(rule, moves);
  const end = new Date(until).toISOString();
  const lines = new LineTally(counts, () => end, new LogLineReader(true));
  const { bytesRead, isWhole } = await readNewest(logFile, most, lines);
  counts.moveUntil(until);
  const { tally, series, trends, health, problems, judge, outages, notices } = counts;
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
    health: health.text,
    problems: problems.data,
    answers: answersData(judge),
    outages: outages.all,
    notices: notices.counts,
  };
  return { status: 200, value };
}

/** Counts a log as a running gateway counts its traffic. */
class HistoryTally {
  readonly tally = new Tally();
  readonly series = new TrafficSeries();
  readonly trends = new ClientTrends();
  readonly problems = new ProblemTally();
  readonly health: OperationHealth;
  readonly outages = new ServiceOutages();
  readonly notices = new Notices();
  readonly judge = new AnswerJudge();
  /** The changes of modes that are to come, the next one last. */
  private readonly moves: Pick<EarlierModes, 'at' | 'after'>[];

  constructor(rule: RollbackRule, moves: HistoryWork['moves']) {
    this.health = new OperationHealth(() => rule);
    this.moves = [...moves];
  }

  add(entry: TallyEntry): void {
    const answer = this.judge.judge(entry);
    this.tally.add(entry, answer);
    this.notices.add(entry, answer);
    const time = Date.parse(entry.time);
    if (Number.isNaN(time)) return;
    this.series.add(entry, time, answer);
    this.outages.add(entry, answer === 'failed', time);
    this.trends.add(entry, answer);
    const end = time + Math.round(entry.totalMs ?? 0);
    this.moveUntil(end);
    this.problems.add(entry, end, answer, undefined, time);
    this.health.add(entry, end, answer);
  }

  /** Makes the changes of modes until a time. */
  moveUntil(time: number): void {
    for (let next = this.moves.at(-1); next !== undefined && next.at <= time; next = this.moves.at(-1)) {
      const { at, after } = next;
      this.moves.pop();
      const goesToV2 = (operation: string | undefined): boolean => isAsked(after, 'v2', operation);
      this.health.move(goesToV2, at);
      this.problems.move(goesToV2, at);
    }
  }
}
