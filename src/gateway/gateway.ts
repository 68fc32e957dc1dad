import type { Coding } from '../http/content-coding.ts';
import { readTarget } from '../http/target.ts';
import type { Entry } from '../rewrite-log/entry.ts';
import type { Observer } from '../rewrite-log/observer.ts';
import { AttributeNames } from '../rewrite-log/attribute-names.ts';
import { exchangeEntry } from '../rewrite-log/exchange-entry.ts';
import { ResponseRulesInForce } from './v1/response-rules.ts';
import type { GatewayOptions } from '../settings/gateway-options.ts';
import { type ReceivedRequest, requestFailure, receiveRequest } from './received-request.ts';
import { BufferBudget, REWRITING_COPIES } from './buffer-budget.ts';
import { CircuitBreaker } from './circuit-breaker.ts';
import { circuitNotice, type GatewayNotice } from './notice.ts';
import { Comparisons } from './v1/comparisons.ts';
import { ProxiedExchange } from './proxied-exchange.ts';
import type { Exchange } from './exchange.ts';
import { type Failure, failure } from '../migrate/failure.ts';
import type { CompiledRuleBook } from '../rewrite/compiled-rule-book.ts';
import type { Origin } from './origin.ts';
import { PassExchange } from './v2/pass-exchange.ts';
import { RateLimitQueue } from '../rollout/rate-limit-queue.ts';
import { RolloutControl } from '../rollout/rollout-control.ts';
import type { Upstream } from './upstream.ts';
import { startV1Exchange } from './v1/start-v1-exchange.ts';

/** What comes of decoding a body. */
export type Decoded = Uint8Array | 'too-large' | 'undecodable';

/** What a runtime gives the gateway. */
export interface GatewayParts {
  /** The rule book in force, asked for once an exchange. */
  readonly rules: () => CompiledRuleBook;
  readonly upstream: Upstream;
  /** The path of the origin, without a trailing slash: what stands before every target that is sent. */
  readonly originPath: string;
  /** Host of the origin, with its port: what addresses in responses are compared with. Without it only paths are. */
  readonly originHost?: string | undefined;
  /** The service of V1, where there is one beside V2. */
  readonly v1?: Pick<Origin, 'upstream' | 'path' | 'host'> | undefined;
  /** The modes of V1 traffic; without it, those of the rule book hold, and a roll-back lasts as long as the process. */
  readonly rollout?: RolloutControl | undefined;
  /** Takes the entry of each exchange, once it is over. */
  readonly record: (entry: Entry) => void;
  /** Who sees exchanges beside the log, such as the inspector. */
  readonly observer?: Observer | undefined;
  /** Milliseconds of a clock that never goes back. */
  readonly now: () => number;
  /** Milliseconds since 1970. */
  readonly time: () => number;
  readonly newRequestId: () => string;
  /** 48 random hex digits. */
  readonly newTraceHex: () => string;
  /** The first 16 hex digits of HMAC-SHA-256(API key, secret). */
  readonly clientOf: (authorization: string) => string | Promise<string>;
  /** Decodes a body up to `limit` bytes, and calls back once. */
  readonly decode: (
    coding: Coding,
    body: Uint8Array,
    limit: number,
    done: (outcome: Decoded) => void,
  ) => void;
  /** What `decode` can decode, where it is not everything that the contract names. */
  readonly codings?: readonly Coding[] | undefined;
  /** Runs something after so many milliseconds. */
  readonly after: (milliseconds: number, run: () => void) => void;
  /** A number from 0 up to 1. */
  readonly random: () => number;
  /** Told of the circuits and of upstream faults, for the operator. */
  readonly onNotice?: ((notice: GatewayNotice) => void) | undefined;
  /** Told of a bug: an error that no failure describes. */
  readonly onUnexpectedError: (error: unknown) => void;
}

/** The gateway: what comes in is migrated, passed or refused, and told to the log. */
export class Gateway {
  readonly parts: GatewayParts;
  readonly options: GatewayOptions;
  readonly budget: BufferBudget;
  readonly breaker: CircuitBreaker;
  readonly v2: Origin;
  readonly v1: Origin | undefined;
  readonly rollout: RolloutControl;
  /** What shadowed reads found. */
  readonly comparisons = new Comparisons();
  readonly rateLimitQueue: RateLimitQueue;
  /** Lists the names in a body, for the attribute census. */
  readonly attributeNames = new AttributeNames();
  readonly responseRules = new ResponseRulesInForce();
  /** Exchanges that are not over. */
  inFlight = 0;

