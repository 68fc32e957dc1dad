/** @module-tag wrangler */
import { execFile } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { promisify } from 'node:util';
import { beforeAll, expect, onTestFinished, test } from 'vitest';
import { startReference } from '../../src/node/reference.ts';
import type { Entry } from '../../src/rewrite-log/entry.ts';
import type { RolloutRequest, RolloutView } from '../../src/rollout/rollout-tally.ts';
import { type EdgeFleet, edgeFleet, type EdgeFleetOptions } from '../support/edge-fleet.ts';
import { isOnDisk } from '../support/on-disk.ts';
import { exchange, statusOf } from '../support/raw-client.ts';
import { ok, rawServer } from '../support/raw-server.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { until } from '../support/until.ts';
import { bundleWorkerWith } from '../support/workerd.ts';
import { PROGRAM } from '../support/product.ts';

const TOKEN = 'a token of the tests';
const ISOLATES = [0, 1, 2];
const root = fileURLToPath(new URL('../../', import.meta.url));

let file = '';

beforeAll(async () => {
  const reference = await startReference({ rate: 0 });
  const rules = join(temporaryFolder('totals'), 'rules.yaml');
  const shipped = readFileSync(join(root, 'config/rules.yaml'), 'utf8');
  writeFileSync(rules, `${shipped}modes: { default: observe, operations: { list_clients: shadow } }\n`);
  file = await bundleWorkerWith(rules, `${reference.origin}/api/v2/openapi.json`);
  await reference.close();
}, 60_000);

test('with V2’s schemas and their interpreter the bundle is 176 KiB at the most', () => {
  const bytes = gzipSync(readFileSync(file)).length;
  console.log(`edge bundle with the description of V2: ${(bytes / 1024).toFixed(1)} KiB gzipped`);
  expect(bytes).toBeLessThanOrEqual(176 * 1024);
});

interface Run extends EdgeFleet {
  /** Sends a request to an isolate; resolves to the status. */
  send(isolate: number, line: string, body?: string): Promise<number>;
  view(isolate: number): Promise<RolloutView>;
  /** Steers through an isolate; resolves to the status and the text. */
  steer(
    isolate: number,
    request: RolloutRequest,
  ): Promise<{ readonly status: number; readonly text: string }>;
}

