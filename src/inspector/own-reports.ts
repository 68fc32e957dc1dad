import { Guide } from '../report/guide/guide.ts';
import {
  makeOwnReport,
  type OwnReportOutcome,
  type OwnReportType,
  printOwnReport,
} from '../report/own-report.ts';
import type { Ring } from '../rewrite-log/history.ts';
import type { InspectorParts } from './inspector-parts.ts';

/** Parts that reports of clients about themselves are made of. */
interface OwnReportParts extends Pick<InspectorParts, 'view' | 'totals' | 'time'> {
  readonly rules: () => Pick<ReturnType<InspectorParts['rules']>, 'current'>;
}

/** Maximum reports that wait for others. */
const MAX_WAITING = 16;

/** Milliseconds between two steps, so that reports take no more than some hundredths of a processor. */
const REST_MS = 20;

/** Entries processed without a pause. */
const ENTRIES_PER_STEP = 100;

/** Makes the reports that clients ask for about themselves, one at a time: requests of others come first. */
export class OwnReports {
  private readonly parts: OwnReportParts;
  private last: Promise<unknown> = Promise.resolve();
  private waiting = 0;

  constructor(parts: OwnReportParts) {
    this.parts = parts;
  }

  /** The report of the client with this hash. */
  async of(client: string, type: OwnReportType): Promise<OwnReportOutcome> {
    const { view, totals } = this.parts;
    const coverage = totals.coverage();
    const since = new Date(coverage.since).toISOString();
    const tally = totals.client(client);
    if (tally === undefined || tally.v1.count === 0) return { kind: 'not-seen', since };
    if (this.waiting >= MAX_WAITING) return { kind: 'busy' };
    this.waiting += 1;
    const made = this.last.then(async (): Promise<OwnReportOutcome> => {
      const { rules, time } = this.parts;
      const guide = await clientGuide(client, view.ring, rest);
      const { ruleBook } = rules().current;
      const document = guide.document(ruleBook);
      const at = new Date(time()).toISOString();
      const report = makeOwnReport(client, tally, document, { at, since, coverage });
      return { kind: 'report', text: printOwnReport(report, type) };
    });
    this.last = made.catch(() => undefined);
    try {
      return await made;
    } finally {
      this.waiting -= 1;
    }
  }
}

function rest(): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, REST_MS);
  });
}

/**
 * Collects the guide of the client whose hash is or begins with `client`, from the entries still in the ring; awaits `pause`
 * between steps of a fraction of a millisecond for each client but one, and of a few milliseconds where all are its own.
 */
export async function clientGuide(client: string, ring: Ring, pause: () => Promise<void>): Promise<Guide> {
  const guide = new Guide(client);
  for (let seq = ring.oldest; seq > 0 && seq <= ring.latest; seq += 1) {
    const entry = ring.at(seq);
    if (entry !== undefined) guide.add(entry);
    if (seq % ENTRIES_PER_STEP === 0) await pause();
  }
  return guide;
}
