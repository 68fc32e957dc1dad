import { expect, test } from 'vitest';
import { givenSettings } from '../../../src/cli/settings-file.ts';
import { preflight } from '../../../src/cli/serve/preflight.ts';

/** The faults of an environment, sorted. */
async function faultsOf(environment: Readonly<Record<string, string>>): Promise<readonly string[]> {
  const outcome = await preflight(await givenSettings({}, environment));
  return 'faults' in outcome ? outcome.faults.toSorted() : [];
}

test('an empty variable for the rule book is not set', async () => {
  expect(await faultsOf({ GATEWAY_RULES: '' })).toEqual([]);
});

test('two spellings of a path name the same file', async () => {
  expect(await faultsOf({ GATEWAY_LOG_FILE: './config/../config/rules.yaml' })).toEqual([
    'GATEWAY_LOG_FILE (./config/../config/rules.yaml) and GATEWAY_RULES (config/rules.yaml) are the same file; name two different files.',
  ]);
});

test('a file of modes needs a folder', async () => {
  expect(await faultsOf({ GATEWAY_STORE: 'file:/nope/store.json' })).toEqual([
    'GATEWAY_STORE cannot be written: /nope/store.json: no such file or directory (ENOENT); make its folder writable, or name another file.',
  ]);
});

test('an invalid setting neither hides a conflict of others nor causes one', async () => {
  const environment = {
    GATEWAY_BREAKER: 'yes',
    GATEWAY_ADMIN_LISTEN: '0.0.0.0:8081',
    GATEWAY_LOG_FILE: '/nope/x',
    GATEWAY_PROXY_PROTOCOL: 'on',
    GATEWAY_STORE: 'redi',
    GATEWAY_STORE_PASSWORD: 'x',
  };
  expect(await faultsOf(environment)).toEqual([
    expect.stringMatching(/^GATEWAY_ADMIN_LISTEN 0\.0\.0\.0 can be reached/),
    expect.stringMatching(/^GATEWAY_BREAKER must be on or off/),
    expect.stringMatching(/^GATEWAY_LOG_FILE cannot be opened for appending: \/nope\/x/),
    expect.stringMatching(/^GATEWAY_PROXY_PROTOCOL is on/),
    expect.stringMatching(/^GATEWAY_STORE must be memory/),
  ]);
});

test('each certificate file that is missing is named', async () => {
  expect(await faultsOf({ GATEWAY_TLS_CERT: '/nope/cert', GATEWAY_TLS_KEY: '/nope/key' })).toEqual([
    'GATEWAY_TLS_CERT names a file that cannot be read: /nope/cert: no such file or directory (ENOENT).\nGATEWAY_TLS_KEY names a file that cannot be read: /nope/key: no such file or directory (ENOENT).',
  ]);
});

test('faults that a start would find are reported together with the others', async () => {
  expect(await faultsOf({ GATEWAY_BREAKER: 'yes', GATEWAY_STORE: 'file:README.md' })).toEqual([
    expect.stringMatching(/^GATEWAY_BREAKER must be on or off/),
    expect.stringMatching(/^GATEWAY_STORE README\.md is not a stored rollout/),
  ]);
});
