import { connect, createServer, type Socket } from 'node:net';
import { type SecureVersion, TLSSocket } from 'node:tls';
import { expect, onTestFinished, test } from 'vitest';
import { hidePart, type PrivatePart } from '../../../src/node/node-internals.ts';
import type { ResponseRule } from '../../../src/rules/rule.ts';
import { certificate } from '../../support/certificates.ts';
import { gatewayFor, type TestGateway, type TestGatewayOptions } from '../../support/gateway.ts';
import { listening } from '../../support/listening.ts';
import { exchange } from '../../support/raw-client.ts';
import { ok, rawServer } from '../../support/raw-server.ts';
import { testRuleBook } from '../../support/rule-book.ts';

const leaf = certificate({ name: 'V2', hosts: ['localhost'] });

/** How V2 ends a connection behind its response. */
type End = (secure: TLSSocket, raw: Socket) => void;

const alert: End = (secure) => void secure.end();
const lateAlert: End = (secure) => void setTimeout(() => secure.end(), 200);
const fin: End = (_secure, raw) => void raw.end();
const lateFin: End = (_secure, raw) => void setTimeout(() => raw.end(), 200);
/** A record that says it has 100 bytes, and has three. */
const partOfRecord: End = (_secure, raw) => void raw.end(Buffer.from([23, 3, 3, 0, 100, 1, 2, 3]));
const reset: End = (_secure, raw) => void raw.resetAndDestroy();

const ENDS: readonly (readonly [how: string, end: End, isInOrder: boolean])[] = [
  ['with its alert', alert, true],
  ['with its alert a while later', lateAlert, true],
  ['by the end of the connection below', fin, false],
  ['by the end of the connection below a while later', lateFin, false],
  ['in the middle of a record', partOfRecord, false],
  ['with a reset', reset, false],
];

const HEAD = 'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n';
const BODY = '{"data":{"client_number":"4711"}}';
/** More than sockets and gateway hold: the gateway pauses V2 in the middle. */
const LARGE = JSON.stringify('x'.repeat(3_000_000));
const CHUNKED = `${HEAD}Transfer-Encoding: chunked\r\n\r\n${BODY.length.toString(16)}\r\n${BODY}\r\n0\r\n\r\n`;

/** A V2 behind TLS of one version; it ends each connection behind its response. */
async function secureV2(response: string, end: End, version: SecureVersion = 'TLSv1.3'): Promise<string> {
  const server = createServer((raw) => {
    const secure = new TLSSocket(raw, {
      isServer: true,
      cert: leaf.cert,
      key: leaf.key,
      minVersion: version,
      maxVersion: version,
    });
    for (const socket of [raw, secure]) socket.on('error', () => {});
    secure.once('data', () => secure.write(response, () => end(secure, raw)));
    onTestFinished(() => void raw.destroy());
  });
  return `https://localhost:${await listening(server)}`;
}

function gatewayTo(origin: string, options: TestGatewayOptions = {}): Promise<TestGateway> {
  return gatewayFor(origin, { parts: { upstreamTls: { ca: leaf.cert } }, ...options });
}

const PASSED = 'GET /api/v2/x HTTP/1.1\r\nHost: g\r\n\r\n';

const CASES = (['TLSv1.2', 'TLSv1.3'] as const).flatMap((version) =>
  ENDS.map(([how, end, isInOrder]) => ({ version, how, end, isInOrder })),
);

test.each(CASES)(
  '$version: a body that marks its own end is whole when V2 ends $how',
  async ({ version, end }) => {
    for (const response of [ok(BODY), CHUNKED]) {
      // A reset may overtake the response, whose end is then missing to anybody.
      if (end === reset) continue;
      const gateway = await gatewayTo(await secureV2(response, end, version));
      const { text } = await exchange(gateway.port, PASSED);
      expect(text).toContain(BODY);
      expect(await gateway.entry()).not.toHaveProperty('failure');
      expect(await gateway.entry()).not.toHaveProperty('responseNote');
    }
  },
);

