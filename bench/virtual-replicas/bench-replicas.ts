import { printTable, whole } from '../scale-figures.ts';
import { playReplicas, type PlayOutcome, type TrafficRate } from './play.ts';
import type { FleetOptions } from './simulated-fleet.ts';
import type { Network } from './simulated-link.ts';

const NETWORKS: Readonly<Record<string, Network>> = {
  'one region': { minMs: 0.5, tailMs: 1, loss: 0 },
  'far away, 1 % lost': { minMs: 30, tailMs: 15, loss: 0.01 },
};

const ROWS: readonly (readonly [name: string, of: (outcome: PlayOutcome) => string])[] = [
  ['a choice holds everywhere', ({ choiceMs }) => ms(choiceMs)],
  [
    'roll-back everywhere after half of the migrated requests begin to fail',
    ({ rollbackMs }) => ms(rollbackMs),
  ],
  ['roll-backs stored for it', ({ rollbacks }) => whole(rollbacks)],
  ['one state again after 30 % of the replicas were cut off for 20 s', ({ healedMs }) => ms(healedMs)],
  ['of those, replicas that said since when they are alone', ({ alone }) => whole(alone)],
  ['two choices at once, both in force everywhere', ({ bothMs }) => ms(bothMs)],
  ['all share again after the store was gone for 10 s', ({ togetherMs }) => ms(togetherMs)],
  ['clients moved to V2 and back while two choices spread', (outcome) => whole(outcome.backWhileSpreading)],
  ['clients moved back once they held', ({ backWhileHeld }) => whole(backWhileHeld)],
  ['store at rest', ({ atRest }) => rate(atRest)],
  ['store during a canary', ({ inCanary }) => rate(inCanary)],
];

/** Prints what a thousand replicas on one store do, in virtual time. */
export async function benchReplicas(isQuick: boolean): Promise<void> {
  const replicas = isQuick ? 100 : 1000;
  const outcomes: PlayOutcome[] = [];
  const load: Omit<FleetOptions, 'network'> = { replicas, clients: 2000, rate: 10 };
  for (const network of Object.values(NETWORKS)) outcomes.push(await playReplicas({ ...load, network }, 1));
  printTable(
    [`${whole(replicas)} replicas, 10 requests a second each`, ...Object.keys(NETWORKS)],
    ROWS.map(([name, of]) => [name, ...outcomes.map(of)]),
  );
}

function ms(milliseconds: number): string {
  return `${whole(milliseconds)} ms`;
}

function rate({ reads, writes, bytes }: TrafficRate): string {
  return `${whole(reads)} reads, ${whole(writes)} writes, ${whole(bytes / 1024)} KiB a second`;
}
