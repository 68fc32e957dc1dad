/** @module-tag prometheus */
import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { stringify } from 'yaml';
import { temporaryFolder } from '../support/temporary-folder.ts';

const FILES = ['recording', 'alerts'].map((name) =>
  fileURLToPath(new URL(`../../deploy/prometheus/${name}.yaml`, import.meta.url)),
);

/** Values of series by name, a sample an interval, in promtool's notation: `1x9` is ten times 1, `_x9` nine without one. */
type Series = Readonly<Record<string, string>>;

/** An alert that fires, or does not, so long after the first sample, such as `3h`. promtool's clock starts in 1970. */
interface Play {
  readonly alert: string;
  readonly why?: string;
  readonly time: string;
  readonly series: Series;
  readonly isFiring: boolean;
}

/** Plays all at once, with a sample each interval; returns promtool's complaints. */
function complaints(interval: string, plays: readonly Play[]): string {
  const file = join(folder, 'test.yaml');
  writeFileSync(
    file,
    stringify({
      rule_files: FILES,
      group_eval_order: ['capture-gateway-series', 'capture-gateway'],
      evaluation_interval: interval,
      tests: plays.map(({ alert, why = '', time, series, isFiring }, index) => ({
        name: `play ${index}: ${alert} ${isFiring ? 'fires' : 'is silent'} ${why}`,
        interval,
        input_series: Object.entries(series).map(([name, values]) => ({ series: name, values })),
        promql_expr_test: [
          {
            expr: `(count(ALERTS{alertname="${alert}",alertstate="firing"}) > bool 0) or vector(0)`,
            eval_time: time,
            exp_samples: [{ labels: '{}', value: isFiring ? 1 : 0 }],
          },
        ],
      })),
    }),
  );
  const { stdout, stderr, status, error } = spawnSync('promtool', ['test', 'rules', file], {
    encoding: 'utf8',
  });
  if (error !== undefined) throw error;
  return status === 0 ? '' : `${stdout}${stderr}`;
}

const folder = temporaryFolder('alerts');

/** Labels of a target, as a scrape of two kinds of homes gives them. */
const A = 'job="capture-gateway",instance="a"';
const POD = 'job="shop/any-name",namespace="shop",pod="p",instance="10.0.0.7:8081"';
const BUCKETS = 'http_server_request_duration_seconds_bucket';
const V2_BUCKETS = 'http_client_request_duration_seconds_bucket';

