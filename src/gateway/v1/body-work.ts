import type { Coding } from '../../http/content.ts';
import { formatOf } from '../../migrate/decision.ts';
import type { DecodedBody } from '../../migrate/decode-web-body.ts';
import type {
  RefusedMigration,
  ResponseEnd,
  ResponseMigration,
  ResponseOutcome,
  ResponseWork,
  WithoutEdits,
} from '../../migrate/migration.ts';
import type { TransformJob, TransformOutcome } from '../../migrate/transform.ts';
import type { Rewrite } from '../../rewrite/records.ts';
import type { ResponseRewrite } from '../../rewrite/response-rules.ts';
import { rewriteSmall, rewriteSmallResponse } from '../body-rewriter.ts';
import type { ProxiedExchange } from '../proxied-exchange.ts';
import { type LookupWay, V2Lookups } from './lookups.ts';
import type { V1Exchange } from './v1-exchange.ts';

// The work on bodies that may be done in another thread, for one exchange. Its callback is not called once the exchange is over.

/** Decodes a body, whose memory stays reserved until the exchange is over. */
export function decodeBody(
  { memory, gateway }: ProxiedExchange,
  coding: Coding,
  body: Uint8Array,
  limit: number,
  done: (outcome: DecodedBody) => void,
): void {
  memory.work((room, finish) =>
    gateway.parts.decode(coding, body, limit, room, (outcome) => finish(() => done(outcome))),
  );
}

/** Decodes a response. If it cannot be decoded whole, sending it may take long, and its memory is released. */
export function decodeResponse(
  exchange: ProxiedExchange,
  coding: Coding,
  body: Uint8Array,
  done: (outcome: DecodedBody) => void,
): void {
  const { memory, rules } = exchange;
  const { reserved } = memory;
  decodeBody(exchange, coding, body, rules.ruleBook.limits.response, (outcome) => {
    if (typeof outcome === 'string') memory.giveBackTo(reserved);
    done(outcome);
  });
}

/** Gives a rewritten response V2's content coding again if its client accepts it; otherwise `done` gets undefined. */
export function encodeResponse(
  exchange: V1Exchange,
  coding: Coding,
  body: Uint8Array,
  done: (encoded: Uint8Array | undefined) => void,
): void {
  const { encode } = exchange.gateway.parts;
  if (encode === undefined || !exchange.keepsCoding(coding)) done(undefined);
  else exchange.memory.work((_, finish) => encode(coding, body, (encoded) => finish(() => done(encoded))));
}

/** Calls the transform of the operation. */
export function callTransform(
  exchange: V1Exchange,
  job: TransformJob,
  done: (outcome: TransformOutcome) => void,
): void {
  const { transform } = exchange.gateway.parts;
  if (transform === undefined) {
    const why = 'nothing here can run transforms';
    done({ why, detail: why });
    return;
  }
  awaitWork(exchange, transform(exchange.rules.ruleBook, job), done);
}

/** Waits for work outside of this turn; an error of it is a bug. */
function awaitWork<Result>(
  exchange: V1Exchange,
  work: Promise<Result>,
  done: (result: Result) => void,
): void {
  exchange.memory.work((_, finish) => {
    work.then(
      (result) => finish(() => done(result)),
      (error: unknown) => finish(() => exchange.failInternally(error)),
    );
  }, 1);
}

/** Refuses a request or response whose transform has failed: no part of its body is forwarded. */
export function failTransform(exchange: V1Exchange, { failure, cause }: RefusedMigration): void {
  if (cause !== undefined) {
    exchange.abort();
    exchange.entry.cause = cause.why;
  }
  exchange.refuse(failure);
}

/** Checks the digests of a request's body against the bytes that its client sent, then calls `next`. */
export function judgeDigests(
  exchange: V1Exchange,
  body: Uint8Array,
  next: (exchange: V1Exchange, body: Uint8Array) => void,
): void {
  const judged = exchange.migration.judge(body, exchange.gateway.parts.hash);
  if (judged === undefined) next(exchange, body);
  else awaitWork(exchange, judged, () => next(exchange, body));
}