test.each(CASES)(
  '$version: a body that lasts until V2 ends $how is whole: $isInOrder',
  async ({ version, end, isInOrder }) => {
    for (const body of [BODY, '', LARGE]) {
      const gateway = await gatewayTo(await secureV2(`${HEAD}\r\n${body}`, end, version));
      const { text, reset: isReset } = await exchange(gateway.port, PASSED);
      expect(isReset).toBe(!isInOrder);
      expect(text.endsWith('\r\n0\r\n\r\n')).toBe(isInOrder);
      const entry = await gateway.entry();
      if (isInOrder) expect(entry).not.toHaveProperty('failure');
      else
        expect(entry).toMatchObject({
          failure: 'upstream-broken',
          cause: expect.stringMatching(/close_notify|ECONNRESET/),
        });
      expect(entry).not.toHaveProperty('responseNote');
    }
  },
);

test.each(CASES)(
  '$version: a body for rules that lasts until V2 ends $how is delivered: $isInOrder',
  async ({ version, end, isInOrder }) => {
    const response: readonly ResponseRule[] = [
      { rule: 'alias', path: ['data', 'client_number'], as: 'number', status: ['2xx'] },
    ];
    const changes = testRuleBook().changes.map((change) => ({ ...change, response }));
    const gateway = await gatewayTo(await secureV2(`${HEAD}\r\n${BODY}`, end, version), {
      ruleBook: { changes },
    });
    const { text } = await exchange(
      gateway.port,
      'POST /api/v1/clients HTTP/1.1\r\nHost: g\r\nContent-Type: application/json\r\nContent-Length: 11\r\n\r\n{"data":{}}',
    );
    expect(text).toMatch(isInOrder ? /^HTTP\/1\.1 200 / : /^HTTP\/1\.1 502 /);
    expect(text.includes('"number":"4711"')).toBe(isInOrder);
    expect(text.includes('upstream-closed')).toBe(!isInOrder);
  },
);

test.each(ENDS)(
  'a client that reads late gets what one that reads at once gets when V2 ends %s',
  async (_how, end, isInOrder) => {
    const gateway = await gatewayTo(await secureV2(`${HEAD}\r\n${LARGE}`, end));
    const client = connect(gateway.port, '127.0.0.1');
    onTestFinished(() => void client.destroy());
    let [bytes, isWhole, isReset] = [0, false, false];
    const closed = new Promise((resolve) => client.on('error', () => (isReset = true)).on('close', resolve));
    client.write(PASSED.replace('\r\n\r\n', '\r\nConnection: close\r\n\r\n'));
    client.pause();
    setTimeout(() => client.resume(), 500);
    client.on('data', (chunk) => {
      bytes += chunk.length;
      isWhole = chunk.toString('latin1').endsWith('\r\n0\r\n\r\n');
    });
    await closed;
    expect({ isWhole, isReset }).toEqual({ isWhole: isInOrder, isReset: !isInOrder });
    if (isInOrder) expect(bytes).toBeGreaterThan(LARGE.length);
  },
);

test.each(ENDS.filter(([, end]) => end !== reset))(
  'with close-notify=off, a body is whole when V2 ends %s, and the log notes a missing alert',
  async (_how, end, isInOrder) => {
    const origin = await secureV2(`${HEAD}\r\n${BODY}`, end);
    const gateway = await gatewayTo(`${origin}?close-notify=off`);
    const { text } = await exchange(gateway.port, PASSED);
    expect(text.endsWith(`${BODY}\r\n0\r\n\r\n`)).toBe(true);
    const entry = await gateway.entry();
    expect(entry.status).toBe(200);
    expect(entry.responseNote).toBe(isInOrder ? undefined : 'response-until-close');
  },
);

test.each<PrivatePart>(['_parent', 'reading', 'readStart'])(
  'where Node lacks %s, a body is whole when V2 ends with or without its alert, and the log says that it may not be',
  async (part) => {
    onTestFinished(hidePart(part));
    for (const end of [alert, fin]) {
      const gateway = await gatewayTo(await secureV2(`${HEAD}\r\n${BODY}`, end));
      const { text } = await exchange(gateway.port, PASSED);
      expect(text.endsWith(`${BODY}\r\n0\r\n\r\n`)).toBe(true);
      expect(await gateway.entry()).toMatchObject({ status: 200, responseNote: 'response-until-close' });
    }
  },
);

test('a body over plain TCP is whole when its connection ends, and the log has no note', async () => {
  const plain = await rawServer((socket) => socket.end(`${HEAD}\r\n${BODY}`));
  const gateway = await gatewayFor(plain.origin);
  const { text } = await exchange(gateway.port, PASSED);
  expect(text.endsWith(`${BODY}\r\n0\r\n\r\n`)).toBe(true);
  expect(await gateway.entry()).not.toHaveProperty('responseNote');
});
