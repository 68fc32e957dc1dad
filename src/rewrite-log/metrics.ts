import { methodLabel } from '../http/request-head.ts';
import type { LookupSummary } from '../migrate/lookups.ts';
import type { EditRecord } from '../rewrite/records.ts';
import { isPreflight } from '../rollout/retirement.ts';
import {
  AS_V2_SENT_IT,
  isOfV1,
  type Entry,
  type Route,
  type Shortage,
  SLOW_CLIENT_CAUSES,
  type Verdict,
  type Would,
} from './entry.ts';

const SHORTAGES = [...SLOW_CLIENT_CAUSES.values()];

/** A counter that is looked up once for many entries. */
interface Cell {
  value: number;
}

/** Counts of exchanges with the same route, operation, method, status, verdict and failure. */
export interface Series {
  readonly route: Route;
  readonly operation: string;
  readonly method: string;
  readonly status: number;
  readonly verdict: Verdict;
  readonly failure: string;
  exchanges: number;
  readonly duration: MetricHistogram;
  readonly upstream: MetricHistogram;
  upstreamSeen: boolean;
}

/** Dry runs with the same operation and verdicts; `v2` is empty if there was no body to check, `why` if the check had a verdict. */
interface DryRunCount extends Cell {
  readonly operation: string;
  readonly verdict: Would['verdict'];
  readonly v2: NonNullable<Would['v2']> | '';
  readonly why: string;
}

/** Requests for one address with one outcome. */
interface LookupCount extends Cell {
  readonly lookup: LookupSummary;
}

/** Maximum series; further combinations are counted together, because clients could create any number of labels. */
const MAX_SERIES = 500;

/** The series for combinations beyond the limit: one for exchanges with a failure, one for the others. */
const OVERFLOW = {
  operation: '(overflow)',
  method: 'OTHER',
  status: 0,
  verdict: 'passed',
  route: 'none',
} as const;

/** Upper bounds in seconds, as OpenTelemetry's HTTP conventions advise for request durations. */
export const REQUEST_BUCKETS = [
  0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10,
] as const;

/** Upper bounds in seconds, for durations of microseconds. */
const REWRITE_BUCKETS = [
  0.000_005, 0.000_01, 0.000_025, 0.000_05, 0.000_1, 0.000_25, 0.000_5, 0.001, 0.0025, 0.005, 0.01, 0.05,
] as const;

/** Media type of `printMetrics`. */
export const METRICS_TYPE = 'text/plain; version=0.0.4; charset=utf-8';

/** Counts exchanges for `/metrics`. An entry takes a few lookups by reference or number; no string is created before a scrape. */
export class Metrics {
  /** Durations of rewriting bodies. */
  readonly rewriting = new MetricHistogram(REWRITE_BUCKETS);
  /** Finished requests of V1 clients, without preflights, and when the last one began (RFC 3339); empty before the first. */
  v1Requests = 0;
  lastV1Time = '';
  /** Dry runs by operation, verdict of the gateway and verdict of V2's schema. */
  readonly dryRuns = new Map<string, DryRunCount>();
  /** Responses that were not rewritten although a response rule applies, by the reason. */
  readonly responseNotes = new Map<string, number>();
  /** Requests for what rules look up, by address and status or cause. */
  readonly lookups = new Map<string, LookupCount>();
  /** Exchanges that only waited for a slow client, and ended because a resource was scarce. */
  readonly slowClients = new Map<Shortage, number>(SHORTAGES.map((shortage) => [shortage, 0]));
  private readonly seriesByKey = new Map<string, Map<number, Series[]>>();
  private readonly editCells = new Map<string, Cell & { readonly edit: EditRecord }>();
  private readonly cellsOfEdits = new WeakMap<readonly EditRecord[], readonly Cell[]>();
  private count = 0;

  add(entry: Entry): void {
    const series = this.seriesOf(entry);
    series.exchanges += 1;
    series.duration.add(entry.totalMs / 1000);
    if (isOfV1(entry) && !isPreflight(entry)) {
      this.v1Requests += 1;
      if (entry.time > this.lastV1Time) this.lastV1Time = entry.time;
    }
    const { responseNote: note } = entry;
    if (note !== undefined && AS_V2_SENT_IT.includes(note))
      this.responseNotes.set(note, (this.responseNotes.get(note) ?? 0) + 1);
    const shortage = entry.cause === undefined ? undefined : SLOW_CLIENT_CAUSES.get(entry.cause);
    if (shortage !== undefined) this.slowClients.set(shortage, (this.slowClients.get(shortage) ?? 0) + 1);
    for (const lookup of entry.lookups ?? []) this.countLookups(lookup);
    if (entry.would !== undefined) this.countDryRun(entry.operation ?? '', entry.would);
    if (entry.upstreamMs !== undefined) {
      series.upstream.add(entry.upstreamMs / 1000);
      series.upstreamSeen = true;
    }
    if (entry.rewriteMs !== undefined) this.rewriting.add(entry.rewriteMs / 1000);
    if (entry.edits.length > 0) for (const cell of this.cellsOf(entry.edits)) cell.value += 1;
  }

  /** Counted series. */
  get series(): readonly Series[] {
    return [...this.seriesByKey.values()].flatMap((byStatus) => [...byStatus.values()].flat());
  }

  /** Number of edits by change and rule, and by the reason in `note`. */
  get edits(): readonly { readonly edit: EditRecord; readonly value: number }[] {
    return [...this.editCells.values()];
  }

