import { Capture, type CaptureOptions } from './capture.ts';
import type { Entry } from './entry.ts';
import { History } from './history.ts';
import { Metrics } from './metrics.ts';
import type { Material, Observer, Wanted } from './observer.ts';
import { Ring } from './ring.ts';
import { Tally } from './tally.ts';

/** What an operator view is made with. */
export interface OperatorViewOptions {
  /** Entries in the ring. */
  readonly entries: number;
  readonly capture: CaptureOptions;
  /** Milliseconds since 1970. */
  readonly time: () => number;
  /** Told of each entry with its number, such as an exporter of traces. */
  readonly also?: ((entry: Entry, seq: number) => void) | undefined;
}

/** Keeps what operators see: one call an exchange feeds the ring, the history, the metrics, the report and the capture. */
export class OperatorView implements Observer {
  readonly ring: Ring;
  readonly history = new History();
  readonly metrics = new Metrics();
  readonly tally = new Tally();
  readonly capture: Capture;
  readonly bodyLimit: number;
  readonly #options: OperatorViewOptions;

  constructor(options: OperatorViewOptions) {
    this.#options = options;
    this.ring = new Ring(options.entries);
    this.capture = new Capture(options.capture);
    this.bodyLimit = options.capture.bodyLimit;
  }

  begin(): Wanted {
    return this.capture.wanted();
  }

  observe(entry: Entry, material?: Material): void {
    const seq = this.ring.add(entry);
    this.metrics.add(entry);
    this.history.add(entry, this.#options.time());
    this.tally.add(entry);
    if (material !== undefined) {
      this.capture.keep(seq, material, entry.edits);
      this.capture.forget(this.ring.oldest - 1);
    }
    this.#options.also?.(entry, seq);
  }
}
