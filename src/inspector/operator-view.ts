import { ClientTrends } from '../report/tally/client-trends.ts';
import { Tally } from '../report/tally/tally.ts';
import { AnswerJudge } from '../rewrite-log/answers.ts';
import { Capture, type CaptureOptions } from '../rewrite-log/capture.ts';
import { beganAt, type Entry, isNotable, isOfV1 } from '../rewrite-log/entry.ts';
import { History, Ring } from '../rewrite-log/history.ts';
import { Metrics } from '../rewrite-log/metrics.ts';
import { OperationHealth } from '../rewrite-log/health/operation-health.ts';
import { type OperationTrouble } from '../rewrite-log/health/trouble.ts';
import {
  type CapturedExchange,
  type CaptureLevel,
  ClientTraces,
  type Observer,
} from '../rewrite-log/observer.ts';
import { TrafficSeries } from '../rewrite-log/traffic-series.ts';
import { reasonIn } from './entries/search-entries.ts';
import { ProblemTally } from './problems.ts';
import { Verdicts } from './verdict.ts';
import { BodyCheckTally } from '../rollout/body-checks.ts';
import type { RollbackRule } from '../rules/rollout.ts';

/** Maximum clients that a running gateway counts separately; the command `report` counts more, from the log. */
const MAX_CLIENTS = 5000;

interface OperatorViewOptions {
  /** Capacity of the ring, in entries. */
  readonly entries: number;
  readonly capture: CaptureOptions;
  /** The clock, in milliseconds since 1970. */
  readonly time: () => number;
  /** The statistical test for canaries, which also judges operations. */
  readonly rule?: (() => RollbackRule) | undefined;
  /** See `AnswerJudge` and `OperationHealth`. */
  readonly awaitsPast?: (() => boolean) | undefined;
  /** Called once for each operation that fails more often than it did. */
  readonly onHarm?: ((trouble: OperationTrouble) => void) | undefined;
  /** Called with each entry and its number, such as an exporter of traces. */
  readonly onEntry?: ((entry: Entry, seq: number) => void) | undefined;
}

/**
 * The data behind the operator's views. One call for each exchange feeds the ring, the history, the metrics, the report and the
 * capture.
 */
export class OperatorView implements Observer {
  readonly ring: Ring;
  readonly history = new History();
  /** Traffic by minute, hour and day. */
  readonly series = new TrafficSeries();
  readonly metrics = new Metrics();
  /** Problems of V1 operations, compared with their own past. */
  readonly health: OperationHealth;
  /** Counts for the report, since the start or the last `takeTally`. */
  tally = new Tally(MAX_CLIENTS);
  /** Body checks of dry runs under the rule book in force, since the start. */
  readonly bodyChecks = new BodyCheckTally();
  /** V1 requests of each client by day and call. */
  readonly trends = new ClientTrends();
  /** Failed requests, grouped. */
  readonly problems = new ProblemTally();
  /** What was said of all this. */
  readonly verdicts = new Verdicts();
  readonly capture: Capture;
  readonly traces = new ClientTraces();
  readonly bodyLimit: number;
  /** What each exchange was to its client. */
  readonly answers: AnswerJudge;
  private readonly options: OperatorViewOptions;

  constructor(options: OperatorViewOptions) {
    this.options = options;
    this.answers = new AnswerJudge(options.awaitsPast);
    this.health = new OperationHealth(options.rule, options.onHarm, options.awaitsPast);
    this.ring = new Ring(options.entries);
    this.capture = new Capture(options.capture);
    this.bodyLimit = options.capture.bodyLimit;
  }

  /** Tells which operations V2 gets requests for, after a change of modes; undefined stands for calls that no operation fits. */
  move(goesToV2: (operation: string | undefined) => boolean): void {
    const time = this.options.time();
    this.health.move(goesToV2, time);
    this.problems.move(goesToV2, time);
  }

  begin(): CaptureLevel {
    return this.capture.nextLevel();
  }

  /** Returns the counts so far, and begins new ones. */
  takeTally(): Tally {
    const { tally } = this;
    this.tally = new Tally(MAX_CLIENTS);
    return tally;
  }

  observe(entry: Entry, captured?: CapturedExchange): void {
    const answer = this.answers.judge(entry);
    const seq = this.ring.add(entry, answer);
    this.metrics.add(entry);
    const time = this.options.time();
    this.history.add(entry, time, answer);
    // By their beginning, as Traffic and the log have them.
    this.series.add(entry, beganAt(entry, time), answer);
    this.health.add(entry, time, answer);
    this.tally.add(entry, answer);
    this.trends.add(entry, answer);
    this.bodyChecks.add(entry);
    if (captured !== undefined) {
      // A key in a request that could not be read is no client's.
      if (entry.client !== undefined && (entry.route !== 'none' || isOfV1(entry)))
        this.traces.add(entry.client, captured.v1Request, captured.remote);
      this.capture.keep(seq, captured, entry.edits, isNotable(entry));
      this.capture.forget(this.ring.oldest - 1, this.ring.oldestFailure - 1);
    }
    this.problems.add(entry, time, answer, () => reasonIn(entry, this.capture.of(seq)), beganAt(entry, time));
    this.options.onEntry?.(entry, seq);
  }
}

/** Maximum exchanges of a log that is read again each time its plan is requested. */
export const SMALL_LOG = 10_000;
