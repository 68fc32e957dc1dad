import { expect, test } from 'vitest';
import { clientFacingAddress, forwardedClient } from '../../src/http/forwarded-address.ts';

const isTrusted = (address: string): boolean => address.startsWith('10.') || address === '2001:db8::1';

test.each<readonly [fields: Readonly<Record<string, string>>, address: string]>([
  [{}, 'http://lb.internal:8080'],
  [{ 'X-Forwarded-Proto': 'https' }, 'https://lb.internal:8080'],
  [{ 'X-Forwarded-Host': 'api.example', 'X-Forwarded-Proto': 'https,http' }, 'https://api.example'],
  [
    { 'X-Forwarded-Host': 'api.example, lb.internal', 'X-Forwarded-Proto': 'HTTPS , http' },
    'https://api.example',
  ],
  [
    { 'X-Forwarded-For': 'evil, 192.0.2.7, 10.0.0.1', 'X-Forwarded-Host': 'evil.test, api.example, lb' },
    'http://api.example',
  ],
  [{ 'X-Forwarded-For': '192.0.2.7', 'X-Forwarded-Host': 'api.example, lb' }, 'http://api.example'],
  [{ 'X-Forwarded-Port': '443', 'X-Forwarded-Proto': 'https' }, 'https://lb.internal'],
  [{ 'X-Forwarded-Port': '8443, 80', 'X-Forwarded-Proto': 'https, http' }, 'https://lb.internal:8443'],
  [{ 'X-Forwarded-Host': 'api.example:9443', 'X-Forwarded-Port': '443' }, 'http://api.example:9443'],
  [{ 'X-Forwarded-Host': 'api.example:443', 'X-Forwarded-Proto': 'https' }, 'https://api.example'],
  [{ 'X-Forwarded-Host': 'api.example:' }, 'http://api.example'],
  [{ 'X-Forwarded-Host': '[2001:db8::2]', 'X-Forwarded-Port': '8080' }, 'http://[2001:db8::2]:8080'],
  [{ 'X-Forwarded-Host': '[2001:db8::2]:80' }, 'http://[2001:db8::2]'],
  [{ 'X-Forwarded-Port': '0' }, 'http://lb.internal:8080'],
  [{ 'X-Forwarded-Port': '70000' }, 'http://lb.internal:8080'],
  [{ 'X-Forwarded-Port': '44x' }, 'http://lb.internal:8080'],
  [{ 'X-Forwarded-Proto': 'ftp', 'X-Forwarded-Host': 'a b' }, 'http://lb.internal:8080'],
  [{ 'X-Forwarded-Host': ', api.example' }, 'http://lb.internal:8080'],
  [{ Forwarded: 'for=192.0.2.7;host=api.example;proto=https' }, 'https://api.example'],
  [
    { Forwarded: 'For="[2001:db8::9]:81"; Proto="https"; Host="api.example:8443"' },
    'https://api.example:8443',
  ],
  [{ Forwarded: 'host=api.example;proto=https, host=lb;proto=http' }, 'https://api.example'],
  [
    {
      Forwarded: 'for=evil;host=evil.test, for=192.0.2.7;host=api.example;proto=https, for=10.0.0.1;host=lb',
    },
    'https://api.example',
  ],
  [{ Forwarded: 'for=192.0.2.7;host=api.example, for="[2001:db8::1]";host=lb' }, 'http://api.example'],
  [{ Forwarded: String.raw`host="api\.example";proto=https` }, 'https://api.example'],
  [{ Forwarded: 'host="api.example;proto=https' }, 'http://lb.internal:8080'],
  [{ Forwarded: 'host=api.example;proto' }, 'http://lb.internal:8080'],
  [{ Forwarded: 'host=f.example;proto=https', 'X-Forwarded-Host': 'x.example' }, 'https://x.example'],
])('%j: %s', (fields, address) => {
  const direct = { host: 'lb.internal:8080', secure: false };
  expect(clientFacingAddress(Object.entries(fields).flat(), direct, isTrusted)).toBe(address);
});

test('a missing or invalid host gives no address', () => {
  expect(clientFacingAddress([], { host: undefined, secure: true }, isTrusted)).toBeUndefined();
  expect(clientFacingAddress([], { host: 'a b', secure: true }, isTrusted)).toBeUndefined();
});

test.each<readonly [fields: Readonly<Record<string, string>>, client: string | undefined]>([
  [{}, undefined],
  [{ 'X-Forwarded-For': '192.0.2.7' }, '192.0.2.7'],
  [{ 'X-Forwarded-For': 'made-up, 192.0.2.7, 10.0.0.1' }, '192.0.2.7'],
  [{ 'X-Forwarded-For': '192.0.2.7:4711' }, '192.0.2.7'],
  [{ 'X-Forwarded-For': '[2001:db8::9]:81' }, '2001:db8::9'],
  [{ 'X-Forwarded-For': '' }, undefined],
  [{ Forwarded: 'for=evil, for=192.0.2.7, for=10.0.0.1' }, '192.0.2.7'],
  [{ Forwarded: 'for="[2001:db8::9]:81"' }, '2001:db8::9'],
  [{ Forwarded: 'for="[2001:db8::9' }, undefined],
  [{ 'X-Forwarded-For': '192.0.2.7', Forwarded: 'for=192.0.2.8' }, '192.0.2.7'],
])('the client of %j is %s', (fields, client) => {
  expect(forwardedClient(Object.entries(fields).flat(), isTrusted)).toBe(client);
});
