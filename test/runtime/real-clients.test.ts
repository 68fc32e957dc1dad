import { execFile } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import {
  brotliDecompressSync,
  deflateSync,
  gunzipSync,
  gzipSync,
  inflateSync,
  zstdDecompressSync,
} from 'node:zlib';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startRuntimeGateway } from '../../src/node/twin/twin-services.ts';
import {
  collectionOf,
  compareBodies,
  compareFields,
  PairedIds,
  withoutOwnMembers,
} from '../../src/twin/compare.ts';
import type { Choice, TwinResponse } from '../../src/twin/script.ts';
import { JAVA } from '../support/java.ts';
import { type PlayedService, playedService } from '../support/played-services.ts';
import { PROGRAM } from '../support/product.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

/** A row of `clients/calls.json`. `%s` in the body is filled with so many letters. */
interface Row {
  readonly name: string;
  /** Method and path behind /api/v1. */
  readonly call: string;
  readonly fields?: readonly string[];
  readonly body?: string;
  readonly coding?: 'gzip' | 'deflate';
  readonly pad?: number;
  readonly chunked?: boolean;
  /** The reason for which libraries may see a difference: docs/decisions/differences-from-v1.md has them all. */
  readonly choice?: Choice | 'another-path' | 'broken-off' | 'no-trailers' | 'no-zstd' | 'whole-body';
}

/** What a driver prints of a response: status, fields, body in base64; or the class of an error. */
type Seen = readonly [status: number, fields: readonly (readonly [string, string])[], body: string] | string;

const run = promisify(execFile);
const here = (name: string): string => fileURLToPath(new URL(`clients/${name}`, import.meta.url));
const rows = JSON.parse(readFileSync(here('calls.json'), 'utf8')) as readonly Row[];

/** How the driver of each language is started: the file of calls, the library and the addresses follow. */
const DRIVERS = {
  go: ['go', 'run', here('calls.go')],
  java: [
    ...JAVA,
    '--add-opens=java.base/java.net=ALL-UNNAMED',
    '-cp',
    '/usr/share/java/*',
    here('Calls.java'),
  ],
  node: [process.execPath, here('calls.mjs')],
  // The order of a hash, and of cookies with it, is random otherwise.
  perl: ['env', 'PERL_HASH_SEED=0', 'perl', here('calls.pl')],
  php: ['php', here('calls.php')],
  python: ['/usr/bin/python3', here('calls.py')],
  ruby: ['ruby', here('calls.rb')],
} as const;

/** Each library, with the driver that plays it and what must be installed. */
const LIBRARIES: readonly (readonly [
  library: string,
  driver: keyof typeof DRIVERS,
  tags: readonly string[],
])[] = [
  ['curl', 'node', ['curl']],
  ['axios', 'node', ['packages']],
  ['fetch', 'node', []],
  ['got', 'node', ['packages']],
  ['http', 'node', []],
  ['aiohttp', 'python', ['clients']],
  ['http.client', 'python', ['clients']],
  ['httpx', 'python', ['clients']],
  ['pycurl', 'python', ['clients']],
  ['requests', 'python', ['clients']],
  ['urllib.request', 'python', ['clients']],
  ['urllib3', 'python', ['clients']],
  ['HttpClient', 'java', ['java']],
  ['HttpURLConnection', 'java', ['java']],
  ['net/http', 'go', ['clients']],
  ['HTTP::Tiny', 'perl', ['clients']],
  ['LWP', 'perl', ['clients']],
  ['Mojo::UserAgent', 'perl', ['clients']],
  ['curl', 'php', ['clients']],
  ['Guzzle', 'php', ['clients']],
  ['streams', 'php', ['clients']],
  ['http10', 'php', ['clients']],
  ['Faraday', 'ruby', ['clients']],
  ['HTTParty', 'ruby', ['clients']],
  ['Net::HTTP', 'ruby', ['clients']],
  ['rest-client', 'ruby', ['clients']],
];

let v1: PlayedService;
let v2: PlayedService;
let gateway: Awaited<ReturnType<typeof startRuntimeGateway>>;

/** Reasons for the differences that were seen. */
const chosen = new Set<string>();

/** Of the bodies, each in a file, and of the calls of each library. */
let folder = '';

beforeAll(async () => {
  [v1, v2] = [await playedService('v1'), await playedService('v2')];
  gateway = await startRuntimeGateway('node', PROGRAM, v2.origin, 'config/rules.yaml');
  folder = temporaryFolder('gateway-clients');
  rows.forEach((row, at) => writeFileSync(bodyFile(at), bodyOf(row)));
});

afterAll(async () => {
  await gateway.stop();
  v1.close();
  v2.close();
});

