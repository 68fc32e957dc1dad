import { setTimeout as pause } from 'node:timers/promises';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { fuzzRuns, fuzzTime } from '../../../support/fuzz.ts';
import { separatorRuns } from '../../../support/separators.ts';
import { headerBlock, rawH2 } from '../../../support/raw-h2.ts';
import { ca, sendRequest, session, securelyServed } from '../../../support/secure-gateway.ts';
import { until } from '../../../support/until.ts';
import { requestHead } from '../../../support/raw-h2.ts';

/** One thing that a client does. */
type Step =
  | {
      readonly do: 'frame';
      readonly type: number;
      readonly flags: number;
      readonly stream: number;
      readonly payload: Uint8Array;
    }
  | { readonly do: 'bytes'; readonly bytes: Uint8Array }
  | { readonly do: 'wait' };

/** Most frames are sound: nonsense ends a connection at once, and nothing behind it is read. */
const streams = fc.integer({ min: 0, max: 12 }).map((number) => 2 * number + 1);
const frame = (
  type: number,
  flags: fc.Arbitrary<number>,
  payload: fc.Arbitrary<Uint8Array>,
  stream = streams,
) => fc.record({ do: fc.constant('frame' as const), type: fc.constant(type), flags, stream, payload });
const small = fc.uint8Array({ maxLength: 40 });
const number = fc
  .oneof(fc.constant(1), fc.integer({ min: 0, max: 100_000 }), fc.constant(0x7fff_ffff))
  .map((value) => Uint8Array.from([value >>> 24, value >>> 16, value >>> 8, value]));
const paths = fc.oneof(
  fc.constantFrom('/api/v1/clients', '/api/v2/x', '/api/v2/length', '/other', '/api/v1/%2e%2e', '*', ''),
  separatorRuns(9000).map((run) => `/api/v1/x${run}`),
);
const NAMES =
  'authorization cookie expect prefer range forwarded te upgrade connection trailer __proto__ x-\u00e9 :path :x X';
const values = fc.oneof(
  fc.constantFrom('', 'a', '0', 'close', '\u00ff', 'a\tb', 'a\0b', 'a\rb', 'v'.repeat(9000)),
  separatorRuns(9000),
);
const oddField = fc.tuple(fc.constantFrom(...NAMES.split(' '), 'x y', ''), values);
const head = fc
  .tuple(
    paths,
    fc.constantFrom('GET', 'POST', 'HEAD', 'CONNECT', ''),
    fc.option(fc.constantFrom('3', '20000', 'x')),
    fc.option(oddField, { freq: 2 }),
  )
  .map(([path, method, length, odd]) =>
    headerBlock([
      ...requestHead(path, method),
      ...(odd === null ? [] : [odd]),
      ['content-type', 'application/json'],
      ...(length === null ? [] : [['content-length', length] as [string, string]]),
    ]),
  );
const body = fc.oneof(small, fc.constant(new Uint8Array(16_000)), fc.constant(Buffer.from('{"data":{}}')));
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 12, arbitrary: frame(1, fc.constantFrom(4, 5, 5, 0), head) },
  { weight: 10, arbitrary: frame(0, fc.constantFrom(0, 0, 1, 8), body) },
  { weight: 3, arbitrary: frame(3, fc.constant(0), number) },
  { weight: 4, arbitrary: frame(8, fc.constant(0), number, fc.oneof(streams, fc.constant(0))) },
  {
    weight: 3,
    arbitrary: frame(
      4,
      fc.constant(0),
      fc
        .tuple(fc.constantFrom(1, 3, 4, 4, 5, 6), number)
        .map(([name, value]) => Uint8Array.from([0, name, ...value])),
      fc.constant(0),
    ),
  },
  { weight: 1, arbitrary: frame(6, fc.constant(0), fc.constant(new Uint8Array(8)), fc.constant(0)) },
  { weight: 1, arbitrary: frame(9, fc.constantFrom(0, 4), small) },
  { weight: 1, arbitrary: frame(1, fc.constant(5), fc.constant(headerBlock([['x-sum', '7']]))) },
  { weight: 1, arbitrary: frame(0x42, fc.nat(255), small) },
  { weight: 1, arbitrary: small.map((bytes) => ({ do: 'bytes' as const, bytes })) },
  { weight: 3, arbitrary: fc.constant({ do: 'wait' as const }) },
);

test(
  'for any frames of a client, its exchanges end, no bug occurs, and other clients are served',
  fuzzTime(),
  async () => {
    const { gateway } = await securelyServed((socket, request) => {
      if (request.includes('/length'))
        socket.write('HTTP/1.1 200 OK\r\nContent-Length: 30000\r\n\r\n' + 'x'.repeat(30_000));
      else
        socket.write(
          'HTTP/1.1 201 Created\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\nx-sum: 1\r\n\r\n',
        );
    });
    const innocent = session(gateway);
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 60 }), fc.boolean(), async (steps, isAbrupt) => {
        const raw = await rawH2(gateway.port, ca.cert);
        for (const one of steps) {
          if (one.do === 'frame') raw.frame(one.type, one.flags, one.stream, one.payload);
          else if (one.do === 'bytes') raw.socket.write(one.bytes);
          else await pause(1);
        }
        if (!isAbrupt) await pause(5);
        expect((await sendRequest(innocent, { ':path': '/api/v2/x' })).headers[':status']).toBe(201);
        raw.socket.destroy();
        await until(() => gateway.gateway.inFlight === 0);
      }),
      { numRuns: fuzzRuns(100) },
    );
  },
);
