import type { Target } from '../../http/target.ts';
import type { Shield } from '../../rules/rollout.ts';
import type { ReceivedRequest } from '../received-request.ts';
import { failure } from '../../migrate/failure.ts';
import type { Gateway } from '../gateway.ts';
import { MigrateExchange } from './migrate-exchange.ts';
import { chooseMode, type RoutedMode } from '../../rollout/modes.ts';
import { ObserveExchange } from './observe-exchange.ts';
import { retired } from '../../rollout/retirement.ts';
import type { Sender } from '../../rollout/scope.ts';
import { ShadowExchange } from './shadow-exchange.ts';
import type { V1Exchange } from './v1-exchange.ts';

/** Starts a V1 exchange on the way that the rule book and the rollout have for its client and operation. */
export function startV1Exchange(gateway: Gateway, received: ReceivedRequest, target: Target): void {
  const { ruleBook } = gateway.parts.rules();
  if (ruleBook.rollout === undefined && gateway.rollout.isInitial) {
    begin(new MigrateExchange(gateway, received, target));
    return;
  }
  const { authorization } = received.head;
  const client = authorization === undefined ? undefined : gateway.parts.clientOf(authorization);
  if (typeof client === 'string' || client === undefined) {
    route(gateway, received, target, client);
    return;
  }
  client.then((hash) => route(gateway, received, target, hash), gateway.parts.onUnexpectedError);
}

function begin(exchange: V1Exchange): void {
  exchange.guarded(() => exchange.start());
}

function route(
  gateway: Gateway,
  received: ReceivedRequest,
  target: Target,
  client: string | undefined,
): void {
  const { rules, time, random } = gateway.parts;
  const book = rules();
  const { ruleBook } = book;
  const sender: Sender = { client, operation: book.match(received.exchange.method, target.rest)?.id };
  const routed = chooseMode(gateway.rollout.modes(ruleBook), sender);
  const exchange = exchangeFor(gateway, received, target, sender, routed);
  const refusal = ruleBook.rollout && retired(ruleBook.rollout, sender, time(), random());
  if (refusal !== undefined) exchange.guarded(() => exchange.retire(refusal));
  // Such modes are refused at the start and on reload: whoever meant V1 must not get V2 instead.
  else if (routed.origin === 'v1' && gateway.v1 === undefined) exchange.refuse(failure('no-v1-origin'));
  else queue(gateway, exchange, ruleBook.rollout?.shield, routed.origin === 'v2' ? client : undefined);
}

/** Begins the exchange when the rate limit of the service has room for the client. */
function queue(
  gateway: Gateway,
  exchange: V1Exchange,
  shield: Shield | undefined,
  client: string | undefined,
): void {
  if (shield === undefined || client === undefined) begin(exchange);
  else exchange.guarded(() => gateway.rateLimitQueue.admit(shield, client, exchange));
}

function exchangeFor(
  gateway: Gateway,
  received: ReceivedRequest,
  target: Target,
  sender: Sender,
  routed: RoutedMode,
): V1Exchange {
  const routing = { sender, routed };
  const { v1 } = gateway;
  if (routed.origin === 'v2' || v1 === undefined)
    return new MigrateExchange(gateway, received, target, routing);
  const { method, hasBody } = received.exchange;
  const isShadow = routed.mode.mode === 'shadow' && ShadowExchange.isFor(method, hasBody);
  return new (isShadow ? ShadowExchange : ObserveExchange)(gateway, received, target, routing, v1);
}
