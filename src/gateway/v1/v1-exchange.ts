import type { CollectorMemory } from '../../http/byte-collector.ts';
import { type Coding, type StreamedFormat, takesCoding, type TextFormat } from '../../http/content.ts';
import { markTags } from '../../http/fields.ts';
import { readTraceparent, traceparentOf } from '../../http/forwarding.ts';
import { FieldNames, type HeaderList, headerValue, setField, withoutFields } from '../../http/header-list.ts';
import { isRead, type RequestHead } from '../../http/request-head.ts';
import type { ResponseHead } from '../../http/response-head.ts';
import { formatOf, type MigrateDecision, migrateHead } from '../../migrate/decision.ts';
import {
  type DecodedBody,
  type OpenDecoder,
  openWebDecoder,
  type StreamDecoder,
} from '../../migrate/decode-web-body.ts';
import { bufferFull, Failure } from '../../migrate/failure.ts';
import {
  contentlessFields,
  headerPlanOf,
  decideResponse,
  hasContent,
  hasLinks,
  type ResponseNote,
  mappedHead,
  representationPlan,
  rewriteLinks,
  transformsRepresentation,
} from '../../migrate/migrated.ts';
import { transformJob, type TransformJob, type TransformOutcome } from '../../migrate/transform.ts';
import { type BodyLinks, type LinkRewriting, type RequestFacts, restoredLink } from '../../rewrite/links.ts';
import type { OpenEntry } from '../../rewrite-log/observer.ts';
import type { WorkMemory } from '../../json/tape.ts';
import {
  deprecatedAttributes,
  deprecatedInV1,
  type PatchOperation,
  type Rewrite,
  withoutValues,
} from '../../rewrite/records.ts';
import type { ListPieces } from '../../rewrite/list-pieces.ts';
import type { ResponsePlan } from '../../rewrite/response-plan.ts';
import { type BodyStream, ResponseTexts } from '../../rewrite/text-stream.ts';
import type { ResponseRewrite, RewrittenResponse } from '../../rewrite/response-rules.ts';
import { canaryOutcome } from '../../rollout/canary-window.ts';
import { pinnedRelease, type RolloutSubject, type RoutedMode } from '../../rollout/rollout-state.ts';
import { type QueuedRequest, RateLimitReset } from '../../rollout/rate-limit.ts';
import { isPreflight, type Newcomer, type RetirementRefusal, takesKey } from '../../rollout/retirement.ts';
import { rewriteSmall, rewriteSmallResponse, type WithoutEdits } from '../body-rewriter.ts';
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
  type ResponseHandling,
  ResponseSample,
} from './response.ts';
import { TextResponse, type TextResponseOwner } from './text-response.ts';

