import type { ResponseHead } from '../http/response-head.ts';
import { type MigrateDecision, notServed, type PassDecision } from '../migrate/decision.ts';
import { gatewayFailure } from './failures.ts';
import { chooseMode } from '../rollout/rollout-state.ts';
import type { Standing } from '../rollout/known-clients.ts';
import {
  isPreflight,
  mayBeNew,
  type Newcomer,
  newcomerOf,
  newcomerRefusal,
  retirementRefusal,
  type RetirementRefusal,
} from '../rollout/retirement.ts';
import type { RuleBook } from '../rules/rule-book.ts';
import type { Body, Exchange } from './exchange.ts';
import { ForwardedRequest } from './forwarded-request.ts';
import {
  apiKeyOf,
  GatewayContext,
  identityOf,
  type ReceivedRequest,
  receiveRequest,
} from './gateway-context.ts';
import { ProxiedExchange } from './proxied-exchange.ts';
import { OptionsExchange, SelfServiceExchange } from './self-service-exchange.ts';
import { DescriptionExchange, MigrateExchange } from './v1/migrate-exchange.ts';
import { ShadowExchange, VerifyExchange, ObserveExchange } from './v1/compared-exchange.ts';
import { V1Exchange, type V1Routing } from './v1/v1-exchange.ts';

/** The gateway: receives every request, then migrates, passes or refuses it as the router decides, and logs it. */
export class Gateway extends GatewayContext {
  private chosen: { readonly book: RuleBook; readonly start: StartV1 } | undefined = undefined;

  /** Reads the head of a request and decides how to handle it. */
  receive(exchange: Exchange): ReceivedRequest {
    const { parts, options } = this;
    const clock = { started: parts.now(), time: parts.time() };
    const received = receiveRequest(exchange, parts.rules(), options, this.trustedProxies, clock);
    if (received.decision.route === 'none' || this.inFlight < this.watchedFrom) return received;
    if (this.hasPlace(received)) return received;
    return { ...received, refusal: gatewayFailure('overloaded', undefined, ['Retry-After', '1']) };
  }

  /** True when the request may be in flight; where places are short, somebody who only waits for a slow client leaves. */
  private hasPlace(received: ReceivedRequest): boolean {
    const { options, slowClients, trustedProxies } = this;
    slowClients.watch();
    if (this.inFlight < options.maxInFlight) return true;
    return slowClients.makePlace(identityOf(received, apiKeyOf(received), trustedProxies));
  }

  /**
   * Serves a received request by the decision about it. The target was read when that was made: a router would read it again, and
   * resolve the dot segments of `/api/v1/%2e%2e/v2/x`, which V2 does not.
   */
  serve(received: ReceivedRequest): Exchange['handled'] {
    switch (received.decision.route) {
      case 'pass':
        return this.pass(received);
      case 'migrate':
        return this.migrate(received);
      case 'webhook':
        return this.deliver(received);
      case 'self-service':
        return this.serveReport(received);
      case 'options':
        return this.serveOptions(received);
      case 'none':
        return this.refuse(received);
    }
  }

  /** Responds to a V1 request with V2's response to the migrated request. */
  migrate(received: ReceivedRequest): Exchange['handled'] {
    const { decision, exchange, refusal } = received;
    if (decision.route !== 'migrate') return this.refuse(received);
    if (refusal === undefined) this.startOf(received.rules.ruleBook)(this, received, decision);
    else new V1Exchange(this, received, decision).refuse(refusal);
    return exchange.handled;
  }

  private startOf(book: RuleBook): StartV1 {
    if (this.chosen?.book !== book) this.chosen = { book, start: startFor(book) };
    return this.chosen.start;
  }

  /** Responds to a V2 request by forwarding it unchanged. */
  pass(received: ReceivedRequest): Exchange['handled'] {
    const { decision } = received;
    if (decision.route !== 'pass') return this.refuse(received);
    const exchange = new PassExchange(this, received, decision);
    if (received.refusal === undefined) exchange.guarded(() => exchange.start());
    else exchange.refuse(received.refusal);
    return received.exchange.handled;
  }

  /** Responds to a webhook of V2 with the response of its subscriber. */
  deliver(received: ReceivedRequest): Exchange['handled'] {
    const { decision } = received;
    const { webhooks } = this.parts;
    if (decision.route !== 'webhook' || webhooks === undefined) return this.refuse(received);
    webhooks.deliver(this, received, decision);
    return received.exchange.handled;
  }

  /** Responds to a client that reads its own report. */
  serveReport(received: ReceivedRequest): Exchange['handled'] {
    const exchange = new SelfServiceExchange(this, received, 'none');
    if (received.refusal === undefined) exchange.start().catch(exchange.failInternally);
    else exchange.refuse(received.refusal);
    return received.exchange.handled;
  }

