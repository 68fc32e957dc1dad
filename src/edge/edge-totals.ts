import type { V2Schemas } from '../gateway/v1/body-checks.ts';
import type { RolloutCounts } from '../inspector/rollout-admin.ts';
import type { Entry } from '../rewrite-log/entry.ts';
import { RolloutTally, type RolloutTotals } from '../rollout/rollout-tally.ts';
import type { RolloutView } from '../rollout/rollout-view.ts';
import type { RemoteTotals } from './edge-bindings.ts';

/** Parts of the totals of an isolate. */
export interface EdgeTotalsParts {
  /** The object of the deployment; anew for each call, as workerd binds it to the request that asks for it. */
  readonly object: () => RemoteTotals;
  /** Hash of the rule book. */
  readonly ruleBook: string;
  /** V1 requests of this isolate since its start, by origin. */
  readonly requests: Readonly<RolloutView['requests']>;
  /** V2's request schemas, if they are part of the bundle. */
  readonly v2Schemas: V2Schemas;
}

/** Milliseconds that one call of the object may take. */
const CALL_MS = 2000;

const NONE: RolloutTotals = { requests: { v1: 0, v2: 0 }, shadows: [], bodyChecks: [] };

/**
 * Adds what an isolate counts to the totals of all, and reads these for operators. Counts that do not reach the object are
 * dropped: nobody knows whether they were added, and the log has them.
 */
export class EdgeTotals implements RolloutCounts {
  private readonly parts: EdgeTotalsParts;
  private unshared: RolloutTally;
  private shared = { v1: 0, v2: 0 };
  private read: RolloutTotals = NONE;
  private readSince: string | undefined = undefined;

  constructor(parts: EdgeTotalsParts) {
    this.parts = parts;
    this.unshared = new RolloutTally(parts.ruleBook);
  }

  /** Counts a finished exchange. */
  observe(entry: Entry): void {
    this.unshared.add(entry);
  }

  /** Adds what was counted since the last call to the totals of all isolates. Never rejects. */
  async share(): Promise<void> {
    const { object, ruleBook } = this.parts;
    const totals = this.take();
    if (totals === undefined) return;
    await inTime(object().addTotals(ruleBook, totals));
  }

  /** Reads the totals of all isolates; resolves to false when the object does not respond. */
  async refresh(): Promise<boolean> {
    const { object, ruleBook } = this.parts;
    const outcome = await inTime(object().totals(ruleBook));
    if (outcome === 'failed') return false;
    this.read = outcome ?? NONE;
    this.readSince = outcome?.since;
    return true;
  }

  get requests(): RolloutView['requests'] {
    return this.read.requests;
  }

  get comparisons(): RolloutCounts['comparisons'] {
    return { list: this.read.shadows };
  }

  get bodyChecks(): RolloutCounts['bodyChecks'] {
    const { v2Schemas } = this.parts;
    return {
      isOn: v2Schemas !== undefined,
      tally: { list: () => this.read.bodyChecks },
      warnings: (operations) =>
        v2Schemas === undefined || v2Schemas === 'unread' ? [] : v2Schemas.warnings(operations),
    };
  }

  get since(): string | undefined {
    return this.readSince;
  }

  private take(): RolloutTotals | undefined {
    const { ruleBook, requests } = this.parts;
    const { v1, v2 } = requests;
    const { shadows, bodyChecks } = this.unshared.totals;
    const news = { v1: v1 - this.shared.v1, v2: v2 - this.shared.v2 };
    if (news.v1 + news.v2 + shadows.length + bodyChecks.length === 0) return undefined;
    this.shared = { v1, v2 };
    this.unshared = new RolloutTally(ruleBook);
    return { requests: news, shadows, bodyChecks };
  }
}

/** Resolves to the response of the object, or to `failed` when it fails or takes too long. */
async function inTime<Value>(call: Promise<Value>): Promise<Value | 'failed'> {
  const { promise: late, resolve } = Promise.withResolvers<'failed'>();
  const timer = setTimeout(() => resolve('failed'), CALL_MS);
  const outcome = await Promise.race([call.catch((): 'failed' => 'failed'), late]);
  clearTimeout(timer);
  return outcome;
}
