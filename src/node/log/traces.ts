import type { Entry } from '../../rewrite-log/entry.ts';
import type { TraceSampler } from './trace-sampler.ts';

/** Turns entries into spans. */
export interface Traces {
  /** Exchanges whose spans were lost. */
  readonly dropped: number;
  readonly isSampled: TraceSampler;
  observe(entry: Entry): void;
  /** Posts the remaining spans, within so many milliseconds. */
  close(milliseconds: number): Promise<void>;
}
