import { type CollectorMemory, newMemory } from '../http/byte-collector.ts';
import type { Coding } from '../http/content.ts';
import { type HopLimits, type WebhookDecision, decideReceived, type Decision } from '../migrate/decision.ts';
import type { DecodeBody, EncodeBody, OpenDecoder } from '../migrate/decode-web-body.ts';
import type { CompiledRuleBook } from '../rewrite/compiled-rule-book.ts';
import { AttributeNames } from '../rewrite-log/attributes.ts';
import type { Entry } from '../rewrite-log/entry.ts';
import type { Observer } from '../rewrite-log/observer.ts';
import type { OwnReportOutcome, OwnReportType } from '../report/own-report.ts';
import { type Rate, RateLimitQueue, TokenBuckets } from '../rollout/rate-limit.ts';
import { KnownClients } from '../rollout/known-clients.ts';
import { BookModes, type ModesInForce } from '../rollout/modes-in-force.ts';
import { isLearned, SignalHeaders } from '../rollout/retirement.ts';
import type { RuleBook } from '../rules/rule-book.ts';
import { type GatewayOptions, REWRITING_COPIES } from '../settings/read-settings.ts';
import type { HashBody } from '../migrate/judge-digests.ts';
import type { TransformJob, TransformOutcome } from '../migrate/transform.ts';
import { type BodyRewriter, immediateRewriter } from './body-rewriter.ts';
import {
  type OnCheckPhase,
  BufferBudget,
  ExchangeWatchdog,
  RecordQueue,
  type WatchedExchange,
} from './limits.ts';
import { type ClientIdentity, networkOf, type OpenExchange, SlowClients } from './slow-clients.ts';
import { CircuitBreaker, circuitNotice, type GatewayNotice, type Origin, RetryBudget } from './resilience.ts';
import { CrossOrigin } from './cross-origin.ts';
import { type Describe, DescriptionCache } from './description.ts';
import { BodyChecks, Comparisons, type V2Schemas } from './v1/checks.ts';
import { HopFields } from '../http/fields.ts';
import { type AddressRange, isWithin } from '../http/forwarding.ts';
import { clientFacingAddress, forwardedClient } from '../http/forwarded-address.ts';
import { type HeadLimits, readHead, type RequestHead } from '../http/request-head.ts';
import type { Failure } from '../migrate/failure.ts';
import type { Exchange } from './exchange.ts';

/** A service behind the gateway: its connection, path and hosts. */
export type OriginParts = Pick<Origin, 'upstream' | 'path' | 'hosts'>;

/** Delivers the webhooks of V2 to subscribers. */
export interface Webhooks {
  deliver(gateway: GatewayContext, received: ReceivedRequest, decision: WebhookDecision): void;
}

