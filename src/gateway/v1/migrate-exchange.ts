import { isOfTexts, type StreamedFormat } from '../../http/content.ts';
import {
  FieldNames,
  type HeaderList,
  headerValue,
  headerValues,
  isNamed,
  setField,
  withoutFields,
} from '../../http/header-list.ts';
import type { ResponseHead } from '../../http/response-head.ts';
import {
  bodyTooLarge,
  codingOf,
  isSigned,
  type MigrateDecision,
  requestedVersion,
  streamedFormat,
} from '../../migrate/decision.ts';
import { bufferFull, type Failure, failureOf } from '../../migrate/failure.ts';
import { RewrittenBody } from '../../migrate/migrated.ts';
import {
  type MigratedMessage,
  type RequestEnd,
  type ResponseStep,
  stepFor,
  type Work,
} from '../../migrate/migration.ts';
import type { ListPieces } from '../../rewrite/list-pieces.ts';
import type { BodyStream } from '../../rewrite/text-stream.ts';
import { plainSpelling } from '../../rules/rule.ts';
import type { DescriptionText } from '../description.ts';
import type { Body, BodyParts } from '../exchange.ts';
import { type UpstreamReceiver, type UpstreamRequest, withHeaders } from '../upstream.ts';
import { ResponseCollector } from './response.ts';
import { V1Exchange } from './v1-exchange.ts';

/** Migrates a V1 request to V2: its target, its version header and, where rules apply, its body. */
export class MigrateExchange extends V1Exchange {
  /** The body that is rewritten as it comes. */
  private upload: { readonly body: RewrittenBody; readonly stream: BodyStream } | undefined = undefined;

  override start(): void {
    const { received, migration } = this;
    const { exchange, head } = received;
    const step = migration.begin(exchange.hasBody);
    switch (step.action) {
      case 'refuse': {
        // A body of unknown length may be empty: an empty one is forwarded, whatever its head says.
        const isMeant = this.decision.refusal !== undefined || (head.contentLength ?? 0) > 0;
        return isMeant ? this.refuse(step.failure) : exchange.collect(this.memory);
      }
      case 'forward':
        return exchange.hasBody ? exchange.open('exchange') : this.onBody(null);
      case 'drop':
        return exchange.collect(this.memory);
      case 'rewrite':
        if (!exchange.hasBody) return this.goOn(migration.finish(NO_BODY));
        if (streamedFormat(step) === undefined) return exchange.collect(this.memory);
        // Fields and small files are read ahead, so that the body holds no connection to V2 while it arrives.
        return exchange.open('exchange', isOfTexts(step.format) ? 'at-once' : undefined);
    }
  }

  override acceptChunk(bytes: number): boolean {
    const { bodyLimit, body: decided } = this.decision;
    if (decided.action === 'refuse' && bytes > 0) {
      this.refuse(decided.failure);
      return false;
    }
    if (this.received.exchange.bytesIn > bodyLimit) {
      this.refuse(bodyTooLarge(bodyLimit));
      return false;
    }
    return this.take(bytes);
  }

  override onWholeBody(body: Uint8Array): void {
    const { bodyLimit, body: decided } = this.decision;
    if (decided.action === 'refuse' || decided.action === 'drop') {
      this.goOn(this.migration.finish(body.length > 0 ? 'unread' : undefined), null);
      return;
    }
    this.judgeDigests(body, () => {
      if (!this.isSettled) this.readWhole(body, bodyLimit);
    });
  }

  private readWhole(body: Uint8Array, bodyLimit: number): void {
    const coding = codingOf(this.decision.body, body);
    if (coding === undefined) {
      this.goOn(this.migration.finish(body));
      return;
    }
    this.decodeBody(coding, body, bodyLimit, (decoded) => {
      // The decoder may still be at work on the body in its thread.
      if (typeof decoded === 'string') this.memory.abandon();
      if (!this.isSettled) this.goOn(this.migration.finish(decoded), body);
    });
  }

