import { TimeSlots } from '../tally/time-slots.ts';

/** Maximum starts and stops that are kept of a replica. */
const MAX_EVENTS = 10_000;

/** The times at which one replica wrote its log, which can be of several files. */
export class ReplicaLog {
  /** The name of the file without the suffix of a rotation, or the name that the collector wrote before its lines. */
  readonly name: string;
  readonly slots = new TimeSlots();
  /** Times of the first and the last entry in milliseconds since 1970; infinite without entries. */
  since = Number.POSITIVE_INFINITY;
  until = Number.NEGATIVE_INFINITY;
  entries = 0;
  /** Whether it has an entry of level `info`: of a request that the gateway did not fail. */
  hasInfo = false;
  /** Times at which the process log says that the replica started, and that it stopped. */
  readonly starts: number[] = [];
  readonly stops: number[] = [];

  constructor(name: string) {
    this.name = name;
  }

  /** Adds the time of an entry; text that is no time is ignored. */
  add(time: string, isInfo = true): void {
    if (isInfo) this.hasInfo = true;
    const at = Date.parse(time);
    if (Number.isNaN(at)) return;
    this.entries += 1;
    if (at < this.since) this.since = at;
    if (at > this.until) this.until = at;
    this.slots.add(at);
  }

  /** Adds a line of the process log. */
  addEvent(event: string, time: string): void {
    const at = Date.parse(time);
    const list = event === 'started' ? this.starts : event === 'stopped' ? this.stops : undefined;
    if (list === undefined || Number.isNaN(at) || list.length >= MAX_EVENTS) return;
    list.push(at);
  }
}

/** What rotation appends: a number or a date, and the packing. */
// Not proven linear: `-0-0` in a path, which has 4,096 bytes at most.
const ROTATED = /(?:[.-]\d[\dT:_.-]*)?(?:\.(?:gz|zst))?$/;
/** A date before the extension, as in `rewrite-2026-11-22.ndjson`. */
const DATED = /[.-]\d{4}-?\d{2}-?\d{2}(?:T[\d:.-]*)?(?=\.\w+$)/;

/** The log that a file is a part of: its path without what rotation appends. */
export function replicaOfFile(path: string): string {
  const name = path
    .replace(/\.(?:gz|zst)$/, '')
    .replace(ROTATED, '')
    .replace(DATED, '');
  return name === '' ? path : name;
}

/** What collectors write before a line: `kubectl logs --prefix`, `docker compose logs`. */
const PREFIX = /^(?:\[pod\/([^/\]]+)\/[^\]]*\]|(\S+)\s+\|)/;

/** The replica that a collector names before a line; undefined when it names none. */
export function replicaOfPrefix(text: string): string | undefined {
  const match = PREFIX.exec(text);
  return match?.[1] ?? match?.[2];
}
