import { hasFailed } from '../../rewrite-log/entry.ts';
import type { Body } from '../exchange.ts';
import { gatewayFailure } from '../failures.ts';
import { ForwardedRequest } from '../forwarded-request.ts';
import { PLAIN } from '../proxied-exchange.ts';
import type { UpstreamRequest } from '../upstream.ts';
import { callTransform, decodeBody, judgeDigests, rewriteRequest } from './body-work.ts';
import { DryRun, wouldOf } from './dry-run.ts';
import type { V1Exchange, V1Mode } from './v1-exchange.ts';

/** Forwards a V1 request to V1 unchanged, and logs the result that a migration would have had. */
export const OBSERVE: V1Mode = {
  ...PLAIN,

  request(exchange) {
    const { entry, gateway, recorder, memory } = exchange;
    // Such modes are refused at startup and on reload: a request for V1 must not get V2 instead.
    if (gateway.v1 === undefined) {
      exchange.refuse(gatewayFailure('no-v1-origin'));
      return;
    }
    exchange.origin = gateway.v1;
    entry.verdict = 'passed';
    entry.origin = 'v1';
    const dryRun = new DryRun(exchange.migration, {
      take: (bytes) => memory.reserve(bytes),
      judge: (bytes, next) => judgeDigests(exchange, bytes, () => next()),
      decode: (coding, bytes, limit, done) => decodeBody(exchange, coding, bytes, limit, done),
      rewrite: (bytes, done, lost) => rewriteRequest(exchange, bytes, done, lost),
      transform: (job, done) => callTransform(exchange, job, done),
      done: (end, read) => {
        entry.would = wouldOf(end);
        if (end.verdict !== 'refused') exchange.noteEdits(end);
        if (read !== undefined) recorder?.recordRequestBody(read);
        dryRun.checkable = gateway.bodyChecks.keep(end.verdict === 'refused' ? undefined : end.json);
      },
      over: () => exchange.workEnded(),
      lost: (error) => exchange.failInternally(error),
      copyLost: gateway.parts.onUnexpectedError,
    });
    exchange.dryRun = dryRun;
    exchange.open((body) => dryRun.run(body, (forwarded) => forward(exchange, forwarded)));
  },

  /** A copy may still be read when the client has its response: only the log entry waits for it. */
  after: ({ dryRun }) => dryRun?.isReading === true,

  /** Checks the body for V2 last, so that the client does not wait for it. */
  over(exchange) {
    const { dryRun, entry, decision, gateway, migration, received, rules } = exchange;
    const checkable = dryRun?.checkable;
    if (checkable === undefined || entry.would === undefined) return;
    const { operation, v2Method } = decision;
    const { operations } = rules.ruleBook;
    // A body that a module made is JSON without its own media type.
    const mediaType = migration.isTransformed ? undefined : received.head.contentType;
    const request = { operations, operation, mediaType };
    const check = gateway.bodyChecks.check(
      v2Method,
      restAtV2(exchange),
      checkable,
      hasFailed(entry),
      request,
    );
    if (check !== undefined) entry.would = { ...entry.would, ...check };
  },
};

/** The path below V2's prefix. */
function restAtV2({ decision, rules }: V1Exchange): string {
  const [path = ''] = decision.v2Target.split('?', 1);
  return path.slice(rules.prefixes.v2.length);
}

function forward(exchange: V1Exchange, body: Body): void {
  exchange.upstreamTarget = exchange.decision.target.raw;
  exchange.send(v1Request(exchange, body));
}

/** The request for V1, with unchanged end-to-end fields. */
function v1Request({ gateway, received, origin, decision }: V1Exchange, body: Body): UpstreamRequest {
  return new ForwardedRequest(gateway, received, received.head, origin.path + decision.target.raw, body);
}
