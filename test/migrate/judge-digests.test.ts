import { createHash } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { createMigration } from '../../src/library/capture-gateway.ts';
import { migrateFetch } from '../../src/library/fetch.ts';
import { hashOnWeb } from '../../src/migrate/judge-digests.ts';
import { migrateListener } from '../../src/node/library/migrate-listener.ts';
import { hashBody } from '../../src/node/runtime.ts';
import { createServer } from 'node:http';
import { listening } from '../support/listening.ts';
import { exchange, statusOf } from '../support/raw-client.ts';
import { testRuleBook } from '../support/rule-book.ts';
import { twoServices } from '../support/two-services.ts';
import { served } from '../support/served.ts';

/** Bodies that the rules of tests edit, by their media types. */
const BODIES: Readonly<Record<string, Buffer>> = {
  'application/json': Buffer.from('{"data":{"name":"A"}}'),
  'application/x-www-form-urlencoded': Buffer.from('data%5Bname%5D=A'),
  'multipart/form-data; boundary=B': Buffer.from(
    '--B\r\nContent-Disposition: form-data; name="data[name]"\r\n\r\nA\r\n--B--\r\n',
  ),
};

const sumOf = (algorithm: string, body: Uint8Array): string =>
  createHash(algorithm).update(body).digest('base64');

/** The fields by what they are written with, for the bytes of a body. */
const FIELDS: Readonly<Record<string, (body: Uint8Array) => string>> = {
  'Content-MD5 md5': (body) => sumOf('md5', body),
  'Digest md5': (body) => `md5=${sumOf('md5', body)}`,
  'Digest sha-1': (body) => `SHA=${sumOf('sha1', body)}`,
  'Digest sha-256': (body) => `SHA-256=${sumOf('sha256', body)}`,
  'Digest sha-512': (body) => `sha-512=${sumOf('sha512', body)}`,
  'Content-Digest sha-256': (body) => `sha-256=:${sumOf('sha256', body)}:`,
  'Content-Digest sha-512': (body) => `sha-512=:${sumOf('sha512', body)}:`,
  'Repr-Digest sha-256': (body) => `sha-256=:${sumOf('sha256', body)}:`,
  'Repr-Digest sha-512': (body) => `sha-512=:${sumOf('sha512', body)}:`,
};

/** The outcome of a request: its failure, or the digest that V2 gets. */
type Outcome = { readonly refused: string } | { readonly sent: string; readonly note?: string | undefined };

/** A way to migrate one POST. */
type Way = (fields: readonly [name: string, value: string][], body: Uint8Array) => Promise<Outcome>;

const digestsIn = (head: string): string =>
  /^[\w-]*(?:digest|md5)[^:\r\n]*:/im.test(head) ? 'with it' : 'without it';

const PATH = '/api/v1/clients';

async function throughGateway(flags = {}): Promise<Way> {
  const { v2, gateway, send } = await served(undefined, { flags });
  let count = 0;
  return async (fields, body) => {
    const lines = [...fields, ['Content-Length', String(body.length)]].map(
      (field) => `${field.join(': ')}\r\n`,
    );
    const head = `POST ${PATH} HTTP/1.1\r\nHost: g\r\n${lines.join('')}\r\n`;
    const before = v2.received.length;
    const response = await send(Buffer.concat([Buffer.from(head), body]));
    count += 1;
    const { failure, note, verdict } = await gateway.entry(count);
    if (failure !== undefined) {
      expect([statusOf(response), verdict, v2.received.length]).toEqual([400, 'refused', before]);
      expect(response.text).toContain(`x-gateway-error: ${failure}\r\n`);
      expect(JSON.parse(response.body)).toMatchObject({ errors: [{ status: '400', code: failure }] });
      return { refused: failure };
    }
    return { sent: digestsIn(v2.received.at(-1) ?? ''), note };
  };
}

function throughMigration(hash: typeof hashBody | typeof hashOnWeb | undefined): Way {
  const migration = createMigration(testRuleBook(), { ...(hash && { hash }) });
  return (fields, body) => {
    const outcome = migration.request('POST', PATH, fields, body);
    if (outcome.verdict === 'passed') throw new Error('it is for V1');
    if (outcome.verdict === 'refused') return Promise.resolve({ refused: outcome.code });
    const head = outcome.headers.map((field) => field.join(': ')).join('\n');
    return Promise.resolve({ sent: digestsIn(head), note: outcome.note });
  };
}

