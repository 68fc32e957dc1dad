import { Hono } from 'hono/tiny';
import type { V2Schemas } from '../gateway/v1/dry-run.ts';
import {
  type AddressOf,
  requestRate,
  sameSite,
  secureHeaders,
  Sessions,
  tokenGate,
} from '../inspector/guard.ts';
import { createRolloutAdmin, type RolloutCounts, rolloutRoutes } from '../inspector/rollout-admin.ts';
import { failure } from '../inspector/routes/responses.ts';
import type { Entry } from '../rewrite-log/entry.ts';
import { type Rate, TokenBuckets } from '../rollout/rate-limit.ts';
import type { RolloutControl } from '../rollout/rollout-control.ts';
import { RolloutTally, type RolloutTotals, type RolloutView } from '../rollout/rollout-tally.ts';
import { clientNames, type RuleBook } from '../rules/rule-book.ts';
import type { RemoteTotals } from './bindings.ts';
import type { EdgeReplica } from './replica.ts';

/** Parts of the operators' routes of a worker. */
export interface EdgeAdminParts {
  /** Host names at which the worker serves operators, and no clients. */
  readonly hosts: readonly string[];
  readonly token: string;
  readonly control: RolloutControl;
  readonly replica: EdgeReplica;
  readonly totals: EdgeTotals;
  readonly ruleBook: RuleBook;
  /** Address of V1; undefined when there is none. */
  readonly v1Origin: string | undefined;
  /** False while client hashes are new in each isolate. */
  readonly isSticky: boolean;
}

/** Limits in an isolate, by address. */
const WRONG_TOKEN_RATE: Rate = { burst: 10, perSecond: 1 };
const REQUEST_RATE: Rate = { burst: 100, perSecond: 20 };

/** Cloudflare sets this field itself: nobody can choose the address whose tries count. */
const addressOf: AddressOf = ({ req }) => req.header('cf-connecting-ip') ?? '';

/** Creates the routes by which operators steer the rollout of all isolates. The response to a choice comes once it is stored. */
export function createEdgeAdmin(parts: EdgeAdminParts): (request: Request) => Promise<Response> {
  const { control, replica, totals, ruleBook, v1Origin, isSticky } = parts;
  const app = new Hono();
  app.use(secureHeaders(), sameSite(parts));
  app.use(requestRate(new TokenBuckets(REQUEST_RATE, Date.now), addressOf));
  const tries = new TokenBuckets(WRONG_TOKEN_RATE, Date.now);
  // No page is served here, and no session begins; one that began elsewhere with the same token holds.
  app.use(tokenGate(parts, new Sessions(parts, Date.now), tries, addressOf));
  app.use(async (c, next) => {
    await replica.sync();
    if (!replica.isTogether || !(await totals.refresh()))
      return failure(503, 'store-unreachable', UNREACHABLE);
    await next();
    if (c.req.method !== 'POST') return undefined;
    await replica.sync();
    return replica.status.waiting === 0 ? undefined : failure(503, 'store-unreachable', NOT_STORED);
  });
  rolloutRoutes(
    app,
    createRolloutAdmin({
      control,
      counts: totals,
      replica,
      hasStore: true,
      ruleBook: () => ruleBook,
      v1Origin,
      isSticky,
      names: () => clientNames(ruleBook),
    }),
  );
  app.notFound(() => failure(404, 'not-found', 'This address serves only GET and POST /rollout.'));
  return async (request) => app.fetch(request);
}

const UNREACHABLE =
  'The Durable Object that all isolates share does not respond; nothing was changed. Try again.';
const NOT_STORED =
  'The Durable Object that all isolates share did not store the choice in time, and may store it later. Check with GET /rollout.';

/** Parts of the totals of an isolate. */
interface EdgeTotalsParts {
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
 * Adds an isolate's counts to the totals of all, and reads these for operators. Drops counts that do not reach the object,
 * because nobody knows whether they were added; the log has them.
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
    await inTime(async () => object().addTotals(ruleBook, totals));
  }

  /** Reads the totals of all isolates; resolves to false when the object does not respond. */
  async refresh(): Promise<boolean> {
    const { object, ruleBook } = this.parts;
    const outcome = await inTime(async () => object().totals(ruleBook));
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

/** Resolves to the response of the object, or to `failed` when it fails, as its binding may at once, or takes too long. */
async function inTime<Value>(call: () => Promise<Value>): Promise<Value | 'failed'> {
  const { promise: late, resolve } = Promise.withResolvers<'failed'>();
  const timer = setTimeout(() => resolve('failed'), CALL_MS);
  const outcome = await Promise.race([call().catch((): 'failed' => 'failed'), late]);
  clearTimeout(timer);
  return outcome;
}
