/**
 * @module-tag packages
 * @module-tag prometheus
 */
import { spawn } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { beforeAll, expect, onTestFinished, test } from 'vitest';
import { parse, stringify } from 'yaml';
import type { GrafanaDashboard } from '../support/grafana.ts';
import { freePort } from '../support/free-port.ts';
import { spawnGateway } from '../support/spawn-gateway.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { until } from '../support/until.ts';

const deploy = new URL('../../deploy/', import.meta.url);
const TOKEN = 'a token for the admin listener';

interface PrometheusConfig {
  readonly scrape_configs: readonly [{ readonly job_name: string; readonly authorization: object }];
}

let folder = '';
beforeAll(() => {
  folder = temporaryFolder('prometheus');
});

/** Starts Prometheus with the configuration that ships, every second; returns its API. */
async function startPrometheus(target: string): Promise<(path: string) => Promise<unknown>> {
  const shipped = parse(readFileSync(new URL('compose/prometheus.yaml', deploy), 'utf8')) as PrometheusConfig;
  const [job] = shipped.scrape_configs;
  const targets = { static_configs: [{ targets: [target] }] };
  writeFileSync(join(folder, 'token'), TOKEN);
  mkdirSync(join(folder, 'data'));
  writeFileSync(
    join(folder, 'prometheus.yml'),
    stringify({
      ...shipped,
      global: { scrape_interval: '1s', evaluation_interval: '1s' },
      rule_files: [fileURLToPath(new URL('prometheus/*.yaml', deploy))],
      scrape_configs: [
        { ...job, authorization: { credentials_file: join(folder, 'token') }, ...targets },
        { job_name: 'without-token', ...targets },
      ],
    }),
  );
  const port = await freePort();
  const child = spawn(
    'prometheus',
    [
      `--config.file=${folder}/prometheus.yml`,
      `--storage.tsdb.path=${folder}/data`,
      `--web.listen-address=127.0.0.1:${port}`,
      '--log.level=warn',
    ],
    { stdio: ['ignore', 'ignore', 'inherit'] },
  );
  onTestFinished(() => void child.kill('SIGKILL'));
  return async (path) => {
    const response = await fetch(`http://127.0.0.1:${port}/api/v1/${path}`);
    return ((await response.json()) as { readonly data: unknown }).data;
  };
}

/** Panels without a line while nothing fails. */
const EMPTY_WITHOUT_FAILURES: ReadonlySet<string> = new Set([
  'Refused in 24 hours',
  'Responses of the gateway itself',
  'Requests refused before their body',
  'Bodies refused',
  '4xx of V2 to rewritten requests',
  'Failures between gateway and V2',
  'Full',
  'V2 requests in 24 hours',
  'Canary window',
  'Shadow comparisons',
  'Share of the memory limit',
  'Store in reach',
  'Replicas',
  'Choices that wait for the store',
]);

interface Target {
  readonly scrapePool: string;
  readonly health: string;
  readonly lastError: string;
}

test('Prometheus scrapes a gateway with its token, is refused without, and evaluates every rule', async () => {
  const gateway = await spawnGateway({ 'admin-token': TOKEN, 'client-secret': 'a secret for the hashes' });
  const api = await startPrometheus(`127.0.0.1:${gateway.adminPort}`);
  const send = (): Promise<Response> =>
    fetch(`http://127.0.0.1:${gateway.port}/api/v1/clients`, {
      method: 'POST',
      headers: { authorization: 'Bearer k', 'content-type': 'application/json' },
      body: '{"data":{"name":"Acme"}}',
    });
  const targets = async (): Promise<Record<string, Target>> => {
    const data = (await api('targets').catch(() => ({ activeTargets: [] }))) as {
      readonly activeTargets: readonly Target[];
    };
    return Object.fromEntries(data.activeTargets.map((target) => [target.scrapePool, target]));
  };
  // A scrape that the machine was too busy for is followed by one that comes.
  await until(async () => {
    const { 'capture-gateway': own, 'without-token': other } = await targets();
    return own?.health === 'up' && own.lastError === '' && other?.lastError.includes('401') === true;
  });
  expect((await targets())['without-token']?.health).toBe('down');

  const query = async (expression: string): Promise<readonly string[]> => {
    const data = (await api(`query?query=${encodeURIComponent(expression)}`)) as {
      readonly result: readonly {
        readonly metric: { readonly __name__?: string };
        readonly value: readonly [number, string];
      }[];
    };
    return data.result.map(({ value }) => value[1]);
  };
  await until(async () => {
    expect((await send()).status).toBe(201);
    return Number((await query('instance:gateway_exchanges:rate5m'))[0]) > 0;
  });
  expect(Number((await query('instance:gateway_upstream_failures:ratio_rate5m'))[0])).toBe(0);
  await until(async () => (await query('max(gateway_v1_last_request_timestamp_seconds) > 0')).length === 1);

  // Every panel of the dashboard is a query that Prometheus takes; those of traffic have a line.
  const board = JSON.parse(
    readFileSync(new URL('grafana/capture-gateway.json', deploy), 'utf8'),
  ) as GrafanaDashboard;
  let empty: string[] = [];
  const findEmpty = async (): Promise<void> => {
    empty = [];
    for (const { title, targets = [] } of board.panels)
      for (const { expr } of targets) {
        const lines = await query(
          expr
            .replaceAll('$__rate_interval', '1m')
            .replaceAll('$job', 'capture-gateway')
            .replaceAll('$instance', '.*'),
        );
        if (lines.length === 0 && !EMPTY_WITHOUT_FAILURES.has(title)) empty.push(title);
      }
  };
  // Nothing was refused or failed, no canary runs, there is no store, and there may be no limit of memory.
  await until(async () => {
    await findEmpty();
    return empty.length === 0;
  }).catch(() => {});
  expect(empty).toEqual([]);

  const rules = async (): Promise<readonly { readonly name: string; readonly health: string }[]> => {
    const { groups } = (await api('rules')) as {
      readonly groups: readonly { readonly rules: Awaited<ReturnType<typeof rules>> }[];
    };
    return groups.flatMap((group) => group.rules);
  };
  await until(async () => (await rules()).every(({ health }) => health !== 'unknown'));
  expect((await rules()).length).toBeGreaterThan(20);
  expect((await rules()).filter(({ health }) => health !== 'ok')).toEqual([]);
});
