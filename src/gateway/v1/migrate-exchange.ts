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
  editsOf,
  formatOf,
  isReadAsJson,
  isSigned,
  makesBody,
  type MigrateDecision,
  requestedVersion,
  streamedFormat,
  undecoded,
  verdictOf,
  withMadeBody,
} from '../../migrate/decision.ts';
import { bufferFull, type Failure, failureOf, failure } from '../../migrate/failure.ts';
import { RewrittenBody } from '../../migrate/migrated.ts';
import { type EditRecord, joinedPatch, type Rewrite } from '../../rewrite/records.ts';
import type { BodyStream } from '../../rewrite/text-stream.ts';
import { plainSpelling } from '../../rules/rule.ts';
import type { WithoutEdits } from '../body-rewriter.ts';
import type { DescriptionText } from '../description.ts';
import type { Body, BodyParts } from '../exchange.ts';
import { type UpstreamReceiver, type UpstreamRequest, withHeaders } from '../upstream.ts';
import { type ResponseHandling, ResponseCollector } from './response.ts';
import { V1Exchange } from './v1-exchange.ts';
import { JsonDocument } from '../../json/document.ts';
import {
  queryOf,
  type TransformJob,
  transformRecords,
  type TransformResult,
  transformsStatus,
  withQuery,
} from '../../migrate/transform.ts';
import { isTransformed, type RuleBook } from '../../rules/rule-book.ts';

/** Migrates a V1 request to V2: its target, its version header and, where rules apply, its body. */
export class MigrateExchange extends V1Exchange {
  /** The body that is rewritten as it comes. */
  private upload: { readonly body: RewrittenBody; readonly stream: BodyStream } | undefined = undefined;

  override start(): void {
    const { decision, received } = this;
    if (decision.refusal !== undefined) return this.refuse(decision.refusal);
    if (!received.exchange.hasBody) {
      if (makesBody(decision.body)) this.migrate(NO_BODY, undefined);
      else this.onBody(null);
      return;
    }
    switch (decision.body.action) {
      case 'refuse':
        // A body of unknown length may be empty: an empty one is forwarded, whatever its head says.
        if ((received.head.contentLength ?? 0) > 0) return this.refuse(decision.body.failure);
        return received.exchange.collect(this.memory);
      case 'forward':
        return received.exchange.open('exchange');
      case 'rewrite':
        if (streamedFormat(decision.body) !== undefined) {
          // Fields and small files are read ahead, so that the body holds no connection to V2 while it arrives.
          const isOfTextsOnly = isOfTexts(formatOf(decision.body));
          return received.exchange.open('exchange', isOfTextsOnly ? 'at-once' : undefined);
        }
        return received.exchange.collect(this.memory);
      case 'drop':
        return received.exchange.collect(this.memory);
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
      if (decided.action === 'drop' && body.length > 0) this.entry.note = decided.note;
      this.onBody(null);
      return;
    }
    const coding = codingOf(this.decision.body, body);
    if (coding === undefined) {
      this.migrate(body, undefined);
      return;
    }
    this.decodeBody(coding, body, bodyLimit, (decoded) => {
      // The decoder may still be at work on the body in its thread.
      if (typeof decoded === 'string') this.memory.abandon();
      if (this.isSettled) return;
      if (typeof decoded === 'string') this.refuse(undecoded(decoded, bodyLimit));
      else this.migrate(decoded, body);
    });
  }

  /** Forwards the body unchanged, or rewrites it as it comes. */
  override onBody(body: Body): void {
    const { body: decided } = this.decision;
    const format = streamedFormat(decided);
    if (format !== undefined && body !== null) {
      const isWhole = body instanceof Uint8Array && body.length <= this.decision.bodyLimit;
      if (isWhole) this.migrate(body, undefined);
      else this.migrateStream(body instanceof Uint8Array ? inOnePart(body) : body, format);
      return;
    }
    if (body !== null && decided.action === 'forward') this.entry.note = decided.note;
    this.noteEdits('unchanged', NO_EDITS);
    this.forward(body);
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
          this.noteUpload();
          if (begun.outcome === 'refused') this.refuse(failureOf(begun.refusal));
          else this.forward(begun.outcome === 'whole' ? begun.body : body, true);
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
    if (this.upload === undefined) return;
    const { records, patch, omitted, isRewritten, note } = this.upload.stream.findings;
    this.noteEdits(isRewritten ? 'rewritten' : 'unchanged', records);
    this.entry.note = note;
    this.entry.editsOmitted = omitted > 0 ? omitted : undefined;
    this.entry.patch = isRewritten && omitted === 0 ? this.loggedPatch(patch) : undefined;
  }

