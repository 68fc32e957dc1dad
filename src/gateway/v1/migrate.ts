import { NO_BYTES } from '../../json/names.ts';
import { isOfTexts, type StreamedFormat } from '../../http/content.ts';
import { isRead } from '../../http/request-head.ts';
import { codingOf, isSigned, streamedFormat } from '../../migrate/decision.ts';
import { type Failure, failureOf } from '../../migrate/failure.ts';
import { KeptBody, RewrittenBody } from '../../migrate/migrated.ts';
import {
  mayEditResponses,
  type MigratedMessage,
  type RequestEnd,
  type Work,
} from '../../migrate/migration.ts';
import { pinnedRelease } from '../../rollout/modes-in-force.ts';
import type { Body, BodyParts } from '../exchange.ts';
import { ForwardedRequest } from '../forwarded-request.ts';
import { PLAIN } from '../proxied-exchange.ts';
import type { UpstreamReceiver, UpstreamRequest } from '../upstream.ts';
import {
  callTransform,
  decodeBody,
  driveResponse,
  failTransform,
  judgeDigests,
  rewriteRequest,
} from './body-work.ts';
import { type Answer, Intake } from './intake.ts';
import { begunTraceparent } from './span.ts';
import type { V1Exchange, V1Mode } from './v1-exchange.ts';

/** Migrates a V1 request to V2: its target, its version header and, where rules apply, its body; and the response back to V1. */
export const MIGRATE: V1Mode = {
  ...PLAIN,

  request(exchange) {
    const { received, decision } = exchange;
    const { hasBody } = received.exchange;
    const step = exchange.migration.begin(hasBody);
    switch (step.action) {
      case 'refuse': {
        // A body of unknown length may turn out to be empty. V2 then gets an empty one, even if its head would have been refused.
        const isMeant = decision.refusal !== undefined || (received.head.contentLength ?? 0) > 0;
        if (isMeant) exchange.refuse(step.failure);
        else exchange.collect(0, (body) => forwardWithout(exchange, body), step.failure);
        return;
      }
      case 'forward':
        exchange.open((body) => forwardUnread(exchange, body), 'exchange');
        return;
      case 'drop':
        exchange.collect(decision.bodyLimit, (body) => forwardWithout(exchange, body));
        return;
      case 'rewrite':
        if (!hasBody) goOn(exchange, exchange.migration.finish(NO_BYTES));
        else if (streamedFormat(step) === undefined)
          exchange.collect(decision.bodyLimit, (body) => judgeDigests(exchange, body, migrateWhole));
        // Forms and small files are read ahead, so that the body holds no connection to V2 while it arrives.
        else
          exchange.open(
            (body) => migrateParts(exchange, body),
            'exchange',
            isOfTexts(step.format) ? 'at-once' : undefined,
          );
    }
  },

  response(exchange) {
    return mayEditResponses(exchange.migration.facts, exchange.rules) ? readBy(exchange, MIGRATED) : exchange;
  },

  over(exchange) {
    const { upload, recorder } = exchange;
    if (upload === undefined) return;
    if (exchange.attempts > 0) noteUpload(exchange);
    // Nothing is kept of a body that broke off.
    const kept = upload.body.isWhole ? upload.kept?.take() : undefined;
    if (kept !== undefined && kept.length > 0) recorder?.recordRequestBody(kept);
  },
};

/** The response of V2, migrated. */
export const MIGRATED: Answer = {
  begin(exchange, status, headers) {
    noteUpload(exchange);
    exchange.response = exchange.migrateResponse(status);
    return exchange.response.begin(headers);
  },

  finish(exchange, body, done) {
    const { response } = exchange;
    if (response === undefined) return;
    const way = { origin: exchange.origin, headers: () => exchange.sentRequest?.headers ?? [] };
    driveResponse(exchange, response, response.finish(body), body, way, (end, original) => {
      if (end.verdict !== 'refused') done(end, original);
      else if (!exchange.isOver) failTransform(exchange, end);
    });
  },

  // Refuse a read, because V2's names would break the client, and it can repeat the request; unless the response needs so much memory
  // that this would fail again. A write was carried out by V2: an error would say that it was not.
  mayRefuse: ({ memory, decision }) => !memory.needsTooMuch && isRead(decision.v2Method),
};

/** Makes `reader` read the response of this attempt. */
export function readBy(exchange: V1Exchange, answer: Answer): UpstreamReceiver {
  const intake = new Intake(exchange, answer);
  exchange.reader = intake;
  return intake;
}

/** Migrates a complete body. */
function migrateWhole(exchange: V1Exchange, body: Uint8Array): void {
  const { migration, decision } = exchange;
  if (exchange.isSettled) return;
  const coding = codingOf(decision.body, body);
  if (coding === undefined) {
    goOn(exchange, migration.finish(body));
    return;
  }
  decodeBody(exchange, coding, body, decision.bodyLimit, (decoded) => {
    // The decoder may still be working on the body in its thread.
    if (typeof decoded === 'string') exchange.memory.abandon();
    if (!exchange.isSettled) goOn(exchange, migration.finish(decoded), body);
  });
}

function forwardUnread(exchange: V1Exchange, body: Body): void {
  goOn(exchange, exchange.migration.finish(body === null ? undefined : 'unread'), body);
}

/** Forwards the request without its client's body. */
function forwardWithout(exchange: V1Exchange, body: Uint8Array): void {
  goOn(exchange, exchange.migration.finish(body.length > 0 ? 'unread' : undefined), null);
}

