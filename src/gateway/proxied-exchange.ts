import { NO_BYTES, bytesOfText } from '../json/names.ts';
import { endToEnd, interimFields, trailersOf } from '../http/fields.ts';
import { type HeaderList, headerValues } from '../http/header-list.ts';
import type { ResponseHead } from '../http/response-head.ts';
import { closeEntry, type OpenEntry, openEntry } from '../rewrite-log/observer.ts';
import {
  type Entry,
  type Route,
  hasFailed,
  isOutage,
  type Shortage,
  slowClientCause,
} from '../rewrite-log/entry.ts';
import { apiKeyOf, type GatewayContext, identityOf, type ReceivedRequest } from './gateway-context.ts';
import type { EndedExchange, WatchedExchange } from './limits.ts';
import type { Body, ClientFault, ClientPace, ExchangeHandler } from './exchange.ts';
import { ExchangeMemory } from './exchange-memory.ts';
import type { ClientIdentity, OpenExchange } from './slow-clients.ts';
import { bodyTooLarge, refusalForm } from '../migrate/decision.ts';
import { bufferFull, type Failure } from '../migrate/failure.ts';
import { gatewayFailure } from './failures.ts';
import { HandlerBoundary } from './guard.ts';
import type { CompiledRuleBook } from '../rewrite/compiled-rule-book.ts';
import { ExchangeRecorder } from './exchange-recorder.ts';
import { isShared, type PreflightQuestion } from './cross-origin.ts';
import { OriginCall } from './origin-call.ts';
import type { Origin } from './resilience.ts';
import type { ResponseCopy } from './response-copy.ts';
import { isRequestId, readTraceparent } from '../http/forwarding.ts';
import {
  failureForFault,
  type Upstream,
  UnwritableHead,
  type UpstreamFault,
  type UpstreamReceiver,
  type UpstreamRequest,
} from './upstream.ts';

const NO_HEADERS: HeaderList = [];
const NO_EDITS: Entry['edits'] = [];
/** Bytes of a response of unknown length that are read at a time. */
const AHEAD_BYTES = 256 * 1024;

/**
 * How exchanges of one kind are served: the handling of the request, of the response, and of work after it. Modes are constants; their
 * state for an exchange is in the exchange.
 */
export interface Mode<Served = ProxiedExchange> {
  /** Begins: responds, sends a request, or first reads the body with `collect` or `open`. */
  request(exchange: Served): void;
  /** Returns the receiver of the origin's response; the exchange itself forwards it to the client unread. */
  response(exchange: Served): UpstreamReceiver;
  /** Called when the client has its response: true if more work follows, which ends with `finish`; the log entry waits for it. */
  after(exchange: Served): boolean;
  /** Called once when the exchange is over, even if it has failed: completes the log entry, and ends remaining work. */
  over(exchange: Served): void;
}

/** The parts of modes that have nothing to do at that point. */
export const PLAIN = {
  response: (exchange: ProxiedExchange): UpstreamReceiver => exchange,
  after: (): boolean => false,
  over: (): void => {},
} as const;

/**
 * One exchange from end to end: a client's side, a call to an origin, and a log entry. Its mode decides how to handle request and
 * response; the exchange sends, streams, refuses and logs them. It is one object with methods instead of closures, because this is the
 * hot path.
 *
 *     client ──▶ Exchange ──▶ ProxiedExchange ──▶ OriginCall ──▶ Upstream ──▶ origin
 *                                  │   ▲               │
 *                                  ▼   │               ▼
 *                           mode.request, .after    mode.response
 */
