import { endToEnd, interimFields, trailersOf } from '../http/hop-by-hop.ts';
import type { HeaderList } from '../http/header-list.ts';
import type { EntryFacts } from '../rewrite-log/exchange-entry.ts';
import { exchangeEntry } from '../rewrite-log/exchange-entry.ts';
import type { Entry, Route } from '../rewrite-log/entry.ts';
import type { ReceivedRequest } from './received-request.ts';
import type { Body, ClientFault, ExchangeOwner } from './exchange.ts';
import { type Failure, failure } from '../migrate/failure.ts';
import type { GatewayContext } from './gateway-context.ts';
import { GuardedOwner, GuardedReceiver } from './guard.ts';
import type { WatchedExchange } from './exchange-watchdog.ts';
import type { CompiledRuleBook } from '../rewrite/compiled-rule-book.ts';
import { ExchangeRecorder, hasFailed } from './exchange-recorder.ts';
import type { Origin } from './origin.ts';
import { isRequestId, readTraceparent } from '../http/trace-context.ts';
import type { UpstreamCall, UpstreamFault, UpstreamReceiver, UpstreamRequest } from './upstream.ts';
import { UnwritableHead } from './unwritable-head.ts';
import { failureForFault, isCounted, mayResend, resendDelay } from './upstream-failure.ts';

const NO_HEADERS: HeaderList = [];
const ascii = new TextEncoder();

/**
 * One exchange from end to end: a request is sent, perhaps again, the response streams back, and the log is told.
 * One object with methods instead of closures, for this is the hot path.
 */
export class ProxiedExchange implements ExchangeOwner, UpstreamReceiver, WatchedExchange {
  protected readonly gateway: GatewayContext;
  protected readonly received: ReceivedRequest;
  protected readonly rules: CompiledRuleBook;
  /** What the log will say. */
  protected readonly facts: EntryFacts;
  /** The target as V2 got it, without the path of the origin. */
  protected upstreamTarget: string | undefined = undefined;
  /** What the observer is shown; undefined when it wants nothing of this exchange. */
  protected readonly recorder: ExchangeRecorder | undefined;
  /** Where the request goes. */
  protected origin: Origin;
  /** Bytes taken from the budget. */
  protected bufferedBytes = 0;
  private call: UpstreamCall | undefined = undefined;
  private request: UpstreamRequest | undefined = undefined;
  private sentAt = 0;
  /** The status the client got, or 0. */
  private status = 0;
  /** True once no response is waited for: it is being written, or the client is gone. */
  private settled = false;
  private finished = false;
  private readonly watchdogSlot: number;
  /** True once it is in flight no more. */
  private hasLeft = false;

  constructor(gateway: GatewayContext, received: ReceivedRequest, route: Route) {
    this.gateway = gateway;
    this.received = received;
    this.rules = received.rules;
    this.origin = gateway.v2;
    const { exchange, head } = received;
    this.facts = {
      route,
      method: exchange.method,
      target: exchange.target,
      requestId: isRequestId(head.requestId) ? head.requestId : gateway.parts.newRequestId(),
      verdict: route === 'migrate' ? 'unchanged' : 'passed',
      edits: [],
      bytesOut: 0,
      responseBytes: 0,
      attempts: 0,
      ruleBook: this.rules.ruleBook.hash,
    };
    const trace = readTraceparent(head.traceparent);
    if (trace !== undefined) {
      this.facts.traceId = trace.traceId;
      this.facts.spanId = trace.spanId;
      this.facts.spanOfClient = true;
    }
    const { observer } = gateway.parts;
    const wanted = observer === undefined ? 'nothing' : observer.begin();
    this.recorder =
      observer === undefined || wanted === 'nothing'
        ? undefined
        : new ExchangeRecorder(observer, exchange, wanted);
    gateway.inFlight += 1;
    this.watchdogSlot = gateway.watchdog.begin(this);
    exchange.attach(new GuardedOwner(this, this.failInternally));
  }

  /** Ends the exchange at a bug: the operator is told what, the client only that there was one. */
  readonly failInternally = (error: unknown): void => {
    if (error instanceof UnwritableHead) {
      this.refuseUnwritable(error);
      return;
    }
    this.gateway.parts.onUnexpectedError(error);
    this.call?.abort();
    if (this.settled) this.received.exchange.reset();
    else this.refuse(failure('internal'));
  };

