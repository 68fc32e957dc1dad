import { describe, expect, test } from 'vitest';
import { createMigration } from '../../src/library/capture-gateway.ts';
import { migrateFetch } from '../../src/library/fetch.ts';
import { CompiledRuleBook } from '../../src/rewrite/compiled-rule-book.ts';
import { compilePlans } from '../../src/rewrite/plan.ts';
import { bookIn } from '../rules/reading.ts';
import { gatewayFor } from '../support/gateway.ts';
import { exchange } from '../support/raw-client.ts';
import { ok, rawServer } from '../support/raw-server.ts';
import { textOf } from './notation.ts';

const BOOK = `version: 2025-01-01
operations: { close: 'POST /bills/{id}/close', open: 'POST /bills/{id}/open' }
changes:
  - { id: wrapper, summary: s, on: every, request: [{ unwrap: data }, { default: { source: v1 } }] }
  - { id: closed, summary: s, on: [close], request: [{ set: { status: closed } }] }
`;
const MADE = '{"source":"v1","status":"closed"}';

describe('set gives a request without a body one', () => {
  test.each(['', 'Content-Length: 0\r\n', 'Content-Type: text/plain\r\nContent-Length: 0\r\n'])(
    'through the gateway: %j',
    async (fields) => {
      const v2 = await rawServer((socket) => void socket.write(ok('{}')));
      const gateway = await gatewayFor(v2.origin, { rules: new CompiledRuleBook(await bookIn(BOOK)) });
      await exchange(
        gateway.port,
        `POST /api/v1/bills/7/close HTTP/1.1\r\nHost: g\r\nConnection: close\r\n${fields}\r\n`,
      );
      const [head = '', body] = v2.received.join('').split('\r\n\r\n');
      expect(body).toBe(MADE);
      expect(head.match(/^content-type: .*$/gim)).toEqual(['content-type: application/json']);
      expect(head.match(/^content-length: .*$/gim)).toEqual([
        expect.stringMatching(new RegExp(`^content-length: ${MADE.length}$`, 'i')),
      ]);
      const entry = await gateway.entry();
      expect(entry).toMatchObject({ verdict: 'rewritten' });
      expect(entry.edits.map(({ rule, path }) => `${rule} ${path ?? ''}`)).toEqual([
        'default /source',
        'set /status',
      ]);
      expect(gateway.surprises).toEqual([]);
    },
  );

  test('where a change names the operation, and no other', async () => {
    const v2 = await rawServer((socket) => void socket.write(ok('{}')));
    const gateway = await gatewayFor(v2.origin, { rules: new CompiledRuleBook(await bookIn(BOOK)) });
    await exchange(
      gateway.port,
      'POST /api/v1/bills/7/open HTTP/1.1\r\nHost: g\r\nConnection: close\r\n\r\n',
    );
    expect(v2.received.join('').split('\r\n\r\n')[1]).toBe('');
  });

  test('in the library, and behind fetch', async () => {
    const migration = createMigration(await bookIn(BOOK));
    const outcome = migration.request('POST', '/api/v1/bills/7/close', [['Host', 'g']]);
    expect(outcome).toMatchObject({ verdict: 'rewritten' });
    const { body, headers } = outcome as { body: Uint8Array; headers: readonly [string, string][] };
    expect(textOf(body)).toBe(MADE);
    expect(headers).toContainEqual(['content-type', 'application/json']);
    const seen: string[] = [];
    const serve = migrateFetch(migration, async (request) => {
      seen.push(`${request.headers.get('content-type') ?? ''} ${await request.text()}`);
      return new Response('{}');
    });
    await serve(new Request('http://v2.test/api/v1/bills/7/close', { method: 'POST' }));
    expect(seen).toEqual([`application/json ${MADE}`]);
  });

  test('with a patch from no body, each time', async () => {
    const book = await bookIn(BOOK);
    const plan = compilePlans(book).of(book.operations[0]);
    for (const _ of [1, 2, 3]) {
      const outcome = plan.rewrite(new Uint8Array());
      if (outcome.verdict !== 'rewritten') throw new Error(outcome.verdict);
      expect(textOf(outcome.body)).toBe(MADE);
      expect(outcome.patch[0]).toEqual({ op: 'add', path: '', value: {} });
      outcome.body.fill(0);
    }
  });
});