/** Rewrites a decoded request body; if the rewriter lost the body, calls `lost` instead of `done`, or the exchange fails. */
export function rewriteRequest(
  exchange: V1Exchange,
  body: Uint8Array,
  done: (outcome: WithoutEdits<Rewrite>, body: Uint8Array) => void,
  lost?: (error: unknown) => void,
): void {
  const { rules, gateway, memory, decision } = exchange;
  const { operation } = decision;
  const format = formatOf(decision.body);
  const small = rewriteSmall(rules, operation, format, body, memory);
  if (small !== undefined) {
    done(small, body);
    return;
  }
  memory.work(({ take }, finish) => {
    const failed = (error: unknown): void =>
      finish(() => (lost === undefined ? exchange.failInternally(error) : lost(error)));
    const own = { take, room: (bytes: number) => memory.acquire(bytes) };
    gateway.rewriter.request({ rules, operation, format, body, memory: own, failed }, (outcome, original) =>
      finish(() => {
        // From another thread.
        if (original !== body) memory.own(original);
        if (original !== body && outcome.verdict === 'rewritten') memory.own(outcome.body);
        done(outcome, original);
      }),
    );
  }, 1);
}

/** Allocates memory for a rewritten response; undefined if the adapter does not tell when the client has read it. */
function responseRoom(exchange: V1Exchange): ((bytes: number) => Uint8Array) | undefined {
  const { releasesChunks } = exchange.received.exchange;
  return releasesChunks === true ? (bytes) => exchange.memory.acquire(bytes) : undefined;
}

function rewriteResponse(
  exchange: V1Exchange,
  { context, facts }: ResponseMigration,
  body: Uint8Array,
  done: (outcome: WithoutEdits<ResponseRewrite>, body: Uint8Array) => void,
): void {
  const { rules, gateway, memory } = exchange;
  const { operation, method } = facts;
  const room = responseRoom(exchange);
  memory.work(({ take }, finish) => {
    const failed = (error: unknown): void => finish(() => exchange.failInternally(error));
    gateway.rewriter.response(
      { rules, operation, method, body, context, memory: { take, room }, failed },
      (outcome, original) =>
        finish(() => {
          if (original !== body && room !== undefined && outcome.verdict === 'rewritten')
            memory.own(outcome.body);
          done(outcome, original);
        }),
    );
  }, 1);
}

/** Migrates a small response at once, in this thread; undefined if it has to wait for a transform, for V2 or for another thread. */
export function finishSmallResponse(exchange: V1Exchange, body: Uint8Array): ResponseOutcome | undefined {
  const { response } = exchange;
  // It waits for V2.
  if (response?.looksUp === true) return undefined;
  const step = response?.finish(body);
  if (response === undefined || step === undefined || 'transform' in step) return undefined;
  if (!('rules' in step)) return step.verdict === 'refused' ? undefined : step;
  const outcome = rewriteSmallResponse(response, step.rules, responseRoom(exchange));
  const end = outcome && response.ruled(outcome, step.rules);
  return end === undefined || !('verdict' in end) || end.verdict === 'refused' ? undefined : end;
}

/**
 * Does the work of a response's migration; `done` also gets V2's own body, possibly in other memory. `way` is the connection to V2 for
 * lookups.
 */
export function driveResponse(
  exchange: V1Exchange,
  response: ResponseMigration,
  step: ResponseWork | ResponseEnd,
  body: Uint8Array,
  way: LookupWay,
  done: (end: ResponseEnd, body: Uint8Array) => void,
): void {
  if ('transform' in step)
    callTransform(exchange, step.transform, (made) =>
      driveResponse(exchange, response, response.transformed(made), body, way, done),
    );
  else if ('rules' in step)
    rewriteResponse(exchange, response, step.rules, (outcome, original) =>
      driveResponse(
        exchange,
        response,
        response.ruled(outcome, original),
        // A transform has made a new body; V2's own stays where it was.
        step.rules === body ? original : body,
        way,
        done,
      ),
    );
  else if ('lookup' in step) {
    exchange.lookups ??= new V2Lookups(exchange, way, step.lookup.timeMs, (...answer) =>
      decodeBody(exchange, ...answer),
    );
    exchange.lookups.ask(step.lookup, (results) => {
      const next = response.lookedUp(results);
      exchange.entry.lookups = response.lookupCounts;
      driveResponse(exchange, response, next, body, way, done);
    });
  } else done(step, body);
}
