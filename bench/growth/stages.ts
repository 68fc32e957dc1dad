import { gzipSync } from 'node:zlib';
import { rawClient } from '../../test/support/raw-client.ts';
import type { GatewayProcess } from '../gateway-process.ts';
import { deepJson, longString, oneByteChunks, smallObjects } from '../attack/bodies.ts';
import { chunkedHead, pour, rawRequest } from '../attack/playing.ts';
import { scripted, tinyChunks } from '../attack/v2.ts';

/** The work on a shape of a size, and the line that it must stay below. */
export interface GrowthStage {
  readonly name: string;
  readonly sizes: readonly number[];
  readonly flags?: Readonly<Record<string, string>>;
  /** For each byte on the wire, beside a fixed part. */
  readonly line: { readonly nanoseconds: number; readonly memory: number };
  /** Carries it out once, and returns the bytes on the wire. */
  play(gateway: GatewayProcess, size: number, signal: AbortSignal): Promise<number>;
}

/** A name, and a V1 body of about so many bytes. */
type Shape = readonly [name: string, body: (bytes: number) => string];

/** Shapes of JSON that an attacker would choose. */
const shapes: readonly Shape[] = [
  ['one long string', longString],
  ['deep, 250 levels', (bytes) => deepJson(bytes, 245)],
  ['deep, 500 levels', (bytes) => deepJson(bytes, 495)],
  ['wide', (bytes) => object(bytes, (k) => `"name_${k}":1`)],
  ['tiny members', smallObjects],
  ['escapes in values', (bytes) => object(bytes, (k) => `"n${k}":"${String.raw`\u0041\n\/`.repeat(20)}"`)],
  ['escapes in names', (bytes) => object(bytes, (k) => `"${String.raw`\u0041`.repeat(5)}${k}":1`)],
  ['long names', (bytes) => object(bytes, (k) => `"${String(k).repeat(4000).slice(0, 4000)}":1`)],
  [
    'members beside the wrapper',
    (bytes) => `{"data":{},${object(bytes, (k) => `"name_${k}":1`).slice('{"data":{'.length, -2)}}`,
  ],
];

const SIZES = [64, 256, 1024, 4096].map((size) => size * 1024);
/** The engine takes 2 to 4 ns a byte; the rest is framing, copies, observing and the log. */
const bodies: readonly GrowthStage[] = shapes.map(([name, body]) => ({
  name: `V1 body: ${name}`,
  sizes: SIZES,
  line: { nanoseconds: 60, memory: 24 },
  play: (gateway, size, signal) => send(gateway, [rawRequest('POST /api/v1/clients', body(size))], signal),
}));

/** Bodies that operators look at. */
const shown: readonly GrowthStage[] = shapes
  .filter(([name]) => !/beside|values|250/.test(name))
  .flatMap(([name, body]) => [
    {
      name: `explained: ${name}`,
      sizes: [16, 64, 256, 1024].map((size) => size * 1024),
      line: { nanoseconds: 500, memory: 100 },
      play: (gateway, size, signal) => explain(gateway, body(size), signal),
    },
    {
      name: `opened on the page: ${name}`,
      sizes: [16, 64, 250].map((size) => size * 1024),
      line: { nanoseconds: 500, memory: 100 },
      flags: { capture: 'bodies' },
      play: (gateway, size, signal) => open(gateway, body(size), signal),
    },
  ]);

