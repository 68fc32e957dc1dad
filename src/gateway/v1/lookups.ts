import { type Coding, readCoding } from '../../http/content.ts';
import { type HeaderList, headerValues } from '../../http/header-list.ts';
import type { ResponseHead } from '../../http/response-head.ts';
import type { DecodedBody } from '../../migrate/decode-web-body.ts';
import {
  type LookupJob,
  type LookupRequest,
  type LookupResult,
  lookupFields,
} from '../../migrate/lookups.ts';
import { type CallOwner, OriginCall } from '../origin-call.ts';
import type { ProxiedExchange } from '../proxied-exchange.ts';
import type { Origin } from '../resilience.ts';
import { type CollectedResponse, ResponseCopy } from '../response-copy.ts';
import type { UpstreamFault, UpstreamReceiver, UpstreamRequest } from '../upstream.ts';

/** The connection to V2 for lookups: that of the request itself. */
export interface LookupWay {
  readonly origin: Origin;
  /** The fields of the migrated request for V2, with the credentials of its client. */
  readonly headers: () => HeaderList;
  /** True if no client waits. */
  readonly isBackground?: boolean;
}

/** Undoes the content coding of a response. */
type Decode = (coding: Coding, body: Uint8Array, limit: number, done: (decoded: DecodedBody) => void) => void;

/** The lookups of one response: its requests share a limit and a timeout, and end with the exchange. */
export class V2Lookups {
  private readonly exchange: ProxiedExchange;
  private readonly way: LookupWay;
  private readonly headers: HeaderList;
  private readonly decode: Decode;
  private readonly until: number;
  private open = new Set<LookupCall>();
  /** Ends the current work. */
  private finish: (() => void) | undefined = undefined;

  constructor(exchange: ProxiedExchange, way: LookupWay, timeMs: number, decode: Decode) {
    this.exchange = exchange;
    this.way = way;
    this.headers = lookupFields(way.headers());
    this.decode = decode;
    this.until = exchange.gateway.parts.now() + timeMs;
  }

  /** Asks V2; `done` is not called once the exchange is over. */
  ask({ requests, parallel, limit }: LookupJob, done: (results: readonly LookupResult[]) => void): void {
    const { exchange } = this;
    const { now, after } = exchange.gateway.parts;
    // The body that needs the lookups stays in memory.
    exchange.memory.work((_, finish) => {
      const results: (LookupResult | undefined)[] = requests.map(() => undefined);
      const timer: Timer = { expire: undefined };
      let next = 0;
      let missing = requests.length;
      const end = (): void => {
        if (this.finish !== end) return;
        this.finish = undefined;
        timer.expire = undefined;
        this.abort();
        finish(() => done(results.map((result) => result ?? LATE)));
      };
      const start = (): void => {
        while (this.finish === end && next < requests.length && this.open.size < parallel) {
          const at = next;
          const request = requests[at];
          next += 1;
          if (request !== undefined) this.send(request, limit, (result) => settle(at, result));
        }
      };
      const settle = (at: number, result: LookupResult): void => {
        results[at] = result;
        missing -= 1;
        if (missing === 0) end();
        else start();
      };
      this.finish = end;
      timer.expire = () => exchange.guarded(end);
      startTimer(after, Math.max(0, this.until - now()), timer);
      start();
    });
  }

  /** The exchange is over. */
  close(): void {
    this.finish?.();
  }

  private send(request: LookupRequest, limit: number, done: (result: LookupResult) => void): void {
    const { exchange, way, decode } = this;
    const call = new LookupCall(exchange, way, limit, decode, (result) => {
      this.open.delete(call);
      done(result);
    });
    this.open.add(call);
    call.start(request, this.headers);
  }

  private abort(): void {
    for (const call of this.open) call.abort();
    this.open.clear();
  }
}

/** A callback for a timer that cannot be stopped: undefined once there is nothing to call. */
interface Timer {
  expire: (() => void) | undefined;
}

/** Starts a timer. Outside the class, so that a pending timer does not keep a finished exchange with its bodies in memory. */
function startTimer(
  after: (milliseconds: number, run: () => void) => void,
  milliseconds: number,
  timer: Timer,
): void {
  after(milliseconds, () => timer.expire?.());
}

