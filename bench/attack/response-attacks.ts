import { statSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { rawClient } from '../../test/support/raw-client.ts';
import { type Attack, check, type Target, PATIENCE_MS } from './attack.ts';
import { chunkedHead, rawRequest } from './raw-request.ts';
import { rawResponsePath } from './v2.ts';

/** A response of V2 that is odd, and whether V2 closes behind it. */
type OddResponse = readonly [response: string, closes: boolean];

const BODY = 'Content-Length: 2\r\n\r\n{}';
const STATUS_LINES: readonly OddResponse[] = [
  ...['000', '099', '600', '700', '999', '1000', '20', '2x0', '-20'].map((status): OddResponse => [
    `HTTP/1.1 ${status} X\r\n${BODY}`,
    false,
  ]),
  ['HTTP/1.1 200\r\nContent-Length: 2\r\n\r\n{}', false],
  ['HTTP/1.1 200 \r\nContent-Length: 2\r\n\r\n{}', false],
  ['HTTP/1.1 000\r\nContent-Length: 2\r\n\r\n{}', false],
];
const FRAMINGS: readonly OddResponse[] = [
  ['HTTP/1.1 200 Fran\xe7ais\r\nContent-Length: 2\r\n\r\n{}', false],
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
    id: 'L-hints',
    sentence: 'V2 sends early hints without end, to a request with a body in chunks and to one without.',
    async play({ port }, scale) {
      const clients = [rawClient(port), rawClient(port)];
      clients[0]?.write(rawRequest('GET /api/v2/hints'));
      for (const piece of inParts('/api/v2/hints')) {
        clients[1]?.write(piece);
        await delay(20);
      }
      for (const { socket } of clients) socket.pause();
      await Promise.all(clients.map((client) => client.end(8000 * scale)));
      for (const { socket } of clients) socket.destroy();
      return [];
    },
  },
  {
    id: 'O-response',
    sentence: 'V2 sends 9 MB in chunks of one byte where response rules apply.',
    limits: { median: 100 },
    async play({ port }, scale) {
      const client = rawClient(port);
      const path = `/api/v1/tiny?bytes=${Math.round(9e6 * scale)}`;
      client.write(rawRequest(`POST ${path}`, '{"data":{}}', 'Connection: close\r\n'));
      await client.until(/\r\n\r\n/, 10_000);
      const { text } = await client.end(8000);
      client.socket.destroy();
      return [check('the response did not arrive', text.length > 9e6 * scale)];
    },
    flags: { rules: new URL('response-rules.yaml', import.meta.url).pathname },
  },
  {
    id: 'O-files',
    sentence: 'Another user of the machine reads the rewrite log.',
    async play({ folder }) {
      const mode = statSync(join(folder, 'rewrite.log')).mode & 0o777;
      return [check(`the log has mode ${mode.toString(8)}`, mode === 0o600)];
    },
  },
];

async function playOddResponses(
  target: Target,
  responses: readonly OddResponse[],
): ReturnType<Attack['play']> {
  const faults: string[] = [];
  for (const [response, closes] of responses) {
    const path = rawResponsePath('v2', response, closes);
    const [whole, streamed] = await Promise.all([
      outcomeOf(target, [rawRequest(`GET ${path}`)]),
      outcomeOf(target, inParts(path)),
    ]);
    if (whole === streamed && !/^(?:nothing|two|odd)/.test(whole)) continue;
    faults.push(`${JSON.stringify(response.slice(0, 60))}: ${whole} and ${streamed}`);
  }
  return [
    check(
      `${faults.length} responses fare badly or unlike:\n    ${faults.join('\n    ')}\n   `,
      faults.length === 0,
    ),
  ];
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
