/**
 * @module-tag packages
 * @module-tag prometheus
 */
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import {
  exchangeFamilies,
  replicaFamilies,
  rolloutFamilies,
  statFamilies,
} from '../../src/rewrite-log/metric-families.ts';
import { Metrics } from '../../src/rewrite-log/metrics.ts';
import { grafanaFaults, type GrafanaDashboard } from '../support/grafana.ts';
import type { RolloutView } from '../../src/rollout/rollout-tally.ts';
import { sampleEntry } from '../support/sample-entries.ts';

const root = new URL('../../deploy/', import.meta.url).pathname;

/** A rollout with a canary and a shadow. */
const ROLLOUT: RolloutView = {
  revision: 1,
  isSticky: true,
  default: { mode: 'canary', share: 10, from: 'operator' },
  operations: {},
  clients: {},
  ruleBook: { default: { mode: 'migrate' }, operations: {}, clients: {} },
  rollback: { window: 600, margin: 0.02, slower: 2, requests: 50, certainty: 99 },
  canaries: [{ migrated: { requests: 1, failures: 0 }, v1: { requests: 1, failures: 0 } }],
  rollbacks: [],
  shadows: [
    { same: 1, different: 0, unknown: 0, fields: [] },
    { verified: true, same: 1, different: 0, unknown: 0, fields: [] },
  ],
  requests: { v1: 1, v2: 1 },
  brownouts: [],
};

/** Every name of a series that the gateway can have, with its labels. */
function series(): ReadonlyMap<string, ReadonlySet<string>> {
  const metrics = new Metrics();
  metrics.add({ ...sampleEntry(1, 0), rewriteMs: 1, failure: 'x' });
  const figures = {
    version: '1',
    inFlight: 0,
    bufferedBytes: 0,
    droppedLogLines: 0,
    breaker: 'closed' as const,
    ruleBook: {
      hash: 'a',
      version: 'b',
      since: 0,
      reloads: 0,
      refusedReloads: 0,
      reloadSeconds: 0,
      isStale: false,
    },
    certificates: [{ use: 'clients', notAfter: 0 }],
    process: {
      cpuSeconds: 0,
      residentBytes: 0,
      limitBytes: 0,
      heapBytes: 0,
      startSeconds: 0,
      openFiles: 0,
      maxFiles: 0,
      loopDelaySeconds: 0,
    },
  };
  const replica = { name: 'a', replicas: 3, aloneSince: '2026-11-22T08:00:00Z', waiting: 0 };
  const families = [
    ...exchangeFamilies(metrics, { from: '/api/v1', to: '/api/v2', templateOf: () => '/x' }),
    ...statFamilies(figures, { bytes: 0 }),
    ...rolloutFamilies(ROLLOUT),
    ...replicaFamilies(replica),
  ];
  return new Map(
    families.flatMap(({ name, samples }) =>
      samples.map(({ suffix, labels }) => [
        `${name}${suffix ?? ''}`,
        new Set([...labels.map(([label]) => label), 'le', 'instance', 'job']),
      ]),
    ),
  );
}

const known = series();

interface RuleFile {
  readonly groups: readonly {
    readonly rules: readonly { readonly record?: string; readonly expr: string }[];
  }[];
}

function rulesOf(file: string): RuleFile['groups'][number]['rules'] {
  return (parse(readFileSync(`${root}prometheus/${file}`, 'utf8')) as RuleFile).groups.flatMap(
    ({ rules }) => rules,
  );
}

const recorded = new Set(rulesOf('recording.yaml').map(({ record = '' }) => record));

/** Names of recorded series have colons; so has the step of a subquery, behind a bracket. */
const RECORDED = /(?<!\[)\b[a-z]\w*(?::\w+)+/g;

/** Metric names of an expression that neither the gateway nor a recording rule has, and labels that a metric lacks. */
function strangers(expression: string): readonly string[] {
  const records = [...expression.matchAll(RECORDED)]
    .map(([name]) => name)
    .filter((name) => !recorded.has(name));
  const rest = expression.replaceAll(RECORDED, '');
  return [...records, ...strangeMetrics(rest)];
}

function strangeMetrics(expression: string): readonly string[] {
  const names = [...expression.matchAll(/\b((?:gateway|http|process)_\w+)(?:\{([^}]*)\})?/g)]
    // Not the words of a selector's values, such as names of jobs and codes.
    .filter(([, name = '']) => !name.startsWith('http_re') && name !== 'http_route');
  const unknown = names.flatMap(([, name = '', selector = '']) => {
    const labels = known.get(name);
    if (labels === undefined) return [name];
    return [...selector.matchAll(/(\w+)\s*[=!]~?/g)]
      .filter(([, label = '']) => !labels.has(label))
      .map(([, label]) => `${name}{${label}}`);
  });
  return unknown;
}

describe('the rules of Prometheus', () => {
  test('are clean to promtool', () => {
    const { status, stdout, stderr, error } = spawnSync(
      'promtool',
      ['check', 'rules', '--lint-fatal', `${root}prometheus/alerts.yaml`, `${root}prometheus/recording.yaml`],
      { encoding: 'utf8' },
    );
    expect(error).toBeUndefined();
    expect([status, stderr]).toEqual([0, '']);
    expect(stdout).toContain('SUCCESS');
  });

  test('use existing metrics and labels', () => {
    const rules = [...rulesOf('alerts.yaml'), ...rulesOf('recording.yaml')].map(({ expr }) => expr);
    expect(rules.length).toBeGreaterThan(20);
    expect(rules.flatMap(strangers)).toEqual([]);
  });
});

const board = JSON.parse(readFileSync(`${root}grafana/capture-gateway.json`, 'utf8')) as GrafanaDashboard;
const expressions = [
  ...board.panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr)),
  ...board.annotations.list.map(({ target }) => target.expr),
];

describe('the dashboard', () => {
  test('uses existing series and labels, of the chosen job and gateway only', () => {
    expect(expressions.length).toBeGreaterThan(30);
    expect(expressions.flatMap(strangers)).toEqual([]);
    const loose = expressions.filter((expression) =>
      [...expression.matchAll(/\{[^}]*\}/g)].some(
        ([selector]) => !selector.includes('job="$job",instance=~"$instance"'),
      ),
    );
    expect(loose).toEqual([]);
  });

  test('counts V1 requests by a series that begins at 0, because a series that began at 3 would hide the first 3', () => {
    const panel = board.panels.find(({ title }) => title === 'V1 requests in 24 hours');
    expect(panel?.targets?.[0]?.expr).toContain('increase(gateway_v1_requests_total{');
  });

  test('is valid by Grafana’s schema, which finds faults', () => {
    expect(grafanaFaults(board)).toEqual([]);
    const panel = board.panels.find(({ type }) => type === 'timeseries');
    if (panel === undefined) throw new Error('the dashboard has no time series');
    for (const wrong of [{ unti: 's' }, { custom: { drawStyle: 'lines' } }, { unit: 7 }]) {
      const faulty = { ...panel, fieldConfig: { overrides: [], defaults: wrong } };
      expect(grafanaFaults({ ...board, panels: [faulty] })).toHaveLength(1);
    }
  });

  test('has panels that do not overlap, each with its own title, number and place', () => {
    const cells = board.panels.flatMap(({ gridPos: { x, y, w, h } }) =>
      Array.from({ length: w * h }, (_, at) => `${x + (at % w)},${y + Math.floor(at / w)}`),
    );
    expect(new Set(cells).size).toBe(cells.length);
    for (const key of ['id', 'title'] as const)
      expect(new Set(board.panels.map((panel) => panel[key])).size).toBe(board.panels.length);
  });
});