for (const [library, driver, tags] of LIBRARIES)
  // Some wait 40 ms for each body: Nagle's algorithm meets a delayed acknowledgement, at V1 as at the gateway.
  test.concurrent(
    `${library} (${driver}) sees from the gateway what it sees from V1`,
    { tags: [...tags] },
    async () => {
      const file = join(folder, `${driver}-${library.replace('/', '-')}.json`);
      // Each has its own data at the services, by its key.
      writeFileSync(file, JSON.stringify(rows.map(callOf)).replaceAll('{key}', `${driver}-${library}`));
      const [command, ...args] = DRIVERS[driver];
      const bases = [v1, gateway].map(({ origin }) => `${origin}/api/v1`);
      const { stdout } = await run(command, [...args, library, file, ...bases], { maxBuffer: 2 ** 28 });
      const seen = stdout
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line) as Seen);
      expect(seen).toHaveLength(2 * rows.length);
      // A library refuses a call or two itself.
      expect(seen.filter((one) => typeof one === 'string').length).toBeLessThan(rows.length / 10);
      const ids = new PairedIds();
      const differences = rows.flatMap(({ name, call, choice }, at) => {
        const found = compare(call, ids, seen[at] ?? '', seen[at + rows.length] ?? '');
        if (choice === undefined) return found.map((difference) => `${name}: ${difference}`);
        if (found.length > 0) chosen.add(choice);
        // A client that V1 shows its failure gets the failure from the gateway as well.
        const looksWhole = hasFailed(seen[at]) && !hasFailed(seen[at + rows.length]);
        return choice === 'broken-off' && looksWhole ? [`${name}: looks whole`] : [];
      });
      expect(differences).toEqual([]);
    },
  );

test('each reason explains a difference that a library sees', { tags: ['clients'] }, () => {
  expect(chosen).toEqual(new Set(rows.flatMap(({ choice }) => choice ?? [])));
});

/** A call as drivers read it: with the fields that every call has, and its body in a file. */
function callOf({ call, fields = [], body, coding, chunked = false }: Row, at: number): unknown {
  const [method, path] = call.split(' ');
  const pairs = fields.map((field) => field.split(/: ?(.*)/s).slice(0, 2));
  const add = (name: string, value: string): void => {
    if (!pairs.some(([given]) => given === name)) pairs.push([name, value]);
  };
  add('Authorization', 'Bearer {key}');
  if (body !== undefined) add('Content-Type', 'application/json');
  if (coding !== undefined) add('Content-Encoding', coding);
  const sent = pairs.filter(([name, value]) => name !== 'Authorization' || value !== '');
  return { method, path, fields: sent, body: body === undefined ? null : bodyFile(at), chunked };
}

function bodyFile(at: number): string {
  return join(folder, `${at}.body`);
}

function bodyOf({ body = '', coding, pad = 0 }: Row): Buffer {
  const text = Buffer.from(body.replace('%s', 'x'.repeat(pad)));
  if (coding === undefined) return text;
  return coding === 'gzip' ? gzipSync(text) : deflateSync(text);
}

/** Guzzle's name for the length of a coded body; a HEAD of a rewritten response has none. */
const LEFT_OUT: ReadonlySet<string> = new Set(['x-encoded-content-length']);

function compare(call: string, ids: PairedIds, one: Seen, other: Seen): readonly string[] {
  if (typeof one === 'string' || typeof other === 'string')
    return one === other ? [] : [`V1 ${brief(one)}, gateway ${brief(other)}`];
  const [direct, through] = [responseOf(one), responseOf(other)];
  const bodies = compareBodies(direct.body, withoutOwnMembers(through), {
    ids,
    collection: collectionOf(call.split(' ')[1] ?? ''),
    isSent: () => false,
  });
  const origins = { v1: v1.origin, gateway: gateway.origin };
  const fields = compareFields(direct, through, ids, origins, LEFT_OUT);
  const status = direct.status === through.status ? [] : [`status ${direct.status} ${through.status}`];
  const codings = [direct, through].map(({ headers }) => fieldOf(headers, 'content-encoding'));
  const coding = codings[0] === codings[1] ? [] : [`coding ${codings.join(' ')}`];
  // A refusal before the end of a body costs the connection.
  const closes = [direct, through].map(
    ({ headers }) => fieldOf(headers, 'connection').toLowerCase() === 'close',
  );
  const connection = closes[1] && !closes[0] && through.status !== 413 ? ['closes the connection'] : [];
  return [
    ...status,
    ...coding,
    ...connection,
    ...[...fields, ...bodies].map((difference) =>
      [difference.where, difference.kind, difference.v1, '|', difference.gateway].join(' ').slice(0, 300),
    ),
  ];
}

function fieldOf(headers: TwinResponse['headers'], wanted: string): string {
  return headers.find(([name]) => name.toLowerCase() === wanted)?.[1] ?? '';
}

function hasFailed(seen: Seen | undefined): boolean {
  return typeof seen !== 'object' || seen[0] === 502;
}

function brief(seen: Seen): string {
  return typeof seen === 'string' ? seen : `${seen[0]}`;
}

/** Decodes what the library left coded. */
function responseOf([status, fields, base64]: Exclude<Seen, string>): TwinResponse {
  const bytes = Buffer.from(base64, 'base64');
  // Tags are of representations, and V2's is another one.
  const headers = fields.map(
    ([name, value]) => [name, name.toLowerCase() === 'etag' ? 'a tag' : value] as const,
  );
  const coding = fieldOf(headers, 'content-encoding');
  try {
    return { status, headers, body: DECODERS[coding]?.(bytes) ?? bytes };
  } catch {
    return { status, headers, body: bytes };
  }
}

const DECODERS: Readonly<Record<string, (bytes: Buffer) => Buffer>> = {
  br: brotliDecompressSync,
  deflate: inflateSync,
  gzip: gunzipSync,
  zstd: zstdDecompressSync,
};
