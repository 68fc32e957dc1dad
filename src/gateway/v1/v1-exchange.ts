import type { CollectorMemory } from '../../http/byte-collector.ts';
import { type Coding, type StreamedFormat, takesCoding, type TextFormat } from '../../http/content.ts';
import { readTraceparent, traceparentOf } from '../../http/forwarding.ts';
import { FieldNames, type HeaderList, setField, withoutFields } from '../../http/header-list.ts';
import { isRead, type RequestHead } from '../../http/request-head.ts';
import type { ResponseHead } from '../../http/response-head.ts';
import { prefixOf } from '../../http/target.ts';
import { formatOf, type MigrateDecision } from '../../migrate/decision.ts';
import {
  type DecodedBody,
  type OpenDecoder,
  openWebDecoder,
  type StreamDecoder,
} from '../../migrate/decode-web-body.ts';
import { bufferFull, Failure } from '../../migrate/failure.ts';
import {
  headerPlanOf,
  hasContent,
  hasLinks,
  isRepresentationRead,
  mappedHead,
  type ResponseNote,
  rewriteLinks,
} from '../../migrate/migrated.ts';
import {
  FEW_VALUES,
  fieldsForV1,
  type MigratedMessage,
  type PatchValues,
  type RefusedMigration,
  RequestMigration,
  type ResponseEnd,
  ResponseMigration,
  type ResponseOutcome,
  type ResponseStep,
  textsOutcome,
  type WithoutEdits,
  type Work,
} from '../../migrate/migration.ts';
import type { TransformJob, TransformOutcome } from '../../migrate/transform.ts';
import { type BodyLinks, linkPrefixes, type LinkRewriting, restoredLink } from '../../rewrite/links.ts';
import type { OpenEntry } from '../../rewrite-log/observer.ts';
import type { WorkMemory } from '../../json/tape.ts';
import { deprecatedAttributes, type Rewrite } from '../../rewrite/records.ts';
import type { ListPieces } from '../../rewrite/list-pieces.ts';
import type { BodyStream } from '../../rewrite/text-stream.ts';
import type { ResponseRecord, ResponseRewrite } from '../../rewrite/response-rules.ts';
import { canaryOutcome } from '../../rollout/canary-window.ts';
import { pinnedRelease, type RolloutSubject, type RoutedMode } from '../../rollout/rollout-state.ts';
import { type QueuedRequest, RateLimitReset } from '../../rollout/rate-limit.ts';
import { isPreflight, type Newcomer, type RetirementRefusal, takesKey } from '../../rollout/retirement.ts';
import { rewriteSmall, rewriteSmallResponse } from '../body-rewriter.ts';
import type { Body } from '../exchange.ts';
import { ForwardedRequest } from '../forwarded-request.ts';
import { isShared } from '../cross-origin.ts';
import { gatewayAddress, type GatewayContext, type ReceivedRequest } from '../gateway-context.ts';
import { ProxiedExchange } from '../proxied-exchange.ts';
import { type UpstreamFault, type UpstreamReceiver, type UpstreamRequest, withHeaders } from '../upstream.ts';
import {
  addFindings,
  type DecodedParts,
  ResponseCollector,
  type ResponseCollectorOwner,
  type ResponseCopy,
  ResponseSample,
} from './response.ts';
import { TextResponse, type TextResponseOwner } from './text-response.ts';