/** Parts that the runtime provides. */
export interface GatewayParts {
  /** Returns the rule book in force; called once per exchange. */
  readonly rules: () => CompiledRuleBook;
  /** The V2 service. */
  readonly v2: OriginParts;
  /** The V1 service, if there is one beside V2. */
  readonly v1?: OriginParts | undefined;
  /** Modes of V1 traffic; without it, those of the rule book apply, and no canary is rolled back. */
  readonly rollout?: ModesInForce | undefined;
  /** Receives the entry of each exchange once it is over. */
  readonly record: (entry: Entry) => void;
  /** Observes exchanges in addition to the log, such as the inspector. */
  readonly observer?: Observer | undefined;
  /** V2's request schemas, for bodies that are not sent to V2; absent if no description of V2 is configured. */
  readonly v2Schemas?: (() => V2Schemas) | undefined;
  /** Monotonic clock, in milliseconds. */
  readonly now: () => number;
  /** Milliseconds since 1970. */
  readonly time: () => number;
  readonly newRequestId: () => string;
  /** 48 random hex digits. */
  readonly newTraceHex: () => string;
  /** The first 16 hex digits of HMAC-SHA-256(API key, secret). */
  readonly clientOf: (authorization: string) => string | Promise<string>;
  /** A client's report for itself, by its hash; absent if there is none. */
  readonly ownReport?: ((client: string, type: OwnReportType) => Promise<OwnReportOutcome>) | undefined;
  /** Reused memory for bodies; without it, each body gets new memory. */
  readonly bodyMemory?: CollectorMemory | undefined;
  readonly decode: DecodeBody;
  /** Hashes bodies that came with a digest; without it, the gateway does not check digests. */
  readonly hash?: HashBody | undefined;
  /** Gives rewritten responses V2's content coding again; without it, they have none. */
  readonly encode?: EncodeBody | undefined;
  /** Decodes bodies that arrive in parts; without it, the platform's streams do. */
  readonly openDecoder?: OpenDecoder | undefined;
  /** Decodes the first bytes of a body with a content coding, as far as possible; absent on platforms that cannot. */
  readonly peek?: ((coding: Coding, begin: Uint8Array) => Uint8Array) | undefined;
  /** Rewrites bodies; without it, each is rewritten at once. */
  readonly rewriter?: BodyRewriter | undefined;
  /** Calls the transforms of a rule book, within its budget; without it, requests of operations with one fail. */
  readonly transform?: ((book: RuleBook, job: TransformJob) => Promise<TransformOutcome>) | undefined;
  /** Delivers the webhooks of rule books; without it, there are none. */
  readonly webhooks?: Webhooks | undefined;
  /** Derives V1's description from V2's, for example in a thread; without it, in this one. */
  readonly describe?: Describe | undefined;
  /** Codings that `decode` supports; absent for all. */
  readonly codings?: readonly Coding[] | undefined;
  /** Runs a function after the reads of this turn of the event loop; without it, each exchange is recorded at once. */
  readonly onCheckPhase?: OnCheckPhase | undefined;
  /** Runs a function after a delay. */
  readonly after: (milliseconds: number, run: () => void) => void;
  /** A number from 0 up to 1. */
  readonly random: () => number;
  /** Called when a circuit opens or closes, and on upstream faults, for the operator. */
  readonly onNotice?: ((notice: GatewayNotice) => void) | undefined;
  /** Called with an error that is not a failure of the contract: a bug. */
  readonly onUnexpectedError: (error: unknown) => void;
}

/** Limit for clients that read their own report. */
const REPORT_READS: Rate = { burst: 6, perSecond: 0.1 };

/** Limit for unknown keys from one network. */
const UNSEEN_KEYS: Rate = { burst: 20, perSecond: 0.2 };

/** Clients rarely ask for it, so its code is loaded on the first request. */
const describe: Describe = async (job) => (await import('./describe-v1.ts')).describeV1(job);

/** The share of the places in use from which on clients are measured. */
const WATCHED_SHARE = 7 / 8;

/** State shared by all exchanges of a gateway: its parts and options, and everything that outlives an exchange. */
export class GatewayContext {
  readonly parts: GatewayParts;
  readonly options: GatewayOptions & HopLimits;
  readonly trustedProxies: TrustedProxies;
  readonly budget: BufferBudget;
  readonly rewriter: BodyRewriter;
  readonly bodyMemory: CollectorMemory;
  readonly v2: Origin;
  readonly v1: Origin | undefined;
  readonly rollout: ModesInForce;
  /** Differences found by shadowed reads. */
  readonly comparisons: Comparisons;
  /** Checks of the bodies of dry runs. */
  readonly bodyChecks: BodyChecks;
  readonly rateLimitQueue: RateLimitQueue;
  /** Limits for reports that clients read: by client, and by network for unknown keys. */
  readonly selfServiceLimits: { readonly reportReads: TokenBuckets; readonly unseenKeys: TokenBuckets };
  /** The clients that used V1, for rule books that are closed to newcomers. */
  readonly knownClients: KnownClients;
  /** V1's descriptions, derived from V2's. */
  readonly descriptions: DescriptionCache;
  /** The permissions of the services for the pages of other origins. */
  readonly crossOrigin = new CrossOrigin();
  /** The fields that the gateway adds as an intermediary: `Via`, and `Date` for a response without one. */
  readonly hopFields: HopFields;
  /** Lists the names in a body, for the attribute census. */
  readonly attributeNames: AttributeNames;
  /** Finished exchanges, to be recorded at the end of this turn of the event loop. */
  readonly recordQueue: RecordQueue;
  /** Number of exchanges in flight. */
  inFlight = 0;
  /** Ends exchanges that would otherwise never finish. */
  readonly watchdog = new ExchangeWatchdog<OpenExchange & WatchedExchange>();
  /** Decides which exchanges end when places, connections or memory are scarce. */
  readonly slowClients: SlowClients;
  /** Exchanges in flight from which on slow clients are detected. */
  readonly watchedFrom: number;
  private reportedUnlearned: string | undefined = undefined;
  private signalsOf: RuleBook | undefined = undefined;
  private signalHeaders: SignalHeaders | undefined = undefined;