  constructor(parts: GatewayParts, options: GatewayOptions) {
    this.parts = parts;
    this.options = options;
    this.budget = new BufferBudget(options.bufferBytes, REWRITING_COPIES);
    const { breakerFailures: failures, breakerOpenMs: openMs } = options;
    const { upstream, originPath: path, originHost: host, v1, now } = parts;
    const breakerOf = (origin: 'v1' | 'v2'): CircuitBreaker =>
      new CircuitBreaker({
        failures,
        openMs,
        now,
        onChange: (before, after) => this.notify(circuitNotice(origin, before, after)),
      });
    this.breaker = breakerOf('v2');
    this.v2 = { version: 'v2', upstream, breaker: this.breaker, path, host };
    this.v1 = v1 && { version: 'v1', breaker: breakerOf('v1'), ...v1 };
    this.rateLimitQueue = new RateLimitQueue(parts);
    this.rollout = parts.rollout ?? new RolloutControl({ time: parts.time, onNotice: () => {} });
  }

  /** Takes an exchange in; undefined when its head is refused, and the response on its way. */
  receive(exchange: Exchange): ReceivedRequest | undefined {
    const received = receiveRequest(exchange, this.options, this.parts.now(), this.parts.time());
    const failed = requestFailure(received);
    if (failed !== undefined) {
      exchange.closeAfterResponse();
      new ProxiedExchange(this, received, 'none').refuse(failed);
      return undefined;
    }
    if (this.inFlight >= this.options.maxInFlight) {
      new ProxiedExchange(this, received, 'none').refuse(
        failure('overloaded', undefined, ['Retry-After', '1']),
      );
      return undefined;
    }
    return received;
  }

  /** Tells the operator, where there is something to tell. */
  notify(notice: GatewayNotice | undefined): void {
    if (notice !== undefined) this.parts.onNotice?.(notice);
  }

  /** Responds to a V1 request by asking V2 for the same. */
  migrate(received: ReceivedRequest): Exchange['handled'] {
    const target = readTarget(received.exchange.target);
    if (target.fault !== undefined || target.prefix !== '/api/v1') return this.refuseTarget(received);
    startV1Exchange(this, received, target);
    return received.exchange.handled;
  }

  /** Responds to a V2 request by sending it on unchanged. */
  pass(received: ReceivedRequest): Exchange['handled'] {
    const target = readTarget(received.exchange.target);
    if (target.fault !== undefined || target.prefix !== '/api/v2') return this.refuseTarget(received);
    const exchange = new PassExchange(this, received);
    exchange.guarded(() => exchange.start());
    return received.exchange.handled;
  }

  /** Responds to what is under neither prefix, or cannot be said to be. */
  refuseTarget(received: ReceivedRequest): Exchange['handled'] {
    const { fault } = readTarget(received.exchange.target);
    const refused = fault === undefined ? failure('not-found') : failure('bad-target', fault);
    new ProxiedExchange(this, received, 'none').refuse(refused);
    return received.exchange.handled;
  }

  /** Tells the log of a request that a server's parser refused: there is no exchange to speak of. */
  logRefused(refused: Failure): void {
    const ruleBook = this.parts.rules().ruleBook.hash;
    const requestId = this.parts.newRequestId();
    const facts = {
      route: 'none',
      verdict: 'refused',
      method: '',
      target: '',
      edits: [],
      requestId,
      ruleBook,
    } as const;
    const counts = {
      bytesOut: 0,
      responseBytes: 0,
      attempts: 0,
      status: refused.status,
      time: this.parts.time(),
    };
    this.parts.record(exchangeEntry({ ...facts, ...counts, failure: refused.code }, undefined));
  }

  /** Ends an exchange that met a bug: the operator is told what, the client only that. */
  failInternally(received: ReceivedRequest, error: unknown): Exchange['handled'] {
    this.parts.onUnexpectedError(error);
    received.exchange.reset();
    return received.exchange.handled;
  }
}
