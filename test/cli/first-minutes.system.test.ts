/**
 * @module-tag bash
 * @module-tag curl
 */
import { execFile } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, test } from 'vitest';
import { entrySchema } from '../../src/rewrite-log/entry-schema.ts';
import { commandRun, commandRuns } from '../support/command-runs.ts';
import { command } from '../support/command.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const run = promisify(execFile);
const ANY_PORT = ['--listen', '127.0.0.1:0', '--admin-listen', '127.0.0.1:0'];

describe('serve', () => {
  test('the curl of the banner orders a floor plan through V1, and every line of stdout is an entry', async () => {
    const gateway = command(['serve', ...ANY_PORT]);
    await gateway.until(/Order a floor plan[^]*\}\}\}'/);
    const banner = gateway.stderr();
    expect(banner).toMatch(/^capture-gateway \d+\.\d+\.\d+ on Node 24\./);
    expect(banner).toMatch(/embedded reference/);
    expect(banner).toMatch(/29 operations, 5 changes, hash [0-9a-f]{16}/);
    expect(banner).toMatch(/26 paths are assumptions/);
    expect(banner).toMatch(/^Open http:\/\/127\.0\.0\.1:\d+ to see/m);
    const pasted = banner.slice(banner.indexOf('curl -i'));
    const { stdout: response } = await run('bash', ['-c', pasted]);
    expect(response).toMatch(/^HTTP\/1\.1 201 /);
    expect(response).toMatch(/"property":\{"display_name":"Harbour Loft","street_address":"1 Main St"/);

    const { stdout: passed } = await run('curl', [
      '-s',
      `${origin(banner)}/api/v2/heartbeat`,
      '-H',
      'Authorization: Bearer k',
    ]);
    expect(passed).toBe('{"data":{}}');
    await run('curl', ['-s', `${origin(banner)}/elsewhere`]);
    await gateway.until(/"route":"none"/);
    const [, admin = ''] = /admin +(http:\S+)/.exec(banner) ?? [];
    for (const path of ['/livez', '/readyz']) expect((await fetch(`${admin}${path}`)).status).toBe(200);
    expect(await gateway.stop()).toBe(0);
    const lines = gateway.stdout().trimEnd().split('\n');
    expect(lines.map((line) => entrySchema.parse(JSON.parse(line)).verdict)).toEqual([
      'rewritten',
      'passed',
      'refused',
    ]);
    expect(gateway.stdout()).not.toContain('Main St');
    expect(gateway.stdout()).not.toContain('any-key');
  });

  test('reports all faults at once, each with its remedy, and starts nothing', async () => {
    const gateway = command(['serve', '--listen', 'nowhere', '--max-in-flight', '-1'], {
      GATEWAY_UPSTREEM: 'http://127.0.0.1:1',
      GATEWAY_RULES: 'test/cli/faulty-rules.yaml',
    });
    expect(await gateway.exit).toBe(2);
    const faults = gateway.stderr();
    expect(faults).toMatch(/--listen .*nowhere/);
    expect(faults).toMatch(/--max-in-flight/);
    expect(faults).toMatch(/GATEWAY_UPSTREEM.*GATEWAY_UPSTREAM/);
    expect(faults).toMatch(/faulty-rules\.yaml:5:\d+ .*order_floorplan/);
    expect(gateway.stdout()).toBe('');
  });
});

