import type { Target } from '../http/target.ts';
import type { Shield } from '../rules/rollout.ts';
import type { Arrival } from './arrival.ts';
import { failure } from './failure.ts';
import type { Gateway } from './gateway.ts';
import { Migration } from './migration.ts';
import { chooseMode, type ModeChoice } from './modes.ts';
import { Observation } from './observation.ts';
import { retired } from './retirement.ts';
import type { Sender } from './scope.ts';
import { Shadow } from './shadow.ts';
import type { V1Crossing } from './v1-crossing.ts';

/** Starts a V1 exchange on the way that the rule book and the rollout have for its client and operation. */
export function startV1(gateway: Gateway, arrival: Arrival, target: Target): void {
  const { ruleBook } = gateway.parts.inForce();
  if (ruleBook.rollout === undefined && gateway.rollout.isInitial) {
    begin(new Migration(gateway, arrival, target));
    return;
  }
  const { authorization } = arrival.head;
  const client = authorization === undefined ? undefined : gateway.parts.clientOf(authorization);
  if (typeof client === 'string' || client === undefined) {
    route(gateway, arrival, target, client);
    return;
  }
  client.then((hash) => route(gateway, arrival, target, hash), gateway.parts.surprised);
}

function begin(crossing: V1Crossing): void {
  crossing.attempt(() => crossing.start());
}

function route(gateway: Gateway, arrival: Arrival, target: Target, client: string | undefined): void {
  const { inForce, time, random } = gateway.parts;
  const book = inForce();
  const { ruleBook } = book;
  const sender: Sender = { client, operation: book.match(arrival.exchange.method, target.rest)?.id };
  const choice = chooseMode(gateway.rollout.modes(ruleBook), sender);
  const crossing = crossingOf(gateway, arrival, target, sender, choice);
  const refusal = ruleBook.rollout && retired(ruleBook.rollout, sender, time(), random());
  if (refusal !== undefined) crossing.attempt(() => crossing.retire(refusal));
  // Such modes are refused at the start and on reload: whoever meant V1 must not get V2 instead.
  else if (choice.lane === 'v1' && gateway.v1 === undefined) crossing.refuse(failure('no-v1-origin'));
  else hold(gateway, crossing, ruleBook.rollout?.shield, choice.lane === 'v2' ? client : undefined);
}

/** Begins the exchange when the rate limit of the service has room for the client. */
function hold(
  gateway: Gateway,
  crossing: V1Crossing,
  shield: Shield | undefined,
  client: string | undefined,
): void {
  if (shield === undefined || client === undefined) begin(crossing);
  else crossing.attempt(() => gateway.shield.admit(shield, client, crossing));
}

function crossingOf(
  gateway: Gateway,
  arrival: Arrival,
  target: Target,
  sender: Sender,
  choice: ModeChoice,
): V1Crossing {
  const way = { sender, choice };
  const { v1 } = gateway;
  if (choice.lane === 'v2' || v1 === undefined) return new Migration(gateway, arrival, target, way);
  const { method, hasBody } = arrival.exchange;
  const isShadow = choice.mode.mode === 'shadow' && Shadow.isFor(method, hasBody);
  return new (isShadow ? Shadow : Observation)(gateway, arrival, target, way, v1);
}
