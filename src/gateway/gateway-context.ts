import type { Coding } from '../http/content-coding.ts';
import type { DecisionLimits } from '../migrate/decision.ts';
import type { DecodeBody } from '../migrate/decoded-body.ts';
import type { CompiledRuleBook } from '../rewrite/compiled-rule-book.ts';
import { AttributeNames } from '../rewrite-log/attribute-names.ts';
import type { Entry } from '../rewrite-log/entry.ts';
import type { Observer } from '../rewrite-log/observer.ts';
import { RateLimitQueue } from '../rollout/rate-limit-queue.ts';
import { RolloutControl } from '../rollout/rollout-control.ts';
import { SignalHeaders } from '../rollout/signal-headers.ts';
import type { RuleBook } from '../rules/rule-book.ts';
import type { GatewayOptions } from '../settings/gateway-options.ts';
import { BufferBudget, REWRITING_COPIES } from './buffer-budget.ts';
import { CircuitBreaker } from './circuit-breaker.ts';
import { circuitNotice, type GatewayNotice } from './notice.ts';
import { ResendBudget } from './resend-budget.ts';
import { ExchangeWatchdog } from './exchange-watchdog.ts';
import type { Origin } from './origin.ts';
import type { Upstream } from './upstream.ts';
import { Comparisons } from './v1/comparisons.ts';

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
  /** Sees exchanges beside the log, such as the inspector. */
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
  readonly decode: DecodeBody;
  /** What `decode` can decode, where it is not everything that the contract names. */
  readonly codings?: readonly Coding[] | undefined;
  /** Runs something after so many milliseconds. */
  readonly after: (milliseconds: number, run: () => void) => void;
  /** A number from 0 up to 1. */
  readonly random: () => number;
  /** Called when a circuit opens or closes, and on upstream faults, for the operator. */
  readonly onNotice?: ((notice: GatewayNotice) => void) | undefined;
  /** Called with an error that no failure describes: a bug. */
  readonly onUnexpectedError: (error: unknown) => void;
}

/** What all exchanges of a gateway share: its parts and options, and the state that outlives an exchange. */
export class GatewayContext {
  readonly parts: GatewayParts;
  readonly options: GatewayOptions & DecisionLimits;
  readonly budget: BufferBudget;
  readonly v2: Origin;
  readonly v1: Origin | undefined;
  readonly rollout: RolloutControl;
  /** Differences that shadowed reads found. */
  readonly comparisons: Comparisons;
  readonly rateLimitQueue: RateLimitQueue;
  /** Lists the names in a body, for the attribute census. */
  readonly attributeNames: AttributeNames;
  /** Exchanges that are not over. */
  inFlight = 0;
  /** Ends the exchanges that would never be over. */
  readonly watchdog = new ExchangeWatchdog();
  private signalsOf: RuleBook | undefined = undefined;
  private signalHeaders: SignalHeaders | undefined = undefined;

  constructor(parts: GatewayParts, options: GatewayOptions) {
    this.parts = parts;
    this.options = parts.codings === undefined ? options : { ...options, codings: parts.codings };
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
    this.v2 = {
      version: 'v2',
      upstream,
      breaker: breakerOf('v2'),
      resends: new ResendBudget(now),
      path,
      host,
    };
    this.v1 = v1 && { version: 'v1', breaker: breakerOf('v1'), resends: new ResendBudget(now), ...v1 };
    this.comparisons = new Comparisons(now);
    this.attributeNames = new AttributeNames(now);
    this.rateLimitQueue = new RateLimitQueue(parts);
    this.rollout = parts.rollout ?? new RolloutControl({ time: parts.time, onNotice: () => {} });
  }

  /** Tells the operator, where there is something to tell. */
  notify(notice: GatewayNotice | undefined): void {
    if (notice !== undefined) this.parts.onNotice?.(notice);
  }

  /** The header fields about the end of V1; undefined when the rule book gives no dates and links. */
  signals(ruleBook: RuleBook): SignalHeaders | undefined {
    if (this.signalsOf === ruleBook) return this.signalHeaders;
    const signals = ruleBook.rollout?.signals;
    this.signalsOf = ruleBook;
    this.signalHeaders = signals && new SignalHeaders(signals);
    return this.signalHeaders;
  }
}
