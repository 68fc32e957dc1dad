import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { arbitrarySteps } from '../../src/cli/twin-arbitrary.ts';
import { loadScripts } from '../../src/cli/twin-scripts.ts';
import { sequenceScript } from '../../src/twin/sequence.ts';
import type { PlayedExchange } from '../../src/twin/play.ts';
import type { Script } from '../../src/twin/script.ts';
import { startRuntimeGateway } from '../../src/node/twin/runtime-gateway.ts';
import { startTwinServices } from '../../src/node/twin/twin-services.ts';
import { referenceStage } from '../../src/cli/twin-stage.ts';

const scripts = load();
const services = await startTwinServices();
const gateway = await startRuntimeGateway('node', 'src/cli/main.ts', services.v2, 'config/rules.yaml');
const twin = referenceStage(services, gateway.origin);
const statuses = new Set<number>();

afterAll(async () => {
  twin.close();
  await gateway.stop();
  services.close();
});

describe.each(scripts)('$title: V1 and the gateway answer alike', (script) => {
  const played = new Map<string, PlayedExchange>();

  beforeAll(async () => {
    for await (const one of twin.play(script)) {
      played.set(one.name, one);
      statuses.add(one.statuses[0]);
    }
  });

  test.each(script.exchanges.map(({ name }) => name))('%s', (name) => {
    expect(played.get(name)?.differences).toEqual([]);
  });
});

test('there are at least 400 exchanges, with every status that V1 has', () => {
  expect(scripts.flatMap(({ exchanges }) => exchanges).length).toBeGreaterThanOrEqual(400);
  expect([...statuses].sort()).toEqual([
    200, 201, 204, 400, 401, 403, 404, 405, 413, 415, 422, 429, 500, 503,
  ]);
});

test('300 random sequences are answered alike', async () => {
  await fc.assert(
    fc.asyncProperty(arbitrarySteps(), async (steps) => {
      for await (const { name, differences } of twin.play(sequenceScript('sequence', steps))) {
        expect({ name, differences }).toEqual({ name, differences: [] });
      }
    }),
    { numRuns: 300 },
  );
});

function load(): readonly Script[] {
  const loaded = loadScripts([], 'reference');
  if ('faults' in loaded) throw new Error(loaded.faults.join('\n'));
  return loaded.scripts;
}
