import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { AdminClient } from '../../src/cli/admin-client.ts';
import { createClientHash } from '../../src/node/runtime.ts';
import { type CommandRun, commandRun } from '../support/command-runs.ts';
import { ok, rawServer } from '../support/raw-server.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

test('requests share a connection and carry the token, and a body is declared as JSON', async () => {
  const listener = await rawServer((socket) => socket.write(ok('{"a":1}')));
  const client = new AdminClient({ url: listener.origin, token: 'secret' });
  for (const body of [undefined, '{"mode":"migrate"}']) {
    const response = await client.ask('/rollout', { 'x-a': '1' }, body);
    expect([response.statusCode, await response.body.text()]).toEqual([200, '{"a":1}']);
  }
  expect(listener.received).toHaveLength(1);
  const [get = '', post = ''] = (listener.received[0] ?? '').split(/(?=POST )/);
  expect(get).toMatch(/^GET \/rollout HTTP\/1\.1\r\n[^]*authorization: Bearer secret\r\n/);
  expect(post).toMatch(/\r\ncontent-type: application\/json\r\n[^]*\r\n\r\n\{"mode":"migrate"\}$/);
});

test.each([
  ['0', 200, 3],
  ['soon', 429, 1],
  ['3600', 429, 1],
])('a busy listener is asked again after Retry-After: %s', async (after, status, times) => {
  let asked = 0;
  const listener = await rawServer((socket) => {
    asked += 1;
    socket.write(
      asked < 3
        ? `HTTP/1.1 429 Too Many Requests\r\nRetry-After: ${after}\r\nContent-Length: 2\r\n\r\n{}`
        : ok('{"a":1}'),
    );
  });
  const client = new AdminClient({ url: listener.origin, token: undefined });
  const response = await client.ask('/entries');
  await response.body.dump();
  expect([response.statusCode, asked]).toEqual([status, times]);
});

test('an unreachable listener is reported with its error', async () => {
  const client = new AdminClient({ url: 'http://127.0.0.1:1', token: undefined });
  await expect(client.ask('/entries')).rejects.toThrow('ECONNREFUSED');
});

const folder = temporaryFolder('secret');
const TOKEN = 'a token of the tests';
const TOKEN_FILE = join(folder, 'token');
writeFileSync(TOKEN_FILE, `${TOKEN}\n`);

/** Commands that ask an admin listener. */
const ASKING = [
  ['rollout'],
  ['status'],
  ['clients', 'list'],
  ['clients', 'name', '3fa94c1d0e5b7a21', 'Acme'],
  ['tail'],
  ['replay', 'record', '--out', join(folder, 'fixture')],
] as const;

test.each(ASKING.map((args) => [args.join(' '), args] as const))(
  '%s says that a token is missing or was refused, also a token from a file',
  async (_, args) => {
    const listener = await rawServer((socket) => {
      socket.end('HTTP/1.1 401 Unauthorized\r\ncontent-length: 2\r\n\r\n{}');
    });
    const asking = [...args, '--admin', listener.origin];
    const missing = await commandRun(asking);
    const refused = await commandRun(asking, { environment: { GATEWAY_ADMIN_TOKEN_FILE: TOKEN_FILE } });
    expect([missing.code, missing.err]).toEqual([
      2,
      `The admin listener at ${listener.origin} requires its token; set GATEWAY_ADMIN_TOKEN, or GATEWAY_ADMIN_TOKEN_FILE to a file that holds it.\n`,
    ]);
    expect([refused.code, refused.err]).toEqual([
      2,
      `The admin listener at ${listener.origin} refused the token in GATEWAY_ADMIN_TOKEN_FILE; set the one that the gateway has.\n`,
    ]);
  },
);

test.each(ASKING.map((args) => [args.join(' '), args] as const))(
  '%s says that nothing responds, or that another server does, on stderr alone',
  async (_, args) => {
    const others = await Promise.all([
      rawServer((socket) => socket.write(ok('<!doctype html>'))),
      rawServer((socket) => socket.write(ok('{}'))),
      rawServer((socket) => socket.write(ok('null'))),
      rawServer((socket) => {
        socket.end('HTTP/1.1 404 Not Found\r\ncontent-length: 2\r\n\r\n{}');
      }),
    ]);
    for (const [url, fault] of [
      ...others.map(({ origin }) => [origin, `${origin} is not the admin listener; name that with --admin.`]),
      [
        'http://127.0.0.1:1',
        'No response from http://127.0.0.1:1 (ECONNREFUSED): start the gateway with serve, or name its admin listener with --admin.',
      ],
    ])
      expect(await commandRun([...args, '--admin', url ?? ''])).toEqual({
        code: 2,
        out: '',
        err: `${fault ?? ''}\n`,
      });
  },
);

test("another server's sentence is repeated, and an address without a scheme is refused", async () => {
  const sentence = '{"errors":[{"detail":"Only /api/v1 and /api/v2 are served here."}]}';
  const { origin } = await rawServer((socket) => {
    socket.end(`HTTP/1.1 404 Not Found\r\ncontent-length: ${sentence.length}\r\n\r\n${sentence}`);
  });
  expect((await commandRun(['status', '--admin', origin])).err).toBe(
    `${origin} is not the admin listener; name that with --admin. It says: Only /api/v1 and /api/v2 are served here.\n`,
  );
  expect((await commandRun(['rollout', '--admin', '127.0.0.1:8081'])).err).toMatch(
    /It must be an address such as http:\/\/127\.0\.0\.1:8081/,
  );
});

test('the secret of client hashes is read from a file, and a short one is refused', async () => {
  const hashWith = (environment: Readonly<Record<string, string>>): Promise<CommandRun> =>
    commandRun(['clients', 'hash'], { environment, input: 'key' });
  expect(await hashWith({ GATEWAY_CLIENT_SECRET_FILE: TOKEN_FILE })).toMatchObject({
    code: 0,
    out: `${createClientHash(TOKEN)('key')}\n`,
  });
  expect(await hashWith({ GATEWAY_CLIENT_SECRET: 'short' })).toMatchObject({
    code: 2,
    err: 'GATEWAY_CLIENT_SECRET must have at least 16 characters.\n',
  });
  expect(await hashWith({ GATEWAY_CLIENT_SECRET_FILE: join(folder, 'none') })).toMatchObject({
    code: 2,
    err: `GATEWAY_CLIENT_SECRET_FILE names a file that cannot be read: ${join(folder, 'none')}: no such file or directory (ENOENT).\n`,
  });
  const wide = join(folder, 'wide');
  writeFileSync(wide, Buffer.from(`\uFEFF${TOKEN}\r\n`, 'utf16le'));
  expect(await hashWith({ GATEWAY_CLIENT_SECRET_FILE: wide })).toMatchObject({
    out: `${createClientHash(TOKEN)('key')}\n`,
  });
  writeFileSync(wide, Buffer.from('a secret of caf\xe9s', 'latin1'));
  expect(await hashWith({ GATEWAY_CLIENT_SECRET_FILE: wide })).toMatchObject({
    code: 2,
    err: expect.stringContaining(`${wide}: it is not UTF-8 (byte 0xE9 in line 1;`),
  });
});
