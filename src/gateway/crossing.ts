import { endToEnd, trailersOf } from '../http/hop-by-hop.ts';
import type { HeaderList } from '../http/header-list.ts';
import type { EntryFacts } from '../rewrite-log/exchange-entry.ts';
import { exchangeEntry } from '../rewrite-log/exchange-entry.ts';
import type { Entry, Route } from '../rewrite-log/entry.ts';
import type { Arrival } from './arrival.ts';
import type { Body, ClientFault, ExchangeOwner } from './exchange.ts';
import { type Failure, failure } from './failure.ts';
import type { Gateway } from './gateway.ts';
import { GuardedOwner, GuardedReceiver } from './guard.ts';
import type { InForce } from './in-force.ts';
import { Observed } from './observed.ts';
import type { Origin } from './origin.ts';
import { isRequestId, readTraceparent } from './trace-context.ts';
import type { UpstreamCall, UpstreamFault, UpstreamReceiver, UpstreamRequest } from './upstream.ts';
import { failureForFault, isCounted, mayResend, resendDelay } from './upstream-failure.ts';

const noHeaders: HeaderList = [];
const ascii = new TextEncoder();

/**
 * One exchange from end to end: a request is sent, perhaps again, the answer streams back, and the log is told.
 * One object with methods instead of closures, for this is the hot path.
 */
export class Crossing implements ExchangeOwner, UpstreamReceiver {
  protected readonly gateway: Gateway;
  protected readonly arrival: Arrival;
  protected readonly inForce: InForce;
  /** What the log will say. */
  protected readonly facts: EntryFacts;
  /** The target as V2 got it, without the path of the origin. */
  protected upstreamTarget: string | undefined = undefined;
  /** What the observer is shown; undefined when it wants nothing of this exchange. */
  protected readonly observed: Observed | undefined;
  /** Where the request goes. */
  protected origin: Origin;
  /** Bytes taken from the budget. */
  protected taken = 0;
  private call: UpstreamCall | undefined = undefined;
  private request: UpstreamRequest | undefined = undefined;
  private sentAt = 0;
  /** The status the client got, or 0. */
  private status = 0;
  /** True once no answer is waited for: it is being written, or the client is gone. */
  private settled = false;
  private finished = false;

  constructor(gateway: Gateway, arrival: Arrival, route: Route) {
    this.gateway = gateway;
    this.arrival = arrival;
    this.inForce = gateway.parts.inForce();
    this.origin = gateway.v2;
    const { exchange, head } = arrival;
    this.facts = {
      route,
      method: exchange.method,
      target: exchange.target,
      requestId: isRequestId(head.requestId) ? head.requestId : gateway.parts.newRequestId(),
      verdict: route === 'migrate' ? 'unchanged' : 'passed',
      edits: [],
      bytesOut: 0,
      answerBytes: 0,
      attempts: 0,
      ruleBook: this.inForce.ruleBook.hash,
    };
    const trace = readTraceparent(head.traceparent);
    if (trace !== undefined) {
      this.facts.traceId = trace.traceId;
      this.facts.spanId = trace.spanId;
      this.facts.spanOfClient = true;
    }
    const { observer } = gateway.parts;
    const wanted = observer === undefined ? 'nothing' : observer.begin();
    this.observed =
      observer === undefined || wanted === 'nothing' ? undefined : new Observed(observer, exchange);
    gateway.inFlight += 1;
    exchange.attach(new GuardedOwner(this, this.stumble));
  }

  /** Ends the exchange at a bug: the operator is told what, the client only that there was one. */
  readonly stumble = (error: unknown): void => {
    this.gateway.parts.surprised(error);
    this.call?.abort();
    if (this.settled) this.arrival.exchange.breakOff();
    else this.refuse(failure('internal'));
  };

  /** Does something outside the calls of adapters; a bug in it ends this exchange only. */
  attempt(work: () => void): void {
    try {
      work();
    } catch (error) {
      this.stumble(error);
    }
  }

  /** Answers in the gateway's own name, unless an answer is on its way already. */
  refuse(refused: Failure): void {
    if (this.settled) return;
    this.settled = true;
    // What was sent on was not refused: a failure of V2 leaves standing what was done to the request.
    if (this.facts.attempts === 0) this.facts.verdict = 'refused';
    this.facts.failure = refused.code;
    this.facts.pointer = refused.pointer;
    this.facts.position = refused.position;
    this.status = refused.status;
    const { exchange } = this.arrival;
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
    this.signal(headers);
    exchange.head(refused.status, undefined, headers);
    this.observed?.told(refused.status, headers);
    this.observed?.part(body);
    if (exchange.method !== 'HEAD') {
      this.facts.answerBytes = body.length;
      exchange.data(body);
    }
    exchange.end(noHeaders);
  }