  /** Responds to an OPTIONS that asks about the gateway, or that may be forwarded no more. */
  serveOptions(received: ReceivedRequest): Exchange['handled'] {
    const exchange = new OptionsExchange(this, received, 'none');
    if (received.refusal === undefined) exchange.guarded(() => exchange.start());
    else exchange.refuse(received.refusal);
    return received.exchange.handled;
  }

  /** Refuses a request that is under neither prefix, or that the decision refuses. */
  refuse(received: ReceivedRequest): Exchange['handled'] {
    const { decision, exchange } = received;
    const isRefused = decision.route === 'none';
    if (isRefused && decision.closesConnection) exchange.closeAfterResponse();
    new ProxiedExchange(this, received, 'none').refuse(
      isRefused ? decision.failure : notServed(received.rules.ruleBook),
    );
    return exchange.handled;
  }

  /** Ends an exchange after an internal error: the operator gets the error, the client only a reset. */
  failInternally(exchange: Exchange, error: unknown): Exchange['handled'] {
    this.parts.onUnexpectedError(error);
    exchange.reset();
    return exchange.handled;
  }
}

/** Forwards a V2 request unread: only hop-by-hop fields and `Host` change. */
class PassExchange extends ProxiedExchange {
  private readonly target: string;

  constructor(gateway: GatewayContext, received: ReceivedRequest, decision: PassDecision) {
    super(gateway, received, decision.target.version === undefined ? 'other' : 'pass');
    this.target = decision.target.raw;
  }

  start(): void {
    const { exchange } = this.received;
    if (exchange.hasBody) {
      exchange.open('exchange');
      return;
    }
    this.onBody(null);
  }

  override onBody(body: Body): void {
    const { gateway, received, target } = this;
    this.upstreamTarget = target;
    this.send(new ForwardedRequest(gateway, received, received.head, this.origin.path + target, body));
  }

  protected override headForClient(head: ResponseHead): ResponseHead {
    return head.forwarded?.(this.gateway.hopFields) ?? super.headForClient(head);
  }
}

/** Starts a V1 exchange; until it has begun, nobody else responds. */
type StartV1 = (gateway: GatewayContext, received: ReceivedRequest, decision: MigrateDecision) => void;

/** Chooses how V1 exchanges start by a rule book: once, so that no exchange pays for parts that its book does not declare. */
function startFor({ rollout }: RuleBook): StartV1 {
  if (rollout === undefined) return startMigrating;
  return rollout.newcomers === undefined ? startRouted : startJudged;
}

/** By a rule book without modes or dates: only an operator can have set some. */
function startMigrating(gateway: GatewayContext, received: ReceivedRequest, decision: MigrateDecision): void {
  if (!gateway.rollout.isInitial) {
    startRouted(gateway, received, decision);
    return;
  }
  const exchange = migrating(gateway, received, decision);
  exchange.guarded(() => exchange.start());
}

/** In the mode that the rule book and the rollout set for its client and operation. */
function startRouted(gateway: GatewayContext, received: ReceivedRequest, decision: MigrateDecision): void {
  withClient(gateway, received, (client) => begin(gateway, received, decision, client));
}

/** As `startRouted`, by a rule book that is closed to newcomers. */
function startJudged(gateway: GatewayContext, received: ReceivedRequest, decision: MigrateDecision): void {
  withClient(gateway, received, (client) => {
    const start = (standing: Standing | undefined): void =>
      begin(gateway, received, decision, client, judgedNewcomer(gateway, received, client, standing));
    const standing = standingOf(gateway, received, client);
    return standing instanceof Promise ? standing.then(start) : start(standing);
  });
}

/** Starts the exchange of a client, or refuses it because V1 is being retired. */
function begin(
  gateway: GatewayContext,
  received: ReceivedRequest,
  decision: MigrateDecision,
  client: string | undefined,
  newcomer?: Newcomer,
): void {
  const routing = routingOf(gateway, received, decision, client);
  const exchange = exchangeFor(gateway, received, decision, routing);
  exchange.guarded(() => {
    const ended = retirementOf(gateway, received, routing);
    // A request that every client is refused is not counted as a newcomer's.
    if (newcomer !== undefined && ended === undefined) exchange.judge(newcomer);
    const refusal = ended ?? newcomerRefusal(received.rules.ruleBook, newcomer);
    if (refusal === undefined) forward(gateway, received, exchange, routing);
    else exchange.retire(refusal);
  });
}

/** Calls `start` with the hash of the client, at once where the platform hashes at once. */
function withClient(
  gateway: GatewayContext,
  received: ReceivedRequest,
  start: (client: string | undefined) => void | Promise<void>,
): void {
  const fail = (error: unknown): void =>
    new ProxiedExchange(gateway, received, 'migrate').failInternally(error);
  try {
    const key = apiKeyOf(received);
    const client = key === undefined ? undefined : gateway.parts.clientOf(key);
    const begun = typeof client === 'string' || client === undefined ? start(client) : client.then(start);
    if (begun instanceof Promise) begun.catch(fail);
  } catch (error) {
    fail(error);
  }
}