  constructor(parts: GatewayParts, options: GatewayOptions) {
    this.parts = parts;
    this.hopFields = new HopFields(options.via, parts.time);
    this.options = {
      ...options,
      hopFields: this.hopFields,
      ...(parts.codings !== undefined && { codings: parts.codings }),
    };
    this.trustedProxies = new TrustedProxies(options.trustedProxies);
    this.budget = new BufferBudget(options.bufferBytes, REWRITING_COPIES);
    this.recordQueue = new RecordQueue(parts.onUnexpectedError, parts.onCheckPhase);
    this.rewriter = parts.rewriter ?? immediateRewriter;
    this.bodyMemory = parts.bodyMemory ?? newMemory;
    const { v1, v2, now } = parts;
    const { maxInFlight } = options;
    this.watchedFrom = Math.floor(maxInFlight * WATCHED_SHARE);
    this.slowClients = new SlowClients({
      exchanges: this.watchdog.open,
      budget: this.budget,
      places: maxInFlight,
      now,
    });
    this.v2 = this.originOf('v2', v2);
    this.v1 = v1 && this.originOf('v1', v1);
    this.selfServiceLimits = {
      reportReads: new TokenBuckets(REPORT_READS, now),
      unseenKeys: new TokenBuckets(UNSEEN_KEYS, now),
    };
    this.comparisons = new Comparisons(now);
    this.bodyChecks = new BodyChecks(now, parts.v2Schemas ?? (() => undefined));
    this.descriptions = new DescriptionCache(now, parts.describe ?? describe);
    this.attributeNames = new AttributeNames(now);
    this.rateLimitQueue = new RateLimitQueue(parts);
    this.knownClients = new KnownClients(parts);
    this.rollout = parts.rollout ?? new BookModes();
  }

  /** Creates an origin, with its own circuit breaker and retry budget; `host` names a subscriber to the operator. */
  originOf(version: Origin['version'], { upstream, path, hosts }: OriginParts, host?: string): Origin {
    const { now } = this.parts;
    upstream.onShort = (connections, count) => this.slowClients.relieve(upstream, connections, count);
    const breaker = new CircuitBreaker({
      failures: this.options.breakerFailures,
      openMs: this.options.breakerOpenMs,
      now,
      onChange: (before, after) => this.notify(circuitNotice({ version, host }, before, after)),
    });
    upstream.onReached = () => breaker.reached();
    return { version, host, upstream, breaker, retryBudget: new RetryBudget(now), path, hosts };
  }

  /** Notifies the operator, if there is a notice. */
  notify(notice: GatewayNotice | undefined): void {
    if (notice !== undefined) this.parts.onNotice?.(notice);
  }

  /**
   * Tells the operator, once for each rule book, that the gateway serves newcomers because its list of clients is not old enough to
   * recognise them.
   */
  tellUnlearned({ rollout, hash }: RuleBook, since: number | undefined): void {
    const { newcomers } = rollout ?? {};
    if (newcomers === undefined || since === undefined || isLearned(newcomers, since)) return;
    if (this.reportedUnlearned === hash) return;
    this.reportedUnlearned = hash;
    const [begun, from] = [since, newcomers.from].map((time) => new Date(time).toISOString());
    this.notify({ event: 'newcomers-served', since: begun ?? '', from: from ?? '' });
  }

