import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { preflight } from '../../src/cli/serve/preflight.ts';
import { givenSettings, readSettingsFile } from '../../src/cli/settings-file.ts';
import { readSettings, type Settings } from '../../src/settings/read-settings.ts';
import { settings as table } from '../../src/settings/settings.ts';
import { commandRuns } from '../support/command-runs.ts';
import { PROGRAM_ENVIRONMENT } from '../support/program-environment.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

/** A folder with files by name, which is removed after the test. */
function folderOf(files: Readonly<Record<string, string>>): string {
  const folder = temporaryFolder('settings-file');
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  return folder;
}

async function read(
  config: string,
  flags: Readonly<Record<string, string>> = {},
  environment: Readonly<Record<string, string>> = {},
): Promise<ReturnType<typeof readSettings>> {
  const given = await givenSettings({ ...flags, config }, environment);
  return readSettings({ ...given, readFile: (path) => `secret in ${path}` });
}

async function sound(...given: Parameters<typeof read>): Promise<Settings> {
  const outcome = await read(...given);
  if ('faults' in outcome) throw new Error(outcome.faults.join('\n'));
  return outcome.settings;
}

test('environment and flags win over the file, and the file over the defaults', async () => {
  const folder = folderOf({ 'gateway.yaml': 'listen: 9000\nmax-in-flight: 7\ndrain: 1000\n' });
  const settings = await sound(
    join(folder, 'gateway.yaml'),
    { 'max-in-flight': '8' },
    { GATEWAY_DRAIN: '2000', GATEWAY_MAX_IN_FLIGHT: '9' },
  );
  expect(settings.get(table.listen)).toEqual({ host: '127.0.0.1', port: 9000 });
  expect(settings.get(table.maxInFlight)).toBe(8);
  expect(settings.get(table.drain)).toBe(2000);
  expect(settings.get(table.idleTimeout)).toBe(65_000);
  // What other processes of the gateway get as flags.
  expect(settings.ofFile).toEqual({ listen: '9000' });
});

test('GATEWAY_CONFIG also names the file, and a file that is not named is not read', async () => {
  const path = join(folderOf({ 'gateway.yaml': 'drain: 1000\n' }), 'gateway.yaml');
  expect((await givenSettings({}, { GATEWAY_CONFIG: path })).file?.values.get('drain')?.text).toBe('1000');
  expect((await givenSettings({}, { GATEWAY_CONFIG: '' })).file).toBeUndefined();
  expect((await givenSettings({}, {})).file).toBeUndefined();
});

test('values are texts, numbers, booleans and lists, and paths are relative to the file', async () => {
  const folder = folderOf({
    'gateway.yaml': `
rules: rules.yaml
log-file: ../rewrite.log
v2-openapi: https://v2.test/openapi.json
store: rediss://redis.test?ca=ca.pem&copy=/var/modes.json&prefix=shop
tls-cert: /etc/cert.pem
breaker: false
trusted-proxies: [10.0.0.0/8, "::1"]
admin-hosts: [a.test, b.test]
client-secret-file: secret
`,
  });
  const settings = await sound(join(folder, 'gateway.yaml'));
  expect(settings.get(table.rules)).toBe(join(folder, 'rules.yaml'));
  expect(settings.get(table.logFile)).toBe(join(folder, '../rewrite.log'));
  expect(settings.get(table.v2Openapi)).toBe('https://v2.test/openapi.json');
  expect(settings.get(table.store)).toEqual({
    kind: 'redis',
    url: 'rediss://redis.test',
    prefix: 'shop',
    ca: join(folder, 'ca.pem'),
    copy: '/var/modes.json',
  });
  expect(settings.get(table.tlsCert)).toBe('/etc/cert.pem');
  expect(settings.get(table.breaker)).toBe(false);
  expect(settings.get(table.trustedProxies)).toHaveLength(2);
  expect(settings.get(table.adminHosts)).toEqual(['a.test', 'b.test']);
  expect(settings.get(table.clientSecret)).toBe(`secret in ${join(folder, 'secret')}`);
  expect(settings.secretFiles).toEqual([join(folder, 'secret')]);
});

test.each([
  ['log-file: "off"', table.logFile, 'off'],
  ['store: memory', table.store, { kind: 'memory' }],
])('%s is not a path', async (text, setting, value) => {
  const folder = folderOf({ 'gateway.yaml': text });
  expect((await sound(join(folder, 'gateway.yaml'))).get<unknown>(setting)).toEqual(value);
});

test.each([
  ['lisen: 8080', '1:1 "lisen" is not a setting; did you mean "listen"?'],
  ['GATEWAY_LISTEN: 8080', '1:1 "GATEWAY_LISTEN" is not a setting; did you mean "listen"?'],
  ['# one\nfrobnicate: 1', '2:1 "frobnicate" is not a setting; see serve --help for the settings.'],
  [
    'listen:\n  port: 8080',
    '2:3 listen must be a text, a number, a boolean, or a list of them; remove the line for the default.',
  ],
  [
    'drain:',
    '1:7 drain must be a text, a number, a boolean, or a list of them; remove the line for the default.',
  ],
  ['body-limit: 1MiB', '1:1 body-limit is no longer a setting: set limits.body in the rule book.'],
  ['- listen', '1:1 A settings file has a key for each setting, such as listen: 127.0.0.1:8080.'],
])('a fault of the file has line, column and the remedy: %j', async (text, fault) => {
  const path = join(folderOf({ 'gateway.yaml': text }), 'gateway.yaml');
  expect(await read(path)).toEqual({ faults: [`${path}:${fault}`] });
});