describe('demo requests', () => {
  test('shows the seven operations with the reason of each edit, and keeps serving', async () => {
    const demo = command(['demo', 'requests', ...ANY_PORT]);
    await demo.until(/Still serving/);
    const text = demo.stdout();
    for (const id of [
      'create_client',
      'order_floor_plan',
      'order_post_production',
      'create_booking',
      'create_contact',
      'create_virtual_tour',
      'update_property',
    ]) {
      expect(text).toContain(id);
    }
    expect(text.match(/response 20[01]/g)).toHaveLength(8);
    expect(text).toContain(
      '/data/transition_type → /highlight_type  transition_type is called highlight_type.',
    );
    expect(text).toMatch(/strip +\/data\/legacy_code {2}Attributes that V1 had deprecated are gone\./);
    expect(text).toMatch(/Without the strip rule[^]*?status 422[^\n]*legacy_code is not a known attribute/);
    expect(text).toMatch(
      /Without the version header[^]*?status 422, served by release 2026-06-01[^\n]*display_name is required/,
    );
    expect(text).toMatch(/With it, as the gateway sends it[^]*?status 201, served by release 2025-01-01/);
    const [, path = '', read = ''] = /GET (\/api\/v1\/orders\S+) {2}status 200\n +(\S+)/.exec(text) ?? [];
    const headers = { authorization: 'Bearer k' };
    expect(await (await fetch(`${origin(demo.stderr())}${path}`, { headers })).text()).toBe(read);
    expect(
      (await fetch(`${origin(demo.stderr())}/api/v1/heartbeat`, { headers: { authorization: 'Bearer k' } }))
        .status,
    ).toBe(200);
    expect(await demo.stop('SIGINT')).toBe(0);
  });
});

test('with the user’s rule book the demo adds no rule; its own rule book is removed with it', async () => {
  const folder = temporaryFolder('demo');
  const demo = command(['demo', 'requests', ...ANY_PORT, '--rules', 'config/rules.yaml'], { TMPDIR: folder });
  await demo.until(/Still serving/);
  expect(demo.stdout()).toMatch(/response 422 [^\n]*legacy_code/);
  expect(readdirSync(folder)).toEqual([]);
  const own = command(['demo', 'requests', ...ANY_PORT], { TMPDIR: folder });
  await own.until(/Still serving/);
  expect(readdirSync(folder)).toHaveLength(1);
  expect(await own.stop()).toBe(0);
  expect(readdirSync(folder)).toEqual([]);
});