/** Each alert with series, a sample every 15 seconds, with which it fires at the time, and with which it does not. */
const PLAYS: readonly (readonly [alert: string, time: string, firing: Series, silent: Series])[] = [
  [
    'GatewayDown',
    '10m',
    { [`up{${A}}`]: '1x10 0x40' },
    { [`up{${A}}`]: '1x10 0x2 1x40', 'up{job="another"}': '0x60' },
  ],
  [
    'GatewayDown',
    '10m',
    { [`up{${POD}}`]: '1x10 0x40', [`gateway_build_info{${POD}}`]: '1x10 _x40' },
    { [`up{${POD}}`]: '1x50', [`gateway_build_info{${POD}}`]: '1x50' },
  ],
  ['GatewayUnseen', '10m', { [`up{${A}}`]: '0x50' }, { [`gateway_build_info{${POD}}`]: '1x50' }],
  [
    'GatewayCircuitOpen',
    '10m',
    {
      [`gateway_circuit_state{state="open",${A}}`]:
        '0x10 1 0 1 0 1 1 0 1 0 1 0 1 1 0 1 0 1 0 1 0 1 0 1 1 0 1 0 1 0 1 0 1',
      [`gateway_circuit_state{state="probing",${A}}`]:
        '0x10 0 1 0 1 0 0 1 0 1 0 1 0 0 1 0 1 0 1 0 1 0 1 0 0 1 0 1 0 1 0 1 0',
    },
    {
      [`gateway_circuit_state{state="open",${A}}`]: '0x36 1 0x40',
      [`gateway_circuit_state{state="closed",${A}}`]: '1x36 0 1x40',
    },
  ],
  [
    'GatewayUpstreamFailing',
    '20m',
    {
      [`gateway_exchanges_total{${A}}`]: '0+30x100',
      [`gateway_failures_total{code="upstream-closed",${A}}`]: '0+3x100',
    },
    {
      [`gateway_exchanges_total{${A}}`]: '0+30x100',
      [`gateway_failures_total{code="not-found",${A}}`]: '0+3x100',
    },
  ],
  [
    'GatewayMigratedRequestsUnprocessable',
    '50m',
    {
      [`gateway_exchanges_total{route="migrate",operation="o",verdict="rewritten",status_class="2xx",${A}}`]:
        '0+6x240',
      [`gateway_exchanges_total{route="migrate",operation="o",verdict="rewritten",status_class="4xx",status="422",${A}}`]:
        '0+3x240',
    },
    {
      [`gateway_exchanges_total{route="migrate",operation="o",verdict="rewritten",status_class="2xx",${A}}`]:
        '0+9x240',
      [`gateway_exchanges_total{route="migrate",operation="o",verdict="rewritten",status_class="4xx",status="422",${A}}`]:
        '0+1x240',
      // Keys that V2 does not know, and resources that are gone, are no matter of rules.
      [`gateway_exchanges_total{route="migrate",operation="o",verdict="rewritten",status_class="4xx",status="401",${A}}`]:
        '0+9x240',
      [`gateway_exchanges_total{route="pass",operation="",verdict="passed",status_class="4xx",${A}}`]:
        '0+9x240',
    },
  ],
  [
    'GatewayRefusing',
    '50m',
    { [`gateway_failures_total{code="malformed-json",${POD}}`]: '0+3x240' },
    { [`gateway_failures_total{code="not-found",${POD}}`]: '0+3x240' },
  ],
  [
    'GatewayOverloaded',
    '20m',
    { [`gateway_failures_total{code="buffer-full",${A}}`]: '0+1x100' },
    { [`gateway_failures_total{code="buffer-full",${A}}`]: '3x100' },
  ],
  [
    'GatewaySlow',
    '40m',
    {
      [`${BUCKETS}{le="0.1",${A}}`]: '0x200',
      [`${BUCKETS}{le="1",${A}}`]: '0+9x200',
      [`${BUCKETS}{le="+Inf",${A}}`]: '0+9x200',
      [`${V2_BUCKETS}{le="0.1",${A}}`]: '0+9x200',
      [`${V2_BUCKETS}{le="+Inf",${A}}`]: '0+9x200',
    },
    {
      [`${BUCKETS}{le="0.1",${A}}`]: '0x200',
      [`${BUCKETS}{le="1",${A}}`]: '0+9x200',
      [`${BUCKETS}{le="+Inf",${A}}`]: '0+9x200',
      [`${V2_BUCKETS}{le="0.1",${A}}`]: '0x200',
      [`${V2_BUCKETS}{le="1",${A}}`]: '0+9x200',
      [`${V2_BUCKETS}{le="+Inf",${A}}`]: '0+9x200',
    },
  ],
  [
    'GatewayLosesLogLines',
    '10m',
    { [`gateway_log_lines_dropped_total{${A}}`]: '0x20 7x30' },
    { [`gateway_log_lines_dropped_total{${A}}`]: '7x50' },
  ],
  [
    'GatewayRuleBookRefused',
    // As long as a start would be refused, and no longer.
    '3h',
    { [`gateway_rule_book_stale{${A}}`]: '0x20 1x800' },
    { [`gateway_rule_book_stale{${A}}`]: '1x700 0x120' },
  ],
  [
    'GatewayRuleBooksDiffer',
    '30m',
    {
      [`gateway_rule_book_info{hash="x",${A}}`]: '1x200',
      'gateway_rule_book_info{hash="y",job="capture-gateway",instance="b"}': '1x200',
    },
    {
      [`gateway_rule_book_info{hash="x",${A}}`]: '1x200',
      [`gateway_rule_book_info{hash="y",${POD}}`]: '1x200',
    },
  ],
  [
    'GatewayCanaryRolledBack',
    '10m',
    { [`gateway_rollbacks_standing{${A}}`]: '0x20 1x30' },
    { [`gateway_rollbacks_standing{${A}}`]: '0x50' },
  ],
  [
    'GatewayAlone',
    '10m',
    { [`gateway_store_reachable{${A}}`]: '1x4 0x50', [`gateway_store_reachable{${POD}}`]: '1x54' },
    { [`gateway_store_reachable{${A}}`]: '1x20 0x8 1x30', [`gateway_build_info{${POD}}`]: '1x54' },
  ],
  [
    'GatewayFilesNearLimit',
    '10m',
    {
      [`process_open_fds{${A}}`]: '950x50',
      [`process_max_fds{${A}}`]: '1000x50',
      [`gateway_build_info{${A}}`]: '1x50',
    },
    { [`process_open_fds{${A}}`]: '950x50', [`process_max_fds{${A}}`]: '1000x50' },
  ],
  [
    'GatewayCertificateEnds',
    '30m',
    { [`gateway_certificate_not_after_timestamp_seconds{use="clients",${A}}`]: `${13 * 86_400}x200` },
    { [`gateway_certificate_not_after_timestamp_seconds{use="clients",${A}}`]: `${15 * 86_400}x200` },
  ],
  [
    'GatewayEventLoopLate',
    '10m',
    { [`gateway_event_loop_delay_seconds{${A}}`]: '0.01x4 0.4x50' },
    // A single stall, which the longest delay of the last minute shows for a minute.
    { [`gateway_event_loop_delay_seconds{${A}}`]: '0.01x30 0.4x4 0.01x30' },
  ],
];