  /** Does something outside the calls of adapters; a bug in it ends this exchange only. */
  guarded(work: () => void): void {
    try {
      work();
    } catch (error) {
      this.failInternally(error);
    }
  }

  /** V2 gave a head that HTTP has no room for: nothing of it went out. */
  private refuseUnwritable(error: UnwritableHead): void {
    this.call?.abort();
    this.settled = false;
    this.facts.cause = error.message;
    this.refuse(failure('upstream-invalid'));
  }

  /** Responds in the gateway's own name, unless a response has begun. */
  refuse(refused: Failure): void {
    if (this.settled) return;
    this.settled = true;
    // What was sent on was not refused: a failure of V2 leaves standing what was done to the request.
    if (this.facts.attempts === 0) this.facts.verdict = 'refused';
    this.facts.failure = refused.code;
    this.facts.pointer = refused.pointer;
    this.facts.position = refused.position;
    this.status = refused.status;
    const { exchange } = this.received;
    const body = ascii.encode(refused.envelope());
    const headers = [
      'Content-Type',
      'application/json',
      'Content-Length',
      String(body.length),
      'Date',
      new Date(this.gateway.parts.time()).toUTCString(),
      'x-gateway-error',
      refused.code,
      ...refused.headers,
    ];
    this.addSignals(headers);
    exchange.head(refused.status, undefined, headers);
    this.recorder?.clientResponded(refused.status, headers);
    this.recorder?.responseChunk(body);
    if (exchange.method !== 'HEAD') {
      this.facts.responseBytes = body.length;
      exchange.data(body);
    }
    exchange.end(NO_HEADERS);
  }

  /** Sends the request, or refuses it when the origin is to be left alone. */
  protected send(request: UpstreamRequest): void {
    if (this.settled) return;
    const { parts } = this.gateway;
    const { breaker, resends, upstream, version } = this.origin;
    const isFirst = this.facts.attempts === 0;
    if (isFirst && !breaker.admit(upstream.recoveries)) {
      this.refuse(failure('circuit-open', undefined, ['Retry-After', String(breaker.retryAfter())]));
      return;
    }
    this.request = request;
    this.facts.attempts += 1;
    this.sentAt = parts.now();
    if (isFirst) resends.count(this.sentAt);
    if (request.body instanceof Uint8Array) this.facts.bytesOut = request.body.length;
    if (version === 'v2') this.recorder?.upstreamRequest(request);
    this.call = upstream.send(request, new GuardedReceiver(this.receiver(), this.failInternally));
  }

  /** Who is told of the response. */
  protected receiver(): UpstreamReceiver {
    return this;
  }

  /** True once nobody waits for a response. */
  get isOver(): boolean {
    return this.settled;
  }

  // The watchdog.

  get progress(): number {
    return this.received.exchange.bytesIn + this.facts.responseBytes + this.facts.attempts;
  }

  get readingMs(): number {
    const { responseBytes } = this.facts;
    if (responseBytes === 0) return 0;
    const { minDataRate } = this.gateway.options;
    return minDataRate === 0 ? Infinity : (responseBytes / minDataRate) * 1000;
  }

  giveUp(): void {
    const { requestId, route, attempts, responseBytes } = this.facts;
    this.gateway.parts.onUnexpectedError(
      new Error(
        `nothing moves in the exchange ${requestId} (${route}, ${attempts} attempts, ${responseBytes} bytes of response): it was ended`,
      ),
    );
    this.facts.failure ??= 'internal';
    this.facts.cause ??= 'no progress';
    this.received.exchange.reset();
    this.disconnected();
  }

  // The client's side.

  acceptChunk(_bytes: number): boolean {
    return false;
  }

  onWholeBody(_body: Uint8Array): void {}

  onBody(_body: Body): void {}

  drained(): void {
    this.call?.resume();
  }

  onClientFault(fault: ClientFault): void {
    this.call?.abort();
    if (this.settled) {
      this.received.exchange.reset();
      return;
    }
    this.received.exchange.closeAfterResponse();
    this.refuse(failure(fault));
  }

  disconnected(): void {
    this.settled = true;
    this.call?.abort();
    this.finish();
  }

  flushed(): void {
    this.finish();
  }

  // The side of V2.

  information(status: number, headers: HeaderList): void {
    if (!this.settled) this.received.exchange.information(status, interimFields(headers));
  }

