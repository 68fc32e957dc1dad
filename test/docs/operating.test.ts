import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { FLOOR_PLAN_ORDER, type InspectedGateway, inspectGateway } from '../support/inspected-gateway.ts';

const root = new URL('../../', import.meta.url);
const read = (path: string): string => readFileSync(new URL(path, root), 'utf8');
const page = read('docs/operating.md');
let gateway: InspectedGateway;

beforeAll(async () => {
  gateway = await inspectGateway();
  await gateway.send('POST', '/api/v1/orders/floor_plans', FLOOR_PLAN_ORDER);
});

afterAll(() => gateway.stop());

describe('docs/operating.md', () => {
  test('lists every metric', async () => {
    const text = await (await fetch(`${gateway.adminOrigin}/metrics`)).text();
    const names = [...text.matchAll(/^# TYPE (\S+)/gm)].map(([, name = '']) => name);
    expect(names.length).toBeGreaterThan(10);
    expect(names.filter((name) => !page.includes(`\`${name}\``))).toEqual([]);
  });

  test('lists every event of the process log', () => {
    const union = /type ProcessEvent =([^;]+);/.exec(read('src/node/log/process-log.ts'))?.[1] ?? '';
    const events = [...union.matchAll(/'([a-z-]+)'/g)].map(([, event = '']) => event);
    expect(events.length).toBeGreaterThan(10);
    expect(events.filter((event) => !page.includes(`\`${event}\``))).toEqual([]);
  });

  test('names every failure code that has a remedy, as the gateway spells it', () => {
    const failures = read('src/migrate/failure.ts');
    const codes = [...page.matchAll(/^\| [45]\d\d (`[^|]+) \|/gm)].flatMap(([, list = '']) =>
      [...list.matchAll(/`([a-z-]+)`/g)].map(([, code = '']) => code),
    );
    const known = new Set([...failures.matchAll(/^ {2}'?([a-z-]+)'?: \[/gm)].map(([, code = '']) => code));
    /** Codes of refusals that rules and scanner make. */
    const ofBodies = new Set(['malformed-json', 'duplicate-member', 'wrapper-not-object', 'x-gateway-error']);
    expect(codes.filter((code) => !known.has(code) && !ofBodies.has(code))).toEqual([]);
  });
});
