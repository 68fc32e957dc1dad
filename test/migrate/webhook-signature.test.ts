import { createHmac, randomBytes } from 'node:crypto';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  isSignedBy,
  type ReadSecret,
  readSignedHead,
  signatureBy,
  type SignedHead,
  WebhookKeys,
  webhookSecretFaults,
} from '../../src/migrate/webhook-signature.ts';
import { bookIn } from '../rules/reading.ts';

/** The example of the specification (Standard Webhooks 1.0.0, and the libraries of its authors). */
const EXAMPLE = {
  secret: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw',
  id: 'msg_p5jXN8AQM9LWM0D4loKWxJek',
  timestamp: '1614265330',
  body: '{"test": 2432232314}',
  signature: 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
};

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);

function keysOf(...secrets: readonly string[]): Promise<readonly CryptoKey[]> {
  return new WebhookKeys((name) => secrets[Number(name)]).of(secrets.map((_, at) => String(at)));
}

function headOf(signature: string, now = Number(EXAMPLE.timestamp) * 1000): SignedHead {
  const { id, timestamp } = EXAMPLE;
  const head = readSignedHead(
    ['Webhook-Id', id, 'WEBHOOK-TIMESTAMP', timestamp, 'webhook-signature', signature],
    now,
  );
  if ('fault' in head) throw new Error(head.fault);
  return head;
}

test('the example of the specification is signed, and its signature is made again', async () => {
  const keys = await keysOf(EXAMPLE.secret);
  const head = headOf(EXAMPLE.signature);
  expect(await isSignedBy(keys, head, bytes(EXAMPLE.body))).toBe(true);
  expect(await signatureBy(keys, head, bytes(EXAMPLE.body))).toBe(EXAMPLE.signature);
});

test('a signature holds for its secret, id, time and bytes, and for no others', async () => {
  const secret = fc.uint8Array({ minLength: 24, maxLength: 64 });
  await fc.assert(
    fc.asyncProperty(secret, secret, fc.uint8Array(), fc.nat(), async (own, other, body, at) => {
      const [mine, theirs] = await keysOf(
        ...[own, other].map((raw) => `whsec_${Buffer.from(raw).toString('base64')}`),
      );
      if (mine === undefined || theirs === undefined) throw new Error('a key is missing');
      const { id, timestamp } = EXAMPLE;
      const expected = createHmac('sha256', own).update(`${id}.${timestamp}.`).update(body).digest('base64');
      const signature = await signatureBy([mine], EXAMPLE, body);
      expect(signature).toBe(`v1,${expected}`);
      const head = headOf(`v1,${randomBytes(32).toString('base64')} ${signature} v2,x`);
      expect(await isSignedBy([theirs, mine], head, body)).toBe(true);
      expect(await isSignedBy([theirs], head, body)).toBe(Buffer.from(own).equals(Buffer.from(other)));
      const changed =
        body.length === 0
          ? Uint8Array.of(at % 256)
          : body.with(at % body.length, (body[at % body.length] ?? 0) ^ 1);
      expect(await isSignedBy([mine], head, changed)).toBe(false);
      expect(await isSignedBy([mine], { ...head, id: `${id}x` }, body)).toBe(false);
      expect(await isSignedBy([mine], { ...head, timestamp: '1614265331' }, body)).toBe(false);
    }),
    { numRuns: 50 },
  );
});

test('a renewed secret is used from then on, and a half-written one is not', async () => {
  let text: ReturnType<ReadSecret> = EXAMPLE.secret;
  const keys = new WebhookKeys(() => text);
  const signed = async (): Promise<string> => signatureBy(await keys.of(['A']), EXAMPLE, bytes('{}'));
  const first = await signed();
  for (const broken of ['whsec_', undefined, { fault: 'A_FILE cannot be read.' }]) {
    text = broken;
    expect(await signed()).toBe(first);
  }
  text = `whsec_${'B'.repeat(32)}`;
  expect(await signed()).not.toBe(first);
});

const FIELDS = {
  id: ['webhook-id', 'a'],
  time: ['webhook-timestamp', '1000'],
  signature: ['webhook-signature', 'v1,AA=='],
};
const { id, time, signature } = FIELDS;

test.each<[readonly string[], number, RegExp | undefined]>([
  [[...id, ...time, ...signature], 1000, undefined],
  [[...id, ...time, ...signature], 1300, undefined],
  [[...id, ...time, ...signature], 700, undefined],
  [[...id, ...time, ...signature], 1301, /more than 5 minutes ago/],
  [[...id, ...time, ...signature], 699, /more than 5 minutes ahead/],
  [[...time, ...signature], 1000, /needs webhook-id/],
  [['webhook-id', '', ...time, ...signature], 1000, /needs webhook-id/],
  [[...id, ...signature], 1000, /needs webhook-id/],
  [[...id, ...time], 1000, /needs webhook-id/],
  [['webhook-id', 'a.1', ...time, ...signature], 1000, /has a dot/],
  [[...id, ...id, ...time, ...signature], 1000, /occurs twice/],
  [[...id, ...time, ...time, ...signature], 1000, /occurs twice/],
  [[...id, ...time, ...signature, ...signature], 1000, /occurs twice/],
  [[...id, 'webhook-timestamp', '1e3', ...signature], 1000, /whole seconds/],
  [[...id, 'webhook-timestamp', '-1000', ...signature], 1000, /whole seconds/],
])('the fields %j at %i seconds', (headers, seconds, fault) => {
  const head = readSignedHead(headers, seconds * 1000);
  if (fault === undefined)
    expect(head).toEqual({ id: 'a', timestamp: '1000', signatures: [Uint8Array.of(0)] });
  else expect(head).toEqual({ fault: expect.stringMatching(fault) as string });
});

test.each<[Readonly<Record<string, string>>, readonly RegExp[]]>([
  [{ OF_V2: EXAMPLE.secret, OLD: EXAMPLE.secret, OWN: ` ${EXAMPLE.secret}\n` }, []],
  [{ OF_V2: EXAMPLE.secret, OLD: '' }, [/webhook "orders": set OLD to its secret/, /set OWN to its secret/]],
  [
    { OF_V2: 'MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw', OLD: 'whsec_c2hvcnQ=', OWN: 'whsec_not base64' },
    [/^OF_V2, for the webhook "orders", is not a secret/, /^OLD, /, /^OWN, /],
  ],
])('missing or invalid secrets are named, and never shown: %j', async (environment, faults) => {
  const book = await bookIn(`changes: []
webhooks: { orders: { to: 'https://x.test/', sign: { scheme: standard-webhooks, verify: [OF_V2, OLD], with: OWN } } }`);
  const found = webhookSecretFaults(book, (name) => environment[name]);
  expect(found).toEqual(faults.map((fault) => expect.stringMatching(fault) as string));
  for (const value of Object.values(environment)) if (value !== '') expect(found.join()).not.toContain(value);
});