  override planResponse(status: number, headers: HeaderList): ResponseHandling | undefined {
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

  /** Migrates a decoded body; `received` is the one with its content coding, if it has one. */
  private migrate(decoded: Uint8Array, received: Uint8Array | undefined): void {
    const { now } = this.gateway.parts;
    const before = now();
    this.rewriteRequest(decoded, (outcome, body) => {
      if (this.isSettled) return;
      this.entry.rewriteMs = now() - before;
      if (body.length > 0) this.recorder?.recordRequestBody(body);
      this.settle(outcome, body, received ?? body);
    });
  }

  private settle(outcome: WithoutEdits<Rewrite>, decoded: Uint8Array, original: Uint8Array): void {
    const { entry } = this;
    if (outcome.verdict === 'refused') {
      this.refuse(failureOf(outcome.refusal));
      return;
    }
    this.noteEdits(outcome.verdict, outcome.records);
    if (outcome.verdict === 'unchanged') {
      entry.note = outcome.note;
      if (original.length === 0) this.forward(null);
      else this.forward(original, false, decoded);
      return;
    }
    if (outcome.omitted > 0) entry.editsOmitted = outcome.omitted;
    else entry.patch = this.loggedPatch(outcome.patch);
    this.forward(outcome.body, true, outcome.body);
  }

  /** Logs the verdict on the request, and the edits of its query and body. */
  private noteEdits(body: 'rewritten' | 'unchanged', edits: readonly EditRecord[]): void {
    const { decision, entry } = this;
    entry.edits = editsOf(decision, edits);
    entry.verdict = verdictOf(decision, body);
  }

  /** Sends the request; `decoded` is its JSON body without its content coding, if there is one that was read. */
  protected forward(body: Body, isRewritten = false, _decoded?: Uint8Array): void {
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

const NO_EDITS: readonly EditRecord[] = [];

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

  override planResponse(status: number, headers: HeaderList): ReturnType<MigrateExchange['planResponse']> {
    if (status !== 200) return super.planResponse(status, headers);
    this.noteResponseTime();
    const planned = this.planRewrite(status, headers);
    return planned && { ...planned, texts: undefined, holdsHead: true };
  }

  /** V2's own description is better than none. */
  override refuseResponse(): boolean {
    return false;
  }

  protected override isChangedWhole(status: number): boolean {
    return status === 200;
  }

  override rewriteResponse(...[status, body, done]: Parameters<MigrateExchange['rewriteResponse']>): void {
    if (status !== 200) {
      super.rewriteResponse(status, body, done);
      return;
    }
    const { descriptions, v2 } = this.gateway;
    this.work((memory, finish) => {
      descriptions.derive({ source: body, rules: this.rules.ruleBook, v2 }, memory).then(
        (derived) =>
          finish(() => {
            if (derived === undefined) super.rewriteResponse(status, body, done);
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
      requestedVersion(head, this.rules.ruleBook) ?? '',
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

/**
 * Migrates a request of an operation with a `transform`: its module runs after the rules for the request, and before those for
 * the response. If it fails, nothing is sent on: the client gets 502 `transform-failed`, and the log says what happened.
 */
export class TransformExchange extends MigrateExchange {
  /** The status that the module gave the response. */
  private newStatus: number | undefined = undefined;

  /** True where the rule book names a module for the operation. */
  static isFor({ operation }: MigrateDecision, { modules }: RuleBook): boolean {
    return modules !== undefined && operation?.transform !== undefined;
  }

  protected override forward(body: Body, isRewritten = false, decoded?: Uint8Array): void {
    const { decision, rules } = this;
    if (!isTransformed(rules.ruleBook, decision.operation, 'request')) {
      super.forward(body, isRewritten);
      return;
    }
    const isRead = isReadAsJson(decision.body);
    const isUnread = !isRead && body !== null && !(body instanceof Uint8Array && body.length === 0);
    const query = queryOf(decision.v2Target);
    const message = { query, status: undefined, body: isRead ? decoded : undefined, isUnread };
    this.transform('request', message, (result) => {
      const { edits, editsOmitted: omitted } = this.entry;
      if (result.patch.length > 0 && omitted === undefined)
        this.entry.patch = joinedPatch([
          { records: edits, patch: this.entry.patch },
          { patch: this.madePatch(result.patch) },
        ]);
      const records = transformRecords(result, query);
      if (records.length > 0) {
        this.entry.edits = [...edits, ...records];
        this.entry.verdict = 'rewritten';
      }
      const made = result.body === undefined ? decision : withMadeBody(decision);
      this.decision = { ...made, v2Target: withQuery(decision.v2Target, result.query) };
      super.forward(result.body ?? body, isRewritten || result.body !== undefined);
    });
  }

  // The response.

  protected override receiver(): UpstreamReceiver {
    if (!this.transformsResponses || this.received.exchange.method === 'HEAD') return super.receiver();
    return new ResponseCollector(this);
  }

  override planResponse(status: number, headers: HeaderList): ReturnType<MigrateExchange['planResponse']> {
    if (!this.isChangedWhole(status)) return super.planResponse(status, headers);
    this.noteResponseTime();
    const planned = this.planRewrite(status, headers);
    // A module may choose the status.
    if (planned?.texts === undefined) return planned && { ...planned, holdsHead: true };
    // A module makes one value of another: several texts, which may never end, are none.
    this.noteResponse('response-media-type');
    return undefined;
  }

  override rewriteResponse(...[status, body, done]: Parameters<MigrateExchange['rewriteResponse']>): void {
    if (!this.isChangedWhole(status) || body.length === 0) {
      super.rewriteResponse(status, body, done);
      return;
    }
    if (!(JsonDocument.read(body, this.rules.ruleBook.limits.depth) instanceof JsonDocument)) {
      done({ verdict: 'unchanged', body, note: 'response-malformed' }, body);
      return;
    }
    const query = this.decision.target.query.slice(1);
    this.transform('response', { query, status, body }, (result) => {
      this.newStatus = result.status;
      const made = result.body;
      super.rewriteResponse(status, made ?? body, (outcome, original) => {
        if (made === undefined) {
          done(outcome, original);
          return;
        }
        const [record] = transformRecords(result, undefined);
        const records = [
          ...(record === undefined ? [] : [record]),
          ...('records' in outcome ? outcome.records : []),
        ];
        const patch = joinedPatch([{ patch: this.madePatch(result.patch) }, outcome]);
        const omitted = 'omitted' in outcome ? outcome.omitted : 0;
        done({ verdict: 'rewritten', body: outcome.body, records, omitted, patch }, body);
      });
    });
  }

  override head(head: ResponseHead): void {
    const { newStatus } = this;
    const { headers } = head;
    super.head(newStatus === undefined ? head : { ...head, headers, status: newStatus, reason: undefined });
  }

  private get transformsResponses(): boolean {
    return isTransformed(this.rules.ruleBook, this.decision.operation, 'response');
  }

  protected override isChangedWhole(status: number): boolean {
    return transformsStatus(this.rules.ruleBook, this.decision.operation, status);
  }

  private transform(
    direction: TransformJob['direction'],
    message: Pick<TransformJob, 'query' | 'status' | 'body' | 'isUnread'>,
    done: (result: TransformResult) => void,
  ): void {
    this.callTransform(direction, message, (outcome) => {
      if (this.isOver) return;
      if ('why' in outcome) this.failTransform(outcome.why);
      else done(outcome);
    });
  }

  /** True once the client has gone, or got a response. */
  private get isOver(): boolean {
    return this.isSettled || this.received.exchange.isGone === true;
  }

  private failTransform(why: string): void {
    this.abort();
    this.entry.cause = why;
    this.refuse(failure('transform-failed'));
  }
}
