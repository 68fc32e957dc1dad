/**
 * @module-tag bun
 * @module-tag curl
 * @module-tag deno
 * @module-tag wrangler
 */
import { execFile } from 'node:child_process';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import type { Entry } from '../../src/rewrite-log/entry.ts';
import { certificate } from '../support/certificates.ts';
import { exchange } from '../support/raw-client.ts';
import { differences, readRawMessage, writeRawResponse, writeRawRequest } from '../support/raw-message.ts';
import { ok, type RawServer, rawServer } from '../support/raw-server.ts';
import { type RuntimeGateway, runtimes, type StartRuntime } from '../support/runtimes.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { readTextCases, type TextCase, type TextMessage } from '../../src/cli/cases/text-cases.ts';
import { until } from '../support/until.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));
const folder = new URL('../cases/', import.meta.url);
const cases = readdirSync(folder)
  .filter((name) => name.endsWith('.txt'))
  .flatMap((name) => readTextCases(readFileSync(new URL(name, folder), 'utf8')));

/** The outcome of a text case on one runtime. */
interface Outcome {
  /** The request that V2 got, or nothing. */
  readonly sent: TextMessage | undefined;
  readonly response: TextMessage;
  /** Without times and ids. */
  readonly entry: object;
  /** The outcome that the case itself is compared with: nothing is left out. */
  readonly faults: readonly string[];
}

/** Cases whose response names abilities of a runtime; everything but the words of the response is equal. */
const OTHER_WORDS: Readonly<Record<string, readonly string[]>> = {
  workerd: ['an unknown content coding is refused, and the known ones are named'],
};

/** A gateway with the V2 behind it. */
interface Pair {
  readonly gateway: RuntimeGateway;
  readonly v2: RawServer;
  /** What V2 responds next. */
  readonly next: { response: string };
}

test.each(['bun', 'deno', 'workerd'] as const)(
  'the text cases give the same bytes at V2 and the same entries on %s as on node',
  async (name) => {
    const node = await pair(runtimes.node);
    const other = await pair(runtimes[name]);
    const faults: string[] = [];
    for (const textCase of cases) {
      const { title } = textCase;
      const [expected, outcome] = observedByBoth(
        await outcomeOf(node, textCase),
        await outcomeOf(other, textCase),
      );
      if (OTHER_WORDS[name]?.includes(title) === true) {
        expect(outcome.response).not.toEqual(expected.response);
        expect({ title, ...withoutWords(outcome) }).toEqual({ title, ...withoutWords(expected) });
        continue;
      }
      expect({ title, ...outcome }).toEqual({ title, ...expected });
      faults.push(...outcome.faults.map((fault) => `${title}: ${fault}`));
    }
    expect(cases.length).toBeGreaterThan(25);
    expect(faults).toEqual([]);
  },
);

test.each(['bun', 'deno'] as const)(
  'SIGTERM finishes the request in flight on %s, without an error, and exits with 0',
  async (name) => {
    let respond = (): void => {};
    const v2 = await rawServer((socket) => {
      respond = () => void socket.write(ok('{"data":{}}'));
    });
    const gateway = await runtimes[name](v2.origin);
    expect(gateway.said()).toMatch(new RegExp(`^capture-gateway \\S+ on ${name} [\\d.]+$`, 'im'));
    const request = exchange(
      gateway.port,
      'GET /api/v2/clients HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n',
    );
    await until(() => v2.received.length > 0);
    process.kill(gateway.pid, 'SIGTERM');
    await until(() => gateway.said().includes('stopping: finishing requests in flight.'));
    respond();
    expect((await request).text).toContain('{"data":{}}');
    expect(await gateway.exit).toBe(0);
    expect(gateway.said()).not.toMatch(/ error /);
    expect(gateway.said()).toMatch(/stopped\.$/);
  },
);

test.each(['bun', 'deno'] as const)('clients use TLS with HTTP/1.1 and HTTP/2 on %s', async (name) => {
  const v2 = await rawServer((socket) => void socket.write(ok('{"data":{}}')));
  const own = certificate({ name: 'gateway', hosts: ['127.0.0.1'] });
  const tls = temporaryFolder('tls');
  writeFileSync(join(tls, 'cert.pem'), own.cert);
  writeFileSync(join(tls, 'key.pem'), own.key);
  const flags = ['--tls-cert', join(tls, 'cert.pem'), '--tls-key', join(tls, 'key.pem')];
  const { port } = await runtimes[name](v2.origin, undefined, flags);
  for (const version of ['1.1', '2']) {
    const output = ['--silent', '--cacert', join(tls, 'cert.pem'), '--write-out', ' %{http_version}'];
    const request = ['--header', 'Content-Type: application/json', '--data', '{"data":{}}'];
    const url = `https://127.0.0.1:${port}/api/v1/clients`;
    const { stdout } = await promisify(execFile)('curl', [...output, `--http${version}`, ...request, url]);
    expect(stdout).toBe(`{"data":{}} ${version}`);
  }
});

/** Cases that workerd changes before the worker sees them: it takes a fragment away, and joins the lines of a field to one. */
const NOT_ON_WORKERD: ReadonlySet<string> = new Set([
  'query: a target with a fragment is refused, with query rules as well',
  'a field has its V2 name, in place, and each line of it',
]);

