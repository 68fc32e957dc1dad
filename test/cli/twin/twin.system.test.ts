import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { endedCommand } from '../../support/command.ts';
import { type CommandRun, commandRun } from '../../support/command-runs.ts';
import { ok, type RawServer, rawServer } from '../../support/raw-server.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

const twin = (...args: readonly string[]): Promise<CommandRun> => commandRun(['twin', ...args]);

function file(name: string, text: string): string {
  const path = join(temporaryFolder('twin'), name);
  writeFileSync(path, text);
  return path;
}

/** A service that responds to everything with one body, such as one that hostile clients filled. */
const service = (body: string): Promise<RawServer> =>
  rawServer((socket, request) => socket.write(ok(request.startsWith('HEAD') ? '' : body)));
const methodsOf = ({ received }: RawServer): ReadonlySet<string> =>
  new Set(Array.from(received.join('').matchAll(/^(\w+) \S+ HTTP\/1\.1\r$/gm), ([, method = '']) => method));

const SCRIPT =
  '# clients are listed\n> GET /api/v1/clients\n\n# a client is created\n> POST /api/v1/clients\n>\n> {"data":{}}\n';

/** Plays the script to two services, fast. */
async function real(v1: RawServer, v2: RawServer, ...args: readonly string[]): Promise<CommandRun> {
  const key = file('key', 'secret-key\n');
  const script = file('script.txt', SCRIPT);
  const services = ['--v1', v1.origin, '--v2', v2.origin, '--key-file', key, '--rate', '6000'];
  return twin(...services, '--script', script, ...args);
}

describe('two services that run', () => {
  test('are the same: exit code 0, with the key of the file', async () => {
    const [v1, v2] = [await service('{"data":[]}'), await service('{"data":[]}')];
    const { code, out } = await real(v1, v2);
    expect(out).toContain(
      '1 exchange played: 1 the same, 0 different, 0 different by choice.\n1 not played: a write may change data.',
    );
    expect(code).toBe(0);
    expect(v1.received.join('')).toContain('Authorization: Bearer secret-key\r\n');
  });

  test.each([
    ['{ header: X-Api-Key }', /^GET \/api\/v1\/clients HTTP\/1\.1\r\n(?:.*\r\n)*X-Api-Key: secret-key\r\n/m],
    ['{ query: api_key }', /^GET \/api\/v1\/clients\?api_key=secret-key HTTP\/1\.1\r\n/m],
  ])('get the key where the rule book has it: %s', async (client, request) => {
    const [v1, v2] = [await service('{"data":[]}'), await service('{"data":[]}')];
    const rules = file('rules.yaml', `client: ${client}\noperations: { list: GET /clients }\nchanges: []\n`);
    expect((await real(v1, v2, '--rules', rules)).out).toContain('1 the same');
    for (const { received } of [v1, v2]) {
      expect(received.join('')).toMatch(request);
      expect(received.join('')).not.toContain('Authorization');
    }
  });

  test('get safe methods only, unless writes are allowed', async () => {
    const list = '{"data":[{"id":5}]}';
    const [v1, v2] = [await service(list), await service(list)];
    await twin('--v1', v1.origin, '--v2', v2.origin, '--key-file', file('key', 'k'), '--rate', '60000');
    for (const side of [v1, v2]) expect([...methodsOf(side)].sort()).toEqual(['GET', 'HEAD']);
    expect((await real(v1, v2, '--writes')).out).toContain('2 exchanges played');
    expect(methodsOf(v1).has('POST')).toBe(true);
  });

  test('get nothing of the scripts that ship where the rule book is for another API', async () => {
    const [v1, v2] = [await service('{}'), await service('{}')];
    const rules = file('rules.yaml', 'operations: { list: GET /shipments }\nchanges: []\n');
    const services = ['--v1', v1.origin, '--v2', v2.origin, '--key-file', file('key', 'k')];
    for (const given of [services, []]) {
      const { code, out, err } = await twin(...given, '--rules', rules);
      expect([code, out]).toEqual([2, '']);
      expect(err).toContain(`for the property-capture API, and ${rules} has none of its operations.`);
      expect(err).toContain('--script');
    }
    for (const { received } of [v1, v2]) expect(received).toEqual([]);
  });

  test('get the requests of the text cases beside the rule book, and spelled numbers are one line', async () => {
    const bodyOf = (digits: string): string => `{"data":[{"price":4${digits}},{"price":5${digits}}]}`;
    const [v1, v2] = [await service(bodyOf('.5')), await service(bodyOf('.50'))];
    const folder = temporaryFolder('own');
    const rules = join(folder, 'rules.yaml');
    writeFileSync(rules, 'operations: { list: GET /shipments }\nchanges: []\n');
    mkdirSync(join(folder, 'cases'));
    writeFileSync(
      join(folder, 'cases', 'a.txt'),
      'What it makes.\n\n# a page\n> GET /api/v1/shipments?page=1\n= GET /api/v2/shipments?page=1\n* 200\n< 200\n',
    );
    const services = ['--v1', v1.origin, '--v2', v2.origin, '--key-file', file('key', 'k')];
    const { code, out, err } = await twin(...services, '--rate', '60000', '--rules', rules);
    expect(err).toContain('Playing 1 exchange of ');
    expect(err).toContain(join(folder, 'cases', 'a.txt'));
    expect(code).toBe(1);
    expect(out).toContain(
      '2 numbers in 1 exchange have the same value in another spelling, such as 4.5 in V1 and 4.50 by the gateway at /data/0/price of a page.\n1 exchange played',
    );
    for (const { received } of [v1, v2]) expect(received.join('')).toContain('/api/v1/shipments?page=1');
  });

  test('on a path that neither has are not called the same, and a script of only such paths fails', async () => {
    const nowhere = (): Promise<RawServer> =>
      rawServer((socket) => socket.write(ok('{"errors":[]}').replace('200 OK', '404 Not Found')));
    const [v1, v2] = [await nowhere(), await nowhere()];
    const { code, out } = await real(v1, v2);
    expect(out).toContain(
      '1 exchange played: 0 the same, 0 different, 0 different by choice.\n1 not found by both: only its error was compared, as on a path that neither service has.\n',
    );
    expect(code).toBe(1);
    const json = JSON.parse((await real(v1, v2, '--json')).out) as unknown;
    expect(json).toMatchObject({ played: 1, alike: 0, missing: 1 });
  });

  test('are different where one breaks its coding', async () => {
    const broken = await rawServer((socket) =>
      socket.write(ok('{"data":{}}').replace('\r\n\r\n', '\r\nContent-Encoding: gzip\r\n\r\n')),
    );
    const { code, out } = await real(await service('{"data":{}}'), broken);
    expect(code).toBe(1);
    expect(out).toContain('incorrect header check');
  });

  test('are different: exit code 1, and no text of theirs steers the terminal', async () => {
    const hostile = `{"data":{"na${String.raw`\u001b`}[2Jme":"x\u202E"}}`;
    const { code, out } = await real(await service('{"data":{}}'), await service(hostile));
    expect(code).toBe(1);
    expect(out).toContain('clients are listed');
    expect(out).toContain('extra');
    expect(out).not.toMatch(/[[\p{Cf}\p{Cc}]--[\n]]/v);
  });

  test('are compared for programs with --json', async () => {
    const { code, out } = await real(await service('{"data":[1]}'), await service('{"data":[2]}'), '--json');
    expect(code).toBe(1);
    expect(JSON.parse(out)).toMatchObject({
      played: 1,
      alike: 0,
      different: [
        {
          name: 'clients are listed',
          statuses: { v1: 200, gateway: 200 },
          differences: [{ where: '/data/0', kind: 'value', v1: '1', gateway: '2' }],
        },
      ],
    });
  });

  test('that limit the rate are given the time that they ask for', async () => {
    let asked = 0;
    const limited = await rawServer((socket) => {
      asked += 1;
      const wait = 'HTTP/1.1 429 Too Many Requests\r\nRetry-After: 1\r\nContent-Length: 0\r\n\r\n';
      socket.write(asked === 1 ? wait : ok('{}'));
    });
    const { code } = await real(limited, await service('{}'));
    expect(code).toBe(0);
    expect(asked).toBe(2);
  });

  test('that cannot be reached are different', async () => {
    const v1 = await service('{}');
    const gone = await service('{}');
    gone.server.close();
    const { code, out } = await real(v1, gone);
    expect(code).toBe(1);
    expect(out).toContain('ECONNREFUSED');
  });
});

