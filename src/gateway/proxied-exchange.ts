import type { WorkMemory } from '../json/tape.ts';
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
import { type EndedExchange, ExchangeMemory, type WatchedExchange } from './limits.ts';
import type { Body, ClientFault, ClientPace, ExchangeHandler } from './exchange.ts';
import type { ClientIdentity, OpenExchange } from './slow-clients.ts';
import { refusalForm } from '../migrate/decision.ts';
import type { Failure } from '../migrate/failure.ts';
import { gatewayFailure } from './failures.ts';
import { HandlerBoundary, ReceiverBoundary } from './guard.ts';
import type { CompiledRuleBook } from '../rewrite/compiled-rule-book.ts';
import { ExchangeRecorder } from './exchange-recorder.ts';
import { isShared, type PreflightQuestion } from './cross-origin.ts';
import { mayRetry, type Origin, retryDelayMs } from './resilience.ts';
import { isRequestId, readTraceparent } from '../http/forwarding.ts';
import {
  failureForFault,
  isCounted,
  type Upstream,
  UnwritableHead,
  type UpstreamCall,
  type UpstreamFault,
  type UpstreamReceiver,
  type UpstreamRequest,
} from './upstream.ts';

const NO_HEADERS: HeaderList = [];
const NO_EDITS: Entry['edits'] = [];
const NO_BYTES = new Uint8Array();
const encoder = new TextEncoder();
/** The share of the memory from which it is measured who is slow. */
const WATCHED_SHARE = 3 / 4;
/** The share of the memory that responses of slow readers may take when connections are short. */
const AHEAD_SHARE = 1 / 2;
/** Bytes of a response of unknown length that are taken at a time. */
const AHEAD_BYTES = 256 * 1024;

/** Memory for a response that its client reads slowly. */
interface TakenAhead {
  reserved: number;
  /** Bytes that may still be taken. */
  left: number;
}

/**
 * One exchange from end to end: sends the request, with a retry if allowed, streams the response back and logs the exchange. One
 * object with methods instead of closures, because this is the hot path.
 */
