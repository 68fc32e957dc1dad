import type { Target } from '../http/target.ts';
import type { Rollout } from '../rules/rollout.ts';
import type { Arrival } from './arrival.ts';
import type { Gateway } from './gateway.ts';
import { Migration } from './migration.ts';
import { retired } from './retirement.ts';
import type { Sender } from './scope.ts';

/** Starts a V1 exchange on the way that the rule book has for its client and operation. */
export function startV1(gateway: Gateway, arrival: Arrival, target: Target): void {
  const { ruleBook } = gateway.parts.inForce();
  if (ruleBook.rollout === undefined) {
    begin(new Migration(gateway, arrival, target));
    return;
  }
  const { rollout } = ruleBook;
  const { authorization } = arrival.head;
  const client = authorization === undefined ? undefined : gateway.parts.clientOf(authorization);
  if (typeof client === 'string' || client === undefined) {
    route(gateway, arrival, target, rollout, client);
    return;
  }
  client.then((hash) => route(gateway, arrival, target, rollout, hash), gateway.parts.surprised);
}

function begin(migration: Migration): void {
  migration.attempt(() => migration.start());
}

function route(
  gateway: Gateway,
  arrival: Arrival,
  target: Target,
  rollout: Rollout,
  client: string | undefined,
): void {
  const { inForce, time, random } = gateway.parts;
  const sender: Sender = { client, operation: inForce().match(arrival.exchange.method, target.rest)?.id };
  const migration = new Migration(gateway, arrival, target, sender);
  const refusal = retired(rollout, sender, time(), random());
  if (refusal === undefined) begin(migration);
  else migration.attempt(() => migration.retire(refusal));
}