  /** Forwards the body unchanged, or rewrites it as it comes. */
  override onBody(body: Body): void {
    const { body: decided, bodyLimit } = this.decision;
    const format = streamedFormat(decided);
    if (format === undefined || body === null)
      this.goOn(this.migration.finish(body === null ? undefined : 'unread'), body);
    else if (body instanceof Uint8Array && body.length <= bodyLimit) this.goOn(this.migration.finish(body));
    else this.migrateStream(body instanceof Uint8Array ? inOnePart(body) : body, format);
  }

  /** Sends a body on as it comes, once its first text is read: until then, a fault refuses it, and nothing was sent. */
  private migrateStream(parts: BodyParts, format: StreamedFormat): void {
    const stream = this.requestStream(format);
    const body = new RewrittenBody(parts, stream, this.recorder?.keptBytes, (refusal) =>
      this.guarded(() => this.breakRequest(failureOf(refusal))),
    );
    this.upload = { body, stream };
    body.begin().then(
      (begun) =>
        this.guarded(() => {
          if (this.isSettled) return;
          if (begun.outcome === 'refused') this.refuse(failureOf(begun.refusal));
          else this.goOn(this.migration.finish('unread'), begun.outcome === 'whole' ? begun.body : body);
        }),
      // The client's side tells why its body broke.
      () => {},
    );
  }

  /** Ends a request whose body is at fault behind bytes that V2 has: V2 sees that it is incomplete. */
  private breakRequest(failed: Failure): void {
    const { exchange } = this.received;
    this.abort();
    if (this.isSettled) {
      this.entry.failure = failed.code;
      this.entry.pointer = failed.pointer;
      this.entry.position = failed.position;
      exchange.reset();
      return;
    }
    exchange.closeAfterResponse();
    this.refuse(failed);
  }

  /** Logs the edits of the body so far: they are complete when the exchange is over. */
  private noteUpload(): void {
    if (this.upload !== undefined) this.note(this.migration.streamed(this.upload.stream.findings));
  }

  override planResponse(status: number, headers: HeaderList): ResponseStep {
    this.noteUpload();
    return super.planResponse(status, headers);
  }

  protected override onFinished(status: number): void {
    if (this.attempts > 0) this.noteUpload();
    const kept = this.upload?.body.takeKept();
    if (kept !== undefined && kept.length > 0) this.recorder?.recordRequestBody(kept);
    super.onFinished(status);
  }

  private take(bytes: number): boolean {
    if (this.reserve(bytes)) return true;
    this.refuse(bufferFull());
    return false;
  }

  /** Does the next work of the migration, until the request can be sent: without a body of rules or a transform with `original`. */
  private goOn(step: Work | RequestEnd, original?: Body): void {
    const { entry, migration } = this;
    if ('rules' in step) {
      const { now } = this.gateway.parts;
      const before = now();
      this.rewriteRequest(step.rules, (outcome, read) => {
        if (this.isSettled) return;
        entry.rewriteMs = now() - before;
        if (read.length > 0) this.recorder?.recordRequestBody(read);
        this.goOn(migration.ruled(outcome), original ?? read);
      });
    } else if ('transform' in step)
      this.callTransform(step.transform, (made) => {
        if (!this.isOver) this.goOn(migration.transformed(made), original);
      });
    else if (step.verdict === 'refused') this.failTransform(step);
    else {
      if (this.upload === undefined) this.note(step);
      else this.noteUpload();
      const body = step.body ?? original ?? null;
      const isNone = body instanceof Uint8Array && body.length === 0;
      this.forward(isNone ? null : body, step.body !== undefined || this.upload !== undefined);
    }
  }

  /** Logs the verdict on the request, which a rewritten response may have changed, and its edits. */
  private note(message: MigratedMessage): void {
    if (message.verdict === 'rewritten') this.entry.verdict = message.verdict;
    this.noteEdits(message);
  }

