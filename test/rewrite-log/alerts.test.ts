import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { stringify } from 'yaml';
import { temporaryFolder } from '../support/temporary-folder.ts';

const RULES = fileURLToPath(new URL('../../deploy/prometheus/alerts.yaml', import.meta.url));

/** Values of a series by its name, a sample an hour, in promtool's notation: `1x9` is ten times 1, `_x9` nine hours without one. */
type Series = Readonly<Record<string, string>>;

/** Says whether an alert fires so many hours after the first sample. promtool's clock starts in 1970. */
function fires(alert: string, hours: number, series: Series): boolean {
  const file = join(folder, 'test.yaml');
  writeFileSync(
    file,
    stringify({
      rule_files: [RULES],
      evaluation_interval: '1h',
      tests: [
        {
          interval: '1h',
          input_series: Object.entries(series).map(([name, values]) => ({ series: name, values })),
          promql_expr_test: [
            {
              expr: `ALERTS{alertname="${alert}",alertstate="firing"}`,
              eval_time: `${hours}h`,
              exp_samples: [],
            },
          ],
        },
      ],
    }),
  );
  const { stdout, stderr, status, error } = spawnSync('promtool', ['test', 'rules', file], {
    encoding: 'utf8',
  });
  if (error !== undefined) throw error;
  if (status === 0) return false;
  const said = `${stdout}${stderr}`;
  if (/got:.*alertstate="firing"/s.test(said)) return true;
  throw new Error(said);
}

const folder = temporaryFolder('alerts');

describe('GatewayV1Unused', () => {
  const alert = 'GatewayV1Unused';
  const UP = 'up{job="capture-gateway",instance="a"}';
  const LAST = 'gateway_v1_last_request_timestamp_seconds{instance="a"}';
  const hour = (number: number): number => number * 3600;

  test('fires when nobody used V1 for two weeks, though no V1 request was ever counted', () => {
    expect(fires(alert, 16 * 24, { [UP]: '1x500', [LAST]: '0x500' })).toBe(true);
  });

  test('is silent two hours, and two days, after Prometheus starts', () => {
    const series = { [UP]: '1x500', [LAST]: '0x500' };
    for (const hours of [2, 48]) expect(fires(alert, hours, series)).toBe(false);
  });

  test('is silent when one request follows every deploy: each series is born at its end value', () => {
    const deploys = Array.from({ length: 20 }, (_, day) => day).flatMap((day) => {
      const absent = day === 0 ? '' : `_x${day * 24} `;
      return [
        [`up{job="capture-gateway",instance="pod-${day}"}`, `${absent}1x23`],
        [`gateway_v1_last_request_timestamp_seconds{instance="pod-${day}"}`, `${absent}${hour(day * 24)}x23`],
      ];
    });
    expect(fires(alert, 19 * 24, Object.fromEntries(deploys))).toBe(false);
  });

  test('is silent 13 days after the last request, and fires after 15', () => {
    const series = { [UP]: '1x1000', [LAST]: `0x99 ${hour(100)}x900` };
    expect(fires(alert, 100 + 13 * 24, { ...series })).toBe(false);
    // The gateway was seen all the while.
    expect(fires(alert, 100 + 15 * 24, { ...series })).toBe(true);
  });

  test('is silent when the last request was to a gateway that is gone', () => {
    const series = {
      'up{job="capture-gateway",instance="old"}': '1x200',
      'gateway_v1_last_request_timestamp_seconds{instance="old"}': `${hour(190)}x200`,
      [UP]: '_x200 1x400',
      [LAST]: '_x200 0x400',
    };
    expect(fires(alert, 400, series)).toBe(false);
  });

  test.each([
    ['Prometheus was away for five days', { [UP]: '1x200 _x120 1x400', [LAST]: '0x200 _x120 0x400' }],
    ['the gateway was down', { [UP]: '1x200 0x120 1x400', [LAST]: '0x200 _x120 0x400' }],
    ['there is no series of V1', { [UP]: '1x600' }],
    ['there is no series at all', { 'up{job="another"}': '1x600' }],
  ])('is silent when %s: without observation, nothing is "unused"', (_, series) => {
    expect(fires(alert, 16 * 24, series)).toBe(false);
  });
});

test('GatewayEventLoopLate fires for stalls that go on, not for one', () => {
  const alert = 'GatewayEventLoopLate';
  const name = 'gateway_event_loop_delay_seconds{instance="a"}';
  expect(fires(alert, 3, { [name]: '0.01 0.01 0.4x5' })).toBe(true);
  expect(fires(alert, 3, { [name]: '0.01 0.01 0.4 0.01 0.01' })).toBe(false);
});

test('GatewayAlone fires while a replica does not reach its store, and is silent without one', () => {
  const name = 'gateway_store_reachable{instance="a"}';
  expect(
    fires('GatewayAlone', 3, { [name]: '1 0 0x5', 'gateway_store_reachable{instance="b"}': '1x5' }),
  ).toBe(true);
  expect(fires('GatewayAlone', 3, { [name]: '1x5' })).toBe(false);
  expect(fires('GatewayAlone', 3, { 'gateway_in_flight{instance="a"}': '1x5' })).toBe(false);
});
