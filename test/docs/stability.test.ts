import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { publicNames, releasedNames, SURFACES, untoldChanges } from '../../config/release/surface.ts';

const root = new URL('../../', import.meta.url);
const names = await publicNames(root);
const page = readFileSync(new URL('docs/stability.md', root), 'utf8');
const changelog = readFileSync(new URL('CHANGELOG.md', root), 'utf8');
const unreleased = changelog.slice(changelog.indexOf('## [Unreleased]')).split('\n## [')[0] ?? '';

test('every public name that came or went since the last release is in the changelog', () => {
  expect(untoldChanges(names, releasedNames(root), unreleased)).toEqual([]);
});

test.each(SURFACES)('%s: its names are found, and docs/stability.md says what they promise', (surface) => {
  expect(names.filter((line) => line.startsWith(`${surface}: `)).length).toBeGreaterThan(2);
  expect(page).toMatch(new RegExp(`^\\| ${surface}s? \\|`, 'im'));
});

test('a changelog names a name by its last word as code, and new or removed names that it lacks are found', () => {
  const told = untoldChanges(
    ['setting: max-age', 'setting: idle-timeout', 'rule book: a.b', 'rule book: a.to', 'flag: explain --har'],
    ['setting: max-size', 'flag: explain --file', 'flag: explain --log'],
    'The setting `max-age` is new, and leads to `GATEWAY_IDLE_TIMEOUT`. `explain --har=x` reads HAR files instead of `--file`; see --log-file.',
  );
  expect(told).toEqual([
    'new: rule book: a.b',
    'new: rule book: a.to',
    'gone: setting: max-size',
    'gone: flag: explain --log',
  ]);
});

test.each([
  'rule book: changes[].request[].rename',
  'setting: max-in-flight',
  'flag: explain --response',
  'exit code: 2',
  'log field: edits[].change',
  'metric: gateway_exchanges_total',
  'metric: label status_class',
  'error code: body-too-large',
  'admin API: POST /rollout',
  'library: capture-gateway createMigration',
])('the list has %s', (line) => {
  expect(names).toContain(line);
});