  private forward(body: Body, isRewritten: boolean): void {
    const { v2Method, v2Target } = this.decision;
    if (isSigned(this.received.head, this.decision.target.query)) this.entry.note ??= 'signed';
    this.upstreamTarget = v2Target;
    if (v2Method !== this.entry.method) this.entry.upstreamMethod = v2Method;
    this.send(this.v2Request(this.origin.path + this.upstreamTarget, body, isRewritten));
  }
}

/** A whole body that is larger than the limit of one text. */
async function* inOnePart(body: Uint8Array): AsyncGenerator<Uint8Array, void> {
  yield body;
}

const NO_BODY = new Uint8Array();

/** Maximum time that clients without credentials share a description without asking V2, in milliseconds. */
const SHARED_MS = 60_000;

/** Fields that ask for less than a whole response (RFC 9110 §13.1, §14.2). */
export const CONDITIONAL_FIELDS = [
  'if-match',
  'if-modified-since',
  'if-none-match',
  'if-range',
  'if-unmodified-since',
  'range',
];

/** Fields for V2's own copy of the description, which is another text than the client's; and the codings that hide it. */
const FIELDS_OF_THE_COPY = new FieldNames(['accept-encoding', ...CONDITIONAL_FIELDS]);

/** Fields of V2's response that a shared description keeps. */
const SHARED_FIELDS = new FieldNames([
  'access-control-allow-origin',
  'cache-control',
  'content-type',
  'vary',
]);

/**
 * Responds to `GET /api/v1/openapi.json` with V1's description, derived from V2's, and to HEAD with the same head (RFC 9110
 * §9.3.2). Migrates the request like any other, so that V2 sees its credentials and decides; forwards a response that is not an
 * OpenAPI description.
 */
export class DescriptionExchange extends MigrateExchange {
  private derived: DescriptionText | undefined = undefined;
  private isNotModified = false;
  /** True where the response may be V2's description. */
  private isAsked = false;

  /** True for a request for V1's description. */
  static isFor(method: string, decision: MigrateDecision): boolean {
    return (method === 'GET' || method === 'HEAD') && plainSpelling(decision.target.rest) === '/openapi.json';
  }

  override start(): void {
    const known = this.isAnonymous ? this.gateway.descriptions.fresh(this.key) : undefined;
    if (known === undefined) {
      super.start();
      return;
    }
    const { text, headers, age } = known;
    this.derived = text;
    const isSame = this.isKnownToClient(text);
    const { date } = this.gateway.hopFields;
    const fields = [...headers, 'Date', date, 'ETag', text.etag, 'Age', String(Math.floor(age / 1000))];
    if (!isSame) fields.push('Content-Length', String(text.body.length));
    this.respond(isSame ? 304 : 200, fields, isSame ? EMPTY : text.body);
  }

  protected override send(request: UpstreamRequest): void {
    const headers = withoutFields(request.headers, FIELDS_OF_THE_COPY);
    setField(headers, 'accept-encoding', 'identity');
    // The length and the tag of the description are known once it is derived, for which it is needed whole.
    super.send({
      ...withHeaders(request, headers),
      method: request.method === 'HEAD' ? 'GET' : request.method,
    });
  }

  protected override receiver(): UpstreamReceiver {
    return new ResponseCollector(this);
  }

  override planResponse(status: number, headers: HeaderList): ResponseStep {
    const step = super.planResponse(status, headers);
    this.isAsked = status === 200;
    return this.isAsked ? this.readable(stepFor(status, headers, this.rules.ruleBook, true)) : step;
  }

  /** V2's own description is better than none. */
  override refuseResponse(): boolean {
    return false;
  }

  override responsePieces(...[emit]: Parameters<MigrateExchange['responsePieces']>): ListPieces | undefined {
    return this.isAsked ? undefined : super.responsePieces(emit);
  }

