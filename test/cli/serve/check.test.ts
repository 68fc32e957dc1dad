import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { commandRun } from '../../support/command-runs.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

const FAULT = 'Some modes send requests to V1; set GATEWAY_V1_UPSTREAM, or remove those modes.\n';

/** A folder with both descriptions, a rule book that misses one operation, and the settings beside it. */
function folderOf(files: Readonly<Record<string, string>>): string {
  const folder = temporaryFolder('check');
  const described = (...paths: readonly string[]): string =>
    JSON.stringify({
      openapi: '3.1.0',
      info: { title: 't', version: '1' },
      paths: Object.fromEntries(
        paths.map((path) => [path, { get: { responses: { 200: { description: 'd' } } } }]),
      ),
    });
  const all = {
    'v1.json': described('/api/v1/things', '/api/v1/parts'),
    'v2.json': described('/api/v2/items'),
    'rules.yaml':
      'operations: { things: { match: GET /things, to: GET /items } }\nchanges: []\nmodes: observe\n',
    ...files,
  };
  for (const [name, text] of Object.entries(all)) writeFileSync(join(folder, name), text);
  return folder;
}

const GIVEN = { 'gateway.yaml': 'rules: rules.yaml\nv1-upstream: http://127.0.0.1:1\n' };

test('gaps are shown even if settings are missing, and an unread settings file is named', async () => {
  const folder = folderOf(GIVEN);
  const at = (name: string): string => join(folder, name);
  const descriptions = ['--v1', at('v1.json'), '--v2', at('v2.json')];
  const plain = await commandRun(['check', '--rules', at('rules.yaml'), ...descriptions]);
  expect(plain.code).toBe(2);
  expect(plain.err).toBe(
    `${FAULT}${at('gateway.yaml')} has settings, which were not read: give it with --config.\n`,
  );
  expect(plain.out).toContain('1 of 2 operations of V1');
  expect(plain.out).toContain('/parts');
  const json = await commandRun(['check', '--rules', at('rules.yaml'), ...descriptions, '--json']);
  expect(json.code).toBe(2);
  expect(JSON.parse(json.out)).toMatchObject({ faults: [FAULT.trim()], coverage: { gaps: [{}] } });
  const settled = await commandRun(['check', '--config', at('gateway.yaml'), ...descriptions]);
  expect([settled.code, settled.err]).toEqual([1, '']);
  expect(settled.out).toContain(plain.out);
});

test('without descriptions or a readable rule book, check shows only the fault', async () => {
  const folder = folderOf({});
  const { code, out, err } = await commandRun(['check', '--rules', join(folder, 'rules.yaml')]);
  expect([code, out, err]).toEqual([2, '', FAULT]);
  writeFileSync(join(folder, 'rules.yaml'), 'operations: {}\nchanges: 7\n');
  const broken = await commandRun(['check', '--rules', join(folder, 'rules.yaml'), '--v1', 'a', '--v2', 'b']);
  expect([broken.code, broken.out]).toEqual([2, '']);
});
