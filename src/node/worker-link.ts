import type { Entry } from '../rewrite-log/entry.ts';
import type { Material, Observer, Wanted } from '../rewrite-log/observer.ts';
import type { LogSink } from './log-sink.ts';
import type { FromWorker, Seen } from './worker-messages.ts';

/** What a link needs of the process that it is in. */
export interface WorkerLinkParts {
  /** Sends over the channel, and calls back when it is written; false asks to send less. */
  readonly send: (message: FromWorker, done: () => void) => boolean;
  /** How much of an exchange is wanted beside its entry. */
  readonly wanted: () => Wanted;
  readonly bodyLimit: number;
}

/** Milliseconds over which lines and exchanges are gathered. */
const gather = 20;
/** Exchanges that are gathered at the most. */
const batch = 500;

/** A worker's log and observer: both go to the first process, which alone writes the log and is asked by operators. */
export class WorkerLink implements LogSink, Observer {
  dropped = 0;
  readonly bodyLimit: number;
  private readonly parts: WorkerLinkParts;
  private lines: string[] = [];
  private seen: Seen[] = [];
  private timer: NodeJS.Timeout | undefined = undefined;
  private behind = false;

  constructor(parts: WorkerLinkParts) {
    this.parts = parts;
    this.bodyLimit = parts.bodyLimit;
  }

  write(line: string): void {
    this.lines.push(line);
    this.schedule();
  }

  begin(): Wanted {
    return this.parts.wanted();
  }

  observe(entry: Entry, material?: Material): void {
    this.seen.push({ entry, material: material === undefined ? undefined : copied(material) });
    this.schedule();
  }

  flush(milliseconds: number): Promise<void> {
    return new Promise((resolve) => {
      const deadline = setTimeout(resolve, milliseconds);
      this.send(() => {
        clearTimeout(deadline);
        resolve();
      });
    });
  }

  private schedule(): void {
    if (this.seen.length >= batch || this.lines.length >= batch) this.send(noop);
    else this.timer ??= setTimeout(() => this.send(noop), gather);
  }

  private send(done: () => void): void {
    clearTimeout(this.timer);
    this.timer = undefined;
    const { lines, seen } = this;
    this.lines = [];
    this.seen = [];
    // The first process does not keep up: what it is told would pile up here without end.
    if (this.behind && lines.length > 0) {
      this.dropped += lines.length;
      done();
      return;
    }
    this.behind = !this.parts.send({ kind: 'seen', lines, seen }, () => {
      this.behind = false;
      done();
    });
  }
}

/** What is handed in is borrowed, and goes out later. */
function copied(material: Material): Material {
  return structuredClone(material);
}

function noop(): void {}
