import { brotliCompressSync, gzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import type { TextMessage } from '../../src/cli/cases/text-cases.ts';
import { explain } from '../../src/inspector/explain/explain.ts';
import { CompiledRuleBook } from '../../src/rewrite/compiled-rule-book.ts';
import type { PatchOperation } from '../../src/rewrite/records.ts';
import { gatewayFor } from '../support/gateway.ts';
import { ONE_OF_EACH, oneOfEachBook } from '../support/one-of-each.ts';
import { exchange } from '../support/raw-client.ts';
import { readRawMessage, writeRawResponse } from '../support/raw-message.ts';
import { rawServer } from '../support/raw-server.ts';
import { bodyLimit } from '../support/rule-book.ts';

// One migration makes all of this, which test/migrate holds. Here it is held that an explanation drives it as live traffic does.

interface Asked {
  readonly title: string;
  readonly line: string;
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly body: Uint8Array;
}

const LIMIT = 5000;
const PAID = '{"data":{"paid":1}}';
const BOMB = `{"data":"${'x'.repeat(2 * LIMIT)}"}`;

/** What drivers do themselves: they limit, decode and frame a body. */
const BODIES: readonly (readonly [
  title: string,
  coding: string,
  body: Uint8Array | string,
  code?: string,
])[] = [
  ['gzip', 'gzip', gzipSync(PAID)],
  ['x-gzip', 'x-gzip', gzipSync(PAID)],
  ['Brotli', 'br', brotliCompressSync(PAID)],
  ['a content coding whose name means no coding', 'identity', PAID],
  ['a coding that the body does not have', 'gzip', PAID, 'undecodable-body'],
  ['a coding that the gateway cannot read', 'zstd', PAID, 'unsupported-coding'],
  ['more than the limit', '', BOMB, 'body-too-large'],
  ['more than the limit, decoded', 'gzip', gzipSync(BOMB), 'body-too-large'],
  ['an empty body in a coding', 'gzip', ''],
  ['nothing', '', ''],
];

const FRAMINGS = ['Content-Length', 'Transfer-Encoding'] as const;

const framed = ({ headers, body, ...asked }: Asked, framing: (typeof FRAMINGS)[number]): Asked => ({
  ...asked,
  headers: [...headers, [framing, framing === 'Content-Length' ? String(body.length) : 'chunked']],
  body,
});

const REQUESTS: readonly Asked[] = [
  ...ONE_OF_EACH.map(({ title, request: { line, headers, body } }) =>
    framed({ title, line, headers, body: Buffer.from(body) }, 'Content-Length'),
  ),
  ...BODIES.flatMap(([title, coding, body]) =>
    FRAMINGS.map((framing) => {
      const headers = [['content-type', 'application/json'] as const];
      const coded = coding === '' ? headers : [...headers, ['content-encoding', coding] as const];
      return framed({ title, line: 'POST /api/v1/bills', headers: coded, body: Buffer.from(body) }, framing);
    }),
  ),
  {
    title: 'V2 itself',
    line: 'GET /api/v2/bills?paid=1',
    headers: [['x-account', '7']],
    body: new Uint8Array(),
  },
];

const chunked = (body: Uint8Array): Buffer =>
  Buffer.concat([
    Buffer.from(body.length === 0 ? '' : `${body.length.toString(16)}\r\n`),
    body,
    Buffer.from(body.length === 0 ? '0\r\n\r\n' : '\r\n0\r\n\r\n'),
  ]);

/** The log keeps most values to itself. */
const withoutValues = (patch: readonly PatchOperation[] = []): readonly object[] =>
  patch.map((operation) => ({ ...operation, value: undefined }));

/** Fields that a gateway adds to what it explains. */
const ADDED: ReadonlySet<string> = new Set(
  'host connection content-length transfer-encoding traceparent x-request-id via'.split(' '),
);

const sorted = (headers: TextMessage['headers']): readonly string[] =>
  headers.map((field) => field.join(': ')).toSorted();

test('an explanation says of one exchange of each kind what the gateway does', async () => {
  const { ruleBook } = await oneOfEachBook();
  const rules = new CompiledRuleBook({ ...ruleBook, ...bodyLimit(LIMIT) });
  const v2 = await rawServer(
    (socket) => void socket.write(writeRawResponse({ line: '204', headers: [], body: '' })),
  );
  const running = await gatewayFor(v2.origin, { rules });
  const { gateway, port, origin: gatewayOrigin } = running;
  const { decode, hash, transform } = gateway.parts;
  const codes = new Set<string | undefined>();
  for (const [at, { title, line, headers, body }] of REQUESTS.entries()) {
    const before = v2.received.join('').length;
    const isChunked = headers.some(([, value]) => value === 'chunked');
    const fields = headers.map((field) => `${field.join(': ')}\r\n`).join('');
    const head = Buffer.from(`${line} HTTP/1.1\r\nHost: gateway.test\r\n${fields}\r\n`);
    await exchange(port, Buffer.concat([head, isChunked ? chunked(body) : body]));
    const received = v2.received.join('').slice(before);
    const entry = await running.entry(at + 1);
    const [method = '', target = ''] = line.split(' ');
    const explanation = await explain(
      { method, target, headers, bodyBase64: Buffer.from(body).toString('base64') },
      { rules, limits: gateway.options, decode, hash, transform, gatewayOrigin, origin: v2.origin },
    );
    if ('fault' in explanation) throw new Error(explanation.fault);
    const { verdict, operation, refusal, edits, patch, note, v2Request, v2Body } = explanation;
    expect({
      title,
      verdict,
      operation,
      failure: refusal?.code,
      pointer: refusal?.pointer,
      status: refusal === undefined ? entry.status : refusal.status,
      edits,
      patch: withoutValues(patch),
      note,
    }).toEqual({
      title,
      verdict: entry.verdict,
      operation: entry.operation,
      failure: entry.failure,
      pointer: entry.pointer,
      status: entry.status,
      edits: entry.edits,
      patch: withoutValues(entry.patch),
      note: entry.note,
    });
    codes.add(refusal?.code);
    const reached = received === '' ? undefined : readRawMessage(received);
    const sent = v2Request && {
      line: `${v2Request.method} ${v2Request.target}`,
      headers: sorted(
        v2Request.headers
          .map(({ name, value }) => [name.toLowerCase(), value] as const)
          .filter(([name]) => !ADDED.has(name)),
      ),
      body: v2Body,
    };
    expect({ title, sent }).toEqual({
      title,
      sent: reached && { ...reached, headers: sorted(reached.headers.filter(([name]) => !ADDED.has(name))) },
    });
  }
  for (const code of BODIES.flatMap(([, , , known]) => known ?? [])) expect(codes).toContain(code);
});