const throughFetch: Way = async (fields, body) => {
  let sent = '';
  const serve = migrateFetch(createMigration(testRuleBook()), ({ headers }) => {
    sent = digestsIn([...headers].map((field) => field.join(': ')).join('\n'));
    return new Response();
  });
  const init = { method: 'POST', headers: fields.map(([name, value]) => [name, value] as [string, string]) };
  const response = await serve(new Request(`http://v2.test${PATH}`, { ...init, body: new Uint8Array(body) }));
  return response.ok ? { sent } : { refused: response.headers.get('x-gateway-error') ?? '' };
};

async function throughListener(): Promise<Way> {
  let sent = '';
  const server = createServer(
    migrateListener(createMigration(testRuleBook()), ({ rawHeaders }, outgoing) => {
      sent = digestsIn(rawHeaders.join('\n').replaceAll(/\n(.*(?:\n|$))/g, ': $1'));
      outgoing.end();
    }),
  );
  const port = await listening(server);
  return async (fields, body) => {
    const lines = fields.map((field) => `${field.join(': ')}\r\n`).join('');
    const head = `POST ${PATH} HTTP/1.1\r\nHost: g\r\n${lines}Content-Length: ${body.length}\r\n\r\n`;
    const { text } = await exchange(port, Buffer.concat([Buffer.from(head), body]));
    const [, code] = /x-gateway-error: ([\w-]+)/.exec(text) ?? [];
    return code === undefined ? { sent } : { refused: code };
  };
}

/** The ways, with the fields that each has no hash for. */
const WAYS: readonly [name: string, way: () => Way | Promise<Way>, unjudged: RegExp][] = [
  ['the gateway', throughGateway, /^$/],
  ['createMigration with a hash', () => throughMigration(hashBody), /^$/],
  ['createMigration without a hash', () => throughMigration(undefined), /./],
  ['createMigration with a slow hash', () => throughMigration(hashOnWeb), /./],
  // Only Workers have MD5 in Web Cryptography.
  ['migrateFetch', () => throughFetch, / md5$/],
  ['migrateListener', throughListener, /^$/],
];

const UNTOLD: ReadonlySet<string> = new Set(['migrateFetch', 'migrateListener']);

describe.each(WAYS)('%s', (name, start, unjudged) => {
  test.each(Object.entries(BODIES))('judges each field of a body of type %s', async (type, body) => {
    const way = await start();
    const noted = UNTOLD.has(name) ? {} : { note: 'digest-unjudged' };
    const dropped = UNTOLD.has(name) ? { sent: 'without it' } : { sent: 'without it', note: undefined };
    const outcomes: Record<string, unknown> = {};
    const expected: Record<string, unknown> = {};
    const wrong = Buffer.concat([body, Buffer.from(' ')]);
    for (const [field, valueOf] of Object.entries(FIELDS)) {
      const [header = ''] = field.split(' ');
      const play = (value: string): Promise<Outcome> =>
        way(
          [
            ['Content-Type', type],
            [header, value],
          ],
          body,
        );
      outcomes[field] = [await play(valueOf(body)), await play(valueOf(wrong)), await play('crc=1')];
      const unread = { sent: 'without it', ...noted };
      expected[field] = unjudged.test(field)
        ? [unread, unread, unread]
        : [dropped, { refused: 'digest-mismatch' }, unread];
    }
    expect(outcomes).toEqual(expected);
  });
});

