import { parsedJson } from '../../rewrite-log/parsed-json.ts';
import { type LogGap, logGaps } from '../gaps/log-gaps.ts';
import { LogLineReader } from './log-line.ts';
import { missingFiles } from '../gaps/missing-files.ts';
import { recordUse, type Span } from './span.ts';
import { ReplicaLog, replicaOfFile, replicaOfPrefix } from '../gaps/replica-log.ts';
import type { LogCoverage } from '../report.ts';
import type { Tally } from './tally.ts';

const OPEN = 0x7b;
const FEED = 0x0a;

/** Maximum replicas that are told apart; entries of further ones are counted, but their gaps are not known. */
const MAX_REPLICAS = 5000;
/** Maximum length of what a collector writes before a line, in bytes. */
const MAX_PREFIX_BYTES = 256;

/** Later than any time in RFC 3339. */
const NEVER = '~';

const decoder = new TextDecoder();

/** Adds lines of rewrite logs to a tally, and notes the part of the time that each log and each replica covers. */
export class LineTally {
  /** Lines that are neither entries nor lines of the process log. */
  unreadable = 0;
  /** Lines of the process log, which containers merge with the rewrite log. */
  others = 0;
  lines = 0;
  /** Entries dated after the time of the report: the tally has none of them. */
  readonly later: Span = { count: 0, first: '', last: '' };
  private readonly tally: Tally;
  private readonly now: () => string;
  /** The time of the report when it was last asked for. */
  private latest = '';
  private readonly reader = new LogLineReader();
  private readonly logs = new Map<string, MutableCoverage>();
  private readonly replicas = new Map<string, ReplicaLog>();

  /** `now` is the time of the report in RFC 3339, which advances while a log is read that still grows. */
  constructor(tally: Tally, now: () => string = () => NEVER) {
    this.tally = tally;
    this.now = now;
  }

  /** The time that each log covers, in the order in which they were begun. */
  get coverage(): readonly LogCoverage[] {
    return [...this.logs.values()];
  }

  /** The times that the logs of replicas lack. */
  get gaps(): readonly LogGap[] {
    return [...logGaps([...this.replicas.values()]), ...missingFiles(this.coverage)];
  }

  /** Logs that have entries, but none of level `info`: their gateway was told not to write those. */
  get withoutInfo(): readonly string[] {
    return [...this.replicas.values()]
      .filter(({ entries, hasInfo }) => entries > 0 && !hasInfo)
      .map(({ name }) => name);
  }

  /** Begins a log, so that it is listed even if it has no line. */
  begin(file: string): void {
    this.logs.set(file, { file, entries: 0, unreadable: 0 });
  }

  /** Adds every line of `bytes`, which a log has; without a file they belong to none. */
  add(bytes: Uint8Array, file?: string): void {
    const log = file === undefined ? undefined : this.logs.get(file);
    const ofFile = file === undefined ? undefined : this.replica(replicaOfFile(file));
    let start = 0;
    while (start < bytes.length) {
      const feed = bytes.indexOf(FEED, start);
      const end = feed === -1 ? bytes.length : feed;
      if (end > start) {
        this.lines += 1;
        const replica = bytes[start] === OPEN ? ofFile : (this.ofPrefix(bytes, start, end) ?? ofFile);
        const entry = this.reader.read(bytes, start, end);
        if (entry === undefined) this.skip(bytes.subarray(start, end), log, replica);
        else {
          if (this.isLater(entry.time)) recordUse(this.later, entry.time);
          else this.tally.add(entry);
          replica?.add(entry.time, entry.failure === undefined);
          if (log !== undefined) cover(log, entry.time);
        }
      }
      start = end + 1;
    }
  }

  private isLater(time: string): boolean {
    if (time <= this.latest) return false;
    this.latest = this.now();
    return time > this.latest;
  }

  private replica(name: string): ReplicaLog | undefined {
    const known = this.replicas.get(name);
    if (known !== undefined || this.replicas.size >= MAX_REPLICAS) return known;
    const replica = new ReplicaLog(name);
    this.replicas.set(name, replica);
    return replica;
  }

  private ofPrefix(bytes: Uint8Array, start: number, end: number): ReplicaLog | undefined {
    const brace = bytes.subarray(start, Math.min(end, start + MAX_PREFIX_BYTES)).indexOf(OPEN);
    if (brace === -1) return undefined;
    const name = replicaOfPrefix(decoder.decode(bytes.subarray(start, start + brace)));
    return name === undefined ? undefined : this.replica(name);
  }

  private skip(line: Uint8Array, log: MutableCoverage | undefined, replica: ReplicaLog | undefined): void {
    const event = processEvent(line);
    if (event !== undefined) {
      this.others += 1;
      replica?.addEvent(event.name, event.time);
      return;
    }
    this.unreadable += 1;
    if (log !== undefined) log.unreadable += 1;
  }
}

type MutableCoverage = { -readonly [Key in keyof LogCoverage]: LogCoverage[Key] };

function cover(log: MutableCoverage, time: string): void {
  log.entries += 1;
  if (log.since === undefined || time < log.since) log.since = time;
  if (log.until === undefined || time > log.until) log.until = time;
}

/** The event of a line of the process log, also behind the time stamp of a container; undefined for another line. */
function processEvent(line: Uint8Array): { readonly name: string; readonly time: string } | undefined {
  const brace = line.indexOf(OPEN);
  if (brace === -1) return undefined;
  const value = parsedJson(decoder.decode(line.subarray(brace)));
  if (typeof value !== 'object' || value === null || !('event' in value) || !('level' in value))
    return undefined;
  if ('verdict' in value) return undefined;
  return { name: String(value.event), time: 'time' in value ? String(value.time) : '' };
}
