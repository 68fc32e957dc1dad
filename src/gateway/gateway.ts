import { NO_BYTES } from '../json/names.ts';
import { type MigrateDecision, notServed } from '../migrate/decision.ts';
import { API_METHODS } from '../http/request-head.ts';
import { gatewayFailure } from './failures.ts';
import type { Route } from '../rewrite-log/entry.ts';
import { chooseMode } from '../rollout/modes-in-force.ts';
import type { Standing } from '../rollout/known-clients.ts';
import {
  brownoutRefusal,
  endedRefusal,
  isPreflight,
  mayBeNew,
  type Newcomer,
  newcomerOf,
  newcomerRefusal,
} from '../rollout/retirement.ts';
import type { GatewayOptions } from '../settings/read-settings.ts';
import type { Exchange } from './exchange.ts';
import { ForwardedRequest } from './forwarded-request.ts';
import {
  apiKeyOf,
  GatewayContext,
  type GatewayParts,
  identityOf,
  type ReceivedRequest,
  receiveRequest,
} from './gateway-context.ts';
import { type Mode, PLAIN, ProxiedExchange } from './proxied-exchange.ts';
import { MIGRATE } from './v1/migrate.ts';
import { asksForDescription, mayBeVerified, mayGoToBoth, type OtherModes } from './v1/modes.ts';
import { V1Exchange, type V1Mode, type V1Routing } from './v1/v1-exchange.ts';

/** The gateway: receives every request, then migrates, passes or refuses it as the router decides, and logs it. */
export class Gateway extends GatewayContext {
  /** The rarely used modes. */
  readonly modes: OtherModes;

  /** Without `modes`, their code is loaded with the first request in one of them. */
  constructor(parts: GatewayParts, options: GatewayOptions, modes = LATER) {
    super(parts, options);
    this.modes = modes;
  }

  /** Reads the head of a request and decides how to handle it. */
  receive(exchange: Exchange): ReceivedRequest {
    const { parts, options } = this;
    const clock = { started: parts.now(), time: parts.time() };
    const received = receiveRequest(exchange, parts.rules(), options, this.trustedProxies, clock);
    if (received.decision.route === 'none' || this.inFlight < this.watchedFrom) return received;
    if (this.hasPlace(received)) return received;
    return { ...received, refusal: gatewayFailure('overloaded', undefined, ['Retry-After', '1']) };
  }

  /** True if the request may be in flight; if places are scarce, an exchange that only waits for a slow client is ended. */
  private hasPlace(received: ReceivedRequest): boolean {
    const { options, slowClients, trustedProxies } = this;
    slowClients.watch();
    if (this.inFlight < options.maxInFlight) return true;
    return slowClients.makePlace(identityOf(received, apiKeyOf(received), trustedProxies));
  }

  /**
   * Serves a received request by its decision. There is no router, which would read the target again, and resolve the dot segments of
   * `/api/v1/%2e%2e/v2/x`, which V2 does not.
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

  /** Responds to a V1 request in the mode for its client and operation. */
  migrate(received: ReceivedRequest): Exchange['handled'] {
    const { decision, exchange, refusal, rules } = received;
    if (decision.route !== 'migrate') return this.refuse(received);
    const { rollout } = rules.ruleBook;
    if (refusal !== undefined || (rollout === undefined && this.rollout.isInitial))
      new V1Exchange(this, received, decision, migrating(this, received, decision)).begin(refusal);
    else serveClient(this, received, decision);
    return exchange.handled;
  }

  /** Responds to a V2 request by forwarding it unchanged. */
  pass(received: ReceivedRequest): Exchange['handled'] {
    const { decision } = received;
    if (decision.route !== 'pass') return this.refuse(received);
    const route = decision.target.version === undefined ? 'other' : 'pass';
    return this.begin(received, route, PASS);
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
    return this.begin(received, 'none', this.modes.ownReport);
  }

  /** Responds to an OPTIONS that asks about the gateway, or that must not be forwarded. */
  serveOptions(received: ReceivedRequest): Exchange['handled'] {
    return this.begin(received, 'none', OPTIONS);
  }