/** Limits of memory that ship: the sidecar's, the standalone's and the chart's, and the service's. */
const LIMITS = [384 * 2 ** 20, 512 * 2 ** 20, 2 ** 30] as const;

function memory(limit: number, share: number): Series {
  return {
    [`process_resident_memory_bytes{${POD}}`]: `${Math.round(limit * share)}x60`,
    [`gateway_memory_limit_bytes{${POD}}`]: `${limit}x60`,
    [`gateway_build_info{${POD}}`]: '1x60',
  };
}

const GIGABYTE = { [`process_resident_memory_bytes{${A}}`]: '1100000000x60' };

test('every alert fires where it should, near each shipped limit of memory too, and only there', () => {
  const all = [
    ...PLAYS,
    ...LIMITS.map((limit) => ['GatewayMemoryHigh', '10m', memory(limit, 0.95), memory(limit, 0.7)] as const),
    ['GatewayMemoryHigh', '10m', { ...GIGABYTE, [`gateway_build_info{${A}}`]: '1x60' }, GIGABYTE] as const,
  ];
  const plays = all.flatMap(([alert, time, firing, silent]) => [
    { alert, time, series: firing, isFiring: true },
    { alert, time, series: silent, isFiring: false },
  ]);
  expect(complaints('15s', plays)).toBe('');
  // A play that goes another way is found.
  const [first] = plays;
  expect(complaints('15s', first === undefined ? [] : [{ ...first, isFiring: false }])).toContain('got:');
});

test('every alert is played', () => {
  const names = [...readFileSync(FILES[1] ?? '', 'utf8').matchAll(/- alert: (\w+)/g)].map(([, name]) => name);
  const played = new Set([...PLAYS.map(([alert]) => alert), 'GatewayMemoryHigh', 'GatewayV1Unused']);
  expect(names.filter((name) => !played.has(name ?? ''))).toEqual([]);
  expect(names).toHaveLength(played.size);
});

test('GatewayV1Unused fires two weeks after the last V1 request, and never without observation', () => {
  const SEEN = 'gateway_build_info{instance="a"}';
  const LAST = 'gateway_v1_last_request_timestamp_seconds{instance="a"}';
  const hour = (number: number): number => number * 3600;
  const never = { [SEEN]: '1x500', [LAST]: '0x500' };
  const once = { [SEEN]: '1x1000', [LAST]: `0x99 ${hour(100)}x900` };
  const away = { [SEEN]: '1x200 _x120 1x400', [LAST]: '0x200 _x120 0x400' };
  const deploys = Array.from({ length: 20 }, (_, day) => day).flatMap((day) => {
    const absent = day === 0 ? '' : `_x${day * 24} `;
    return [
      [`gateway_build_info{instance="pod-${day}"}`, `${absent}1x23`],
      [`gateway_v1_last_request_timestamp_seconds{instance="pod-${day}"}`, `${absent}${hour(day * 24)}x23`],
    ];
  });
  const gone = {
    'gateway_build_info{instance="old"}': '1x200',
    'gateway_v1_last_request_timestamp_seconds{instance="old"}': `${hour(190)}x200`,
    [SEEN]: '_x200 1x400',
    [LAST]: '_x200 0x400',
  };
  const plays: readonly (readonly [why: string, hours: number, series: Series, isFiring: boolean])[] = [
    ['no client used V1 for two weeks, though no V1 request was ever counted', 16 * 24, never, true],
    ['two hours after Prometheus starts', 2, never, false],
    ['two days after it starts', 48, never, false],
    ['one request follows every deploy, born at its end value', 19 * 24, Object.fromEntries(deploys), false],
    ['13 days after the last request', 100 + 13 * 24, once, false],
    ['15 days after it, with the gateway seen all the time', 100 + 15 * 24, once, true],
    ['the last request was to a gateway that is gone', 400, gone, false],
    ['Prometheus was away, or the gateway down, for five days', 16 * 24, away, false],
    ['there is no series of V1', 16 * 24, { [SEEN]: '1x600' }, false],
    ['there is no series at all', 16 * 24, { 'up{job="another"}': '1x600' }, false],
  ];
  const alert = 'GatewayV1Unused';
  expect(
    complaints(
      '1h',
      plays.map(([why, hours, series, isFiring]) => ({ alert, why, time: `${hours}h`, series, isFiring })),
    ),
  ).toBe('');
});