  private countLookups(lookup: LookupSummary): void {
    const { address, status = '', cause = '', count } = lookup;
    const key = `${address} ${status} ${cause}`;
    const known = this.lookups.get(key);
    if (known !== undefined) known.value += count;
    else if (this.lookups.size < MAX_SERIES) this.lookups.set(key, { lookup, value: count });
  }

  private countDryRun(operation: string, { verdict, v2, why = '' }: Would): void {
    const key = `${operation} ${verdict} ${v2 ?? ''} ${why}`;
    const known = this.dryRuns.get(key);
    if (known === undefined) this.dryRuns.set(key, { operation, verdict, v2: v2 ?? '', why, value: 1 });
    else known.value += 1;
  }

  private seriesOf(entry: Entry): Series {
    const operation = entry.operation ?? '';
    let byStatus = this.seriesByKey.get(operation);
    if (byStatus === undefined) {
      byStatus = new Map();
      this.seriesByKey.set(operation, byStatus);
    }
    let list = byStatus.get(entry.status);
    if (list === undefined) {
      list = [];
      byStatus.set(entry.status, list);
    }
    const method = methodLabel(entry.method);
    const failure = entry.failure ?? '';
    for (const series of list) {
      if (series.method === method && series.verdict === entry.verdict && series.route === entry.route) {
        if (series.failure === failure) return series;
      }
    }
    if (this.count >= MAX_SERIES && operation !== OVERFLOW.operation)
      return this.seriesOf({
        ...entry,
        ...OVERFLOW,
        failure: entry.failure === undefined ? undefined : OVERFLOW.operation,
      });
    this.count += 1;
    const { route, status, verdict } = entry;
    const series: Series = {
      route,
      operation,
      method,
      status,
      verdict,
      failure,
      exchanges: 0,
      duration: new MetricHistogram(REQUEST_BUCKETS),
      upstream: new MetricHistogram(REQUEST_BUCKETS),
      upstreamSeen: false,
    };
    list.push(series);
    return series;
  }

  private cellsOf(edits: readonly EditRecord[]): readonly Cell[] {
    const known = this.cellsOfEdits.get(edits);
    if (known !== undefined) return known;
    const cells = edits.map((edit) => {
      const key = `${edit.change} ${edit.rule} ${edit.note ?? ''}`;
      const cell = this.editCells.get(key) ?? { value: 0, edit };
      this.editCells.set(key, cell);
      return cell;
    });
    this.cellsOfEdits.set(edits, cells);
    return cells;
  }
}

/** Counts durations by bucket. */
export class MetricHistogram {
  private readonly buckets: readonly number[];
  private readonly counts: Float64Array;
  private sum = 0;

  constructor(buckets: readonly number[]) {
    this.buckets = buckets;
    this.counts = new Float64Array(buckets.length + 1);
  }

  /** Counts a duration in seconds. */
  add(seconds: number): void {
    let at = 0;
    while (at < this.buckets.length && seconds > (this.buckets[at] ?? 0)) at += 1;
    this.counts[at] = (this.counts[at] ?? 0) + 1;
    this.sum += seconds;
  }

  /** Adds the counts of `other`, which has the same buckets. */
  merge(other: MetricHistogram): void {
    for (let at = 0; at < this.counts.length; at += 1) {
      this.counts[at] = (this.counts[at] ?? 0) + (other.counts[at] ?? 0);
    }
    this.sum += other.sum;
  }

  /** Returns the samples of one series; buckets are cumulative. */
  samples(labels: MetricSample['labels']): MetricSample[] {
    const samples: MetricSample[] = [];
    let count = 0;
    for (let at = 0; at < this.counts.length; at += 1) {
      count += this.counts[at] ?? 0;
      const bound = at < this.buckets.length ? String(this.buckets[at]) : '+Inf';
      samples.push({ suffix: '_bucket', labels: [...labels, ['le', bound]], value: count });
    }
    samples.push({ suffix: '_sum', labels, value: this.sum }, { suffix: '_count', labels, value: count });
    return samples;
  }
}

/** One sample of a family: labels in order, and the value. `suffix` is for the samples of a histogram. */
export interface MetricSample {
  readonly suffix?: '_bucket' | '_sum' | '_count';
  readonly labels: readonly (readonly [name: string, value: string])[];
  readonly value: number;
}

/** A metric with all its series. */
export interface MetricFamily {
  readonly name: string;
  readonly help: string;
  readonly type: 'counter' | 'gauge' | 'histogram';
  readonly samples: readonly MetricSample[];
}

/** Prints families in the Prometheus text format, version 0.0.4; families without samples are omitted. */
export function printMetrics(families: readonly MetricFamily[]): string {
  let text = '';
  for (const { name, help, type, samples } of families) {
    if (samples.length === 0) continue;
    text += `# HELP ${name} ${help.replaceAll('\\', '\\\\').replaceAll('\n', '\\n')}\n# TYPE ${name} ${type}\n`;
    for (const { suffix, labels, value } of samples) {
      const pairs = labels.map(([label, given]) => `${label}="${escapeLabel(given)}"`).join(',');
      text += `${name}${suffix ?? ''}${pairs === '' ? '' : `{${pairs}}`} ${printValue(value)}\n`;
    }
  }
  return text;
}

function escapeLabel(value: string): string {
  return value.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n');
}

function printValue(value: number): string {
  if (value === Number.POSITIVE_INFINITY) return '+Inf';
  if (value === Number.NEGATIVE_INFINITY) return '-Inf';
  return String(value);
}