/** The result of a request that was not sent because the time was over. */
const LATE: LookupResult = { status: undefined, body: undefined, cause: 'timeout', ms: 0 };

/** One request, with a retry like any other GET. */
class LookupCall implements CallOwner, UpstreamReceiver {
  readonly borrowsParts = true;
  readonly origin: Origin;
  readonly gateway: ProxiedExchange['gateway'];
  private readonly exchange: ProxiedExchange;
  private readonly isBackground: boolean;
  private readonly limit: number;
  private readonly decode: Decode;
  private readonly done: (result: LookupResult) => void;
  private readonly call: OriginCall;
  private readonly copy: ResponseCopy;
  private readonly startedAt: number;
  private cause: string | undefined = undefined;
  private isOver = false;

  constructor(
    exchange: ProxiedExchange,
    { origin, isBackground = false }: LookupWay,
    limit: number,
    decode: Decode,
    done: (result: LookupResult) => void,
  ) {
    this.exchange = exchange;
    this.gateway = exchange.gateway;
    this.origin = origin;
    this.isBackground = isBackground;
    this.limit = limit;
    this.decode = decode;
    this.done = done;
    this.call = new OriginCall(this);
    this.startedAt = this.gateway.parts.now();
    this.copy = new ResponseCopy({
      limit: ({ status }) => (isSuccess(status) ? limit : undefined),
      take: (bytes) => exchange.memory.reserve(bytes),
      done: (outcome) => {
        if (typeof outcome !== 'string') this.read(outcome);
        else
          this.settle(undefined, isSuccess(this.copy.status) || this.copy.status === 0 ? outcome : undefined);
      },
    });
  }

  start({ target }: LookupRequest, headers: HeaderList): void {
    const { origin, isBackground, exchange } = this;
    const { breaker } = origin;
    // A background request cannot be a probe: it is sent only if the circuit is closed.
    const isAdmitted = isBackground ? breaker.state === 'closed' : breaker.admit();
    if (!isAdmitted) {
      this.settle(undefined, 'circuit-open');
      return;
    }
    const { signal } = exchange.received.exchange;
    this.sendAgain({
      method: 'GET',
      target: origin.path + target,
      headers,
      body: null,
      length: undefined,
      signal,
      isBackground,
    });
  }

  sendAgain(request: UpstreamRequest): void {
    if (!this.isOver) this.call.send(request, this, undefined);
  }

  failInternally(error: unknown): void {
    this.exchange.failInternally(error);
  }

  abort(): void {
    if (this.isOver) return;
    this.isOver = true;
    this.call.abort();
    this.call.over();
  }

  information(): void {}

  head(head: ResponseHead): void {
    this.origin.breaker.succeeded();
    this.copy.head(head);
  }

  data(chunk: Uint8Array): void {
    this.copy.data(chunk);
    // The response is too large: stop receiving it.
    if (this.isOver) this.call.abort();
  }

  end(): void {
    this.copy.end();
  }

  fail(fault: UpstreamFault): void {
    const { call, copy } = this;
    if (this.isOver) return;
    if (fault.kind === 'away') call.notTried();
    if (copy.status === 0 && call.retry(fault)) return;
    call.count(fault);
    this.cause = fault.cause;
    copy.fail(fault);
  }

  private read({ headers, body }: CollectedResponse): void {
    const coding = readCoding(headerValues(headers, 'content-encoding').join(','));
    if (coding === undefined || body.length === 0) this.settle(body, undefined);
    else if (coding === 'unsupported') this.settle(undefined, 'undecodable');
    else
      this.decode(coding, body, this.limit, (decoded) => {
        if (typeof decoded === 'string') this.settle(undefined, decoded);
        else this.settle(decoded, undefined);
      });
  }

  private settle(body: Uint8Array | undefined, cause: string | undefined): void {
    if (this.isOver) return;
    this.isOver = true;
    this.call.over();
    const { status } = this.copy;
    this.done({
      status: status === 0 ? undefined : status,
      body,
      cause: this.cause ?? cause,
      ms: this.gateway.parts.now() - this.startedAt,
    });
  }
}

function isSuccess(status: number): boolean {
  return status >= 200 && status < 300;
}