/** A V1 exchange: its response is one that a V1 client can read. */
export class V1Exchange
  extends ProxiedExchange
  implements ResponseCollectorOwner, TextResponseOwner, QueuedRequest
{
  protected readonly migration: RequestMigration;
  protected readonly routing: V1Routing | undefined;
  /** That of V2's response, once its head has come. */
  protected response: ResponseMigration | undefined = undefined;
  /** V2's status, or a transform's, before it is mapped. */
  private v2Status = 0;
  /** What collects the response of a request that is compared. */
  protected copy: ResponseCopy | undefined = undefined;
  private rateLimitReset: RateLimitReset | undefined = undefined;
  /** True once V2's status is mapped to one whose responses have no content. */
  private dropsContent = false;
  private sample: ResponseSample | undefined = undefined;
  /** The response, where it is one of several texts. */
  private texts: OpenTexts | undefined = undefined;
  /** What decodes a list that is rewritten by pieces. */
  private decoder: StreamDecoder | undefined = undefined;
  /** What few exchanges have to do once they are over, with the status that the client received. */
  private atEnd: ((status: number) => void) | undefined = undefined;
  /** Set for a client that is not known to have used V1. */
  private newcomer: Newcomer | undefined = undefined;
  /** True once the sampling decision for the trace is made. */
  private isTraceDecided = false;

  constructor(
    gateway: GatewayContext,
    received: ReceivedRequest,
    decision: MigrateDecision,
    routing?: V1Routing,
  ) {
    super(gateway, received, 'migrate');
    const { operation } = decision;
    const { mode } = routing?.routed.mode ?? {};
    this.migration = new RequestMigration(this.rules, decision, this.patchValues);
    this.routing = routing;
    if (mode !== undefined && mode !== 'migrate') this.entry.mode = mode;
    this.entry.operation = operation?.id;
  }

  /** What was decided about the request; a transform may have made another query of it. */
  protected get decision(): MigrateDecision {
    return this.migration.decision;
  }

  /** Values that tell what the client sent are left out of the log, unless capture is on. */
  private get patchValues(): PatchValues | undefined {
    return this.recorder?.logsValues === true ? undefined : FEW_VALUES;
  }

  /** Starts to receive the request. */
  start(): void {}

  protected override send(request: UpstreamRequest): void {
    this.beginSpan();
    super.send(withSpan(request, this.entry, this.received.head));
  }

  /** Begins the span, once, while spans are exported. */
  private beginSpan(): void {
    const { observer, newTraceHex } = this.gateway.parts;
    const isSampled = observer?.isSampled;
    if (isSampled === undefined || this.isTraceDecided) return;
    this.isTraceDecided = true;
    beginSpan(this.entry, this.received.head.traceparent, { isSampled, newTraceHex });
  }

  protected override sampled(receiver: UpstreamReceiver): UpstreamReceiver {
    const { recorder } = this;
    if (recorder === undefined) return receiver;
    this.sample = new ResponseSample(receiver, (status) => recorder.isWanted(status >= 400));
    return this.sample;
  }

  protected override onFinished(status: number): void {
    this.beginSpan();
    this.atEnd?.(status);
    if (this.sample !== undefined) addFindings(this.entry, this.sample, this.rules, this.decision);
    const { routed, subject } = this.routing ?? {};
    // Without a canary only what V1 answers a client matters: it excuses the same failures once the client is in a canary.
    const isCounted = routed !== undefined && (routed.canary !== undefined || routed.origin === 'v1');
    if (isPreflight(this.entry)) return;
    const outcome = isCounted ? canaryOutcome(status, this.entry.failure) : undefined;
    if (this.attempts > 0 && this.entry.sent !== false)
      this.gateway.rollout.requests[routed?.origin ?? 'v2'] += 1;
    if (routed !== undefined && subject !== undefined && outcome !== undefined)
      this.gateway.rollout.count(routed, outcome, {
        client: subject.client,
        operation: subject.operation,
        pointer: this.entry.failure === undefined ? this.entry.errorPointers?.[0] : this.entry.pointer,
        failure: this.entry.failure,
        ms: this.entry.upstreamMs,
      });
  }

  /** Notes that the client may be new to V1, and learns it where a service takes its key before the day. */
  judge(newcomer: Newcomer): void {
    this.entry.newcomer = newcomer.note;
    this.newcomer = newcomer;
    if (newcomer.learns === true) this.doAtEnd((status) => this.learnClient(status));
  }

  private learnClient(status: number): void {
    const client = this.routing?.subject.client;
    if (client !== undefined && this.attempts > 0 && takesKey(status))
      this.gateway.knownClients.learn(client);
  }

  private doAtEnd(run: (status: number) => void): void {
    const { atEnd } = this;
    this.atEnd = (status) => {
      atEnd?.(status);
      run(status);
    };
  }

  /** Called when the rate limit of the service admits the request; `heldMs` is the time it was queued. */
  release(heldMs: number): void {
    if (heldMs > 0) this.entry.heldMs = heldMs;
    this.guarded(() => this.start());
  }

  override information(status: number, received: HeaderList): void {
    const headers = [...received];
    this.rewriteLinks(headers);
    super.information(status, headers);
  }

  override head(head: ResponseHead): void {
    const isShielded = this.rules.ruleBook.rollout?.shield !== undefined;
    if (head.status === 429 && isShielded)
      this.rateLimitReset = new RateLimitReset(head.headers, this.gateway.parts.time());
    this.v2Status = head.status;
    const mapped = this.isFromV2 ? mappedHead(head, this.migration.facts, this.rules) : head;
    if (mapped !== head) this.entry.upstreamStatus = head.status;
    this.dropsContent = mapped !== head && !hasContent(mapped.status);
    super.head(mapped);
  }

  override data(chunk: Uint8Array, isLast?: boolean): void {
    this.copy?.data(chunk);
    this.rateLimitReset?.data(chunk);
    if (!this.dropsContent) super.data(chunk, isLast);
  }

  override pass(body: ReadableStream<Uint8Array>, length: number): Promise<void> | undefined {
    const isRead = this.copy !== undefined || this.rateLimitReset !== undefined;
    return isRead || this.dropsContent ? undefined : super.pass(body, length);
  }

  override end(trailers: HeaderList): void {
    this.copy?.end();
    const { rateLimitReset, routing } = this;
    if (
      rateLimitReset !== undefined &&
      routing?.subject.client !== undefined &&
      this.origin.version === 'v2'
    ) {
      this.gateway.rateLimitQueue.block(routing.subject.client, rateLimitReset.seconds ?? 0);
    }
    super.end(trailers);
  }

  override fail(fault: UpstreamFault): void {
    this.copy?.fail(fault);
    super.fail(fault);
  }

  /** Refuses the request because V1 is being retired. */
  retire(refusal: RetirementRefusal): void {
    this.entry.note = refusal.note;
    // In observe and shadow, V1 does not get it either.
    this.entry.origin = undefined;
    this.refuse(new Failure(refusal));
  }

  /** Returns the request for V2, and logs the version; its trace begins here if spans are exported and the client has none. */
  protected v2Request(target: string, body: Body, isRewritten: boolean): UpstreamRequest {
    const { received } = this;
    const { head } = received;
    const { parts, options } = this.gateway;
    const { entry, rules, routing, decision } = this;
    this.beginSpan();
    const { version, fields } = this.migration.head(head, isRewritten, {
      now: parts.time(),
      pinned: routing && pinnedRelease(rules.ruleBook, routing.subject),
      codings: options.codings,
      requestId: entry.requestId,
      traceparent: begunTraceparent(entry, head),
    });
    entry.apiVersion = version;
    return new ForwardedRequest(this.gateway, received, fields, target, body, decision.v2Method);
  }

  /** Logs the edits of the request. */
  protected noteEdits({ edits, patch, omitted, note }: MigratedMessage): void {
    const { entry } = this;
    entry.edits = edits;
    entry.note = note;
    entry.patch = patch.length > 0 ? patch : undefined;
    entry.editsOmitted = omitted > 0 ? omitted : undefined;
  }

  // The response.

  /** Calls the transform of the operation; `done` is not called when the exchange is over. */
  protected callTransform(job: TransformJob, done: (outcome: TransformOutcome) => void): void {
    const { transform } = this.gateway.parts;
    if (transform === undefined) {
      const why = 'nothing here can run transforms';
      done({ why, detail: why });
      return;
    }
    this.work((_, finish) => {
      transform(this.rules.ruleBook, job).then(
        (outcome) => finish(() => done(outcome)),
        (error: unknown) => finish(() => this.failInternally(error)),
      );
    }, 1);
  }

  get responseMemory(): CollectorMemory {
    return this.gateway.bodyMemory;
  }

  get responseLimit(): number {
    return this.rules.ruleBook.limits.response;
  }

  planResponse(status: number, headers: HeaderList): ResponseStep {
    this.noteResponseTime();
    this.response = this.migrateResponse(status);
    return this.readable(this.response.begin(headers));
  }

  /** The migration of V2's response with this status. */
  protected migrateResponse(status: number): ResponseMigration {
    const { migration, entry } = this;
    const { facts, decision } = migration;
    const query = decision.target.query.slice(1);
    const answered = { facts, edits: entry.edits, query, links: this.bodyLinks };
    return new ResponseMigration(this.rules, answered, status, this.patchValues);
  }

  /** Notes why a response is not read, if its first bytes do not tell; a runtime may have no way to see them. */
  protected readable(step: ResponseStep): ResponseStep {
    if (step.action !== 'forward') return step;
    const isSeen =
      step.mayHideJson === true && (step.coding === undefined || this.gateway.parts.peek !== undefined);
    if (isSeen) return step;
    if (step.note !== undefined) this.noteResponse(step.note);
    return FORWARDED;
  }

  peekResponse(coding: Coding, begin: Uint8Array): Uint8Array {
    return this.gateway.parts.peek?.(coding, begin) ?? NO_BODY;
  }

  get openDecoder(): OpenDecoder {
    return this.gateway.parts.openDecoder ?? openWebDecoder;
  }

  decodeInParts(coding: Coding, parts: DecodedParts): StreamDecoder {
    const decoder = this.openDecoder(coding, {
      data: (part) => this.guarded(() => parts.data(part)),
      drained: () => this.guarded(() => this.resumeResponse()),
      end: () => this.guarded(() => parts.end()),
      fail: () => this.guarded(() => parts.fail()),
    });
    this.decoder = decoder;
    this.doAtEnd(() => decoder.close());
    return decoder;
  }

  openTexts(status: number, headers: HeaderList, format: TextFormat): TextResponse {
    const response = this.response ?? this.migrateResponse(status);
    const stream = response.open(
      format,
      (bytes) => this.reserve(bytes),
      (work) => this.withWorkMemory(work),
    );
    const opened = new TextResponse(this, stream, this.recorder?.keptBytes);
    if (this.texts === undefined) this.doAtEnd(() => this.noteTexts());
    this.texts = { response: opened, status, headers };
    return opened;
  }

  /** The edits of a response of several texts are known once it is over, however it ends. */
  private noteTexts(): void {
    const { texts } = this;
    if (texts === undefined) return;
    const { response, status, headers } = texts;
    response.close();
    this.noteResponseOutcome(textsOutcome(response.findings));
    const kept = response.takeKept();
    if (kept !== undefined && kept.length > 0) this.observeResponse(status, headers, kept);
  }

  protected override awaitReader(): void {
    super.awaitReader();
    this.decoder?.pause();
    this.texts?.response.pause();
  }

  override drained(): void {
    this.decoder?.resume();
    this.texts?.response.resume();
    super.drained();
  }

  /** Returns the stream that rewrites the request's body as it comes. */
  protected requestStream(format: StreamedFormat): BodyStream {
    return this.migration.open(
      format,
      (bytes) => this.reserve(bytes),
      (work) => this.withWorkMemory(work),
    );
  }

  /** Runs work on one text of a stream; the memory that it takes is reserved for the time of the work alone. */
  private withWorkMemory<Result>(work: (memory: WorkMemory) => Result): Result {
    const { budget } = this.gateway;
    let taken = 0;
    const take = (bytes: number): boolean => {
      if (!budget.acquire(bytes, 1)) return false;
      taken += bytes;
      return true;
    };
    try {
      return work({ take });
    } finally {
      budget.release(taken, 1);
    }
  }

  takeResponse(bytes: number): boolean {
    return this.reserve(bytes);
  }

  /**
   * A read can be sent again, and V2's names would break the caller; it would fail again where its response needs too much memory. A
   * write is carried out: it must not look as if it were not.
   */
  refuseResponse(): boolean {
    if (this.needsTooMuch || !isRead(this.decision.v2Method)) return false;
    this.abort();
    this.refuse(bufferFull());
    return true;
  }

  decodeResponse(coding: Coding, body: Uint8Array, done: (outcome: DecodedBody) => void): void {
    const { reserved } = this;
    this.decodeBody(coding, body, this.responseLimit, (outcome) => {
      // What could not be decoded as a whole may be sent for long.
      if (typeof outcome === 'string') this.giveBackTo(reserved);
      done(outcome);
    });
  }

  responsePieces(emit: (part: Uint8Array) => void): ListPieces | undefined {
    return this.response?.pieces(emit);
  }

  encodeResponse(coding: Coding, body: Uint8Array, done: (encoded: Uint8Array | undefined) => void): void {
    const { encode } = this.gateway.parts;
    if (encode === undefined || !this.keepsCoding(coding)) {
      done(undefined);
      return;
    }
    this.work((_, finish) => encode(coding, body, (encoded) => finish(() => done(encoded))));
  }

  /** Whether a rewritten response gets the coding that V2 sent it in. */
  private keepsCoding(coding: Coding): boolean {
    return this.gateway.parts.encode !== undefined && takesCoding(this.received.head.acceptEncoding, coding);
  }

  finishSmallResponse(body: Uint8Array): ResponseOutcome | undefined {
    const { response } = this;
    const step = response?.finish(body);
    if (response === undefined || step === undefined || 'transform' in step) return undefined;
    if (!('rules' in step)) return step.verdict === 'refused' ? undefined : step;
    const outcome = rewriteSmallResponse(response, step.rules, this.responseRoom);
    return outcome && response.ruled(outcome);
  }

  finishResponse(body: Uint8Array, done: (outcome: ResponseOutcome, body: Uint8Array) => void): void {
    const { response } = this;
    if (response === undefined) return;
    this.driveResponse(response, response.finish(body), body, (end, original) => {
      if (end.verdict !== 'refused') done(end, original);
      else if (!this.isOver) this.failTransform(end);
    });
  }

  get responseStatus(): number | undefined {
    return this.response?.status;
  }

  /** Does the work of a response's migration; `done` also gets V2's own body, and is not called when the exchange is over. */
  protected driveResponse(
    response: ResponseMigration,
    step: Work | ResponseEnd,
    body: Uint8Array,
    done: (end: ResponseEnd, body: Uint8Array) => void,
  ): void {
    if ('transform' in step)
      this.callTransform(step.transform, (made) =>
        this.driveResponse(response, response.transformed(made), body, done),
      );
    else if ('rules' in step)
      this.rewriteResponse(response, step.rules, (outcome, original) =>
        // A transform has made another body, and V2's own stays where it was.
        done(response.ruled(outcome), step.rules === body ? original : body),
      );
    else done(step, body);
  }

  /** True once the client has gone, or got a response. */
  protected get isOver(): boolean {
    return this.isSettled || this.received.exchange.isGone === true;
  }

  private rewriteResponse(
    { context, facts }: ResponseMigration,
    body: Uint8Array,
    done: (outcome: WithoutEdits<ResponseRewrite>, body: Uint8Array) => void,
  ): void {
    const { rules, responseRoom: room } = this;
    const { operation, method } = facts;
    this.work(({ take }, finish) => {
      const failed = (error: unknown): void => finish(() => this.failInternally(error));
      const memory = { take, room };
      this.gateway.rewriter.response(
        { rules, operation, method, body, context, memory, failed },
        (outcome, original) =>
          finish(() => {
            if (original !== body && room !== undefined && outcome.verdict === 'rewritten')
              this.memory.own(outcome.body);
            done(outcome, original);
          }),
      );
    }, 1);
  }

  /** The client has nothing of what a transform has failed to make: no part of it goes on. */
  protected failTransform({ failure: failed, cause }: RefusedMigration): void {
    if (cause !== undefined) {
      this.abort();
      this.entry.cause = cause.why;
    }
    this.refuse(failed);
  }

  /** Allocates memory for a rewritten response; undefined where the adapter does not say when the client has read it. */
  private get responseRoom(): ((bytes: number) => Uint8Array) | undefined {
    return this.received.exchange.releasesChunks === true ? this.room : undefined;
  }

  /** Decodes a body, whose memory stays reserved until the exchange is over. */
  protected decodeBody(
    coding: Coding,
    body: Uint8Array,
    limit: number,
    done: (outcome: DecodedBody) => void,
  ): void {
    this.work((memory, finish) =>
      this.gateway.parts.decode(coding, body, limit, memory, (outcome) => finish(() => done(outcome))),
    );
  }

  /** Judges the digests of a request's body by the bytes that its client sent, and goes on. */
  protected judgeDigests(body: Uint8Array, next: () => void): void {
    const judged = this.migration.judge(body, this.gateway.parts.hash);
    if (judged === undefined) {
      next();
      return;
    }
    this.work((_, finish) => {
      judged.then(
        () => finish(next),
        (error: unknown) => finish(() => this.failInternally(error)),
      );
    }, 1);
  }

  /** Rewrites a decoded request body; `lost` is called instead of `done` when the rewriter has lost it. */
  protected rewriteRequest(
    body: Uint8Array,
    done: (outcome: WithoutEdits<Rewrite>, body: Uint8Array) => void,
    lost = this.failInternally,
  ): void {
    const { rules } = this;
    const { operation } = this.decision;
    const format = formatOf(this.decision.body);
    const small = rewriteSmall(rules, operation, format, body, this.memory);
    if (small !== undefined) {
      done(small, body);
      return;
    }
    this.work(({ take }, finish) => {
      const failed = (error: unknown): void => finish(() => lost(error));
      const memory = { take, room: this.room };
      this.gateway.rewriter.request({ rules, operation, format, body, memory, failed }, (outcome, original) =>
        finish(() => {
          // From another thread.
          if (original !== body) this.memory.own(original);
          if (original !== body && outcome.verdict === 'rewritten') this.memory.own(outcome.body);
          done(outcome, original);
        }),
      );
    }, 1);
  }

  private get room(): (bytes: number) => Uint8Array {
    return (bytes) => this.memory.acquire(bytes);
  }

  /** The verdict describes the whole exchange: it is `rewritten` once the response is, even if the request was not. */
  noteResponseOutcome(outcome: ResponseOutcome): void {
    const { entry } = this;
    if (outcome.note !== undefined) this.noteResponse(outcome.note);
    if (outcome.verdict === 'unchanged') return;
    const { records, patch, omitted } = outcome;
    this.noteResponseRecords(records);
    if (patch.length > 0) entry.responsePatch = patch;
    if (omitted > 0) entry.responseEditsOmitted = omitted;
  }

  private noteResponseRecords(records: readonly ResponseRecord[]): void {
    const { entry } = this;
    entry.verdict = 'rewritten';
    if (records.length > 0) entry.responseEdits = [...(entry.responseEdits ?? []), ...records];
  }

  noteResponse(note: ResponseNote): void {
    const isTooLarge = note === 'response-buffer-full' && this.needsTooMuch;
    this.entry.responseNote = isTooLarge ? 'response-too-large' : note;
  }

  observeResponse(status: number, headers: HeaderList, body: Uint8Array): void {
    this.recorder?.recordUpstreamResponse(status, headers, body);
  }

  protected override receiver(): UpstreamReceiver {
    return ResponseMigration.isFor(this.migration.facts, this.rules) ? new ResponseCollector(this) : this;
  }

  protected override headForClient(head: ResponseHead): ResponseHead {
    const kept = this.changesFields(head) ? undefined : head.forwarded?.(this.gateway.hopFields);
    return kept ?? super.headForClient(head);
  }

  /** True where rules may rewrite what the client reads, whether or not they find anything this time: its tag then depends on the rules. */
  protected get marksTags(): boolean {
    return isRepresentationRead(this.migration.facts, this.rules);
  }

  /** False where no field of V2's response changes but those of the hop. */
  private changesFields({ status, headers, lines }: ResponseHead): boolean {
    const isContentless = this.received.exchange.method === 'HEAD' || status === 304;
    const isSignalled =
      this.gateway
        .signals(this.rules.ruleBook)
        ?.mayConcern(this.decision.operation?.id, this.entry.newcomer) === true;
    if (this.decision.preflight !== undefined) return true;
    if (isContentless || isSignalled || lines === undefined || lines.kinds.includes('link')) return true;
    const { linkFields, namesRelease } = this.rules;
    if (namesRelease && this.isFromV2) return true;
    if (linkFields !== undefined && hasLinks(headers, linkFields)) return true;
    if (lines.kinds.includes('etag') && this.isFromV2 && this.marksTags) return true;
    return headerPlanOf(this.migration.facts, this.rules)?.hasResponseRules === true;
  }

  protected override responseHeaders(_status: number, received: HeaderList): string[] {
    const ruled = this.isFromV2 ? this.fieldsFromV2(received) : [...received];
    if (!this.isFromV2) this.rewriteLinks(ruled);
    this.addSignals(ruled);
    // A service exposes its own fields to scripts, and knows nothing of these.
    if (
      this.received.head.origin !== undefined &&
      this.gateway.signals(this.rules.ruleBook) !== undefined &&
      isShared(ruled)
    )
      ruled.push('Access-Control-Expose-Headers', 'Deprecation, Sunset, Link');
    return ruled;
  }

  /** The fields of V2's response in V1's words; logs what header rules did. */
  private fieldsFromV2(received: HeaderList): string[] {
    const { rules, migration, marksTags } = this;
    const { headers, records } = fieldsForV1(this.v2Status, received, {
      rules,
      facts: migration.facts,
      preflight: migration.decision.preflight,
      places: () => this.linkPlaces,
      keepsCoding: (coding) => this.keepsCoding(coding),
      marksTags,
    });
    if (records.length > 0) this.noteResponseRecords(records);
    return headers;
  }

  /** What V2 allows pages of another origin, in V1's words: the gateway answers from it while V2 is away. */
  protected override permissions(headers: HeaderList): HeaderList {
    const { preflight } = this.decision;
    return preflight === undefined || !this.isFromV2 ? headers : preflight.response(headers).headers;
  }

  /** Points the links of a response to V1 of the gateway, in place. */
  private rewriteLinks(headers: string[]): void {
    if (!hasLinks(headers, this.rules.linkFields)) return;
    const places = this.linkPlaces;
    const { rules } = this;
    rewriteLinks(
      headers,
      this.isFromV2
        ? { ...places, restore: (link) => restoredLink(this.migration.facts, rules, link) }
        : places,
    );
  }

  /** Where links lead, as plain data. */
  private get linkPlaces(): LinkRewriting {
    const { hosts, path, version } = this.origin;
    const { rules, decision } = this;
    return {
      upstreamHosts: hosts,
      upstreamPath: path,
      ...linkPrefixes(rules.prefixes, prefixOf(decision.target), version === 'v1' ? 'v1' : 'v2'),
      fields: rules.linkFields,
      gateway: gatewayAddress(this.received, this.gateway.trustedProxies),
      base:
        this.isFromV2 && rules.moves ? { v1: decision.target.raw, v2: path + decision.v2Target } : undefined,
    };
  }

  /** What turns links in a body back; undefined where the rule book leaves them. */
  private get bodyLinks(): BodyLinks | undefined {
    if (!this.rules.ruleBook.followsBodyLinks) return undefined;
    const { hosts, path } = this.gateway.v2;
    const places = {
      ...this.linkPlaces,
      upstreamHosts: hosts,
      upstreamPath: path,
      ...linkPrefixes(this.rules.prefixes, prefixOf(this.decision.target), 'v2'),
    };
    return { request: this.migration.facts, places };
  }

  protected override addSignals(headers: string[]): void {
    const { edits, responseEdits, operation } = this.entry;
    this.gateway.signals(this.rules.ruleBook)?.addTo(headers, {
      operation,
      used: deprecatedAttributes(edits),
      edits: [edits, responseEdits],
      newcomer: this.newcomer,
    });
  }

  private get isFromV2(): boolean {
    return this.origin.version === 'v2';
  }
}

