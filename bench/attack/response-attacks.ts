import { setImmediate, setTimeout as delay } from 'node:timers/promises';
import { rawClient } from '../../test/support/raw-client.ts';
import type { Attack, Target } from './attack.ts';
import { chunkedHead, faultIf, fromSeats, PATIENCE_MS, playEach, rawRequest } from './playing.ts';
import { scripted, tinyChunks } from './v2.ts';

/** A response of V2 that is odd, and whether V2 closes behind it. */
type OddResponse = readonly [response: string, closes: boolean];

const BODY = 'Content-Length: 2\r\n\r\n{}';
const STATUS_LINES: readonly OddResponse[] = [
  ...['000', '099', '600', '700', '999', '1000', '20', '2x0', '-20'].map((status): OddResponse => [
    `HTTP/1.1 ${status} X\r\n${BODY}`,
    false,
  ]),
  [`HTTP/1.1 200\r\n${BODY}`, false],
  [`HTTP/1.1 200 \r\n${BODY}`, false],
  [`HTTP/1.1 000\r\n${BODY}`, false],
];
const FRAMINGS: readonly OddResponse[] = [
  [`HTTP/1.1 200 Fran\xe7ais\r\n${BODY}`, false],
  [`HTTP/2.0 200 OK\r\n${BODY}`, true],
  [`RTSP/1.0 200 OK\r\n${BODY}`, true],
  [`ICY 200 OK\r\n${BODY}`, true],
  [
    'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n',
    true,
  ],
  ['HTTP/1.1 200 OK\r\nTransfer-Encoding: "chunked"\r\n\r\n2\r\n{}\r\n0\r\n\r\n', true],
  ['HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked;q=1\r\n\r\n2\r\n{}\r\n0\r\n\r\n', true],
  ['HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{}', true],
  ['HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n', true],
  [`HTTP/1.1 200 OK\r\nConnection: close\r\n${BODY}${'x'.repeat(82)}`, true],
  [`HTTP/1.1 200 OK\r\nX A: b\r\n${BODY}`, true],
  [`HTTP/1.1 200 OK\r\n${BODY}HTTP/1.1 200 OK\r\n${BODY}`, false],
  ['HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{}', true],
  ['HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n', false],
  ['\x16\x03\x01\x00', true],
];
/** Early hints without end. */
const HINTS = scripted('/api/v2/hints', [
  ['HTTP/1.1 103 Early Hints\r\nLink: </a.css>; rel=preload\r\n\r\n', Number.MAX_SAFE_INTEGER],
]);

/** Attacks by responses of V2, which an attacker may choose where V2 reflects its input. */
export const responseAttacks: readonly Attack[] = [
  {
    id: 'G',
    innocents: ['v1-read', 'v2-read'],
    sentence:
      'V2 responds with statuses such as 000 and 999, or without a reason phrase, on both paths to it.',
    play: (target) => playOddResponses(target, STATUS_LINES),
  },
  {
    id: 'L-framing',
    innocents: ['v1-read', 'v2-read'],
    sentence: 'V2 responds with odd versions, reasons and framings, on both paths to it.',
    play: (target) => playOddResponses(target, FRAMINGS),
  },
  {
    id: 'L-fuzz',
    sentence: 'Responses of V2 with bytes changed at random, on both paths to it.',
    // V2's faults are many.
    flags: { breaker: 'off' },
    innocents: ['v1-read', 'v2-read'],
    async play({ port, signal }, scale) {
      const random = randomOf(4711);
      let twice = 0;
      await fromSeats(4, async () => {
        for (let k = 0; k < 250 * scale && !signal.aborted; k += 1) {
          const path = scripted('/api/v2/fuzz', mutated(random), true);
          const client = rawClient(port);
          if (k % 2 === 0) client.write(rawRequest(`GET ${path}`, undefined, 'Connection: close\r\n'));
          else {
            client.write(`${chunkedHead(`POST ${path}`, 'Connection: close\r\n')}1\r\n{\r\n`);
            await setImmediate();
            client.write('1\r\n}\r\n0\r\n\r\n');
          }
          const { text } = await client.end(1500);
          client.socket.destroy();
          if ((text.match(/^HTTP\/1\.1 [02-9]\d\d /gm)?.length ?? 0) > 1) twice += 1;
        }
      });
      return faultIf(twice > 0, `${twice} requests got two responses`);
    },
  },
  {
    id: 'L-hints',
    sentence: 'V2 sends early hints without end, to a request with a body in chunks and to one without.',
    async play({ port }, scale) {
      await Promise.all(
        [[rawRequest(`GET ${HINTS}`)], inParts(HINTS)].map(async (pieces) => {
          const client = rawClient(port);
          for (const piece of pieces) {
            client.write(piece);
            await delay(20);
          }
          client.socket.pause();
          await client.end(8000 * scale);
          client.socket.destroy();
        }),
      );
      return [];
    },
  },
  {
    id: 'O-response',
    sentence: 'V2 sends 9 MB in chunks of one byte where response rules apply.',
    limits: { median: 100 },
    flags: { rules: new URL('response-rules.yaml', import.meta.url).pathname },
    async play({ port }, scale) {
      const client = rawClient(port);
      const path = scripted('/api/v1/tiny', tinyChunks(Math.round(9e6 * scale)));
      client.write(rawRequest(`POST ${path}`, '{"data":{}}', 'Connection: close\r\n'));
      await client.until(/\r\n\r\n/, PATIENCE_MS);
      const { text } = await client.end(PATIENCE_MS);
      client.socket.destroy();
      return faultIf(text.length <= 9e6 * scale, 'the response did not arrive');
    },
  },
];

