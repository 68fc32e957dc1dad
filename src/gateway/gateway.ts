import type { Coding } from '../http/content-coding.ts';
import type { ForwardedMode } from '../http/forwarded.ts';
import { readTarget } from '../http/target.ts';
import type { Entry } from '../rewrite-log/entry.ts';
import type { Observer } from '../rewrite-log/observer.ts';
import { AttributeNames } from '../rewrite-log/attribute-names.ts';
import { exchangeEntry } from '../rewrite-log/exchange-entry.ts';
import { AnswerRulesInForce } from './answer-rules.ts';
import { type Arrival, type ArrivalLimits, arrivalFailure, readArrival } from './arrival.ts';
import { BufferBudget } from './buffer-budget.ts';
import { CircuitBreaker } from './circuit-breaker.ts';
import { Comparisons } from './comparisons.ts';
import { Crossing } from './crossing.ts';
import type { Exchange } from './exchange.ts';
import { type Failure, failure } from './failure.ts';
import type { InForce } from './in-force.ts';
import type { Origin } from './origin.ts';
import { Pass } from './pass.ts';
import { RateShield } from './rate-shield.ts';
import { RolloutControl } from './rollout-control.ts';
import type { Upstream } from './upstream.ts';
import { startV1 } from './v1-route.ts';

/** What comes of decoding a body. */
export type Decoded = Uint8Array | 'too-large' | 'undecodable';

/** What a runtime gives the gateway. */
export interface GatewayParts {
  /** The rule book in force, asked for once an exchange. */
  readonly inForce: () => InForce;
  readonly upstream: Upstream;
  /** The path of the origin, without a trailing slash: what stands before every target that is sent. */
  readonly originPath: string;
  /** Host of the origin, with its port: what addresses in answers are compared with. Without it only paths are. */
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
  /** Told of a bug: an error that no failure describes. */
  readonly surprised: (error: unknown) => void;
}

/** The limits and choices of the operator. */
export interface GatewayOptions extends ArrivalLimits {
  readonly maxInFlight: number;
  /** Bytes held for rewriting, all requests together. */
  readonly bufferBytes: number;
  /** Bytes of a body to rewrite; undefined leaves it to the rule book. */
  readonly bodyLimit: number | undefined;
  readonly forwarded: ForwardedMode;
  /** Upstream failures in a row that open the circuit; 0 never opens it. */
  readonly breakerFailures: number;
  readonly breakerOpenMs: number;
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
  readonly shield: RateShield;
  /** Lists the names in a body, for the attribute census. */
  readonly attributeNames = new AttributeNames();
  readonly answerRules = new AnswerRulesInForce();
  /** Exchanges that are not over. */
  inFlight = 0;

  constructor(parts: GatewayParts, options: GatewayOptions) {
    this.parts = parts;
    this.options = options;
    this.budget = new BufferBudget(options.bufferBytes);
    const { breakerFailures: failures, breakerOpenMs: openMs } = options;
    const { upstream, originPath: path, originHost: host, v1, now } = parts;
    this.breaker = new CircuitBreaker({ failures, openMs, now });
    this.v2 = { version: 'v2', upstream, breaker: this.breaker, path, host };
    this.v1 = v1 && { version: 'v1', breaker: new CircuitBreaker({ failures, openMs, now }), ...v1 };
    this.shield = new RateShield(parts);
    this.rollout = parts.rollout ?? new RolloutControl({ time: parts.time, told: () => {} });
  }

  /** Takes an exchange in; undefined when its head is refused, and the answer on its way. */
  receive(exchange: Exchange): Arrival | undefined {
    const arrival = readArrival(exchange, this.options, this.parts.now(), this.parts.time());
    const failed = arrivalFailure(arrival);
    if (failed !== undefined) {
      exchange.closeAfterwards();
      new Crossing(this, arrival, 'none').refuse(failed);
      return undefined;
    }
    if (this.inFlight >= this.options.maxInFlight) {
      new Crossing(this, arrival, 'none').refuse(failure('overloaded', undefined, ['Retry-After', '1']));
      return undefined;
    }
    return arrival;
  }

  /** Answers a V1 request by asking V2 for the same. */
  migrate(arrival: Arrival): Exchange['answered'] {
    const target = readTarget(arrival.exchange.target);
    if (target.fault !== undefined || target.prefix !== '/api/v1') return this.refuseTarget(arrival);
    startV1(this, arrival, target);
    return arrival.exchange.answered;
  }

  /** Answers a V2 request by sending it on unchanged. */
  pass(arrival: Arrival): Exchange['answered'] {
    const target = readTarget(arrival.exchange.target);
    if (target.fault !== undefined || target.prefix !== '/api/v2') return this.refuseTarget(arrival);
    const crossing = new Pass(this, arrival);
    crossing.attempt(() => crossing.start());
    return arrival.exchange.answered;
  }

  /** Answers what is under neither prefix, or cannot be said to be. */
  refuseTarget(arrival: Arrival): Exchange['answered'] {
    const { fault } = readTarget(arrival.exchange.target);
    const refused = fault === undefined ? failure('not-found') : failure('bad-target', fault);
    new Crossing(this, arrival, 'none').refuse(refused);
    return arrival.exchange.answered;
  }

  /** Tells the log of a request that a server's parser refused: there is no exchange to speak of. */
  refused(refused: Failure): void {
    const ruleBook = this.parts.inForce().ruleBook.hash;
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
      answerBytes: 0,
      attempts: 0,
      status: refused.status,
      time: this.parts.time(),
    };
    this.parts.record(exchangeEntry({ ...facts, ...counts, failure: refused.code }, undefined));
  }

  /** Ends an exchange that met a bug: the operator is told what, the client only that. */
  stumble(arrival: Arrival, error: unknown): Exchange['answered'] {
    this.parts.surprised(error);
    arrival.exchange.breakOff();
    return arrival.exchange.answered;
  }
}