/** A response of several texts, and its head at V2. */
interface OpenTexts {
  readonly response: TextResponse;
  readonly status: number;
  readonly headers: HeaderList;
}

const NO_BODY = new Uint8Array();

const FORWARDED: ResponseStep = { action: 'forward', note: undefined };

/** The routing of a V1 request; there is none while neither the rule book nor an operator has set a mode. */
export interface V1Routing {
  readonly subject: RolloutSubject;
  readonly routed: RoutedMode;
}

/** Sampler and id generator, while spans are exported. */
interface TraceParts {
  /** Whether to record a trace; `parent` is the decision of the client that began it, if one did. */
  readonly isSampled: (traceId: string, parent: boolean | undefined) => boolean;
  /** 48 random hex digits. */
  readonly newTraceHex: () => string;
}

/**
 * Sets the span of the gateway in `entry`, called once per exchange: below the client's span where its trace is recorded, or the first of
 * a new trace where the client has none. A trace of the client that is not recorded stays unchanged.
 */
function beginSpan(entry: OpenEntry, traceparent: string | undefined, parts: TraceParts): void {
  const hex = parts.newTraceHex();
  const parent = entry.spanOfClient === true ? readTraceparent(traceparent) : undefined;
  const traceId = parent?.traceId ?? hex.slice(0, 32);
  const isSampled = parts.isSampled(traceId, parent?.isSampled);
  if (parent !== undefined && !isSampled) return;
  if (isSampled) entry.isSampled = true;
  entry.traceId = traceId;
  entry.spanId = hex.slice(32);
  entry.parentSpanId = parent?.spanId;
  entry.spanOfClient = undefined;
}