/** A V1 exchange: its response is one that a V1 client can read. */
export class V1Exchange
  extends ProxiedExchange
  implements ResponseCollectorOwner, TextResponseOwner, QueuedRequest
{
  protected decision: MigrateDecision;
  protected readonly routing: V1Routing | undefined;
  private readonly responsePlan: ResponsePlan;
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
    this.decision = decision;
    this.routing = routing;
    if (mode !== undefined && mode !== 'migrate') this.entry.mode = mode;
    this.entry.operation = operation?.id;
    this.responsePlan = this.rules.responsePlan(operation, decision.method);
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
    const mapped = this.isFromV2 ? mappedHead(head, this.requestFacts, this.rules) : head;
    if (mapped !== head) this.entry.upstreamStatus = head.status;
    this.dropsContent = mapped !== head && !hasContent(mapped.status);
    super.head(mapped);
  }

  override data(chunk: Uint8Array, isLast?: boolean): void {
    this.copy?.data(chunk);
    this.rateLimitReset?.data(chunk);
    if (!this.dropsContent) super.data(chunk, isLast);
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
    const { version, fields } = migrateHead(head, {
      rules,
      decision: this.decision,
      request: this.requestFacts,
      now: parts.time(),
      pinned: routing && pinnedRelease(rules.ruleBook, routing.subject),
      codings: options.codings,
      isRewritten,
      requestId: entry.requestId,
      traceparent: begunTraceparent(entry, head),
    });
    entry.apiVersion = version;
    return new ForwardedRequest(this.gateway, received, fields, target, body, decision.v2Method);
  }

  /** Returns the patch as it is logged: values that tell what the client sent are left out, unless capture is on. */
  protected loggedPatch(patch: readonly PatchOperation[]): readonly PatchOperation[] {
    return this.recorder?.logsValues === true ? patch : withoutValues(patch);
  }

  /** The same for a patch of a transform: nearly every value that it makes is one of the client's or of V2's. */
  protected madePatch(patch: readonly PatchOperation[]): readonly PatchOperation[] {
    return this.recorder?.logsValues === true ? patch : patch.map(({ op, path }) => ({ op, path }));
  }

  // The response.

  /** Calls the transform of the operation; `done` is not called when the exchange is over. */
  protected callTransform(
    direction: TransformJob['direction'],
    message: Pick<TransformJob, 'query' | 'status' | 'body' | 'isUnread'>,
    done: (outcome: TransformOutcome) => void,
  ): void {
    const { operation, target } = this.decision;
    const { transform } = this.gateway.parts;
    if (operation === undefined || transform === undefined) {
      const why = 'nothing here can run transforms';
      done({ why, detail: why });
      return;
    }
    const { method } = this.received.exchange;
    const job = transformJob(direction, operation, { ...message, method, rest: target.rest });
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

  planResponse(status: number, headers: HeaderList): ResponseHandling | undefined {
    this.noteResponseTime();
    const deprecated = deprecatedInV1(this.entry.edits);
    return this.responsePlan.appliesTo(status, deprecated.length > 0)
      ? this.planRewrite(status, headers)
      : undefined;
  }

  /** True where more than rules changes the body of a response with this status, and needs all of it. */
  protected isChangedWhole(_status: number): boolean {
    return false;
  }

  /** Decides whether a response can be rewritten; undefined streams it unchanged. */
  protected planRewrite(status: number, headers: HeaderList): ResponseHandling | undefined {
    const { media } = this.rules.ruleBook.policies;
    const decided = decideResponse(status, headers, this.responseLimit, media);
    if (decided.action === 'rewrite') return decided;
    if (decided.note === 'response-too-large') return { coding: decided.coding, isTooLong: true };
    const { coding } = decided;
    const isReadable = coding === undefined || this.gateway.parts.peek !== undefined;
    if (decided.mayHideJson === true && isReadable) return { coding, mayHideJson: true };
    if (decided.note !== undefined) this.noteResponse(decided.note);
    return undefined;
  }

  peekResponse(coding: Coding, begin: Uint8Array): Uint8Array {
    return this.gateway.parts.peek?.(coding, begin) ?? NO_BODY;
  }

  get openDecoder(): OpenDecoder {
    return this.gateway.parts.openDecoder ?? openWebDecoder;
  }

  /** Returns the stream that rewrites a response of several texts. */
  protected textStream(status: number, format: TextFormat): ResponseTexts {
    const context = this.rules.responseContext(status, this.entry.edits, this.bodyLinks);
    return new ResponseTexts(format, {
      limit: this.responseLimit,
      hold: (bytes) => this.reserve(bytes),
      rewrite: (text) => this.withWorkMemory((memory) => this.responsePlan.rewrite(text, context, memory)),
    });
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
    const stream = this.textStream(status, format);
    const response = new TextResponse(this, stream, this.recorder?.keptBytes);
    if (this.texts === undefined) this.doAtEnd(() => this.noteTexts());
    this.texts = { response, status, headers };
    return response;
  }

  /** The edits of a response of several texts are known once it is over, however it ends. */
  private noteTexts(): void {
    const { texts } = this;
    if (texts === undefined) return;
    const { response, status, headers } = texts;
    response.close();
    const { records, patch, omitted, isRewritten, note } = response.findings;
    if (note !== undefined) this.noteResponse(note);
    if (isRewritten) this.noteResponseEdits({ verdict: 'rewritten', body: NO_BODY, records, patch, omitted });
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
    const { decision, rules } = this;
    return rules.requestStream(
      decision.operation,
      format,
      { limit: decision.bodyLimit, hold: (bytes) => this.reserve(bytes) },
      (text, plan) => this.withWorkMemory((memory) => plan.rewrite(text, memory)),
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

  responsePieces(status: number, emit: (part: Uint8Array) => void): ListPieces | undefined {
    if (this.isChangedWhole(status)) return undefined;
    return this.responsePlan.pieces(
      this.rules.responseContext(status, this.entry.edits, this.bodyLinks),
      emit,
    );
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

  rewriteSmallResponse(status: number, body: Uint8Array): ResponseRewrite | undefined {
    if (this.isChangedWhole(status)) return undefined;
    const context = this.rules.responseContext(status, this.entry.edits, this.bodyLinks);
    return rewriteSmallResponse(this.responsePlan, body, context, this.responseRoom);
  }

  rewriteResponse(
    status: number,
    body: Uint8Array,
    done: (outcome: WithoutEdits<ResponseRewrite>, body: Uint8Array) => void,
  ): void {
    const { rules, responseRoom: room } = this;
    const context = rules.responseContext(status, this.entry.edits, this.bodyLinks);
    const { operation, method } = this.decision;
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
  noteResponseEdits({ records, patch, omitted }: WithoutEdits<RewrittenResponse>): void {
    const { entry } = this;
    entry.verdict = 'rewritten';
    if (records.length > 0) entry.responseEdits = [...(entry.responseEdits ?? []), ...records];
    if (patch.length > 0) entry.responsePatch = patch;
    if (omitted > 0) entry.responseEditsOmitted = omitted;
  }

  noteResponse(note: ResponseNote): void {
    const isTooLarge = note === 'response-buffer-full' && this.needsTooMuch;
    this.entry.responseNote = isTooLarge ? 'response-too-large' : note;
  }

  observeResponse(status: number, headers: HeaderList, body: Uint8Array): void {
    this.recorder?.recordUpstreamResponse(status, headers, body);
  }

  protected override receiver(): UpstreamReceiver {
    if (this.responsePlan.isEmpty || this.received.exchange.method === 'HEAD') return this;
    return new ResponseCollector(this);
  }

  protected override headForClient(head: ResponseHead): ResponseHead {
    const kept = this.changesFields(head) ? undefined : head.forwarded?.(this.gateway.hopFields);
    return kept ?? super.headForClient(head);
  }

  /** True where rules may rewrite what the client reads, whether or not they find anything this time: its tag then depends on the rules. */
  protected get marksTags(): boolean {
    return (
      !representationPlan(this.requestFacts, this.rules).isEmpty ||
      transformsRepresentation(this.requestFacts, this.rules)
    );
  }

  /** False where no field of V2's response changes but those of the hop. */
  private changesFields({ status, lines }: ResponseHead): boolean {
    const isContentless = this.received.exchange.method === 'HEAD' || status === 304;
    const isSignalled =
      this.gateway
        .signals(this.rules.ruleBook)
        ?.mayConcern(this.decision.operation?.id, this.entry.newcomer) === true;
    if (this.decision.preflight !== undefined) return true;
    if (isContentless || isSignalled || lines === undefined || lines.kinds.includes('link')) return true;
    if (lines.kinds.includes('etag') && this.isFromV2 && this.marksTags) return true;
    return headerPlanOf(this.requestFacts, this.rules)?.hasResponseRules === true;
  }

  protected override responseHeaders(status: number, received: HeaderList): string[] {
    const headers = [
      ...(this.isFromV2
        ? contentlessFields(this.requestFacts, this.rules, status, received, (coding) =>
            this.keepsCoding(coding),
          )
        : received),
    ];
    if (this.isFromV2 && headerValue(headers, 'etag') !== undefined && this.marksTags)
      markTags(headers, this.rules.ruleBook.hash);
    const ruled = this.isFromV2 ? this.ruledFields(status, headers) : headers;
    this.rewriteLinks(ruled);
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

  /** Applies the header rules to V2's response, and logs what they did. */
  private ruledFields(status: number, headers: string[]): string[] {
    const plan = headerPlanOf(this.requestFacts, this.rules);
    const { preflight } = this.decision;
    if (preflight === undefined && plan?.hasResponseRules !== true) return headers;
    const allowed = preflight?.response(headers) ?? { headers, records: [] };
    const own =
      plan?.hasResponseRules === true
        ? plan.response(status, allowed.headers)
        : { headers: allowed.headers, records: [] };
    const { headers: ruled } = own;
    const records = [...allowed.records, ...own.records];
    if (records.length === 0) return ruled === headers ? headers : [...ruled];
    const { entry } = this;
    entry.verdict = 'rewritten';
    entry.responseEdits = [...(entry.responseEdits ?? []), ...records];
    return [...ruled];
  }

  /** What V2 allows pages of another origin, in V1's words: the gateway answers from it while V2 is away. */
  protected override permissions(headers: HeaderList): HeaderList {
    const { preflight } = this.decision;
    return preflight === undefined || !this.isFromV2 ? headers : preflight.response(headers).headers;
  }

  /** Points the links of a response to V1 of the gateway, in place. */
  private rewriteLinks(headers: string[]): void {
    if (!hasLinks(headers)) return;
    const places = this.linkPlaces;
    const { rules } = this;
    rewriteLinks(
      headers,
      this.isFromV2 ? { ...places, restore: (link) => restoredLink(this.requestFacts, rules, link) } : places,
    );
  }

  /** Where links lead, as plain data. */
  private get linkPlaces(): LinkRewriting {
    const { hosts, path, version } = this.origin;
    const { rules, decision } = this;
    return {
      upstreamHosts: hosts,
      upstreamPath: path,
      prefix: rules.prefixes[version === 'v1' ? 'v1' : 'v2'],
      clientPrefix: rules.prefixes.v1,
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
      prefix: this.rules.prefixes.v2,
    };
    return { request: this.requestFacts, places };
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

  protected get requestFacts(): RequestFacts {
    const { method, target, operation } = this.decision;
    return { method, rest: target.rest, operation };
  }
}

/** A response of several texts, and its head at V2. */
interface OpenTexts {
  readonly response: TextResponse;
  readonly status: number;
  readonly headers: HeaderList;
}

const NO_BODY = new Uint8Array();

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
