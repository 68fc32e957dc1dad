import { Hono } from 'hono/tiny';
import { type AddressOf, requestRate, sameSite, secureHeaders, tokenGate } from '../inspector/guard.ts';
import { createRolloutAdmin, rolloutRoutes } from '../inspector/rollout-admin.ts';
import { failure } from '../inspector/routes/responses.ts';
import { type Rate, TokenBuckets } from '../rollout/rate-limit.ts';
import type { RolloutControl } from '../rollout/rollout-control.ts';
import { clientNames, type RuleBook } from '../rules/rule-book.ts';
import type { EdgeReplica } from './replica.ts';
import type { EdgeTotals } from './totals.ts';

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

/** The client's address, which Cloudflare sets itself: a client cannot guess tokens from one address and have the tries counted for another. */
const addressOf: AddressOf = ({ req }) => req.header('cf-connecting-ip') ?? '';

/** Creates the routes by which operators steer the rollout of all isolates. The response to a choice comes once it is stored. */
export function createEdgeAdmin(parts: EdgeAdminParts): (request: Request) => Promise<Response> {
  const { control, replica, totals, ruleBook, v1Origin, isSticky } = parts;
  const app = new Hono();
  app.use(secureHeaders(), sameSite(parts));
  app.use(requestRate(new TokenBuckets(REQUEST_RATE, Date.now), addressOf));
  const tries = new TokenBuckets(WRONG_TOKEN_RATE, Date.now);
  // The edge serves no page, so it has no sessions.
  app.use(tokenGate(parts, undefined, tries, addressOf));
  app.use(async (c, next) => {
    await replica.sync();
    if (!replica.isTogether) return failure(503, 'store-unreachable', UNREACHABLE);
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