const USAGE_ERRORS: readonly (readonly [args: readonly string[], said: string])[] = [
  [['--v1', 'http://127.0.0.1:1'], 'Give --v1, --v2 and --key-file together'],
  [
    ['--v1', 'ftp://a', '--v2', 'http://b', '--key-file', 'package.json'],
    'ftp://a is not an http or https address',
  ],
  [['--rules', 'nowhere.yaml'], 'nowhere.yaml'],
];

test('a usage error ends with exit code 2', async () => {
  const ran = await Promise.all(USAGE_ERRORS.map(([args]) => twin(...args)));
  for (const [at, [args, said]] of USAGE_ERRORS.entries()) {
    expect([args, ran[at]?.code, ran[at]?.err]).toEqual([args, 2, expect.stringContaining(said)]);
  }
});

test('a script with faults ends with exit code 1, and names the lines', async () => {
  const { code, err } = await twin('--script', 'package.json');
  expect([code, err]).toEqual([1, expect.stringContaining('package.json:1: A line starts with')]);
});

test('a script of the user is played to the reference services', async () => {
  const script = file(
    'own.txt',
    '# created\n! keep: one = /data/id\n> POST /api/v1/clients\n>\n> {"data":{"name":"A"}}\n# read\n> GET /api/v1/clients/${one}\n',
  );
  const { code, out } = await endedCommand(['twin', '--script', script]);
  expect(out).toMatch(
    /^\d+ exchanges played: \d+ the same, 0 different, \d+ different by choice\.\n(?:\d+ not found by both: .*\n)?(?:\d+ refused-first: .*\n)?$/,
  );
  expect(code).toBe(0);
});

test('differences by choice are counted by their name, and end with exit code 0', async () => {
  const twice = '> POST /api/v1/clients\n>\n> {"data":{},"data":{}}\n';
  const keyless = twice.replace('>\n', '> !Authorization\n>\n');
  const script = file(
    'twice.txt',
    `# with a key\n${twice.replace('{}}', '{"name":"A"}}')}\n# without a key\n${keyless}`,
  );
  const { code, out } = await endedCommand(['twin', '--script', script]);
  expect(out).toContain('2 exchanges played: 0 the same, 0 different, 2 different by choice.\n');
  expect(out).toContain('\n1 refused-first: both refuse;');
  expect(code).toBe(0);
  expect(JSON.parse((await endedCommand(['twin', '--script', script, '--json'])).out)).toMatchObject({
    different: [],
    choices: { 'duplicate-member': ['with a key'], 'refused-first': ['without a key'] },
  });
});