export class ProxiedExchange
  implements ExchangeHandler, UpstreamReceiver, WatchedExchange, OpenExchange, EndedExchange
{
  readonly gateway: GatewayContext;
  readonly received: ReceivedRequest;
  readonly rules: CompiledRuleBook;
  readonly entry: OpenEntry;
  mode: Mode;
  /** The key of the client; undefined if it has none. */
  readonly apiKey: string | undefined;
  /** Records the exchange for the observer; undefined if it captures nothing of this exchange. */
  readonly recorder: ExchangeRecorder | undefined;
  /** Destination of the request. */
  origin: Origin;
  /** Target as sent to the origin, without the origin's own path. */
  upstreamTarget: string | undefined = undefined;
  private call: OriginCall | undefined = undefined;
  private ownMemory: ExchangeMemory | undefined = undefined;
  /** Receives the body that is read; a body beyond the limit is refused. */
  private onWhole: ((body: Uint8Array) => void) | undefined = undefined;
  private onOpened: ((body: Body) => void) | undefined = undefined;
  private bodyLimit = 0;
  private beyondLimit: Failure | undefined = undefined;
  /** Status that the client received, or 0. */
  private status = 0;
  private settled = false;
  private finished = false;
  /** True once the client has the whole response. */
  private isFlushed = false;
  private readonly watchdogSlot: number;
  /** True once the exchange no longer counts as in flight. */
  private isReleased = false;
  /** True while the client does not read what its origin has sent. */
  private isPausedForClient = false;

  constructor(gateway: GatewayContext, received: ReceivedRequest, route: Route, mode: Mode) {
    this.gateway = gateway;
    this.received = received;
    this.rules = received.rules;
    this.mode = mode;
    this.origin = gateway.v2;
    this.apiKey = apiKeyOf(received);
    const { exchange, head } = received;
    this.entry = openEntry({
      route,
      method: exchange.method,
      requestId: isRequestId(head.requestId) ? head.requestId : gateway.parts.newRequestId(),
      verdict: route === 'migrate' ? 'unchanged' : 'passed',
      ruleBook: this.rules.ruleBook.hash,
    });
    const trace = readTraceparent(head.traceparent);
    if (trace !== undefined) {
      this.entry.traceId = trace.traceId;
      this.entry.spanId = trace.spanId;
      this.entry.spanOfClient = true;
    }
    const { observer } = gateway.parts;
    const level = observer === undefined ? 'nothing' : observer.begin();
    this.recorder =
      observer === undefined || level === 'nothing'
        ? undefined
        : new ExchangeRecorder(observer, exchange, level, this.rules.secrets);
    gateway.inFlight += 1;
    this.watchdogSlot = gateway.watchdog.begin(this);
    exchange.attach(new HandlerBoundary(this));
  }

  /** Serves the request by its mode, or refuses it with `refused`. */
  begin(refused?: Failure): void {
    if (refused === undefined) this.guarded(() => this.mode.request(this));
    else this.refuse(refused);
  }

  /** Serves the request in a mode whose code had to be loaded, unless its client has disconnected meanwhile. */
  goOnIn(mode: Mode): void {
    if (this.settled) return;
    this.mode = mode;
    this.begin();
  }

  /** Ends the exchange after an internal error: the operator gets the error, the client only a generic failure. */
  failInternally(error: unknown): void {
    if (error instanceof UnwritableHead) {
      this.refuseUnwritable(error);
      return;
    }
    this.gateway.parts.onUnexpectedError(error);
    this.call?.abort();
    if (!this.settled) this.refuse(gatewayFailure('internal'));
    else if (!this.finished) {
      this.entry.failure ??= 'internal';
      this.received.exchange.reset();
    }
  }

  /** Runs work outside the calls of adapters; a bug in it ends this exchange only. */
  guarded(work: () => void): void {
    try {
      work();
    } catch (error) {
      this.failInternally(error);
    }
  }

  /** Refuses a response whose head the client's protocol cannot express; nothing of it was sent. */
  private refuseUnwritable(error: UnwritableHead): void {
    this.call?.abort();
    this.settled = false;
    this.entry.cause = error.message;
    this.refuse(gatewayFailure('upstream-invalid'));
  }

  /** Sends an error response of the gateway, unless a response has begun. */
  refuse(refused: Failure): void {
    if (this.settled) return;
    // A forwarded request was not refused: a failure of V2 does not change its verdict.
    if (this.attempts === 0) this.noteUnsent();
    const { exchange, decision } = this.received;
    if (exchange.method === 'OPTIONS' && isOutage(refused.code) && this.answerPreflight()) return;
    this.entry.failure = refused.code;
    this.entry.pointer = refused.pointer;
    this.entry.position = refused.position;
    const form = refusalForm(decision, exchange.target, this.rules);
    const content = refused.content(form, this.entry.requestId);
    const body = bytesOfText(content.body);
    const own = ['Content-Type', content.type, 'Content-Length', String(body.length)];
    const headers = [
      ...own,
      'Date',
      this.gateway.hopFields.date,
      'x-gateway-error',
      refused.code,
      ...refused.headers,
    ];
    this.respond(refused.status, headers, body);
  }

  /**
   * Answers a preflight with the services' earlier permissions, so that the page can send its request, and read why no service responds.
   */
  private answerPreflight(): boolean {
    const { origin } = this.received.head;
    const question = this.preflight;
    const fields =
      origin === undefined || question === undefined
        ? undefined
        : this.gateway.crossOrigin.preflightFields(origin, question, this.rules.ruleBook.cors);
    if (fields === undefined) return false;
    this.entry.verdict = 'served';
    this.respond(204, [...fields, 'Date', this.gateway.hopFields.date], NO_BYTES);
    return true;
  }

  /** A response's permissions for the pages of another origin, in the client's names. */
  protected permissions(headers: HeaderList): HeaderList {
    return headers;
  }

  /** The question of a preflight; undefined for any other request. */
  private get preflight(): PreflightQuestion | undefined {
    const { exchange, head } = this.received;
    if (exchange.method !== 'OPTIONS' || head.preflightMethod === undefined) return undefined;
    const fields = headerValues(head.forwardedHeaders, 'access-control-request-headers').join(',');
    return { method: head.preflightMethod, fields };
  }

  /** Logs that the request was refused before it was sent: V2 got neither edits nor a version. For a request to V1, they are a dry run. */
  private noteUnsent(): void {
    const { entry } = this;
    entry.verdict = 'refused';
    if (entry.origin === 'v1') return;
    entry.edits = NO_EDITS;
    entry.patch = undefined;
    entry.editsOmitted = undefined;
    entry.apiVersion = undefined;
  }

  /** Sends a response of the gateway itself, unless a response has begun. */
  respond(status: number, headers: string[], body: Uint8Array): void {
    if (this.settled) return;
    this.settled = true;
    const { exchange } = this.received;
    const isGone = exchange.isGone === true;
    this.addSignals(headers);
    const { origin } = this.received.head;
    if (origin !== undefined && !isShared(headers))
      headers.push(...this.gateway.crossOrigin.fieldsFor(origin, this.rules.ruleBook.cors));
    const head = { status, reason: undefined, headers, lines: undefined };
    exchange.head(head);
    this.recorder?.recordHeads(undefined, head);
    if (!isGone) this.status = status;
    if (!isGone && exchange.method !== 'HEAD' && body.length > 0) {
      this.entry.responseBytes = body.length;
      this.recorder?.recordChunk(body);
      exchange.data(body, true);
    }
    exchange.end(NO_HEADERS);
  }

  // The request.

  /** Reads the whole body, up to `limit` bytes, and passes it to `then`; a larger one is refused, by default because of its size. */
  collect(limit: number, then: (body: Uint8Array) => void, beyond?: Failure): void {
    const { exchange } = this.received;
    this.bodyLimit = limit;
    this.beyondLimit = beyond;
    this.onWhole = then;
    if (exchange.hasBody) exchange.collect(this.memory);
    else then(NO_BYTES);
  }

  /** Passes the body to `then` for forwarding, null if there is none; see `Exchange.open`. */
  open(then: (body: Body) => void, lifetime?: 'exchange', forwarding?: 'at-once'): void {
    const { exchange } = this.received;
    this.onOpened = then;
    if (exchange.hasBody) exchange.open(lifetime, forwarding);
    else then(null);
  }

  acceptChunk(bytes: number): boolean {
    const { bodyLimit, beyondLimit } = this;
    if (this.received.exchange.bytesIn > bodyLimit) this.refuse(beyondLimit ?? bodyTooLarge(bodyLimit));
    else if (this.memory.reserve(bytes)) return true;
    else this.refuse(bufferFull());
    return false;
  }

  onWholeBody(body: Uint8Array): void {
    this.onWhole?.(body);
  }

  onBody(body: Body): void {
    this.onOpened?.(body);
  }

  /** Sends the request, or refuses it while the circuit of the origin is open. */
  send(request: UpstreamRequest): void {
    if (this.settled) return;
    // The client has cancelled the request: with HTTP/2, a request and its reset can arrive in one read, before the exchange is notified.
    if (this.received.exchange.isGone === true) {
      if (this.attempts === 0) this.entry.sent = false;
      this.disconnected();
      return;
    }
    const { breaker, version } = this.origin;
    if (this.attempts === 0 && !breaker.admit()) {
      this.refuse(gatewayFailure('circuit-open', undefined, ['Retry-After', String(breaker.retryAfter())]));
      return;
    }
    if (request.body instanceof Uint8Array) this.entry.bytesOut = request.body.length;
    if (version !== 'v1') this.recorder?.recordUpstreamRequest(request);
    this.call ??= new OriginCall(this);
    this.call.send(request, this.mode.response(this), this.sampled());
  }

  sendAgain(request: UpstreamRequest): void {
    this.guarded(() => this.send(request));
  }

  /** Number of times the request was sent. */
  get attempts(): number {
    return this.call?.attempts ?? 0;
  }

  /** The request as its origin last received it. */
  get sentRequest(): UpstreamRequest | undefined {
    return this.call?.request;
  }

  /** Returns the receiver that copies the service's own response, if the log entry describes it. */
  protected sampled(): ResponseCopy | undefined {
    return undefined;
  }

  /** The memory of this exchange, for bodies and the work on them. */
  get memory(): ExchangeMemory {
    this.ownMemory ??= new ExchangeMemory(this, this.gateway);
    return this.ownMemory;
  }

  /** True once nothing waits for a response: it is being written, or the client has disconnected. */
  get isSettled(): boolean {
    return this.settled;
  }

  /** True once the client has disconnected, or has a response. */
  get isOver(): boolean {
    return this.settled || this.received.exchange.isGone === true;
  }

  /** True once the exchange is over, and no more work is done for it. */
  get isFinished(): boolean {
    return this.finished;
  }

  // The watchdog.

  get progress(): number {
    return this.received.exchange.bytesIn + this.entry.responseBytes + this.attempts;
  }

  get readingMs(): number {
    const { responseBytes } = this.entry;
    if (responseBytes === 0) return 0;
    const { minDataRate } = this.gateway.options;
    return minDataRate === 0 ? Infinity : (responseBytes / minDataRate) * 1000;
  }

  abandon(): void {
    const { attempts } = this;
    const { requestId, route, responseBytes } = this.entry;
    this.gateway.parts.onUnexpectedError(
      new Error(
        `no progress in exchange ${requestId} (${route}, ${attempts} attempts, ${responseBytes} bytes of response): the exchange was ended`,
      ),
    );
    this.entry.failure ??= 'internal';
    this.entry.cause ??= 'no progress';
    this.received.exchange.reset();
    this.disconnected();
  }

  // For other classes.

  get client(): ClientIdentity {
    const { received, gateway, apiKey } = this;
    return identityOf(received, apiKey, gateway.trustedProxies);
  }

  get since(): number {
    return this.received.started;
  }

  get pace(): ClientPace | undefined {
    return this.finished ? undefined : this.received.exchange.pace;
  }

  get holdsPlace(): boolean {
    return !this.isReleased;
  }

  get reservedBytes(): number {
    return this.ownMemory?.freeable ?? 0;
  }

  get isHeldBack(): boolean {
    return this.isPausedForClient && this.call?.isHolding === true;
  }

  get isTakenAhead(): boolean {
    return this.ownMemory?.isAhead === true && !this.isPausedForClient && this.call?.isHolding === true;
  }

  holds(upstream: Upstream): boolean {
    return this.call?.isTo(upstream) === true && this.call.isHolding;
  }

  awaits(upstream: Upstream): boolean {
    return this.call?.isTo(upstream) === true && this.call.isUnsent && !this.finished;
  }

  setRank(rank: number): void {
    this.call?.setRank(rank);
  }

  takeAhead(): boolean {
    const rest = this.pace?.rest ?? 0;
    if (!this.memory.reserveAhead(Number.isFinite(rest) ? rest : AHEAD_BYTES)) return false;
    this.guarded(() => this.drained());
    return true;
  }

  giveWay(shortage: Shortage): void {
    if (this.finished) return;
    this.entry.cause = slowClientCause(shortage);
    this.abort();
    this.releaseSlot();
    this.ownMemory?.end();
    this.endRequest(
      gatewayFailure('overloaded', 'The request came too slowly while others waited.', ['Retry-After', '1']),
    );
  }

  /** Refuses a request that will not arrive whole, and closes its connection; resets that if the response has begun. */
  private endRequest(failure: Failure): void {
    const { exchange } = this.received;
    if (this.settled) {
      exchange.reset();
      return;
    }
    exchange.closeAfterResponse();
    this.refuse(failure);
  }

  // The client's side.

  drained(): void {
    this.isPausedForClient = false;
    this.resumeResponse();
  }

  onClientFault(fault: ClientFault): void {
    this.abort();
    this.endRequest(gatewayFailure(fault));
  }

  disconnected(): void {
    this.settled = true;
    if (this.status > 0 && !this.finished) this.entry.incomplete = true;
    this.abort();
    this.finish();
  }

  /** Ends the request; logs whether nothing of it was sent. */
  abort(): void {
    const { call } = this;
    if (call?.isUnsent === true && call.attempts === 1) this.entry.sent = false;
    call?.abort();
  }

  flushed(): void {
    this.isFlushed = true;
    if (this.mode.after(this)) this.releaseSlot();
    else this.finish();
  }

  /**
   * Called when work ends that may outlast the response: once the client has its response, starts the work after it, or ends the
   * exchange.
   */
  workEnded(): void {
    if (this.isFlushed) this.flushed();
  }

  // The origin's side.

  /** Parts are written directly to the client; code that keeps one copies it. */
  get borrowsParts(): boolean {
    return this.received.exchange.borrowsChunks === true;
  }

  information(status: number, headers: HeaderList): void {
    if (!this.settled) this.received.exchange.information(status, interimFields(headers));
  }

  head(head: ResponseHead): void {
    if (this.settled) return;
    const { exchange } = this.received;
    this.noteResponseTime();
    this.origin.breaker.succeeded();
    const { origin } = this.received.head;
    if (origin !== undefined)
      this.gateway.crossOrigin.learn(origin, head.status, this.permissions(head.headers), this.preflight);
    if (exchange.isGone === true) {
      this.disconnected();
      return;
    }
    this.settled = true;
    const forClient = this.headForClient(head);
    exchange.head(forClient);
    this.status = head.status;
    this.recorder?.recordHeads(head, forClient);
  }

  data(chunk: Uint8Array, isLast?: boolean): void {
    if (this.received.exchange.dropsContent === true) return;
    this.entry.responseBytes += chunk.length;
    this.recorder?.recordChunk(chunk);
    if (!this.received.exchange.data(chunk, isLast) && !this.takesAhead(chunk.length)) this.awaitReader();
  }

  pass(body: ReadableStream<Uint8Array>, length: number): Promise<void> | undefined {
    const { exchange } = this.received;
    if (this.recorder?.readsResponses === true || exchange.dropsContent === true) return undefined;
    return exchange.pass?.(body)?.then(() => {
      this.entry.responseBytes += length;
    });
  }

  /** True if a part is read although the client is not ready for it. */
  private takesAhead(bytes: number): boolean {
    return this.ownMemory?.takeAhead(bytes) === true;
  }

  /** Called when the client reads slowly. */
  protected awaitReader(): void {
    this.isPausedForClient = true;
    this.pauseResponse();
  }

  /** Pauses the response of the origin. */
  pauseResponse(): void {
    this.call?.pause();
  }

  resumeResponse(): void {
    this.call?.resume();
  }

  end(trailers: HeaderList): void {
    this.received.exchange.end(trailersOf(trailers));
  }

  endUnproven(): void {
    this.entry.responseNote ??= 'response-until-close';
  }

  fail(fault: UpstreamFault): void {
    const { call } = this;
    if (call === undefined || this.endsWithClient()) return;
    if (this.settled) {
      call.count(fault);
      this.entry.failure = 'upstream-broken';
      this.entry.cause = fault.cause;
      this.received.exchange.reset();
      return;
    }
    const { attempts } = call;
    if (fault.kind === 'away') call.notTried();
    if (call.retry(fault)) return;
    const last = { ...fault, mayHaveArrived: fault.mayHaveArrived || attempts > 1 };
    call.count(last);
    this.entry.cause = last.cause;
    this.entry.sent = last.mayHaveArrived;
    this.refuse(failureForFault(last));
  }

  /** The origin broke off a response before the client got any of it. The request is not sent again, because it was carried out. */
  failCollected(fault: UpstreamFault): void {
    if (this.endsWithClient() || this.settled) return;
    this.call?.count(fault);
    this.entry.cause = fault.cause;
    this.refuse(
      fault.kind === 'closed'
        ? gatewayFailure(
            'upstream-closed',
            'The service closed the connection before its response was complete.',
          )
        : failureForFault(fault),
    );
  }

  /** Ends the exchange if its client has ended the request; true once it is over: a fault then says nothing about the origin. */
  private endsWithClient(): boolean {
    if (!this.finished && this.received.exchange.signal?.aborted === true) this.disconnected();
    return this.finished;
  }

  /** Ends a response that cannot be read to its end: the client sees that it is incomplete. */
  breakResponse(cause: string): void {
    if (this.finished) return;
    this.call?.abort();
    this.entry.failure = 'upstream-broken';
    this.entry.cause = cause;
    this.received.exchange.reset();
  }

  /** Records when the head of the response arrived, even if it is not forwarded at once. */
  noteResponseTime(): void {
    this.entry.upstreamMs ??= this.call?.elapsedMs;
  }

  /** Called when the exchange is over; `status` is the client's, 0 if it disconnected before. */
  protected onFinished(_status: number): void {}

  /** Adds the header fields that every response to the client carries, in place. */
  protected addSignals(_headers: string[]): void {}

  protected headForClient(head: ResponseHead): ResponseHead {
    return head.forwarded?.(this.gateway.hopFields) ?? this.editedHead(head);
  }

  /** Returns the head with changed fields, in modes that change more than hop-by-hop fields. */
  protected editedHead({ status, reason, headers, lines, is10 }: ResponseHead): ResponseHead {
    const forwarded = this.responseHeaders(endToEnd(headers, true));
    this.gateway.hopFields.addTo(forwarded, is10);
    return { status, reason, headers: forwarded, lines };
  }

  /** Returns the header fields of the response for the client, in a new list. */
  protected responseHeaders(headers: HeaderList): string[] {
    return [...headers];
  }

  /** Stops counting the exchange as in flight: the client waits for nothing more. Later work is not part of the logged times. */
  releaseSlot(): void {
    if (this.isReleased) return;
    this.isReleased = true;
    const { gateway, received, entry } = this;
    gateway.inFlight -= 1;
    entry.totalMs = gateway.parts.now() - received.started;
  }

  /** Ends the exchange, whose log entry is then complete. */
  finish(): void {
    if (this.finished) return;
    this.finished = true;
    this.releaseSlot();
    const { gateway, received, entry } = this;
    this.call?.over();
    gateway.watchdog.end(this.watchdogSlot);
    this.ownMemory?.end();
    entry.bytesIn = received.exchange.bytesIn;
    const request = this.call?.request;
    const body = request?.body ?? null;
    const isStreamed = body !== null && !(body instanceof Uint8Array);
    if (isStreamed) entry.bytesOut = body.sentBytes ?? entry.bytesIn;
    if (entry.sent === false) entry.bytesOut = 0;
    const { trailers = [] } = received.exchange;
    const hasOwnBytes = isStreamed && body.sentBytes === undefined;
    if (trailers.length > 0 && (!hasOwnBytes || request?.length !== undefined))
      entry.note ??= 'trailers-dropped';
    entry.status = this.status;
    const failed = hasFailed(entry);
    if (this.recorder?.isWanted(failed) === true)
      entry.attributes = gateway.attributeNames.of(this.recorder.requestBody, failed);
    this.mode.over(this);
    this.onFinished(this.status);
    const { apiKey } = this;
    const client = apiKey === undefined ? undefined : gateway.parts.clientOf(apiKey);
    if (typeof client === 'string' || client === undefined) {
      this.entry.client = client;
      this.queueRecord();
      return;
    }
    void client
      .then((hash) => {
        this.entry.client = hash;
      })
      .catch(gateway.parts.onUnexpectedError)
      .finally(() => this.queueRecord());
  }

  private queueRecord(): void {
    const { recordQueue } = this.gateway;
    recordQueue.add(this);
    // The recorded bodies are borrowed until the exchange is over.
    if (this.recorder?.isWanted(hasFailed(this.entry)) === true) recordQueue.flush();
  }

  /** Logs the exchange, and shows it to the observer. */
  record(): void {
    const { attempts, gateway, received } = this;
    const { record, observer } = gateway.parts;
    const upstreamTarget = this.call === undefined ? undefined : this.upstreamTarget;
    const { target } = received.exchange;
    try {
      const entry = closeEntry(this.entry, { time: received.time, target, upstreamTarget, attempts });
      record(entry);
      if (this.recorder === undefined) observer?.observe(entry);
      else this.recorder.finish(entry);
    } finally {
      this.ownMemory?.releaseAll();
      received.exchange.ended?.();
    }
  }
}