describe('check', () => {
  test('lists operations, changes and assumptions of a sound rule book', async () => {
    const check = await commandRun(['check']);
    expect(check.code).toBe(0);
    expect(check.out).toMatch(/order_post_production +POST +\/orders\/post_productions +\(assumed\)/);
    expect(check.out).toMatch(/property-address \(assumed\): /);
    expect(check.out).toMatch(/assumptions \(29\)/);
  });

  test('lists webhooks, with what makes their body and which secrets sign it', async () => {
    const rules = join(temporaryFolder('check'), 'rules.yaml');
    writeFileSync(
      rules,
      `operations: { get_order: 'GET /orders/{id}' }
changes: [{ id: a, summary: The total has a name of its own., on: [get_order], response: [{ rename: total, to: sum }] }]
webhooks:
  orders: { to: 'https://shop.test/hook', as: get_order, sign: { scheme: standard-webhooks, verify: [OLD, YOUNG], with: OWN } }
  plain: { to: 'https://shop.test/plain', sign: { scheme: standard-webhooks, verify: OLD, with: OWN } }
`,
    );
    const secret = `whsec_${'a'.repeat(32)}`;
    const [check, json] = await commandRuns(
      [
        ['check', '--rules', rules],
        ['check', '--rules', rules, '--json'],
      ],
      { environment: { OLD: secret, YOUNG: secret, OWN: secret } },
    );
    expect(check?.err).toBe('');
    expect(check?.out).toContain(`webhooks (2)
  /webhooks/orders → https://shop.test/hook
    the body as responses to get_order; signature verified with OLD or YOUNG, and made again with OWN
  /webhooks/plain → https://shop.test/plain
    the body as V2 writes it; signature verified with OLD, and made again with OWN
`);
    expect(JSON.parse(json?.out ?? '')).toMatchObject({
      webhooks: { orders: { to: 'https://shop.test/hook', as: 'get_order' }, plain: {} },
    });
  });

  test('finds every fault for which serve would refuse to start', async () => {
    const given = ['--admin-listen', '0.0.0.0:9000', '--rules', 'test/cli/faulty-rules.yaml'];
    const [check, other] = await commandRuns([
      ['check', ...given, '--upstream', 'http://127.0.0.1:1/api/v2'],
      ['check', ...given, '--listen', '0.0.0.0:9000', '--upstream-ca', 'nowhere.pem'],
    ]);
    expect([check?.code, other?.code]).toEqual([2, 2]);
    expect(check?.err).toMatch(/--upstream must end before \/api\/v1 or \/api\/v2/);
    for (const fault of [
      /GATEWAY_ADMIN_TOKEN/,
      /are both 0\.0\.0\.0:9000/,
      /nowhere\.pem/,
      /faulty-rules\.yaml:7:1/,
    ]) {
      expect(other?.err).toMatch(fault);
    }
  });

  test('reads the same settings as serve, and finds the same faults', async () => {
    const flags = ['--proxy-protocol', 'on', '--client-secret', 'short'];
    const refused = await ofBoth(...flags, '--log-file', 'no/such/folder/log');
    const [checked, served] = refused.map((err) => err.match(/(?:GATEWAY_|--)\w.*\./g));
    expect(checked).toHaveLength(3);
    expect(checked).toEqual(served);
    const helps = await commandRuns(['check', 'serve'].map((name) => [name, '--help']));
    const [ofCheck, ofServe] = helps.map(({ out }) => out.match(/^ +--[\w-]+/gm));
    // Format and descriptions are options of `check` only, and `--force` is one of `serve` only.
    const own = new Set([
      '--json',
      '--format',
      '--v1',
      '--v2',
      '--log',
      '--zone',
      '--only',
      '--all',
      '--force',
    ]);
    const shared = (flags: readonly string[] | null | undefined): readonly string[] =>
      (flags ?? []).map((flag) => flag.trim()).filter((flag) => !own.has(flag));
    expect(shared(ofCheck).length).toBeGreaterThan(40);
    expect(shared(ofCheck)).toEqual(shared(ofServe));
  });

  test.each([
    ['--v1-upstream http://127.0.0.1:9 --v2-openapi no/such/file', /GATEWAY_V2_OPENAPI: .*no such file/],
    [
      '--v1-upstream http://127.0.0.1:9 --v2-openapi README.md',
      /GATEWAY_V2_OPENAPI: README\.md is not an OpenAPI/,
    ],
    ['--store file:README.md', /--store README\.md is not a stored rollout/],
    ['--rollout-file README.md', /--rollout-file is no longer a setting: set store to file:/],
  ])('refuses what serve refuses while it starts: %s', async (flags, fault) => {
    for (const err of await ofBoth(...ANY_PORT, ...flags.split(' '))) expect(err).toMatch(fault);
    expect(existsSync('README.md.state-1')).toBe(false);
  });

  test('prints JSON for programs, sound or not', async () => {
    const [sound, faulty] = await commandRuns([
      ['check', '--json'],
      ['check', '--json', '--rules', 'test/cli/faulty-rules.yaml'],
    ]);
    expect(JSON.parse(sound?.out ?? '')).toMatchObject({ faults: [], version: '2025-01-01' });
    expect(JSON.parse(faulty?.out ?? '')).toMatchObject({
      faults: expect.arrayContaining([expect.stringContaining('faulty-rules.yaml')]) as string[],
    });
    expect(faulty?.code).toBe(2);
  });
});

describe('--help', () => {
  test.each(['serve', 'demo requests', 'check'])('%s lists settings, units and defaults', async (name) => {
    const help = await commandRun([...name.split(' '), '--help']);
    expect(help.code).toBe(0);
    expect(help.out).toMatch(/\(GATEWAY_CONFIG\)[^]* <ms> +to receive the head \(10000 ms\)/);
  });
});

test('the README begins with the commands that start and prove it', () => {
  const screen = readFileSync(new URL('../../README.md', import.meta.url), 'utf8')
    .split('\n')
    .slice(0, 40)
    .join('\n');
  for (const words of ['npm ci', 'npm start', 'npm test']) expect(screen).toContain(words);
});

/** What `check` and `serve` refuse, each in a process: `serve` writes its faults past the stream. */
function ofBoth(...given: string[]): Promise<readonly string[]> {
  return Promise.all(
    ['check', 'serve'].map(async (name) => {
      const started = command([name, ...given]);
      expect(await started.exit).toBe(2);
      return started.stderr();
    }),
  );
}

function origin(banner: string): string {
  return /clients +(http:\S+)/.exec(banner)?.[1] ?? '';
}
