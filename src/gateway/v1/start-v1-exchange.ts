import type { MigrateDecision } from '../../migrate/decision.ts';
import { failure } from '../../migrate/failure.ts';
import { chooseMode } from '../../rollout/modes.ts';
import { retirementRefusal } from '../../rollout/retirement.ts';
import type { Shield } from '../../rules/rollout.ts';
import type { GatewayContext } from '../gateway-context.ts';
import type { ReceivedRequest } from '../received-request.ts';
import { ProxiedExchange } from '../proxied-exchange.ts';
import { DescriptionExchange } from './description-exchange.ts';
import { MigrateExchange } from './migrate-exchange.ts';
import { ObserveExchange } from './observe-exchange.ts';
import { ShadowExchange } from './shadow-exchange.ts';
import type { V1Exchange } from './v1-exchange.ts';
import type { V1Routing } from './v1-routing.ts';

/** Starts a V1 exchange in the mode that the rule book and the rollout set for its client and operation. */
export function startV1Exchange(
  gateway: GatewayContext,
  received: ReceivedRequest,
  decision: MigrateDecision,
): void {
  if (received.rules.ruleBook.rollout === undefined && gateway.rollout.isInitial) {
    const exchange = migrating(gateway, received, decision);
    exchange.guarded(() => exchange.start());
    return;
  }
  // Until an exchange has begun, nobody else responds.
  const fail = (error: unknown): void =>
    new ProxiedExchange(gateway, received, 'migrate').failInternally(error);
  const { authorization } = received.head;
  try {
    const client = authorization === undefined ? undefined : gateway.parts.clientOf(authorization);
    if (typeof client === 'string' || client === undefined) route(gateway, received, decision, client);
    else client.then((hash) => route(gateway, received, decision, hash)).catch(fail);
  } catch (error) {
    fail(error);
  }
}

function route(
  gateway: GatewayContext,
  received: ReceivedRequest,
  decision: MigrateDecision,
  client: string | undefined,
): void {
  const { ruleBook } = received.rules;
  const { time, random } = gateway.parts;
  const subject = { client, operation: decision.operation?.id };
  const routed = chooseMode(gateway.rollout.modes(ruleBook), subject);
  const exchange = exchangeFor(gateway, received, decision, { subject, routed });
  exchange.guarded(() => {
    const refusal = ruleBook.rollout && retirementRefusal(ruleBook.rollout, subject, time(), random());
    if (refusal !== undefined) exchange.retire(refusal);
    // Such modes are refused at startup and on reload: a request meant for V1 must not get V2 instead.
    else if (routed.origin === 'v1' && gateway.v1 === undefined) exchange.refuse(failure('no-v1-origin'));
    else admit(gateway, exchange, ruleBook.rollout?.shield, routed.origin === 'v2' ? client : undefined);
  });
}

/** Starts the exchange when the rate limit of the service has room for the client. */
function admit(
  gateway: GatewayContext,
  exchange: V1Exchange,
  shield: Shield | undefined,
  client: string | undefined,
): void {
  if (shield === undefined || client === undefined) exchange.start();
  else gateway.rateLimitQueue.admit(shield, client, exchange);
}

function exchangeFor(
  gateway: GatewayContext,
  received: ReceivedRequest,
  decision: MigrateDecision,
  routing: V1Routing,
): V1Exchange {
  const { v1 } = gateway;
  const { origin, mode } = routing.routed;
  if (origin === 'v2' || v1 === undefined) return migrating(gateway, received, decision, routing);
  const { method, hasBody } = received.exchange;
  const isShadow = mode.mode === 'shadow' && ShadowExchange.isFor(method, hasBody);
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