test('a text that is not YAML and a missing file are faults', async () => {
  const folder = folderOf({ 'gateway.yaml': 'listen: [' });
  expect(await read(join(folder, 'gateway.yaml'))).toMatchObject({
    faults: [expect.stringContaining('gateway.yaml:1:')],
  });
  expect((await readSettingsFile(join(folder, 'nope.yaml'))).faults).toEqual([
    `The settings file ${join(folder, 'nope.yaml')} cannot be read: no such file or directory (ENOENT).`,
  ]);
});

test('a fault or conflict of a value in the file names its place', async () => {
  const path = join(
    folderOf({ 'gateway.yaml': 'listen: 9000\nbreaker: maybe\nadmin-listen: 9000\n' }),
    'gateway.yaml',
  );
  const outcome = await preflight(await givenSettings({ config: path }, {}));
  expect(outcome).toEqual({
    faults: [
      `breaker in ${path}:2:10 must be on or off, not "maybe".`,
      `listen in ${path}:1:9 and admin-listen in ${path}:3:15 are both 127.0.0.1:9000; give one of them another port.`,
    ],
  });
});

test('a rule book with webhooks needs only their secrets, which are not settings of the gateway', async () => {
  const rules = join(
    folderOf({
      'rules.yaml': `changes: []
webhooks: { orders: { to: 'https://x.test/', sign: { scheme: standard-webhooks, verify: OF_V2, with: OWN } } }
`,
    }),
    'rules.yaml',
  );
  const OWN = `whsec_${'A'.repeat(32)}`;
  const sound = { OF_V2: OWN, OWN };
  expect(await preflight(await givenSettings({ rules }, sound))).not.toHaveProperty('faults');
  expect(await preflight(await givenSettings({ rules }, { OWN }))).toEqual({
    faults: ['The rule book has the webhook "orders": set OF_V2 to its secret.'],
  });
  const folder = folderOf({ secret: `${OWN}\n`, other: 'no secret' });
  const inFile = (name: string): Promise<unknown> =>
    givenSettings({ rules }, { OWN, OF_V2_FILE: join(folder, name) }).then(preflight);
  expect(await inFile('secret')).not.toHaveProperty('faults');
  expect(await inFile('other')).toHaveProperty('faults', [expect.stringMatching(/^OF_V2, for the webhook/)]);
  expect(await inFile('none')).toHaveProperty('faults', [
    expect.stringContaining('none: no such file or directory (ENOENT)'),
  ]);
  expect(
    await preflight(await givenSettings({ rules }, { ...sound, OWN_FILE: join(folder, 'secret') })),
  ).toEqual({
    faults: ['The rule book has the webhook "orders": OWN and OWN_FILE are both set; unset one of them.'],
  });
});

test('a secret stands in the file or in a file that it names, not in both', async () => {
  const folder = folderOf({ 'gateway.yaml': 'admin-token: x\nadmin-token-file: y\n' });
  const path = join(folder, 'gateway.yaml');
  expect(await read(path)).toEqual({
    faults: [
      `admin-token in ${path}:1:14 and admin-token-file in ${path}:2:19 are both set; unset one of them.`,
    ],
  });
  // The environment wins, as over any other value.
  expect((await sound(path, {}, { GATEWAY_ADMIN_TOKEN: 'z' })).get(table.adminToken)).toBe('z');
  expect((await sound(path, {}, { GATEWAY_ADMIN_TOKEN_FILE: 'z' })).get(table.adminToken)).toBe(
    'secret in z',
  );
});

test('commands that read a single setting also read it from the file', async () => {
  const folder = folderOf({
    'gateway.yaml': 'rules: book.yaml\nclient-secret: a secret of the tests\n',
    'book.yaml': 'version: 2025-01-01\nchanges: []\n',
    'bad.yaml': 'lisen: 1\n',
  });
  const config = ['--config', join(folder, 'gateway.yaml')];
  const [check, explain, over, bad] = await commandRuns([
    ['check', ...config],
    ['explain', '--method', 'GET', '--target', '/api/v1/clients', '--json', ...config],
    ['check', '--rules', 'config/rules.yaml', ...config],
    ['explain', '--method', 'GET', '--target', '/api/v1/clients', '--config', join(folder, 'bad.yaml')],
  ]);
  expect(check?.out).toContain(`${join(folder, 'book.yaml')} is sound.`.slice(0, 40));
  expect(explain?.code).toBe(0);
  expect(over?.out).toContain('config/rules.yaml is');
  expect(bad?.err).toContain('"lisen" is not a setting; did you mean "listen"?');
  expect(bad?.code).toBe(2);
});

// A container whose admin listener the settings file names was restarted for ever: its health was looked for elsewhere.
test('the health check of a container finds the admin listener in the settings file', async () => {
  const admin = createServer((request, response) => {
    response.statusCode = request.url === '/livez' ? 200 : 404;
    response.end();
  }).listen(0, '127.0.0.1');
  onTestFinished(() => void admin.close());
  await once(admin, 'listening');
  const address = admin.address();
  const port = typeof address === 'object' ? address?.port : undefined;
  const path = join(folderOf({ 'gateway.yaml': `admin-listen: 127.0.0.1:${port}\n` }), 'gateway.yaml');
  const healthOf = async (environment: Readonly<Record<string, string>>): Promise<number | null> => {
    const child = spawn(process.execPath, [join(import.meta.dirname, '../../src/cli/health.ts')], {
      env: { ...PROGRAM_ENVIRONMENT, ...environment },
    });
    await once(child, 'exit');
    return child.exitCode;
  };
  expect(await healthOf({ GATEWAY_CONFIG: path })).toBe(0);
  expect(await healthOf({ GATEWAY_CONFIG: path, GATEWAY_ADMIN_LISTEN: '127.0.0.1:1' })).toBe(1);
});
