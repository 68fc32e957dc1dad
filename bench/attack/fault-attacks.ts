import { exchange, rawClient } from '../../test/support/raw-client.ts';
import { type Attack, check, PATIENCE_MS } from './attack.ts';
import { longString } from './bodies.ts';
import { chunkedHead, rawRequest } from './raw-request.ts';

/** Good requests for both readers of a connection: bodies in chunks are read by Node's server. */
const GOOD = [
  rawRequest('GET /api/v2/slow?ms=20'),
  rawRequest('POST /api/v1/slow?ms=20', '{"data":{}}'),
  `${chunkedHead('POST /api/v2/slow?ms=20')}2\r\n{}\r\n0\r\n\r\n`,
];

/** Attacks by requests that HTTP refuses, alone or behind a good one. */
export const faultAttacks: readonly Attack[] = [
  {
    id: 'C-pipeline',
    sentence:
      'Chunked requests with a fault in their body wait behind good ones, and count as failures of V2.',
    async play({ port, signal }, scale) {
      const faults = [
        `${chunkedHead('POST /api/v2/clients')}zz\r\n`,
        `${chunkedHead('POST /api/v1/clients')}zz\r\n`,
      ];
      const pipelines = GOOD.flatMap((good) => faults.map((faulty) => good + faulty));
      const end = performance.now() + 6000 * scale;
      let [rounds, lost] = [0, 0];
      const one = async (pipeline: string): Promise<void> => {
        const client = rawClient(port);
        client.write(pipeline);
        const { text } = await client.until(/HTTP\/1\.1 [45]\d\d/, PATIENCE_MS);
        rounds += 1;
        if (statusesIn(text).join(' ') !== '200 400') lost += 1;
        client.socket.destroy();
      };
      while (performance.now() < end && !signal.aborted) {
        for (const pipeline of pipelines) await Promise.all(Array.from({ length: 60 }, () => one(pipeline)));
      }
      return [
        check(`${lost} of ${rounds} faulty requests behind another got no 200 and then 400`, lost === 0),
      ];
    },
  },
  {
    id: 'C-early-413',
    sentence: 'Uploads that V2 refuses early, with a reset, until the circuit opens.',
    async play({ port, signal }, scale) {
      const request = rawRequest('POST /api/v2/early-413', longString(300_000));
      const end = performance.now() + 5000 * scale;
      const attacker = async (): Promise<void> => {
        while (performance.now() < end && !signal.aborted) await exchange(port, request, 1000);
      };
      await Promise.all(Array.from({ length: 8 }, attacker));
      return [];
    },
  },
  {
    id: 'H-method',
    sentence: 'A request with an unknown method behind a good one makes the good one lose its response.',
    async play({ port }, scale) {
      const lost: string[] = [];
      let rounds = 0;
      for (const method of ['PATCHX', 'OPTIOS', 'G@T', 'get']) {
        const fault = `${method} /api/v2/clients HTTP/1.1\r\nHost: gateway\r\n\r\n`;
        const pipelines = GOOD.flatMap((good) => piecesOf(good + fault, 12 * scale));
        await Promise.all(
          pipelines.map(async (pieces) => {
            const client = rawClient(port);
            for (const piece of pieces) client.write(piece);
            const { text, reset } = await client.until(/^HTTP[^]*HTTP\/1\.1 \d{3} /, PATIENCE_MS);
            client.socket.destroy();
            rounds += 1;
            const [first, second] = statusesIn(text);
            if (first === '200' && second !== undefined && !reset) return;
            lost.push(`${method}: ${first ?? 'nothing'}, then ${second ?? (reset ? 'a reset' : 'nothing')}`);
          }),
        );
      }
      return [check(`${lost.length} of ${rounds} pipelines lost a response (${lost[0]})`, lost.length === 0)];
    },
  },
  {
    id: 'H-head',
    sentence: 'A HEAD that is refused gets a body.',
    async play({ port }) {
      const refused = ['HEAD evil:80', 'HEAD /api/v1/%2e%2e/v2/x', 'HEAD /elsewhere', 'HEAD http://evil/'];
      const withBody: string[] = [];
      for (const line of refused) {
        const client = rawClient(port);
        client.write(rawRequest(line, undefined, 'Connection: close\r\n'));
        const { text } = await client.end(PATIENCE_MS);
        if (!text.endsWith('\r\n\r\n')) withBody.push(line);
        client.socket.destroy();
      }
      return [
        check(`a refused HEAD got a body or no response: ${withBody.join(', ')}`, withBody.length === 0),
      ];
    },
  },
  {
    id: 'I-requests',
    sentence: 'Requests that RFC 9112 refuses leave the connection open, or cross.',
    async play({ port }) {
      const kept: string[] = [];
      const refused = [
        'PRI * HTTP/1.1\r\nHost: g\r\n\r\n',
        'GET  /api/v2/clients HTTP/1.1\r\nHost: g\r\n\r\n',
        'GET /api/v2/clients  HTTP/1.1\r\nHost: g\r\n\r\n',
        'GET /api/v2/clients HTTP/1.1\r\nHost : g\r\n\r\n',
        'GET /api/v2/clients HTTP/1.1\r\nHost: g\r\nHost: g\r\n\r\n',
        'GET\t/api/v2/clients HTTP/1.1\r\nHost: g\r\n\r\n',
        'GET /api/v2/clients\r\n\r\n',
        'POST /api/v2/clients HTTP/1.1\r\nHost: g\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
        'POST /api/v2/clients HTTP/1.1\r\nHost: g\r\nContent-Length: +3\r\n\r\nabc',
        'POST /api/v2/clients HTTP/1.1\r\nHost: g\r\nTransfer-Encoding: chunked\r\n\r\n0x3\r\nabc\r\n0\r\n\r\n',
      ];
      for (const bytes of refused) {
        const client = rawClient(port);
        client.write(bytes);
        const { text, closed } = await client.end(PATIENCE_MS);
        if (!closed || !/^HTTP\/1\.1 [45]/.test(text)) kept.push(bytes.slice(0, bytes.indexOf('\r\n')));
        client.socket.destroy();
      }
      return [check(`not refused and closed: ${kept.join(', ')}`, kept.length === 0)];
    },
  },
];

/** The statuses of the responses in a text; a body may end without a line end. */
function statusesIn(text: string): readonly string[] {
  return [...text.matchAll(/HTTP\/1\.1 (\d{3})/g)].map(([, status = '']) => status);
}

/** The bytes in two pieces, cut at places all over them. */
function piecesOf(bytes: string, count: number): readonly (readonly [string, string])[] {
  return Array.from({ length: Math.ceil(count) }, (_, k) => {
    const cut = Math.floor((bytes.length * k) / count);
    return [bytes.slice(0, cut), bytes.slice(cut)] as const;
  });
}
