import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { statFamilies } from '../../src/rewrite-log/stat-families.ts';
import { exchangeFamilies } from '../../src/rewrite-log/metric-families.ts';
import { replicaFamilies } from '../../src/rewrite-log/replica-families.ts';
import { Metrics } from '../../src/rewrite-log/metrics.ts';
import { sampleEntry } from '../support/sample-entries.ts';

const root = new URL('../../deploy/', import.meta.url).pathname;

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
    ruleBook: { hash: 'a', version: 'b', since: 0, reloads: 0, refusedReloads: 0, reloadSeconds: 0 },
    process: {
      cpuSeconds: 0,
      residentBytes: 0,
      heapBytes: 0,
      startSeconds: 0,
      openFiles: 0,
      maxFiles: 0,
      loopDelaySeconds: 0,
    },
  };
  const replica = { name: 'a', replicas: 3, aloneSince: '2026-11-22T08:00:00Z', waiting: 0 };
  const families = [
    ...exchangeFamilies(metrics, () => '/x'),
    ...statFamilies(figures, { bytes: 0 }),
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

/** The gateway's metric names in an expression, and the labels used with them. */
function strangers(expression: string): readonly string[] {
  const names = [...expression.matchAll(/\b((?:gateway|http|process)_\w+)(?:\{([^}]*)\})?/g)];
  const unknown = names.flatMap(([, name = '', selector = '']) => {
    const labels = known.get(name);
    if (labels === undefined) return [name];
    return [...selector.matchAll(/(\w+)\s*[=!]~?/g)]
      .filter(([, label = '']) => !labels.has(label))
      .map(([, label]) => `${name}{${label}}`);
  });
  return unknown;
}

describe('the alert rules', () => {
  test('are clean to promtool', () => {
    const { status, stdout, stderr, error } = spawnSync(
      'promtool',
      ['check', 'rules', '--lint-fatal', `${root}prometheus/alerts.yaml`],
      { encoding: 'utf8' },
    );
    expect(error).toBeUndefined();
    expect([status, stderr]).toEqual([0, '']);
    expect(stdout).toContain('SUCCESS');
  });

  test('use existing metrics and labels', () => {
    const { groups } = parse(readFileSync(`${root}prometheus/alerts.yaml`, 'utf8')) as {
      groups: { rules: { expr: string }[] }[];
    };
    const expressions = groups.flatMap(({ rules }) => rules.map(({ expr }) => expr));
    expect(expressions.length).toBeGreaterThan(5);
    expect(expressions.flatMap(strangers)).toEqual([]);
  });
});

describe('the dashboard', () => {
  test('uses existing metrics and labels, and its panels do not overlap', () => {
    const board = JSON.parse(readFileSync(`${root}grafana/capture-gateway.json`, 'utf8')) as {
      panels: { gridPos: { x: number; y: number; w: number; h: number }; targets?: { expr: string }[] }[];
    };
    const expressions = board.panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr));
    expect(expressions.length).toBeGreaterThan(15);
    expect(expressions.flatMap(strangers)).toEqual([]);
    const cells = board.panels.flatMap(({ gridPos: { x, y, w, h } }) =>
      Array.from({ length: w * h }, (_, at) => `${x + (at % w)},${y + Math.floor(at / w)}`),
    );
    expect(new Set(cells).size).toBe(cells.length);
  });
});