function playOddResponses(target: Target, responses: readonly OddResponse[]): Promise<readonly string[]> {
  return playEach('responses fare badly or unlike', responses, async ([response, closes]) => {
    const path = scripted('/api/v2/odd', response, closes);
    const [whole, streamed] = await Promise.all([
      outcomeOf(target, [rawRequest(`GET ${path}`)]),
      outcomeOf(target, inParts(path)),
    ]);
    if (whole === streamed && !/^(?:nothing|two|odd)/.test(whole)) return undefined;
    return `${JSON.stringify(response.slice(0, 60))}: ${whole} and ${streamed}`;
  });
}

/** The response at the client: a status, a status and a broken body, or a forbidden outcome. */
async function outcomeOf({ port }: Target, pieces: readonly string[]): Promise<string> {
  const client = rawClient(port);
  for (const piece of pieces) {
    client.write(piece);
    await delay(20);
  }
  await client.until(/\r\n\r\n/, PATIENCE_MS);
  const { text, closed } = await client.end(300);
  client.socket.destroy();
  const lines = text.match(/(?:HTTP\/|RTSP\/|ICY )\S* ?\S+/g) ?? [];
  if (lines.length === 0) return closed ? 'closed' : 'nothing';
  if (lines.length > 1) return `two responses (${lines.join(', ')})`;
  const status = lines[0]?.split(' ')[1] ?? '';
  return /^[1-9]\d\d$/.test(status) ? status : `odd status ${status}`;
}

/** A request whose body comes in parts, so that it is streamed to V2. */
function inParts(path: string): readonly string[] {
  return [chunkedHead(`POST ${path}`), '1\r\n{\r\n', '1\r\n}\r\n', '0\r\n\r\n'];
}

const TEMPLATES = [
  'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nETag: "a"\r\nContent-Length: 2\r\n\r\n{}',
  'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X-Sum\r\n\r\n2\r\n{}\r\n0\r\nX-Sum: 1\r\n\r\n',
  'HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 201 Created\r\nLocation: /api/v2/a\r\nContent-Length: 2\r\n\r\n{}',
  'HTTP/1.1 204 No Content\r\nSet-Cookie: a=b\r\nSet-Cookie: c=d\r\n\r\n',
];
/** Bytes and lines that mean something to a parser, or should not be there. */
export const ODD: readonly string[] = [
  ...Array.from('\r\n\0\t :;,\x80\xff"09'),
  '\r\n',
  '\r\n\r\n',
  'ETag: b\r\n',
  'constructor: c\r\n',
];

/** A response with one to four changes. */
export function mutated(random: () => number): string {
  let text: string = pick(TEMPLATES, random);
  for (let k = 0; k <= random() * 4; k += 1) {
    const at = Math.floor(random() * text.length);
    const taken = random() < 0.5 ? 0 : Math.ceil(random() * 3);
    text = text.slice(0, at) + (random() < 0.8 ? pick(ODD, random) : '') + text.slice(at + taken);
  }
  return text;
}

export function pick<Value>(values: readonly Value[], random: () => number): Value {
  return values[Math.floor(random() * values.length)] as Value;
}

/** Numbers from 0 to 1, the same for the same seed (a generator by Park and Miller): chance is the same in every run. */
export function randomOf(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 48_271) % 2_147_483_647;
    return state / 2_147_483_647;
  };
}