/** What is known of a client where that matters; undefined where it does not. */
function standingOf(
  gateway: GatewayContext,
  { rules, exchange }: ReceivedRequest,
  client: string | undefined,
): Standing | Promise<Standing> | undefined {
  const { rollout } = rules.ruleBook;
  // Without a key nobody can be known.
  if (rollout === undefined || client === undefined) return undefined;
  return mayBeNew(rollout, client, exchange.method) ? gateway.knownClients.standing(client) : undefined;
}

/** Judges the client of a request; undefined for one that may use V1 as before. */
function judgedNewcomer(
  gateway: GatewayContext,
  { rules, time }: ReceivedRequest,
  client: string | undefined,
  standing: Standing | undefined,
): Newcomer | undefined {
  const { ruleBook } = rules;
  if (client === undefined || standing === undefined || ruleBook.rollout === undefined) return undefined;
  const { selfService } = gateway.options;
  const ownGuide = selfService === undefined ? undefined : `${ruleBook.from}${selfService}`;
  const since = gateway.knownClients.begun;
  const newcomer = newcomerOf(ruleBook.rollout, standing, { time, since }, ownGuide);
  if (newcomer?.note === 'not-known') gateway.tellUnlearned(ruleBook, since);
  return newcomer;
}

function routingOf(
  gateway: GatewayContext,
  { rules, exchange, head }: ReceivedRequest,
  decision: MigrateDecision,
  client: string | undefined,
): V1Routing {
  // The preflight goes where the request will, which is what its service answers for.
  const asked = isPreflight(exchange) ? head.preflightMethod : undefined;
  const operation = asked === undefined ? decision.operation : rules.match(asked, decision.target.rest);
  const subject = { client, operation: operation?.id };
  return { subject, routed: chooseMode(gateway.rollout.modes(rules.ruleBook), subject) };
}

/** At the time that the log has, so that a rehearsal over the log decides as the gateway did. */
function retirementOf(
  gateway: GatewayContext,
  { rules, exchange, time }: ReceivedRequest,
  { subject }: V1Routing,
): RetirementRefusal | undefined {
  const { ruleBook } = rules;
  const { rollout } = ruleBook;
  if (rollout === undefined) return undefined;
  const { method } = exchange;
  return retirementRefusal(rollout, ruleBook, { ...subject, method, time }, gateway.parts.random());
}

/** Starts the exchange when the rate limit of the service has room for the client. */
function forward(
  gateway: GatewayContext,
  { rules, exchange: { method } }: ReceivedRequest,
  exchange: V1Exchange,
  { subject, routed }: V1Routing,
): void {
  // Such modes are refused at startup and on reload: a request meant for V1 must not get V2 instead.
  if (routed.origin === 'v1' && gateway.v1 === undefined) {
    exchange.refuse(gatewayFailure('no-v1-origin'));
    return;
  }
  const { client } = subject;
  const { shield } = rules.ruleBook.rollout ?? {};
  const isLimited = routed.origin === 'v2' && !isPreflight({ method });
  if (isLimited && shield !== undefined && client !== undefined)
    gateway.rateLimitQueue.admit(shield, client, exchange);
  else exchange.start();
}

function exchangeFor(
  gateway: GatewayContext,
  received: ReceivedRequest,
  decision: MigrateDecision,
  routing: V1Routing,
): V1Exchange {
  const { v1 } = gateway;
  const { origin, mode } = routing.routed;
  const { method, hasBody, headers } = received.exchange;
  if (origin === 'v2' || v1 === undefined) {
    const isVerified =
      mode.mode === 'verify' &&
      v1 !== undefined &&
      gateway.parts.random() * 100 < (mode.share ?? 0) &&
      VerifyExchange.isFor(method, hasBody, decision, headers) &&
      !DescriptionExchange.isFor(method, decision);
    return isVerified
      ? new VerifyExchange(gateway, received, decision, routing, v1)
      : migrating(gateway, received, decision, routing);
  }
  const isShadow = mode.mode === 'shadow' && ShadowExchange.isFor(method, hasBody, decision);
  return new (isShadow ? ShadowExchange : ObserveExchange)(gateway, received, decision, routing, v1);
}

function migrating(
  gateway: GatewayContext,
  received: ReceivedRequest,
  decision: MigrateDecision,
  routing?: V1Routing,
): MigrateExchange {
  const isDescription = DescriptionExchange.isFor(received.exchange.method, decision);
  return new (isDescription ? DescriptionExchange : MigrateExchange)(gateway, received, decision, routing);
}