/** Rewrites a body while it arrives; one that arrives complete and is short enough is migrated whole. */
function migrateParts(exchange: V1Exchange, body: Body): void {
  const format = streamedFormat(exchange.decision.body);
  if (format === undefined || body === null) forwardUnread(exchange, body);
  else if (!(body instanceof Uint8Array)) migrateStream(exchange, body, format);
  else if (body.length > exchange.decision.bodyLimit) migrateStream(exchange, inOnePart(body), format);
  else goOn(exchange, exchange.migration.finish(body));
}

/** A complete body that is larger than the limit for one text. */
async function* inOnePart(body: Uint8Array): AsyncGenerator<Uint8Array, void> {
  yield body;
}

/** Forwards a body while it arrives, once its first text is read. Until then nothing is sent, so that a fault can refuse the request. */
function migrateStream(exchange: V1Exchange, parts: BodyParts, format: StreamedFormat): void {
  const { migration, memory } = exchange;
  const stream = migration.open(
    format,
    (bytes) => memory.reserve(bytes),
    (work) => memory.during(work),
  );
  const { recorder } = exchange;
  const kept = recorder && new KeptBody(recorder.keptBytes);
  const received = kept === undefined ? parts : keeping(parts, kept);
  const body = new RewrittenBody(received, stream, (refusal) =>
    exchange.guarded(() => breakRequest(exchange, failureOf(refusal))),
  );
  exchange.upload = { body, stream, kept };
  body.begin().then(
    (begun) =>
      exchange.guarded(() => {
        if (exchange.isSettled) return;
        if (begun.outcome === 'refused') exchange.refuse(failureOf(begun.refusal));
        else goOn(exchange, migration.finish('unread'), begun.outcome === 'whole' ? begun.body : body);
      }),
    // The client's side itself reports why its body broke off.
    () => {},
  );
}

/** Ends a request whose body has a fault after bytes that V2 already has: V2 sees that it is incomplete. */
function breakRequest(exchange: V1Exchange, failed: Failure): void {
  const { entry, received } = exchange;
  exchange.abort();
  if (exchange.isSettled) {
    entry.failure = failed.code;
    entry.pointer = failed.pointer;
    entry.position = failed.position;
    received.exchange.reset();
    return;
  }
  received.exchange.closeAfterResponse();
  exchange.refuse(failed);
}

/** Logs the edits of the body so far: they are complete when the exchange is over. */
function noteUpload(exchange: V1Exchange): void {
  const { upload, migration } = exchange;
  if (upload !== undefined) note(exchange, migration.streamed(upload.stream.findings));
}

/** Does the next work of the migration, until the request can be sent; with `original` if neither rules nor a transform made a body. */
function goOn(exchange: V1Exchange, step: Work | RequestEnd, original?: Body): void {
  const { entry, migration, upload, gateway } = exchange;
  if ('rules' in step) {
    const { now } = gateway.parts;
    const before = now();
    rewriteRequest(exchange, step.rules, (outcome, read) => {
      if (exchange.isSettled) return;
      entry.rewriteMs = now() - before;
      if (read.length > 0) exchange.recorder?.recordRequestBody(read);
      goOn(exchange, migration.ruled(outcome), original ?? read);
    });
  } else if ('transform' in step)
    callTransform(exchange, step.transform, (made) => {
      if (!exchange.isOver) goOn(exchange, migration.transformed(made), original);
    });
  else if (step.verdict === 'refused') failTransform(exchange, step);
  else {
    if (upload === undefined) note(exchange, step);
    else noteUpload(exchange);
    const body = step.body ?? original ?? null;
    const isNone = body instanceof Uint8Array && body.length === 0;
    forward(exchange, isNone ? null : body, step.body !== undefined || upload !== undefined);
  }
}

/** Logs the verdict on the request, which a rewritten response may change, and its edits. */
function note(exchange: V1Exchange, message: MigratedMessage): void {
  if (message.verdict === 'rewritten') exchange.entry.verdict = message.verdict;
  exchange.noteEdits(message);
}

function forward(exchange: V1Exchange, body: Body, isRewritten: boolean): void {
  const { entry, received, decision } = exchange;
  const { v2Method, v2Target } = decision;
  if (isSigned(received.head, decision.target.query)) entry.note ??= 'signed';
  exchange.upstreamTarget = v2Target;
  if (v2Method !== entry.method) entry.upstreamMethod = v2Method;
  exchange.send(v2Request(exchange, exchange.origin.path + v2Target, body, isRewritten));
}

/** Returns the request for V2, and logs the version; its trace begins here if spans are exported and the client has none. */
export function v2Request(
  exchange: V1Exchange,
  target: string,
  body: Body,
  isRewritten: boolean,
): UpstreamRequest {
  const { received, gateway, entry, rules, routing, decision, migration } = exchange;
  const { head } = received;
  exchange.beginSpan();
  const { version, fields } = migration.head(head, isRewritten, {
    now: gateway.parts.time(),
    pinned: routing && pinnedRelease(rules.ruleBook, routing.subject),
    codings: gateway.options.codings,
    requestId: entry.requestId,
    traceparent: begunTraceparent(entry, head),
  });
  entry.apiVersion = version;
  return new ForwardedRequest(gateway, received, fields, target, body, decision.v2Method);
}

/** Copies the parts that pass. */
async function* keeping(parts: BodyParts, kept: KeptBody): AsyncGenerator<Uint8Array, void> {
  for await (const part of parts) {
    kept.add(part);
    yield part;
  }
}