describe('the gateway', () => {
  const JSON_TYPE: [string, string] = ['Content-Type', 'application/json'];
  const body = Buffer.from('{"data":{"name":"A"}}');
  const other = Buffer.from('{}');

  test('judges the bytes that the client sent, in their coding', async () => {
    const way = await throughGateway();
    const coded = gzipSync(body);
    const fields: [string, string][] = [JSON_TYPE, ['Content-Encoding', 'gzip']];
    for (const [name, valueOf] of Object.entries(FIELDS)) {
      const [header = ''] = name.split(' ');
      expect(await way([...fields, [header, valueOf(coded)]], coded)).toEqual({ sent: 'without it' });
      expect(await way([...fields, [header, valueOf(body)]], coded)).toEqual({ refused: 'digest-mismatch' });
    }
  });

  test('refuses a body of which one digest of several is wrong', async () => {
    const way = await throughGateway();
    const [sha256, sha512] = [sumOf('sha256', body), sumOf('sha512', body)];
    const wrong = sumOf('sha512', other);
    const play = (fields: readonly [string, string][]): Promise<Outcome> => way([JSON_TYPE, ...fields], body);
    expect(await play([['Content-Digest', `sha-256=:${sha256}:, sha-512=:${sha512}:`]])).toEqual({
      sent: 'without it',
    });
    expect(await play([['Content-Digest', `sha-256=:${sha256}:, sha-512=:${wrong}:`]])).toEqual({
      refused: 'digest-mismatch',
    });
    expect(
      await play([
        ['Repr-Digest', `sha-256=:${sha256}:`],
        ['Content-MD5', sumOf('md5', other)],
      ]),
    ).toEqual({ refused: 'digest-mismatch' });
    expect(await play([['Digest', `unixsum=1, sha-256=${sha256}`]])).toEqual({
      sent: 'without it',
      note: 'digest-unjudged',
    });
  });

  test('leaves the digest of a body that is not edited to V2', async () => {
    const way = await throughGateway();
    for (const [type, text] of [
      ['application/json', '[1]'],
      ['text/plain', '{"data":{}}'],
    ] as const) {
      const fields: [string, string][] = [
        ['Content-Type', type],
        ['Content-MD5', sumOf('md5', other)],
      ];
      expect(await way(fields, Buffer.from(text))).toEqual({
        sent: 'with it',
        ...(type === 'text/plain' && { note: 'media-type' }),
      });
    }
  });

  test('collects a multipart body in chunks, and judges it', async () => {
    const { v2, gateway, send } = await served();
    const type = 'multipart/form-data; boundary=B';
    const multipart = BODIES[type] ?? other;
    const chunked = (value: string): Buffer =>
      Buffer.concat([
        Buffer.from(
          `POST ${PATH} HTTP/1.1\r\nHost: g\r\nContent-Type: ${type}\r\nContent-MD5: ${value}\r\nTransfer-Encoding: chunked\r\n\r\n${multipart.length.toString(16)}\r\n`,
        ),
        multipart,
        Buffer.from('\r\n0\r\n\r\n'),
      ]);
    expect(statusOf(await send(chunked(sumOf('md5', other))))).toBe(400);
    expect(v2.received).toEqual([]);
    expect(statusOf(await send(chunked(sumOf('md5', multipart))))).toBe(200);
    expect(await gateway.entry(2)).toMatchObject({ verdict: 'rewritten' });
  });

  test('streams an upload that is longer than the limit, and notes that its digest was not checked', async () => {
    const { v2, gateway, send } = await served(undefined, {
      ruleBook: { limits: { ...testRuleBook().limits, body: 1000 } },
    });
    const type = 'multipart/form-data; boundary=B';
    const upload = `--B\r\nContent-Disposition: form-data; name="data[name]"\r\n\r\nA\r\n--B\r\nContent-Disposition: form-data; name="f"; filename="f"\r\n\r\n${'x'.repeat(2000)}\r\n--B--\r\n`;
    const head = `POST ${PATH} HTTP/1.1\r\nHost: g\r\nContent-Type: ${type}\r\nContent-MD5: ${sumOf('md5', other)}\r\nContent-Length: ${upload.length}\r\n\r\n`;
    expect(statusOf(await send(head + upload))).toBe(200);
    expect(await gateway.entry()).toMatchObject({ verdict: 'rewritten', note: 'digest-unjudged' });
    expect(digestsIn(v2.received.join(''))).toBe('without it');
  });

  test('refuses no request in observe mode, and logs what it would do', async () => {
    const { v1, gateway, send } = await twoServices({ default: { mode: 'observe' } });
    const head = `POST ${PATH} HTTP/1.1\r\nHost: g\r\nContent-Type: application/json\r\nContent-MD5: ${sumOf('md5', other)}\r\nContent-Length: ${body.length}\r\n\r\n`;
    expect(statusOf(await send(head + body.toString()))).toBe(200);
    expect(await gateway.entry()).toMatchObject({
      verdict: 'passed',
      would: { verdict: 'refused', failure: 'digest-mismatch' },
    });
    expect(v1.received[0]).toContain('Content-MD5');
  });
});