  override finishResponse(...[body, done]: Parameters<MigrateExchange['finishResponse']>): void {
    if (!this.isAsked) {
      super.finishResponse(body, done);
      return;
    }
    this.work((memory, finish) => {
      const { descriptions, v2 } = this.gateway;
      descriptions.derive({ source: body, rules: this.rules.ruleBook, v2 }, memory).then(
        (derived) =>
          finish(() => {
            if (derived === undefined) super.finishResponse(body, done);
            else if (derived === 'buffer-full')
              done({ verdict: 'unchanged', body, note: 'response-buffer-full' }, body);
            else {
              this.derived = derived;
              done({ verdict: 'rewritten', body: derived.body, records: [], omitted: 0, patch: [] }, body);
            }
          }),
        (error: unknown) => finish(() => this.failInternally(error)),
      );
    }, 1);
  }

  override head(head: ResponseHead): void {
    const { derived } = this;
    if (derived === undefined) {
      super.head(head);
      return;
    }
    this.share(derived, head.headers);
    this.isNotModified = this.isKnownToClient(derived);
    const headers = withoutFields(head.headers, this.isNotModified ? FIELDS_OF_A_BODY : FIELDS_OF_V2);
    headers.push('ETag', derived.etag);
    const line = this.isNotModified ? { status: 304, reason: 'Not Modified' } : {};
    super.head({ ...head, ...line, headers });
  }

  override data(chunk: Uint8Array, isLast?: boolean): void {
    if (!this.isNotModified) super.data(chunk, isLast);
  }

  /** A response to a request with credentials belongs to its client (RFC 9111 §3.5). */
  private get isAnonymous(): boolean {
    const { authorization, forwardedHeaders } = this.received.head;
    const isKeyless = authorization === undefined && this.apiKey === undefined;
    return isKeyless && headerValue(forwardedHeaders, 'cookie') === undefined;
  }

  /** The text that V2's description depends on: rule book, release and target. */
  private get key(): string {
    const { head } = this.received;
    return JSON.stringify([
      this.rules.ruleBook.hash,
      requestedVersion(head, this.decision.target.query, this.rules) ?? '',
      this.decision.target.raw,
      this.routing?.subject,
    ]);
  }

  private share(derived: DescriptionText, headers: HeaderList): void {
    if (!this.isAnonymous) return;
    const shared = headers.flatMap((name, at) => {
      return at % 2 === 0 && SHARED_FIELDS.has(name) ? [name, headers[at + 1] ?? ''] : [];
    });
    this.gateway.descriptions.share(this.key, derived, shared, sharedMs(headers));
  }

  /** The tag of the description is that of a text which is derived here. */
  protected override get marksTags(): boolean {
    return this.derived === undefined && super.marksTags;
  }

  /** If-None-Match (RFC 9110 §13.1.2), compared weakly. */
  private isKnownToClient({ etag }: DescriptionText): boolean {
    const tags = headerValues(this.received.exchange.headers, 'if-none-match').join(',').split(',');
    return tags.some((tag) => tag.trim().replace(/^W\//, '') === etag || tag.trim() === '*');
  }
}

const EMPTY = new Uint8Array();

/** Fields that describe V2's text. */
const FIELDS_OF_V2 = new FieldNames(['etag', 'last-modified']);

const FIELDS_OF_A_BODY = new FieldNames(['content-length', 'content-type', 'etag', 'last-modified']);

/** How long a response may be shared, in milliseconds: V2's own word, and never longer than the limit. */
function sharedMs(headers: HeaderList): number {
  const control = headerValues(headers, 'cache-control').join(',').toLowerCase();
  if (/\b(?:no-store|no-cache|private)\b/.test(control)) return 0;
  if (headers.some((name, at) => at % 2 === 0 && isNamed(name, 'set-cookie'))) return 0;
  const vary = headerValues(headers, 'vary').join(',').toLowerCase();
  if (vary.split(',').some((name) => !['', 'accept-encoding'].includes(name.trim()))) return 0;
  const age = /\bs-maxage=(\d+)/.exec(control)?.[1] ?? /\bmax-age=(\d+)/.exec(control)?.[1];
  return age === undefined ? SHARED_MS : Math.min(SHARED_MS, Number(age) * 1000);
}