const transports: readonly GrowthStage[] = [
  {
    name: 'V1 body as gzip: deep, 250 levels',
    sizes: [256, 1024, 4096].map((size) => size * 1024),
    line: { nanoseconds: 60, memory: 24 },
    // Bytes are those that are decoded: the body limit is one of them.
    play: async (gateway, size, signal) => {
      const packed = gzipSync(deepJson(size, 245)).toString('latin1');
      await send(gateway, [rawRequest('POST /api/v1/clients', packed, 'Content-Encoding: gzip\r\n')], signal);
      return size;
    },
  },
  ...(['v1', 'v2'] as const).flatMap((version): readonly GrowthStage[] => [
    {
      name: `/api/${version}: chunks of one byte`,
      sizes: SIZES.map((size) => size / 4),
      line: { nanoseconds: 400, memory: 8 },
      play: (gateway, size, signal) =>
        send(gateway, [chunkedHead(`POST /api/${version}/clients`), ...oneByteChunks(size)], signal),
    },
    {
      name: `/api/${version}: parts of 100 bytes`,
      sizes: SIZES,
      line: { nanoseconds: 100, memory: 40 },
      play: (gateway, size, signal) =>
        send(
          gateway,
          [chunkedHead(`POST /api/${version}/clients`), ...inChunks(longString(size), 100)],
          signal,
        ),
    },
    {
      name: `/api/${version}: header fields`,
      sizes: [1, 4, 8, 15].map((size) => size * 1024),
      line: { nanoseconds: 200, memory: 40 },
      play: (gateway, size, signal) => {
        const lines = Array.from({ length: 90 }, (_, k) => `X-${k}: ${'x'.repeat(size / 90 - 7)}\r\n`);
        return send(gateway, [rawRequest(`GET /api/${version}/clients`, undefined, lines.join(''))], signal);
      },
    },
  ]),
  {
    name: 'response in chunks of one byte, with response rules',
    sizes: SIZES.map((size) => size / 4),
    flags: { rules: new URL('../attack/response-rules.yaml', import.meta.url).pathname },
    line: { nanoseconds: 400, memory: 8 },
    play: async (gateway, size, signal) => {
      await send(
        gateway,
        [rawRequest(`POST ${scripted('/api/v1/tiny', tinyChunks(size))}`, '{"data":{}}')],
        signal,
        new RegExp('"}}\r\n0\r\n|"}}$'),
      );
      return size * 6;
    },
  },
];

/** All stages. */
export const growthStages: readonly GrowthStage[] = [...bodies, ...transports, ...shown];

function* inChunks(text: string, length: number): Generator<string> {
  for (let at = 0; at < text.length; at += length) {
    const chunk = text.slice(at, at + length);
    yield `${chunk.length.toString(16)}\r\n${chunk}\r\n`;
  }
  yield '0\r\n\r\n';
}

/** Sends a request on a connection of its own, and waits for its response; resolves to the bytes sent. */
async function send(
  { port }: GatewayProcess,
  pieces: Iterable<string | Uint8Array>,
  signal: AbortSignal,
  whole = /^HTTP\/1\.1 [2-5]\d\d[^]*\r\n\r\n/,
): Promise<number> {
  const client = rawClient(port);
  const bytes = Array.from(pieces, (piece) =>
    typeof piece === 'string' ? Buffer.from(piece, 'latin1') : piece,
  );
  const sent = await pour(client.socket, bytes, signal);
  const { text } = await client.until(whole, 10_000);
  client.socket.destroy();
  if (text !== '' && !text.startsWith('HTTP/1.1 2')) throw new Error(`not accepted: ${text.slice(0, 300)}`);
  return sent;
}

/** The bytes of the text of a response of the admin listener that arrive before the timeout. */
async function fetchAll(
  { adminPort }: GatewayProcess,
  path: string,
  signal: AbortSignal,
  init: RequestInit = {},
): Promise<string> {
  const url = `http://127.0.0.1:${adminPort}${path}`;
  const response = await fetch(url, { ...init, signal }).catch(() => undefined);
  return (await response?.text().catch(() => undefined)) ?? '{}';
}

async function explain(gateway: GatewayProcess, body: string, signal: AbortSignal): Promise<number> {
  const headers = [['Content-Type', 'application/json']];
  const request = JSON.stringify({ method: 'POST', target: '/api/v1/clients', headers, body });
  await fetchAll(gateway, '/explain', signal, { method: 'POST', body: request });
  return request.length;
}

async function open(gateway: GatewayProcess, body: string, signal: AbortSignal): Promise<number> {
  const sent = await send(gateway, [rawRequest('POST /api/v1/clients', body)], signal);
  const page = JSON.parse(await fetchAll(gateway, '/entries?limit=1', signal)) as { readonly latest: number };
  await fetchAll(gateway, `/entries/${page.latest}`, signal);
  return sent;
}

/** An object within the wrapper, of so many bytes. */
function object(bytes: number, member: (k: number) => string): string {
  const members: string[] = [];
  for (let [k, length] = [0, 0]; length < bytes - 16; k += 1) {
    const one = member(k);
    members.push(one);
    length += one.length + 1;
  }
  return `{"data":{${members.join(',')}}}`;
}
