import type { CollectorMemory } from '../http/byte-collector.ts';
import type { BodyFormat } from '../http/content.ts';
import { unlimitedMemory, type WorkMemory } from '../json/tape.ts';
import type { ResponseMigration, WithoutEdits } from '../migrate/migration.ts';
import type { CompiledRuleBook } from '../rewrite/compiled-rule-book.ts';
import type { ResponseRewrite } from '../rewrite/response-rules.ts';
import type { ResponseContext } from '../rewrite/response-rules.ts';
import type { Rewrite } from '../rewrite/records.ts';
import type { Operation } from '../rules/rule-book.ts';

/** A decoded body to rewrite, and the plan for it. */
export interface RewriteJob {
  readonly rules: CompiledRuleBook;
  readonly operation: Operation | undefined;
  readonly body: Uint8Array;
  /** The format of a request body; a response is always JSON. */
  readonly format?: BodyFormat;
  /** Memory for the work, in addition to the two bodies. */
  readonly memory: WorkMemory;
  /** Called instead of `done` if the rewriter lost the body, by a bug or because the process ran out of memory. */
  readonly failed: (error: unknown) => void;
}

/** A decoded response to rewrite. */
export interface ResponseRewriteJob extends RewriteJob {
  /** The method of the request. */
  readonly method: string;
  readonly context: ResponseContext;
}

/**
 * Rewrites bodies, at once or in a worker thread. Each job calls `done` once, with the body, possibly in other memory: the caller must
 * not use the job's body again.
 */
export interface BodyRewriter {
  request(job: RewriteJob, done: (outcome: WithoutEdits<Rewrite>, body: Uint8Array) => void): void;
  response(
    job: ResponseRewriteJob,
    done: (outcome: WithoutEdits<ResponseRewrite>, body: Uint8Array) => void,
  ): void;
}

/** Size in bytes of a small body: memory for its records is not counted. */
const SMALL_BYTES = 16 * 1024;

/**
 * Rewrites a small body at once, without memory of the budget, into a buffer from `memory`; undefined for a larger body, which needs a
 * job.
 */
export function rewriteSmall(
  rules: CompiledRuleBook,
  operation: Operation | undefined,
  format: BodyFormat,
  body: Uint8Array,
  memory: CollectorMemory,
): Rewrite | undefined {
  if (body.length > SMALL_BYTES) return undefined;
  const { take } = unlimitedMemory;
  return rules.requestPlan(operation, format).rewrite(body, { take, room: (bytes) => memory.acquire(bytes) });
}

/** The same for a response, into a buffer from `room` if it becomes larger than a few kilobytes. */
export function rewriteSmallResponse(
  { plan, context }: ResponseMigration,
  body: Uint8Array,
  room: WorkMemory['room'],
): ResponseRewrite | undefined {
  if (body.length > SMALL_BYTES) return undefined;
  const { take } = unlimitedMemory;
  return plan.rewrite(body, context, { take, room });
}

export const immediateRewriter: BodyRewriter = {
  request: ({ rules, operation, format, body, memory }, done) => {
    done(rules.requestPlan(operation, format).rewrite(body, memory), body);
  },
  response: ({ rules, operation, method, body, context, memory }, done) => {
    done(rules.responsePlan(operation, method).rewrite(body, context, memory), body);
  },
};