  /** Sends the request, or refuses it when the origin is to be left alone. */
  protected send(request: UpstreamRequest): void {
    if (this.settled) return;
    const { parts } = this.gateway;
    const { breaker, upstream, version } = this.origin;
    if (!breaker.admit()) {
      this.refuse(failure('circuit-open', undefined, ['Retry-After', String(breaker.retryAfter())]));
      return;
    }
    this.request = request;
    this.facts.attempts += 1;
    this.sentAt = parts.now();
    if (request.body instanceof Uint8Array) this.facts.bytesOut = request.body.length;
    if (version === 'v2') this.observed?.sent(request);
    this.call = upstream.send(request, new GuardedReceiver(this.receiver(), this.stumble));
  }

  /** Who is told of the answer. */
  protected receiver(): UpstreamReceiver {
    return this;
  }

  /** True once nobody waits for an answer. */
  get isOver(): boolean {
    return this.settled;
  }

  // The client's side.

  mayTake(_bytes: number): boolean {
    return false;
  }

  collected(_body: Uint8Array): void {}

  opened(_body: Body): void {}

  drained(): void {
    this.call?.resume();
  }

  faulted(fault: ClientFault): void {
    this.call?.abort();
    if (this.settled) {
      this.arrival.exchange.breakOff();
      return;
    }
    this.arrival.exchange.closeAfterwards();
    this.refuse(failure(fault));
  }

  gone(): void {
    this.settled = true;
    this.call?.abort();
    this.finish();
  }

  flushed(): void {
    this.finish();
  }

  // The side of V2.

  information(status: number, headers: HeaderList): void {
    if (!this.settled) this.arrival.exchange.information(status, endToEnd(headers, false));
  }

  head(status: number, reason: string, headers: HeaderList): void {
    if (this.settled) return;
    this.settled = true;
    this.status = status;
    this.noteAnswered();
    this.origin.breaker.succeeded();
    const answerHeaders = this.answerHeaders(status, endToEnd(headers, true));
    this.arrival.exchange.head(status, reason, answerHeaders);
    this.observed?.answered(status, headers);
    this.observed?.told(status, answerHeaders);
  }

  data(chunk: Uint8Array): void {
    this.facts.answerBytes += chunk.length;
    this.observed?.part(chunk);
    if (!this.arrival.exchange.data(chunk)) this.call?.pause();
  }

  end(trailers: HeaderList): void {
    this.arrival.exchange.end(trailersOf(trailers));
  }

  fail(fault: UpstreamFault): void {
    if (this.finished) return;
    if (isCounted(fault)) this.origin.breaker.failed();
    if (this.settled) {
      this.facts.failure = 'upstream-broken';
      this.facts.cause = fault.cause;
      this.arrival.exchange.breakOff();
      return;
    }
    const { request } = this;
    if (request !== undefined && mayResend(request, fault, this.facts.attempts)) {
      this.gateway.parts.after(resendDelay(this.facts.attempts, this.gateway.parts.random()), () =>
        this.attempt(() => this.send(request)),
      );
      return;
    }
    this.facts.cause = fault.cause;
    this.refuse(failureForFault(fault));
  }

  /** The head of the answer is here, whether it goes out now or later. */
  protected noteAnswered(): void {
    this.facts.upstreamMs ??= this.gateway.parts.now() - this.sentAt;
  }

  /** The exchange is over; `status` is what the client got, 0 when it went away before. */
  protected ended(_status: number): void {}

  /** Adds what every answer to the client says beside what it is about, in place. */
  protected signal(_headers: string[]): void {}

  /** The fields of the answer, for the client. */
  protected answerHeaders(_status: number, headers: string[]): string[] {
    return headers;
  }

  private finish(): void {
    if (this.finished) return;
    this.finished = true;
    const { gateway, arrival, facts } = this;
    gateway.inFlight -= 1;
    gateway.budget.release(this.taken);
    facts.bytesIn = arrival.exchange.bytesIn;
    const body = this.request?.body ?? null;
    if (body !== null && !(body instanceof Uint8Array)) facts.bytesOut = facts.bytesIn;
    facts.status = this.status;
    facts.time = arrival.time;
    facts.totalMs = gateway.parts.now() - arrival.started;
    facts.upstreamTarget = this.request === undefined ? undefined : this.upstreamTarget;
    this.ended(this.status);
    const { authorization } = arrival.head;
    const client = authorization === undefined ? undefined : gateway.parts.clientOf(authorization);
    if (typeof client === 'string' || client === undefined) {
      this.record(exchangeEntry(facts, client));
      return;
    }
    client.then((hash) => this.record(exchangeEntry(facts, hash)), gateway.parts.surprised);
  }

  private record(entry: Entry): void {
    const { record, observer } = this.gateway.parts;
    record(entry);
    if (this.observed === undefined) observer?.observe(entry);
    else this.observed.finish(entry);
  }
}
