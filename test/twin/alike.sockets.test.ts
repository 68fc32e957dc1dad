import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { loadScripts, referenceStage } from '../../src/cli/twin.ts';
import { httpSide, startRuntimeGateway, startTwinServices } from '../../src/node/twin/twin-services.ts';
import type { Choice, Script } from '../../src/twin/script.ts';
import type { PlayedExchange } from '../../src/twin/play.ts';
import { fuzzRuns, fuzzTime } from '../support/fuzz.ts';
import { PROGRAM } from '../support/product.ts';
import { arbitrarySteps, printScript, sequenceScript } from './sequences.ts';

/** Exchanges that the gateway refuses before V1 looks at the body. The scripts themselves mark those that differ by another choice. */
const REFUSED_FIRST =
  /^wrong twice: .* and (?:no JSON|null as data|data twice)$|^beyond the limit: a body that is not JSON$/;

/** Statuses of V1 and of the gateway in exchanges that differ by choice. */
const STATUSES: Readonly<Record<Choice, RegExp>> = {
  // Only on workerd.
  'ambiguous-head': /^$/,
  'duplicate-member': /^20[01] 400$/,
  // The rule book of the package declares none.
  gone: /^$/,
  // Only between services that were built independently.
  'member-order': /^$/,
  'names-of-v2': /^(?:422 201|200 200)$/,
  'refused-first': /^(?:401|403|404|405|429) (?:400|415|422)$/,
};

const scripts = load();
const services = await startTwinServices();
const gateway = await startRuntimeGateway('node', PROGRAM, services.v2, 'config/rules.yaml');
const twin = referenceStage(services, gateway.origin);
/** How often V1 responded with each status. */
const statuses = new Map<number, number>();

afterAll(async () => {
  twin.close();
  await gateway.stop();
  services.close();
});

describe.each(scripts)('$title: V1 and the gateway give the same responses', (script) => {
  const played = new Map<string, PlayedExchange>();

  beforeAll(async () => {
    for await (const one of twin.play(script)) {
      played.set(one.name, one);
      const [v1] = one.statuses;
      statuses.set(v1, (statuses.get(v1) ?? 0) + 1);
    }
  });

  test.each(script.exchanges.map(({ name, choice }) => [name, choice] as const))('%s', (name, marked) => {
    const choice = marked ?? (REFUSED_FIRST.test(name) ? 'refused-first' : undefined);
    const { differences = [], choice: found, statuses = [] } = played.get(name) ?? {};
    expect(found).toBe(choice);
    if (choice === undefined) {
      expect(differences).toEqual([]);
      return;
    }
    expect(differences).not.toEqual([]);
    expect(statuses.join(' ')).toMatch(STATUSES[choice]);
  });
});

test('there are at least 400 exchanges, with every status that V1 has', () => {
  expect(scripts.flatMap(({ exchanges }) => exchanges).length).toBeGreaterThanOrEqual(400);
  const all = [200, 201, 204, 400, 401, 403, 404, 405, 413, 415, 422, 429, 500, 503];
  expect([...statuses.keys()].sort((one, other) => one - other)).toEqual(all);
  // Two services with the same bug would give the same responses.
  expect(statuses.get(200)).toBeGreaterThan(350);
  expect(statuses.get(201)).toBeGreaterThan(150);
});

test('random sequences get the same responses', fuzzTime(), async () => {
  await fc.assert(
    fc.asyncProperty(arbitrarySteps(), async (steps) => {
      const script = sequenceScript('sequence', steps);
      for await (const one of twin.play(script)) {
        const { name, differences, choice } = one;
        // As a script that `twin --script` plays again.
        const again = differences.length > 0 ? printScript(script) : undefined;
        if (choice !== undefined) expect(one.statuses.join(' ')).toMatch(STATUSES['refused-first']);
        else expect({ name, differences, again }).toEqual({ name, differences: [], again: undefined });
      }
    }),
    { numRuns: fuzzRuns(300) },
  );
});

function load(): readonly Script[] {
  const loaded = loadScripts([], 'reference');
  if ('faults' in loaded) throw new Error(loaded.faults.join('\n'));
  return loaded.scripts;
}

test('an idle connection that a service closed does not count as a difference', async () => {
  let connections = 0;
  const server = createServer((socket) => {
    connections += 1;
    socket.once('data', () => {
      socket.write('HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n');
      // Another request on this connection comes too late.
      socket.once('data', () => socket.resetAndDestroy());
    });
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  const side = httpSide(`http://127.0.0.1:${port}`);
  for (let sent = 0; sent < 3; sent += 1)
    expect(await side.send({ method: 'POST', target: '/', headers: [], body: undefined })).toMatchObject({
      status: 200,
    });
  expect(connections).toBe(3);
  side.close();
  server.close();
});
