import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import { readDigests } from '../../src/http/digests.ts';

const sum = (algorithm: string): string => createHash(algorithm).update('a').digest('base64');
const [MD5, SHA1, SHA256, SHA512] = ['md5', 'sha1', 'sha256', 'sha512'].map(sum) as [
  string,
  string,
  string,
  string,
];

test.each<[fields: readonly [name: string, value: string][], checks: readonly string[], hasOthers?: true]>([
  [[['Content-MD5', MD5]], ['content-md5 md5']],
  [[['content-md5', ` ${MD5} `]], ['content-md5 md5']],
  [
    [
      ['Content-MD5', MD5],
      ['Content-MD5', MD5],
    ],
    ['content-md5 md5', 'content-md5 md5'],
  ],
  [[['Content-MD5', MD5.slice(0, -2)]], ['content-md5 md5']],
  [[['Content-MD5', SHA256]], [], true],
  [[['Content-MD5', createHash('md5').update('a').digest('hex')]], [], true],
  [[['Content-MD5', '']], [], true],
  [[['Content-MD5', `${MD5}, ${MD5}`]], ['content-md5 md5'], true],
  [[['Content-MD5', `${MD5.slice(0, -2)}-_`]], [], true],
  [[['Digest', `MD5=${MD5}`]], ['digest md5']],
  [[['Digest', `SHA=${SHA1}`]], ['digest sha-1']],
  [[['Digest', `sha-256=${SHA256},SHA-512 = ${SHA512}`]], ['digest sha-256', 'digest sha-512']],
  [[['Digest', `UNIXsum=30637, sha-256=${SHA256}`]], ['digest sha-256'], true],
  [[['Digest', `sha-256=:${SHA256}:`]], [], true],
  [[['Digest', 'sha-256']], [], true],
  [[['Digest', `SHA-256=${createHash('sha256').update('a').digest('hex')}`]], [], true],
  [[['Digest', `id-sha-256=${SHA256}`]], [], true],
  [[['Content-Digest', `sha-256=:${SHA256}:`]], ['content-digest sha-256']],
  [
    [['Content-Digest', `sha-512=:${SHA512}:, sha-256=:${SHA256}:`]],
    ['content-digest sha-512', 'content-digest sha-256'],
  ],
  [
    [['Content-Digest', `md5=:${MD5}:;q="a";p,sha=:${SHA1}:`]],
    ['content-digest md5', 'content-digest sha-1'],
  ],
  [[['Content-Digest', `x="a,\\"b", sha-256=:${SHA256}:`]], ['content-digest sha-256'], true],
  [[['Content-Digest', `sha-256=:AAAA:, sha-256=:${SHA256}:`]], ['content-digest sha-256'], true],
  [
    [
      ['Content-Digest', `sha-256=:${SHA256}:`],
      ['Content-Digest', `sha-512=:${SHA512}:`],
    ],
    ['content-digest sha-256', 'content-digest sha-512'],
  ],
  [[['Content-Digest', `sha-256=${SHA256}`]], [], true],
  [[['Content-Digest', `sha-256=:${SHA256}:,`]], ['content-digest sha-256'], true],
  [[['Content-Digest', `sha-256=:${SHA256}: x`]], [], true],
  [[['Content-Digest', `sha-256=:${SHA256}`]], [], true],
  [[['Content-Digest', `SHA-256=:${SHA256}:`]], [], true],
  [[['Content-Digest', '']], [], true],
  [[['Content-Digest', 'sha-256=:=:']], [], true],
  [[['Repr-Digest', `sha-256=:${SHA256}:`]], ['repr-digest sha-256']],
  [[['X-Content-SHA256', SHA256]], []],
])('%j has %j', (fields, checks, hasOthers) => {
  const read = readDigests(fields.flat());
  expect(read.checks.map(({ field, algorithm }) => `${field} ${algorithm}`)).toEqual(checks);
  expect(read.hasOthers).toBe(hasOthers === true);
});

test('a long malformed value takes no longer than its length', () => {
  for (const value of [
    'a'.repeat(60_000),
    'a=,'.repeat(15_000),
    `a=${' '.repeat(60_000)}`,
    ', \t'.repeat(20_000),
  ])
    expect(readDigests(['Content-Digest', value]).checks).toEqual([]);
});