export class ProxiedExchange
  implements ExchangeHandler, UpstreamReceiver, WatchedExchange, OpenExchange, EndedExchange
{
  protected readonly gateway: GatewayContext;
  protected readonly received: ReceivedRequest;
  protected readonly rules: CompiledRuleBook;
  protected readonly entry: OpenEntry;
  /** Number of times the request was sent. */
  protected attempts = 0;
  /** Target that the origin received, without the path of the origin itself. */
  protected upstreamTarget: string | undefined = undefined;
  /** Collects the exchange for the observer; undefined when it captures nothing of this exchange. */
  protected readonly recorder: ExchangeRecorder | undefined;
  /** Destination of the request. */
  protected origin: Origin;
  /** Bytes reserved in the budget. */
  private bufferedBytes = 0;
  /** True once it needed more memory than the budget has for all exchanges together. */
  protected needsTooMuch = false;
  private bodyMemory: ExchangeMemory | undefined = undefined;
  /** Pieces of work on the buffered bytes that go on, even when the exchange is over. */
  private workInProgress = 0;
  private call: UpstreamCall | undefined = undefined;
  private request: UpstreamRequest | undefined = undefined;
  private sentAt = 0;
  /** True when it tests whether its origin has recovered. */
  private isProbe = false;
  /** Status that the client received, or 0. */
  private status = 0;
  private settled = false;
  private finished = false;
  private readonly watchdogSlot: number;
  /** The key that the client is known by; undefined without one. */
  protected readonly apiKey: string | undefined;
  /** True once the exchange no longer counts as in flight. */
  private isReleased = false;
  /** True while its client does not read what its origin has sent. */
  private isPausedForClient = false;
  /** Set once its response is taken into memory because others need its connection. */
  private ahead: TakenAhead | undefined = undefined;

  constructor(gateway: GatewayContext, received: ReceivedRequest, route: Route) {
    this.gateway = gateway;
    this.received = received;
    this.rules = received.rules;
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
    exchange.attach(new HandlerBoundary(this, this.failInternally));
  }

  /** Ends the exchange after an internal error: the operator gets the error, the client only a generic failure. */
  readonly failInternally = (error: unknown): void => {
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
  };

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
    // A forwarded request was not refused: a failure of V2 leaves its verdict as it is.
    if (this.attempts === 0) this.noteUnsent();
    const { exchange, decision } = this.received;
    if (exchange.method === 'OPTIONS' && isOutage(refused.code) && this.answerPreflight()) return;
    this.entry.failure = refused.code;
    this.entry.pointer = refused.pointer;
    this.entry.position = refused.position;
    const form = refusalForm(decision, exchange.target, this.rules);
    const content = refused.content(form, this.entry.requestId);
    const body = encoder.encode(content.body);
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

  /** Responds to a preflight from what the services have allowed before: its page then reads why there is no service. */
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

  /** What a response allows the pages of another origin, in the words of the client. */
  protected permissions(headers: HeaderList): HeaderList {
    return headers;
  }

  /** What a preflight asks; undefined for any other request. */
  private get preflight(): PreflightQuestion | undefined {
    const { exchange, head } = this.received;
    if (exchange.method !== 'OPTIONS' || head.preflightMethod === undefined) return undefined;
    const fields = headerValues(head.forwardedHeaders, 'access-control-request-headers').join(',');
    return { method: head.preflightMethod, fields };
  }

  /** Logs that the request was refused before it was sent: V2 got neither edits nor a version. Those for V1 are a dry run. */
  private noteUnsent(): void {
    const { entry } = this;
    entry.verdict = 'refused';
    if (entry.origin === 'v1') return;
    entry.edits = NO_EDITS;
    entry.patch = undefined;
    entry.editsOmitted = undefined;
    entry.apiVersion = undefined;
  }

  /** Sends a response that the gateway itself makes, unless a response has begun. */
  protected respond(status: number, headers: string[], body: Uint8Array): void {
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

  /** Sends the request, or refuses it while the circuit of the origin is open. */
  protected send(request: UpstreamRequest): void {
    if (this.settled) return;
    // The client has cancelled it, and nobody has said so yet: HTTP/2 may bring a request and its reset in one read.
    if (this.received.exchange.isGone === true) {
      if (this.attempts === 0) this.entry.sent = false;
      this.disconnected();
      return;
    }
    const { parts } = this.gateway;
    const { breaker, retryBudget, upstream, version } = this.origin;
    const isFirst = this.attempts === 0;
    if (isFirst && !breaker.admit(upstream.recoveries)) {
      this.refuse(gatewayFailure('circuit-open', undefined, ['Retry-After', String(breaker.retryAfter())]));
      return;
    }
    this.request = request;
    this.attempts += 1;
    this.sentAt = parts.now();
    if (isFirst) {
      retryBudget.count(this.sentAt);
      this.isProbe = breaker.state === 'probing';
    }
    if (request.body instanceof Uint8Array) this.entry.bytesOut = request.body.length;
    if (version !== 'v1') this.recorder?.recordUpstreamRequest(request);
    this.call = upstream.send(
      request,
      new ReceiverBoundary(this.sampled(this.receiver()), this.failInternally),
    );
  }

  /** Reserves bytes for buffering in the budget, until the exchange is over; false when they do not fit. */
  protected reserve(bytes: number): boolean {
    const { budget, slowClients } = this.gateway;
    if (budget.exceeds(this.bufferedBytes + bytes)) {
      this.needsTooMuch = true;
      return false;
    }
    if (!budget.acquire(bytes) && !(slowClients.makeMemory(this, bytes) && budget.acquire(bytes)))
      return false;
    this.bufferedBytes += bytes;
    if (budget.held > budget.limit * WATCHED_SHARE) slowClients.watch();
    return true;
  }

  /** Bytes that are reserved. */
  protected get reserved(): number {
    return this.bufferedBytes;
  }

  /** Gives back all but so many bytes of those that are reserved. */
  protected giveBackTo(bytes: number): void {
    this.gateway.budget.release(this.bufferedBytes - bytes);
    this.bufferedBytes = bytes;
  }

  /**
   * Runs work that may go on in another thread. Everything reserved stays so until it calls `finish`, even if the client
   * disconnects, and what follows is skipped if the exchange is over by then. The memory that the work takes is reserved like
   * buffered bytes, or, with `copies`, as often as that and for the time of the work alone.
   */
  protected work(start: (memory: WorkMemory, finish: (next: () => void) => void) => void, copies?: 1): void {
    const { budget } = this.gateway;
    let taken = 0;
    const memory: WorkMemory = {
      take: (bytes) => {
        if (copies === undefined) return this.reserve(bytes);
        if (budget.acquire(bytes, copies)) {
          taken += bytes;
          return true;
        }
        this.needsTooMuch ||= budget.exceeds(this.bufferedBytes, taken + bytes);
        return false;
      },
    };
    this.workInProgress += 1;
    start(memory, (next) => {
      this.workInProgress -= 1;
      budget.release(taken, copies);
      if (this.finished) this.releaseBuffers();
      else this.guarded(next);
    });
  }

  private releaseBuffers(): void {
    if (this.workInProgress > 0) return;
    this.gateway.budget.release(this.bufferedBytes);
    this.bufferedBytes = 0;
    if (this.ahead === undefined) return;
    this.gateway.budget.release(this.ahead.reserved, 1);
    this.ahead = undefined;
  }

  /** Memory for the bodies of this exchange, as long as it lasts. */
  protected get memory(): ExchangeMemory {
    this.bodyMemory ??= new ExchangeMemory(this.gateway.bodyMemory);
    return this.bodyMemory;
  }

  /** Nobody reads the bodies any more; work that goes on keeps its memory. */
  private giveMemory(): void {
    if (this.workInProgress === 0) this.bodyMemory?.releaseAll();
  }

  /** Receiver of the response. */
  protected receiver(): UpstreamReceiver {
    return this;
  }

  /** Returns the receiver that keeps a sample of the response, where the log entry tells of it. */
  protected sampled(receiver: UpstreamReceiver): UpstreamReceiver {
    return receiver;
  }

  /** True once nothing waits for a response: one is being written, or the client disconnected. */
  get isSettled(): boolean {
    return this.settled;
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

  // What others may need.

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
    return this.workInProgress > 0 ? 0 : this.bufferedBytes + (this.ahead?.reserved ?? 0);
  }

  get isHeldBack(): boolean {
    return this.isPausedForClient && this.call?.isHolding === true;
  }

  get isTakenAhead(): boolean {
    return this.ahead !== undefined && !this.isPausedForClient && this.call?.isHolding === true;
  }

  holds(upstream: Upstream): boolean {
    return this.origin.upstream === upstream && this.call?.isHolding === true;
  }

  awaits(upstream: Upstream): boolean {
    return this.origin.upstream === upstream && this.call?.isSent === false && !this.finished;
  }

  setRank(rank: number): void {
    if (this.call !== undefined) this.call.rank = rank;
  }

  takeAhead(): boolean {
    const { budget } = this.gateway;
    const rest = this.pace?.rest ?? 0;
    const bytes = Number.isFinite(rest) ? rest : AHEAD_BYTES;
    if (!budget.fits(bytes, AHEAD_SHARE, 1) || !budget.acquire(bytes, 1)) return false;
    this.ahead ??= { reserved: 0, left: 0 };
    this.ahead.reserved += bytes;
    this.ahead.left += bytes;
    this.guarded(() => this.drained());
    return true;
  }

  /** True when a part that the client does not read yet is taken all the same. */
  private takesAhead(bytes: number): boolean {
    const { ahead } = this;
    if (ahead === undefined || ahead.left < bytes) return false;
    ahead.left -= bytes;
    return true;
  }

  giveWay(shortage: Shortage): void {
    if (this.finished) return;
    this.entry.cause = slowClientCause(shortage);
    this.abort();
    this.releaseSlot();
    this.releaseBuffers();
    if (this.settled) {
      this.received.exchange.reset();
      return;
    }
    this.received.exchange.closeAfterResponse();
    this.refuse(
      gatewayFailure('overloaded', 'The request came too slowly while others waited.', ['Retry-After', '1']),
    );
  }

  // The client's side.

  acceptChunk(_bytes: number): boolean {
    return false;
  }

  onWholeBody(_body: Uint8Array): void {}

  onBody(_body: Body): void {}

  drained(): void {
    this.isPausedForClient = false;
    this.resumeResponse();
  }

  onClientFault(fault: ClientFault): void {
    this.abort();
    if (this.settled) {
      this.received.exchange.reset();
      return;
    }
    this.received.exchange.closeAfterResponse();
    this.refuse(gatewayFailure(fault));
  }

  disconnected(): void {
    this.settled = true;
    if (this.status > 0 && !this.finished) this.entry.incomplete = true;
    this.abort();
    this.finish();
  }

  /** Gives the request up; the log says if nothing of it was sent. */
  protected abort(): void {
    const { call } = this;
    if (call?.isSent === false && this.attempts === 1) this.entry.sent = false;
    call?.abort();
  }

  flushed(): void {
    this.finish();
  }

  // The origin's side.

  /** Parts go straight to the client; whoever keeps one copies it. */
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

  /** The client reads slowly. */
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
    if (this.finished) return;
    // The request ended with its client.
    if (this.received.exchange.signal?.aborted === true) {
      this.disconnected();
      return;
    }
    const { request } = this;
    const isCountedFault = isCounted(fault, request?.body ?? null);
    if (this.settled) {
      if (isCountedFault) this.countFault(fault);
      this.entry.failure = 'upstream-broken';
      this.entry.cause = fault.cause;
      this.received.exchange.reset();
      return;
    }
    const { attempts, origin } = this;
    if (fault.kind === 'away') {
      origin.breaker.away(origin.upstream.recoveries);
      // As with an open circuit, the request was not tried.
      if (attempts === 1) this.attempts = 0;
    }
    if (request !== undefined && mayRetry(request, fault, attempts) && origin.retryBudget.acquire()) {
      this.retry(request);
      return;
    }
    const last = { ...fault, mayHaveArrived: fault.mayHaveArrived || attempts > 1 };
    if (isCountedFault) this.countFault(last);
    this.entry.cause = last.cause;
    this.entry.sent = last.mayHaveArrived;
    this.refuse(failureForFault(last));
  }

  /** The origin broke off a response of which the client has nothing yet: it is not requested again, because it was carried out. */
  failCollected(fault: UpstreamFault): void {
    if (this.finished || this.settled) return;
    if (this.received.exchange.signal?.aborted === true) {
      this.disconnected();
      return;
    }
    if (isCounted(fault, this.request?.body ?? null)) this.countFault(fault);
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

  /** Retries the request; all attempts share one timeout. */
  private retry(request: UpstreamRequest): void {
    const { after, now, random } = this.gateway.parts;
    const { sentAt } = this;
    after(retryDelayMs(random()), () =>
      this.guarded(() => this.send({ ...request, headers: request.headers, spentMs: now() - sentAt })),
    );
  }

  /**
   * Counts a fault for the breaker. One closing connection or restart ends many requests at once, so these count once; each
   * timeout counts by itself.
   */
  private countFault(fault: UpstreamFault): void {
    const { kind } = fault;
    const { breaker, upstream, version, host } = this.origin;
    this.gateway.notify({ event: 'upstream-fault', origin: version, host, fault });
    breaker.failed(kind === 'closed' ? this.sentAt : undefined, upstream.recoveries);
  }

  /** Ends a response that cannot be read on: the client sees that it broke off. */
  breakResponse(cause: string): void {
    if (this.finished) return;
    this.call?.abort();
    this.entry.failure = 'upstream-broken';
    this.entry.cause = cause;
    this.received.exchange.reset();
  }

  /** Records when the head of the response arrived, whether or not it is forwarded at once. */
  protected noteResponseTime(): void {
    this.entry.upstreamMs ??= this.gateway.parts.now() - this.sentAt;
  }

  /** Called when the exchange is over; `status` is the one that the client received, 0 when it disconnected before. */
  protected onFinished(_status: number): void {}

  /** Adds the header fields that every response to the client carries, in place. */
  protected addSignals(_headers: string[]): void {}

  /** Returns the head of the response for the client. */
  protected headForClient({ status, reason, headers, lines, is10 }: ResponseHead): ResponseHead {
    const forwarded = this.responseHeaders(status, endToEnd(headers, true));
    this.gateway.hopFields.addTo(forwarded, is10);
    return { status, reason, headers: forwarded, lines };
  }

  /** Returns the header fields of the response for the client, as a list of their own. */
  protected responseHeaders(_status: number, headers: HeaderList): string[] {
    return [...headers];
  }

  /** Stops counting the exchange as in flight: the client awaits nothing more. Later work is not in the logged times. */
  protected releaseSlot(): void {
    if (this.isReleased) return;
    this.isReleased = true;
    const { gateway, received, entry } = this;
    gateway.inFlight -= 1;
    entry.totalMs = gateway.parts.now() - received.started;
  }

  private finish(): void {
    if (this.finished) return;
    this.finished = true;
    this.releaseSlot();
    const { gateway, received, entry } = this;
    if (this.isProbe) this.origin.breaker.probeOver();
    gateway.watchdog.end(this.watchdogSlot);
    this.releaseBuffers();
    entry.bytesIn = received.exchange.bytesIn;
    const body = this.request?.body ?? null;
    const isStreamed = body !== null && !(body instanceof Uint8Array);
    if (isStreamed) entry.bytesOut = body.sentBytes ?? entry.bytesIn;
    if (entry.sent === false) entry.bytesOut = 0;
    const { trailers = [] } = received.exchange;
    const hasOwnBytes = isStreamed && body.sentBytes === undefined;
    if (trailers.length > 0 && (!hasOwnBytes || this.request?.length !== undefined))
      entry.note ??= 'trailers-dropped';
    entry.status = this.status;
    const failed = hasFailed(entry);
    if (this.recorder?.isWanted(failed) === true)
      entry.attributes = gateway.attributeNames.of(this.recorder.requestBody, failed);
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
    // What the observer captures is borrowed until the exchange is over.
    if (this.recorder?.isWanted(hasFailed(this.entry)) === true) recordQueue.flush();
  }

  /** Logs the exchange, and shows it to the observer. */
  record(): void {
    const { attempts, gateway, received } = this;
    const { record, observer } = gateway.parts;
    const upstreamTarget = this.request === undefined ? undefined : this.upstreamTarget;
    const { target } = received.exchange;
    try {
      const entry = closeEntry(this.entry, { time: received.time, target, upstreamTarget, attempts });
      record(entry);
      if (this.recorder === undefined) observer?.observe(entry);
      else this.recorder.finish(entry);
    } finally {
      this.giveMemory();
      received.exchange.ended?.();
    }
  }
}