  private begin(received: ReceivedRequest, route: Route, mode: Mode): Exchange['handled'] {
    new ProxiedExchange(this, received, route, mode).begin(received.refusal);
    return received.exchange.handled;
  }

  /** Refuses a request without a prefix of the API, or one that the decision refuses. */
  refuse(received: ReceivedRequest): Exchange['handled'] {
    const { decision, exchange, rules } = received;
    const isRefused = decision.route === 'none';
    if (isRefused && decision.closesConnection) exchange.closeAfterResponse();
    const refused = new ProxiedExchange(this, received, 'none', PASS);
    refused.entry.side = rules.prefixes.versionOf(exchange.target) ?? 'neither';
    refused.refuse(isRefused ? decision.failure : notServed(rules.ruleBook));
    return exchange.handled;
  }

  /** Ends an exchange after an internal error: the operator gets the error, the client only a reset. */
  failInternally(exchange: Exchange, error: unknown): Exchange['handled'] {
    this.parts.onUnexpectedError(error);
    exchange.reset();
    return exchange.handled;
  }
}

/** Forwards a request unread: only hop-by-hop fields and `Host` change. */
const PASS: Mode = {
  ...PLAIN,
  request(exchange) {
    exchange.open((body) => {
      const { gateway, received, origin } = exchange;
      const { decision } = received;
      const target = decision.route === 'pass' ? decision.target.raw : received.exchange.target;
      exchange.upstreamTarget = target;
      exchange.send(new ForwardedRequest(gateway, received, received.head, origin.path + target, body));
    }, 'exchange');
  },
};

/** Responds to an OPTIONS that asks about the gateway itself (RFC 9110 §9.3.7), and sends nothing to V1 or V2. */
const OPTIONS: Mode = {
  ...PLAIN,
  request(exchange) {
    exchange.entry.verdict = 'served';
    const { date } = exchange.gateway.hopFields;
    exchange.respond(204, ['Allow', API_METHODS.join(', '), 'Date', date], NO_BYTES);
  },
};

/** A mode whose code is loaded with its first exchange, which then continues in that mode. */
function later(name: keyof OtherModes): Mode {
  return {
    ...PLAIN,
    request(exchange) {
      import('./v1/other-modes.ts').then(
        ({ OTHER_MODES }) => exchange.goOnIn(OTHER_MODES[name]),
        (error: unknown) => exchange.failInternally(error),
      );
    },
  };
}

/** The rarely used modes, until their code is loaded. */
const LATER: OtherModes = {
  describe: later('describe'),
  observe: later('observe'),
  shadow: later('shadow'),
  verify: later('verify'),
  ownReport: later('ownReport'),
};

/** Serves a V1 request once its client is known, and, if the rule book refuses newcomers, whether that client used V1 before. */
function serveClient(gateway: Gateway, received: ReceivedRequest, decision: MigrateDecision): void {
  const fail = (error: unknown): void =>
    new ProxiedExchange(gateway, received, 'migrate', PASS).failInternally(error);
  try {
    const key = apiKeyOf(received);
    const client = key === undefined ? undefined : gateway.parts.clientOf(key);
    const serve = (known: string | undefined): void | Promise<void> => {
      const standing = standingOf(gateway, received, known);
      const serveAs = (found: Standing | undefined): void =>
        serveV1(gateway, received, decision, { client: known, standing: found });
      return standing instanceof Promise ? standing.then(serveAs) : serveAs(standing);
    };
    const served = typeof client === 'string' || client === undefined ? serve(client) : client.then(serve);
    if (served instanceof Promise) served.catch(fail);
  } catch (error) {
    fail(error);
  }
}

/** Returns whether the client used V1 before; undefined if no rule about newcomers needs that. */
function standingOf(
  gateway: GatewayContext,
  { rules, exchange }: ReceivedRequest,
  client: string | undefined,
): Standing | Promise<Standing> | undefined {
  const { rollout } = rules.ruleBook;
  // The list contains clients by the hash of their key.
  if (rollout === undefined || client === undefined) return undefined;
  return mayBeNew(rollout, client, exchange.method) ? gateway.knownClients.standing(client) : undefined;
}