/**
 * The `traceparent` of a trace that begins here, with the sampler's flag; undefined where the client's own goes on. A client that traces
 * in another form, such as B3, gets none beside it: its service would find two parents.
 */
function begunTraceparent(entry: OpenEntry, head: RequestHead): string | undefined {
  const { traceId, spanId, spanOfClient, parentSpanId, isSampled } = entry;
  if (traceId === undefined || spanId === undefined) return undefined;
  if (spanOfClient === true || parentSpanId !== undefined || head.hasOtherTrace) return undefined;
  return traceparentOf(traceId, spanId, isSampled === true);
}

/**
 * Returns a request with the span of `entry` as its parent where the trace is recorded: the service must not drop an exported trace. State
 * of a trace that does not go on is left out (W3C Trace Context §3.3).
 */
function withSpan(request: UpstreamRequest, entry: OpenEntry, head: RequestHead): UpstreamRequest {
  const { traceId, spanId, parentSpanId, isSampled } = entry;
  if (isSampled !== true || traceId === undefined || spanId === undefined) return request;
  if (parentSpanId === undefined && head.hasOtherTrace) return request;
  const traced =
    parentSpanId === undefined ? withoutFields(request.headers, TRACE_STATE) : [...request.headers];
  setField(traced, 'traceparent', traceparentOf(traceId, spanId, true));
  return withHeaders(request, traced);
}

const TRACE_STATE = new FieldNames(['tracestate']);
