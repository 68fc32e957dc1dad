import { rawClient } from '../../test/support/raw-client.ts';
import { type Attack, check } from './attack.ts';
import { FRAME, H2Attacker } from './h2-frames.ts';
import { chunkedHead, rawRequest } from './raw-request.ts';
import { rawResponsePath } from './v2.ts';

const TEMPLATES = [
  'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nETag: "a"\r\nContent-Length: 2\r\n\r\n{}',
  'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X-Sum\r\n\r\n2\r\n{}\r\n0\r\nX-Sum: 1\r\n\r\n',
  'HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 201 Created\r\nLocation: /api/v2/a\r\nContent-Length: 2\r\n\r\n{}',
  'HTTP/1.1 204 No Content\r\nSet-Cookie: a=b\r\nSet-Cookie: c=d\r\n\r\n',
] as const;
const FIELDS = [
  'authorization',
  'cookie',
  'te',
  'host',
  'content-length',
  'x-api-version',
  'expect',
  'connection',
  '__proto__',
  'x-a',
];
const ODD = [
  '\r',
  '\n',
  '\0',
  '\t',
  ' ',
  ':',
  ';',
  ',',
  '\x80',
  '\xff',
  '"',
  '\r\n',
  '\r\n\r\n',
  '0',
  '9',
  'ETag: b\r\n',
  'constructor: c\r\n',
];

/** Attacks by chance, the same in every run. V2's faults are many, so the circuit is off. */
export const fuzzAttacks: readonly Attack[] = [
  {
    id: 'L-fuzz',
    sentence: 'Responses of V2 with bytes changed at random, on both paths to it.',
    flags: { breaker: 'off' },
    innocents: ['v1-read', 'v2-read'],
    async play({ port, signal }, scale) {
      const random = randomOf(4711);
      let twice = 0;
      const one = async (): Promise<void> => {
        for (let k = 0; k < 250 * scale && !signal.aborted; k += 1) {
          const path = rawResponsePath('v2', mutated(random), true);
          const client = rawClient(port);
          if (k % 2 === 0) client.write(rawRequest(`GET ${path}`, undefined, 'Connection: close\r\n'));
          else {
            client.write(`${chunkedHead(`POST ${path}`, 'Connection: close\r\n')}1\r\n{\r\n`);
            await new Promise(setImmediate);
            client.write('1\r\n}\r\n0\r\n\r\n');
          }
          const { text } = await client.end(1500);
          client.socket.destroy();
          const finals = [...text.matchAll(/^HTTP\/1\.1 ([02-9]\d\d) /gm)];
          if (finals.length > 1) twice += 1;
        }
      };
      await Promise.all([1, 2, 3, 4].map(one));
      return [check(`${twice} requests got two responses`, twice === 0)];
    },
  },
  {
    id: 'J-fuzz',
    sentence: 'Requests over HTTP/2 with fields made at random, to responses changed at random.',
    isTls: true,
    flags: { breaker: 'off' },
    innocents: ['v1-read', 'v2-read'],
    async play({ port, signal }, scale) {
      const random = randomOf(1147);
      const one = async (): Promise<void> => {
        for (let k = 0; k < 250 * scale && !signal.aborted; k += 1) {
          const attacker = await H2Attacker.open(port).catch(() => undefined);
          if (attacker === undefined) return;
          const field = [pick(FIELDS, random), k % 3 === 0 ? `a${pick(ODD, random)}b` : 'a'] as const;
          attacker.request(1, [
            [':method', 'GET'],
            [':scheme', 'https'],
            [':authority', 'gateway'],
            [':path', rawResponsePath('v2', mutated(random), true)],
            ...(k % 2 === 0 ? [field, field] : []),
          ]);
          await attacker.until(
            ({ type, flags }) =>
              type === FRAME.reset || type === FRAME.goaway || (type <= 1 && flags % 2 === 1),
            1000,
          );
          attacker.socket.destroy();
        }
      };
      await Promise.all([1, 2, 3, 4].map(one));
      return [];
    },
  },
];

/** A template with one to four changes. */
function mutated(random: () => number): string {
  let text: string = pick(TEMPLATES, random);
  for (let k = 0; k <= random() * 4; k += 1) {
    const at = Math.floor(random() * text.length);
    const taken = random() < 0.5 ? 0 : Math.ceil(random() * 3);
    text = text.slice(0, at) + (random() < 0.8 ? pick(ODD, random) : '') + text.slice(at + taken);
  }
  return text;
}

function pick<Value>(values: readonly Value[], random: () => number): Value {
  return values[Math.floor(random() * values.length)] as Value;
}

/** Numbers from 0 to 1, the same for the same seed (a generator by Park and Miller). */
function randomOf(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 48_271) % 2_147_483_647;
    return state / 2_147_483_647;
  };
}