/** The client of a request, and whether it is new. */
interface JudgedClient {
  readonly client: string | undefined;
  readonly standing: Standing | undefined;
}

/**
 * Serves a V1 request in the mode of its client and operation, unless one of these checks, in this order, decides otherwise: V1 or the
 * operation has ended, there is a brownout, the client is new, its rate limit is used up.
 */
function serveV1(
  gateway: Gateway,
  received: ReceivedRequest,
  decision: MigrateDecision,
  judged: JudgedClient,
): void {
  const {
    rules,
    time,
    exchange: { method },
  } = received;
  const { ruleBook } = rules;
  const routing = routingOf(gateway, received, decision, judged.client);
  const mode = modeFor(gateway, received, decision, routing);
  const exchange = new V1Exchange(gateway, received, decision, mode, routing);
  exchange.guarded(() => {
    // With the logged time, so that a rehearsal from the log gives the same result.
    const request = { ...routing.subject, method, time };
    const ended = endedRefusal(ruleBook, request);
    const brownout = ended ?? brownoutRefusal(ruleBook, request, gateway.parts.random());
    // If all clients are refused, the request does not count as a newcomer's.
    const newcomer = brownout === undefined ? newcomerIn(gateway, received, judged) : undefined;
    if (newcomer !== undefined) exchange.judge(newcomer);
    const refusal = brownout ?? newcomerRefusal(ruleBook, newcomer);
    if (refusal !== undefined) exchange.retire(refusal);
    else if (!isQueued(gateway, exchange, routing)) exchange.begin();
  });
}

/** Returns how a newcomer is treated; undefined for a client that may use V1. */
function newcomerIn(
  gateway: GatewayContext,
  { rules, time }: ReceivedRequest,
  { client, standing }: JudgedClient,
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

/** Leaves the request to the queue, which starts it when the service's rate limit allows; false without a limit. */
function isQueued(gateway: GatewayContext, exchange: V1Exchange, { subject, routed }: V1Routing): boolean {
  const { client } = subject;
  const { shield } = exchange.rules.ruleBook.rollout ?? {};
  if (shield === undefined || client === undefined) return false;
  if (routed.origin !== 'v2' || isPreflight(exchange.received.exchange)) return false;
  gateway.rateLimitQueue.admit(shield, client, exchange);
  return true;
}

function routingOf(
  gateway: GatewayContext,
  { rules, exchange, head }: ReceivedRequest,
  decision: MigrateDecision,
  client: string | undefined,
): V1Routing {
  // The preflight goes where the request will go, because it asks that service for permission.
  const asked = isPreflight(exchange) ? head.preflightMethod : undefined;
  const operation =
    asked === undefined
      ? decision.operation
      : rules.match(asked, decision.target.rest, decision.target.query);
  const subject = { client, operation: operation?.id };
  return { subject, routed: chooseMode(gateway.rollout.modes(rules.ruleBook), subject) };
}

/** The mode for a request: the configured one, unless the request excludes it, as a POST excludes a comparison. */
function modeFor(
  gateway: Gateway,
  received: ReceivedRequest,
  decision: MigrateDecision,
  { routed: { origin, mode } }: V1Routing,
): V1Mode {
  const { method, hasBody, headers } = received.exchange;
  const { modes } = gateway;
  if (origin === 'v1')
    return mode.mode === 'shadow' && mayGoToBoth(method, hasBody, decision) ? modes.shadow : modes.observe;
  const migrates = migrating(gateway, received, decision);
  const isVerified =
    mode.mode === 'verify' &&
    migrates === MIGRATE &&
    gateway.v1 !== undefined &&
    gateway.parts.random() * 100 < (mode.share ?? 0) &&
    mayBeVerified(method, hasBody, decision, headers);
  return isVerified ? modes.verify : migrates;
}

function migrating({ modes }: Gateway, { exchange }: ReceivedRequest, decision: MigrateDecision): V1Mode {
  return asksForDescription(exchange.method, decision) ? modes.describe : MIGRATE;
}
