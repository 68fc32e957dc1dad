/** @module-tag redis */
import { readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';
import { beforeAll, expect, test } from 'vitest';
import { RedisStore } from '../../../src/node/rollout/redis-store.ts';
import { stateCall } from '../../support/state-call.ts';
import { RedisServer } from '../../support/redis-server.ts';

/** The command of docs/deploying.md that makes a user of the server's access list. */
const DOCUMENTED = /^ACL SETUSER gateway .*$/m.exec(readFileSync('docs/deploying.md', 'utf8'))?.[0] ?? '';
const COMMANDS = DOCUMENTED.match(/\+[a-z|]+/g) ?? [];
const PASSWORD = 'a-long-password';

/** What the server refused to each user, by the name of the user. */
const refused = new Map<string, string[]>();

beforeAll(async () => {
  // Scripts that one user ran are there for all: the user without EVAL needs its own server.
  const [server, other] = [await RedisServer.start(), await RedisServer.start()];
  try {
    await Promise.all([
      use(server, 'whole', DOCUMENTED),
      ...COMMANDS.filter((name) => name !== '+eval').map((name) =>
        use(server, `without-${name.slice(1)}`, DOCUMENTED.replace(new RegExp(` \\${name}(?= |$)`), '')),
      ),
      use(other, 'without-eval', DOCUMENTED.replace(/ \+eval(?= |$)/, '')),
    ]);
  } finally {
    await Promise.all([server.kill(), other.kill()]);
  }
});

test('the documentation names a user of the access list with its keys, channels and commands', () => {
  expect(DOCUMENTED).toContain(' ~{capture-gateway}:* &{capture-gateway}:* ');
  expect(COMMANDS.length).toBeGreaterThan(10);
});

test('a user with the documented commands may do all that a gateway does', () => {
  expect(refused.get('whole')).toEqual([]);
});

test.for(COMMANDS.map((name) => name.slice(1)))('without %s, a gateway is refused something', (name) => {
  expect(refused.get(`without-${name}`)).toContain(name);
});

/** Makes a user by the documented command, does everything as this user, and keeps what the server refused. */
async function use(server: RedisServer, user: string, documented: string): Promise<void> {
  const own = documented.replaceAll('capture-gateway', user).replace('gateway on', `${user} on`);
  const made = await command(server.port, own.replace(/>\S+/, `>${PASSWORD}`));
  expect(made).toBe('+OK\r\n');
  await doEverything(server, user);
  const log = await command(server.port, 'ACL LOG 1000');
  const entries = log.split('$5\r\ncount\r\n').filter((entry) => entry.includes(`\r\n${user}\r\n`));
  refused.set(
    user,
    entries.map((entry) => /\$6\r\nobject\r\n\$\d+\r\n([^\r]*)/.exec(entry)?.[1] ?? entry),
  );
}

async function doEverything({ port }: RedisServer, user: string): Promise<void> {
  const store = await RedisStore.open({
    url: `redis://${user}@127.0.0.1:${port}/1`,
    password: () => PASSWORD,
    ca: undefined,
    name: user,
    onForeign: () => {},
  });
  const call = stateCall({ number: 1, put: [{ key: 'a', text: '1' }], ends: ['p1'] });
  let life = '';
  const end = store.subscribe('rollout', () => {});
  const steps: readonly (() => Promise<unknown>)[] = [
    () => store.read('rollout'),
    () => store.compareAndSet('rollout', undefined, 'a'),
    async () => {
      ({ life } = await store.exchange(call));
    },
    () => store.exchange({ ...call, life }),
    // A text goes.
    () => store.exchange({ ...call, life, number: 2, put: [{ key: 'a', text: '' }] }),
    // Texts that cannot be read are deleted.
    () => command(port, `DEL {${user}}:state:1:t:texts`, '1'),
    () => command(port, `SET {${user}}:state:1:t:texts x`, '1'),
    () => store.exchange({ ...call, life }),
    // Signs of life go both ways.
    () => wait(2600),
    async () => end(),
    () => wait(50),
  ];
  for (const step of steps)
    try {
      await step();
    } catch {
      // The server keeps what it refused.
    }
  await store.close();
}

/** Sends inline commands to a server, and resolves to what it replies to the last one. */
function command(port: number, text: string, database = '0'): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1');
    let received = '';
    socket.on('data', (bytes) => {
      received += bytes.toString();
    });
    socket.on('end', () => resolve(received.slice('+OK\r\n'.length, -'+OK\r\n'.length))).on('error', reject);
    socket.end(`SELECT ${database}\r\n${text}\r\nQUIT\r\n`);
  });
}
