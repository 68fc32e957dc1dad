import { parseArgs } from 'node:util';
import { RedisServer } from '../test/support/redis-server.ts';
import { playReplicas } from './replicas/play-replicas.ts';

/**
 * Plays three gateways on a real Redis server under load: canary, fault, roll-back, `kill -9` of the server and of a gateway, and
 * a server that is stopped for ten seconds. Exit code 1 when a request failed, or an order was lost or placed twice.
 */
const { values } = parseArgs({ options: { hang: { type: 'string', default: '10000' } } });
const server = await RedisServer.start();
try {
  const play = await playReplicas(server, Number(values.hang));
  const { failedWithoutStore, failedBesideKilled, lost, twice, rollbacks, afterRollback } = play;
  process.stdout.write(
    [
      `${play.orders} orders through three replicas`,
      `choice everywhere after ${play.choiceMs} ms`,
      `roll-backs: ${rollbacks.length}; in force ${play.rollbackMs.join(', ')} ms after the fault; ${afterRollback} requests to V2 after that`,
      `failed while the store was killed, empty and stopped: ${failedWithoutStore.length}`,
      `failed beside a killed replica: ${failedBesideKilled.length}`,
      `orders lost: ${lost.length}, in two services or twice: ${twice.length}`,
      '',
    ].join('\n'),
  );
  const faults = [failedWithoutStore, failedBesideKilled, lost, twice].flat().length + afterRollback;
  process.exitCode = faults === 0 && rollbacks.length === 1 ? 0 : 1;
} finally {
  await server.kill();
}