  head(status: number, reason: string, headers: HeaderList): void {
    if (this.settled) return;
    this.settled = true;
    this.status = status;
    this.noteResponseTime();
    this.origin.breaker.succeeded();
    const responseHeaders = this.responseHeaders(status, endToEnd(headers, true));
    this.received.exchange.head(status, reason, responseHeaders);
    this.recorder?.upstreamResponded(status, headers);
    this.recorder?.clientResponded(status, responseHeaders);
  }

  data(chunk: Uint8Array): void {
    this.facts.responseBytes += chunk.length;
    this.recorder?.responseChunk(chunk);
    if (!this.received.exchange.data(chunk)) this.call?.pause();
  }

  end(trailers: HeaderList): void {
    this.received.exchange.end(trailersOf(trailers));
  }

  endUnproven(): void {
    this.facts.responseNote ??= 'response-until-close';
  }

  fail(fault: UpstreamFault): void {
    if (this.finished) return;
    const { request } = this;
    const isCountedFault = isCounted(fault, request?.body ?? null);
    if (this.settled) {
      if (isCountedFault) this.countFault(fault);
      this.facts.failure = 'upstream-broken';
      this.facts.cause = fault.cause;
      this.received.exchange.reset();
      return;
    }
    const { attempts } = this.facts;
    if (request !== undefined && mayResend(request, fault, attempts) && this.origin.resends.take()) {
      this.resend(request);
      return;
    }
    if (isCountedFault) this.countFault(fault);
    this.facts.cause = fault.cause;
    this.facts.sent = fault.sent || attempts > 1;
    this.refuse(failureForFault(fault));
  }

  /** All attempts together have the time of one. */
  private resend(request: UpstreamRequest): void {
    const { after, now, random } = this.gateway.parts;
    const { sentAt } = this;
    after(resendDelay(this.facts.attempts, random()), () =>
      this.guarded(() => this.send({ ...request, spentMs: now() - sentAt })),
    );
  }

  /** A connection that closes ends all that were sent on others like it; a time that is over was waited for by each request. */
  private countFault(fault: UpstreamFault): void {
    const { kind } = fault;
    const { breaker, upstream, version } = this.origin;
    this.gateway.notify({ event: 'upstream-fault', origin: version, fault });
    breaker.failed(kind === 'closed' ? this.sentAt : undefined, upstream.recoveries);
  }

  /** The head of the response is here, whether it goes out now or later. */
  protected noteResponseTime(): void {
    this.facts.upstreamMs ??= this.gateway.parts.now() - this.sentAt;
  }

  /** The exchange is over; `status` is what the client got, 0 when it went away before. */
  protected onFinished(_status: number): void {}

  /** Adds what every response to the client says beside what it is about, in place. */
  protected addSignals(_headers: string[]): void {}

  /** The fields of the response, for the client. */
  protected responseHeaders(_status: number, headers: string[]): string[] {
    return headers;
  }

  /** Gives the place in flight back: the client waits for nothing more. What follows is not in the times of the log. */
  protected leave(): void {
    if (this.hasLeft) return;
    this.hasLeft = true;
    const { gateway, received, facts } = this;
    gateway.inFlight -= 1;
    facts.totalMs = gateway.parts.now() - received.started;
  }

  private finish(): void {
    if (this.finished) return;
    this.finished = true;
    this.leave();
    const { gateway, received, facts } = this;
    gateway.watchdog.end(this.watchdogSlot);
    gateway.budget.release(this.bufferedBytes);
    facts.bytesIn = received.exchange.bytesIn;
    const body = this.request?.body ?? null;
    if (body !== null && !(body instanceof Uint8Array)) facts.bytesOut = facts.bytesIn;
    facts.status = this.status;
    facts.time = received.time;
    facts.upstreamTarget = this.request === undefined ? undefined : this.upstreamTarget;
    this.onFinished(this.status);
    const failed = hasFailed(facts);
    if (this.recorder?.isWanted(failed) === true)
      facts.attributes = gateway.attributeNames.of(this.recorder.requestBody, failed);
    const { authorization } = received.head;
    const client = authorization === undefined ? undefined : gateway.parts.clientOf(authorization);
    if (typeof client === 'string' || client === undefined) {
      this.record(exchangeEntry(facts, client));
      return;
    }
    client.then((hash) => this.record(exchangeEntry(facts, hash)), gateway.parts.onUnexpectedError);
  }

  private record(entry: Entry): void {
    const { record, observer } = this.gateway.parts;
    record(entry);
    if (this.recorder === undefined) observer?.observe(entry);
    else this.recorder.finish(entry);
  }
}