  /** Header fields that announce the end of V1 and point to the client's own report; undefined if there is nothing to announce. */
  signals(ruleBook: RuleBook): SignalHeaders | undefined {
    if (this.signalsOf === ruleBook) return this.signalHeaders;
    this.signalsOf = ruleBook;
    const { selfServiceLink } = this.options;
    this.signalHeaders = SignalHeaders.of(
      ruleBook.rollout,
      selfServiceLink && `${ruleBook.from}${selfServiceLink}`,
    );
    return this.signalHeaders;
  }
}

/** A request whose head was read, with the decision about it and the rule book behind that decision. */
export interface ReceivedRequest {
  readonly exchange: Exchange;
  readonly head: RequestHead;
  readonly rules: CompiledRuleBook;
  readonly decision: Decision;
  /** Why the gateway refuses the request before its decision applies. */
  readonly refusal?: Failure;
  /** Monotonic clock in milliseconds when the head was complete. */
  readonly started: number;
  /** Milliseconds since 1970 when the head was complete. */
  readonly time: number;
}

/** Reads the head of a request once, and decides how to handle the request. */
export function receiveRequest(
  exchange: Exchange,
  rules: CompiledRuleBook,
  limits: HeadLimits & HopLimits,
  proxies: TrustedProxies,
  clock: { readonly started: number; readonly time: number },
): ReceivedRequest {
  const { method, target, version, hasBody } = exchange;
  const isTrusted = !proxies.isEmpty && proxies.has(exchange.remote);
  // The HTTP/1.1 parsers have counted it already.
  const targetBytes = version === '2' || version === '3' ? target.length : 0;
  const head =
    exchange.readHead?.(limits, isTrusted, targetBytes) ??
    readHead(exchange.headers, limits, isTrusted, targetBytes);
  const decision = decideReceived({ method, target, version, head, hasBody }, rules, limits);
  return { exchange, head, rules, decision, started: clock.started, time: clock.time };
}

/** The key of a request's client, from the place in the rule book; undefined if there is none. */
export function apiKeyOf({ head, rules, exchange, decision }: ReceivedRequest): string | undefined {
  // V2 is not a client.
  if (decision.route === 'webhook') return undefined;
  const { clientKeys } = rules;
  if (clientKeys === undefined) return head.authorization;
  return clientKeys.of(head, exchange.target, decision.route === 'pass');
}

/** The identity that distinguishes the clients of requests when places, connections or memory are scarce. */
export function identityOf(
  { exchange, head }: ReceivedRequest,
  key: string | undefined,
  proxies: TrustedProxies,
): ClientIdentity {
  const { remote, carrier } = exchange;
  const isProxied = !proxies.isEmpty && proxies.has(remote);
  const forwarded = isProxied
    ? forwardedClient(head.forwardedHeaders, (address) => proxies.has(address))
    : undefined;
  // All clients of a proxy share its connection, so it does not distinguish them.
  return [key, networkOf(forwarded ?? remote), isProxied ? undefined : carrier];
}

/** Maximum cached addresses; beyond that, all are forgotten: a single client may have a whole `/64`. */
const MAX_ADDRESSES = 1024;

/** The peers whose `Forwarded` and similar fields are kept. The result for an address never changes, so it is cached. */
export class TrustedProxies {
  private readonly ranges: readonly AddressRange[];
  private readonly known = new Map<string, boolean>();

  constructor(ranges: readonly AddressRange[]) {
    this.ranges = ranges;
  }

  /** True if no proxy is trusted; the client's address is then never looked up. */
  get isEmpty(): boolean {
    return this.ranges.length === 0;
  }

  /** True for the address of a trusted proxy. */
  has(address: string): boolean {
    const known = this.known.get(address);
    if (known !== undefined) return known;
    if (this.known.size >= MAX_ADDRESSES) this.known.clear();
    const isTrusted = isWithin(address, this.ranges);
    this.known.set(address, isTrusted);
    return isTrusted;
  }
}

/** The gateway's address as the client sees it; the fields of trusted proxies take precedence over the connection. */
export function gatewayAddress(
  { exchange, head }: ReceivedRequest,
  proxies: TrustedProxies,
): string | undefined {
  const direct = { host: head.host, secure: exchange.secure };
  return clientFacingAddress(head.forwardedHeaders, direct, (address) => proxies.has(address));
}
