import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { publicNames } from '../../config/release/surface.ts';
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
  test('links to a list of every metric', async () => {
    const text = await (await fetch(`${gateway.adminOrigin}/metrics`)).text();
    const names = [...text.matchAll(/^# TYPE (\S+)/gm)].map(([, name = '']) => name);
    expect(names.length).toBeGreaterThan(10);
    const listed = read('docs/api/metrics.md');
    expect(names.filter((name) => !listed.includes(`\`${name}\``))).toEqual([]);
  });

  test('lists every path of the admin API', async () => {
    const paths = (await publicNames(root)).flatMap((name) => /^admin API: \w+ (\S+)/.exec(name)?.[1] ?? []);
    const written = paths.map((path) =>
      path
        .replace(/:seq\{[^}]+\}/, '<seq>')
        .replace(/:format\{(\w+)\|.*\}/, '$1')
        .replace(':client', '<hash>'),
    );
    expect(written.length).toBeGreaterThan(20);
    expect(written.filter((path) => !page.includes(`\`${path}\``) && !page.includes(`\`${path}?`))).toEqual(
      [],
    );
  });

  test('links to a list of every event of the process log', () => {
    const union = /type ProcessEvent =([^;]+);/.exec(read('src/node/log/process-log.ts'))?.[1] ?? '';
    const events = [...union.matchAll(/'([a-z-]+)'/g)].map(([, event = '']) => event);
    expect(events.length).toBeGreaterThan(10);
    const listed = read('docs/api/process-log.md');
    expect(events.filter((event) => !listed.includes(`\`${event}\``))).toEqual([]);
  });

  test('names every failure that has a remedy, by the code and the status that the gateway sends', () => {
    const failures = read('src/migrate/failure.ts') + read('src/gateway/failures.ts');
    const told = [...page.matchAll(/^\| ([45]\d\d) (`[^|]+) \|/gm)].flatMap(([, status, list = '']) =>
      [...list.matchAll(/`([a-z-]+)`/g)].map(([, code = '']) => [code, status] as const),
    );
    const known = new Map(
      [...failures.matchAll(/^ {2}'?([a-z-]+)'?: \[\s*(\d{3})/gm)].map(([, code = '', status]) => [
        code,
        status,
      ]),
    );
    /** Codes of refusals that rules and scanner make. */
    const ofBodies = new Set([
      'malformed-json',
      'malformed-form',
      'duplicate-member',
      'wrapper-not-object',
      'x-gateway-error',
    ]);
    expect(told.filter(([code, status]) => known.get(code) !== status && !ofBodies.has(code))).toEqual([]);
  });

  describe('alerts, panels and remedies', () => {
    const panels = (
      JSON.parse(read('deploy/grafana/capture-gateway.json')) as {
        readonly panels: readonly {
          readonly title: string;
          readonly type: string;
          readonly targets?: readonly { readonly expr: string }[];
        }[];
      }
    ).panels.filter(({ type }) => type !== 'row');
    const titles = new Set(panels.map(({ title }) => title));
    const named = (cell: string): readonly string[] =>
      [...cell.matchAll(/\*([^*]+)\*/g)].map(([, title = '']) => title);
    const sectionOf = (heading: string): string =>
      page.split(`\n## ${heading}\n`)[1]?.split('\n## ')[0] ?? '';
    const rowsIn = (section: string): readonly (readonly string[])[] => {
      const lines = section.split('\n').filter((line) => line.startsWith('| '));
      return lines.slice(1).map((line) => line.slice(2, -2).split(' | '));
    };

    test('every alert has its cause, what to look at, and the way out, and no other has', () => {
      const alerts = [...read('deploy/prometheus/alerts.yaml').matchAll(/- alert: (\w+)/g)].map(
        ([, name = '']) => name,
      );
      const rows = rowsIn(sectionOf('Alerts'));
      expect(rows.map(([name]) => name)).toEqual(alerts.map((name) => `\`${name}\``));
      for (const row of rows) {
        expect(row).toHaveLength(4);
        for (const cell of row) expect(cell.trim()).not.toBe('');
        const panelsOfRow = named(row[2] ?? '');
        expect([row[0], panelsOfRow.filter((title) => !titles.has(title))]).toEqual([row[0], []]);
        // Without a target there is nothing that a panel could show, and the end of a certificate is a date.
        if (row[0] !== '`GatewayUnseen`' && row[0] !== '`GatewayCertificateEnds`')
          expect(panelsOfRow.length).toBeGreaterThan(0);
      }
    });

    test('every symptom of the troubleshooting that a metric shows has a panel, with its codes', () => {
      // A part names the panel of all its rows above its table; a row may name others.
      const rows = sectionOf('Troubleshooting')
        .split('\n### ')
        .slice(1)
        .flatMap((part) => {
          const [above = ''] = part.split('\n| ');
          return rowsIn(part).map((row) => [row[0] ?? '', named(`${above}${row.join(' ')}`)] as const);
        });
      expect(rows.length).toBeGreaterThan(20);
      const without = rows.filter(([, shown]) => shown.length === 0).map(([symptom]) => symptom);
      expect(without).toEqual([
        'a port stays in use after `kill`',
        'an HTTP/2 connection ends with `ENHANCE_YOUR_CALM`',
        'V2 no longer compresses its responses',
        'the inspector asks for a token',
        'the inspector shows no values',
      ]);
      for (const [symptom, shown] of rows) {
        const [first = ''] = shown;
        expect([symptom, shown.filter((title) => !titles.has(title))]).toEqual([symptom, []]);
        if (!/^[45]\d\d `/.test(symptom)) continue;
        const codes = [...symptom.matchAll(/`([a-z0-9-]+)`/g)].map(([, code = '']) => code);
        const expression = panels.find(({ title }) => title === first)?.targets?.[0]?.expr ?? '';
        const selected = new RegExp(`^(?:${/code=~"([^"]+)"/.exec(expression)?.[1] ?? '-'})$`);
        expect([symptom, codes.filter((code) => !selected.test(code))]).toEqual([symptom, []]);
      }
    });

    test('every panel of the troubleshooting is named, and explains itself', () => {
      const from = panels.findIndex(({ title }) => title === 'Requests refused before their body');
      expect(from).toBeGreaterThan(0);
      const text = page.split('\n## Alerts\n')[1]?.split('\n## Upgrade')[0] ?? '';
      const all = new Set(named(text));
      const unnamed = panels
        .slice(from)
        .filter(({ title }) => !all.has(title))
        .map(({ title }) => title);
      // What the modes do is in docs/migrating.md.
      expect(unnamed).toEqual([
        'Share that fails between gateway and V2',
        'V1 requests by origin',
        'Migrated share',
        'Shadow comparisons',
        'Replicas',
      ]);
    });
  });
});