test.each([
  ['maps, query rules and PUT', 'request-rules/rules'],
  ['header rules', 'headers/headers'],
])('%s are the same on workerd as on node', async (_, cases) => {
  const rules = fileURLToPath(new URL('rules.yaml', new URL(`${cases}.txt`, folder)));
  const text = readFileSync(new URL(`${cases}.txt`, folder), 'utf8');
  const node = await pair((upstream) => runtimes.node(upstream, rules));
  const edge = await pair((upstream) => runtimes.workerd(upstream, rules));
  const titles: string[] = [];
  for (const textCase of readTextCases(text)) {
    const { title } = textCase;
    if (NOT_ON_WORKERD.has(title)) continue;
    titles.push(title);
    const [expected, outcome] = observedByBoth(
      await outcomeOf(node, textCase),
      await outcomeOf(edge, textCase),
    );
    expect({ title, ...outcome }).toEqual({ title, ...expected, faults: [] });
  }
  expect(titles.length).toBeGreaterThan(10);
});

test.each([
  ['bun', 'test/node_modules/bun/bin/bun.exe', ['--bun']],
  ['deno', 'test/node_modules/deno/deno', ['run', '--allow-all', '--quiet']],
])('the contract of the upstream holds on %s', async (_name, path, given) => {
  const folder = temporaryFolder('contract');
  const vitest = [
    'node_modules/vitest/vitest.mjs',
    'run',
    '--config',
    'config/vitest.config.ts',
    '--reporter=json',
  ];
  const suites = ['test/contract/socket-upstream.test.ts', 'test/node/upstream/connection.test.ts'];
  const results = join(folder, 'results.json');
  // Nothing of the test run around it: Vitest tells its processes much by the environment.
  const env = { PATH: process.env['PATH'], HOME: process.env['HOME'], DENO_DIR: folder };
  const options = [...given, ...vitest, `--outputFile=${results}`, ...suites];
  await promisify(execFile)(join(root, path), options, { cwd: root, env });
  expect(JSON.parse(readFileSync(results, 'utf8'))).toMatchObject({
    success: true,
    numPassedTests: 23,
    numTotalTests: 23,
  });
});

async function pair(start: StartRuntime): Promise<Pair> {
  const next = { response: '' };
  const v2 = await rawServer((socket) => void socket.write(next.response));
  return { gateway: await start(v2.origin), v2, next };
}

async function outcomeOf({ gateway, v2, next }: Pair, textCase: TextCase): Promise<Outcome> {
  next.response = writeRawResponse(textCase.upstreamResponse);
  const before = v2.received.join('').length;
  const entries = gateway.entries().length;
  const response = await exchange(gateway.port, writeRawRequest(textCase.request));
  await until(() => gateway.entries().length > entries);
  const received = v2.received.join('').slice(before);
  const message = readRawMessage(response.text);
  const sent = received === '' ? undefined : readRawMessage(received);
  return {
    sent: sent && plain(sent),
    response: plain(message),
    entry: comparable(gateway.entries()[entries]),
    faults: caseFaults(textCase, message, sent),
  };
}

function caseFaults(
  { upstream, response }: TextCase,
  got: TextMessage,
  sent: TextMessage | undefined,
): readonly string[] {
  const faults = differences(response, got);
  if (upstream === undefined) return sent === undefined ? faults : [...faults, 'something was sent'];
  return sent === undefined ? [...faults, 'nothing was sent'] : [...faults, ...differences(upstream, sent)];
}

function withoutWords({ sent, response, entry }: Outcome): object {
  return { sent, status: response.line, entry: { ...entry, responseBytes: 0 } };
}

/** Fields of a connection, of a platform's clock, or that are new for each request. */
const VOLATILE: ReadonlySet<string> = new Set([
  'connection',
  'keep-alive',
  'host',
  'date',
  'x-request-id',
  'traceparent',
]);

/** The message with its fields sorted: other tests cover their order. */
function plain({ line, headers, body }: TextMessage): TextMessage {
  const kept = headers.filter(([name]) => !VOLATILE.has(name));
  return { line, headers: kept.toSorted(([one], [other]) => (one < other ? -1 : 1)), body };
}

const TIMES = ['time', 'requestId', 'traceId', 'spanId', 'totalMs', 'upstreamMs', 'rewriteMs'];

/** Fields that are observed within a budget of time: on a busy machine, one of two runtimes may leave them out. */
const OBSERVED = ['attributes', 'unechoed', 'errorPointers', 'deprecated', 'responseWould'];

/** Two outcomes without the observed fields that only one of them has. */
function observedByBoth(one: Outcome, other: Outcome): readonly [Outcome, Outcome] {
  const left = new Set(OBSERVED.filter((name) => name in one.entry !== name in other.entry));
  const without = (outcome: Outcome): Outcome => ({
    ...outcome,
    // workerd frames a DELETE without a body as an empty one (RFC 9110 §8.6 allows both).
    ...(outcome.sent?.body === ''
      ? {
          sent: {
            ...outcome.sent,
            headers: outcome.sent.headers.filter(([name]) => name !== 'content-length'),
          },
        }
      : {}),
    entry: Object.fromEntries(Object.entries(outcome.entry).filter(([name]) => !left.has(name))),
  });
  return [without(one), without(other)];
}

function comparable(entry: Entry | undefined): object {
  // How much of a body had arrived when its head was refused also depends on time.
  const left = entry?.verdict === 'refused' && entry.rewriteMs === undefined ? [...TIMES, 'bytesIn'] : TIMES;
  return Object.fromEntries(Object.entries(entry ?? {}).filter(([key]) => !left.includes(key)));
}