async function run(options: Partial<EdgeFleetOptions> = {}): Promise<Run> {
  const serverOf = async (body: string): Promise<string> =>
    (await rawServer((socket) => socket.write(ok(body)))).origin;
  const fleet = await edgeFleet({
    file,
    isolates: ISOLATES.length,
    variables: {
      GATEWAY_V1_UPSTREAM: await serverOf('{"data":[{"id":1,"name":"A"}]}'),
      GATEWAY_UPSTREAM: await serverOf('{"data":[{"id":1,"name":"B"}]}'),
      GATEWAY_CLIENT_SECRET: 'a secret of the tests',
      GATEWAY_ADMIN_TOKEN: TOKEN,
      GATEWAY_ADMIN_HOSTS: 'localhost',
    },
    ...options,
  });
  onTestFinished(() => fleet.stop());
  const rollout = (isolate: number, request?: RolloutRequest): Promise<Response> =>
    fetch(`http://localhost:${fleet.ports[isolate] ?? 0}/rollout`, {
      method: request === undefined ? 'GET' : 'POST',
      headers: { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' },
      ...(request === undefined ? {} : { body: JSON.stringify(request) }),
    });
  return {
    ...fleet,
    send: async (isolate, line, body = '') => {
      const head = `${line} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer key\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n`;
      return statusOf(await exchange(fleet.ports[isolate] ?? 0, head + body, 20_000));
    },
    view: async (isolate) => (await (await rollout(isolate)).json()) as RolloutView,
    steer: async (isolate, request) => {
      const response = await rollout(isolate, request);
      return { status: response.status, text: await response.text() };
    },
  };
}

const compared = ({ shadows }: RolloutView): number =>
  shadows.reduce((sum, { same, different, unknown }) => sum + same + different + unknown, 0);

test('shadows are sums of all isolates, and `rollout` shows them', async () => {
  const fleet = await run();
  for (const isolate of ISOLATES) expect(await fleet.send(isolate, 'GET /api/v1/clients')).toBe(200);
  await until(async () => compared(await fleet.view(1)) === ISOLATES.length);
  const view = await fleet.view(1);
  expect(view.shadows).toEqual([
    {
      operation: 'list_clients',
      same: 0,
      different: 3,
      unknown: 0,
      fields: [{ path: '/data/*/name', kind: 'value', count: 3 }],
    },
  ]);
  // The copies for the comparison are none of V1's requests.
  expect(view.requests).toEqual({ v1: 3, v2: 0 });
  const { stdout } = await promisify(execFile)(
    process.execPath,
    [PROGRAM, 'rollout', '--admin', `http://localhost:${fleet.ports[2]}`],
    { cwd: root, env: { ...process.env, GATEWAY_ADMIN_TOKEN: TOKEN } },
  );
  expect(stdout).toMatch(
    /requests +0 migrated, 3 to V1; all counts are of all\s+isolates since 20\d\d-[-\d:TZ.]+\n/,
  );
  expect(stdout).toContain('shadow      list_clients: 0 same, 3 different, 0 unknown');
  expect(stdout).toContain('/data/*/name: value, 3 times');
});

test('bodies that V2 would refuse, seen by any isolate, hold a canary up', async () => {
  const fleet = await run();
  const bodies = [
    '{"data":{"name":"A","colour":1}}',
    '{"data":{"name":"A","colour":2}}',
    '{"data":[]}',
    '{"data":{"name":"A"}}',
  ];
  for (const [number, body] of bodies.entries())
    expect(await fleet.send(number % ISOLATES.length, 'POST /api/v1/clients', body)).toBe(200);
  const seen = async (): Promise<number> => {
    const counts = (await fleet.view(0)).bodyChecks?.counts ?? [];
    return counts.reduce((sum, { bodies: all }) => sum + all, 0);
  };
  await until(async () => (await seen()) === bodies.length);
  const entries = fleet.lines.filter((line) => line.startsWith('{"time"'));
  const woulds = entries.map((line) => (JSON.parse(line) as Entry).would);
  expect(woulds).toContainEqual({ verdict: 'rewritten', v2: 'valid' });
  expect(woulds).toContainEqual({ verdict: 'rewritten', v2: 'invalid', at: '/colour' });
  const refused = await fleet.steer(2, { mode: 'canary', share: 10 });
  expect(refused.status).toBe(422);
  expect(refused.text).toMatch(
    /V2's schema refuses 2 of 3 checked bodies .* create_client: 2, at \/colour 2×/,
  );
  expect(refused.text).toContain('The gateway would refuse 1 of 4 bodies');
  expect(await fleet.view(0)).toMatchObject({ default: { mode: 'observe' }, revision: 0 });
  expect(await fleet.steer(2, { mode: 'canary', share: 10, force: true })).toMatchObject({ status: 200 });
  expect(await fleet.view(0)).toMatchObject({ default: { mode: 'canary', share: 10 } });
});

test('while the object hangs, requests are served and operators are refused a view without its sums', async () => {
  const fleet = await run({ isolates: 1 });
  expect(await fleet.send(0, 'GET /api/v1/clients')).toBe(200);
  await until(async () => compared(await fleet.view(0)) === 1);
  await fleet.setObject('hung');
  expect(await fleet.send(0, 'GET /api/v1/clients')).toBe(200);
  expect((await fleet.steer(0, { mode: 'observe' })).status).toBe(503);
  await fleet.setObject('up');
  await until(async () => (await fleet.steer(0, { mode: 'observe' })).status === 200);
  expect(compared(await fleet.view(0))).toBeGreaterThanOrEqual(1);
});

test('sums outlive the process', async () => {
  const disk = temporaryFolder('kept-totals');
  const first = await run({ isolates: 1, disk });
  expect(await first.send(0, 'GET /api/v1/clients')).toBe(200);
  await until(async () => compared(await first.view(0)) === 1);
  const { countedSince } = await first.view(0);
  // The comparison is the last of the rows.
  await until(() => isOnDisk(disk, 'shadow/list_clients'));
  await first.stop();
  const second = await run({ isolates: 1, disk });
  expect(await second.view(0)).toMatchObject({ countedSince, shadows: [{ different: 1 }] });
});
