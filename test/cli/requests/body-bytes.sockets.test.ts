import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { AdminClient } from '../../../src/cli/admin-client.ts';
import { readHar } from '../../../src/cli/explain/har.ts';
import { offlineExplainer, readAdminRequests } from '../../../src/cli/explain/requests.ts';
import type { ExplainRequest } from '../../../src/inspector/api.ts';
import { CODE_POINT } from '../../support/code-point.ts';
import { commandRuns } from '../../support/command-runs.ts';
import { fuzzRuns } from '../../support/fuzz.ts';
import { inspected } from '../../support/inspected.ts';
import { rawClient } from '../../support/raw-client.ts';
import { compiledShippedRuleBook } from '../../support/shipped-rule-book.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

const ORDER = '{"data":{"property":{"suburb":"Enmore", "n":1.50}}}';
const LATIN_1 = Buffer.from('{"data":{"property":{"suburb":"Caf\xe9"}}}', 'latin1');

/** Bodies that text cannot carry, or that a coding hides. */
const BODIES: readonly (readonly [title: string, body: Buffer, coding: string])[] = [
  ['plain text', Buffer.from(ORDER), ''],
  ['text beyond ASCII', Buffer.from(ORDER.replace('Enmore', 'Café 😀')), ''],
  ['gzip', gzipSync(ORDER), 'gzip'],
  ['brotli', brotliCompressSync(ORDER), 'br'],
  ['ISO 8859-1', LATIN_1, ''],
  ['ISO 8859-1 in gzip', gzipSync(LATIN_1), 'gzip'],
  ['a cut character', Buffer.from(ORDER.replace('Enmore', 'é')).subarray(0, 32), ''],
  ['a byte order mark', Buffer.from(`\uFEFF${ORDER}`), ''],
];

test('archive and recording of an exchange give the verdict and the V2 body that it had', async () => {
  const gateway = await inspected({ capture: 'bodies' });
  const explain = offlineExplainer(await compiledShippedRuleBook());
  for (const [at, [title, body, coding]] of BODIES.entries()) {
    const client = rawClient(gateway.port);
    client.write(
      `POST /api/v1/orders/floor_plans HTTP/1.1\r\nHost: g\r\nContent-Type: application/json\r\n${coding === '' ? '' : `Content-Encoding: ${coding}\r\n`}Content-Length: ${body.length}\r\n\r\n`,
    );
    client.socket.write(body);
    const { verdict, failure } = await gateway.entry(at + 1);
    client.socket.destroy();
    const v2Body = gateway.v2.received.join('').split('\r\n\r\n').at(-1);
    const archive = readHar(await (await fetch(`${gateway.adminOrigin}/entries/${at + 1}/har`)).text());
    const recorded = await readAdminRequests(new AdminClient({ url: gateway.adminOrigin, token: undefined }));
    if ('fault' in archive || 'fault' in recorded) throw new Error('there is nothing to read');
    for (const request of [archive.requests[0]?.request, recorded.requests[0]?.request] satisfies (
      | ExplainRequest
      | undefined
    )[]) {
      const explanation = await explain(request ?? {});
      if ('fault' in explanation) throw new Error(explanation.fault);
      expect([title, explanation.verdict, explanation.refusal?.code]).toEqual([title, verdict, failure]);
      if (verdict === 'rewritten')
        expect([title, Buffer.from(explanation.v2Body ?? '').toString('latin1')]).toEqual([title, v2Body]);
    }
  }
});

test('an export of the gateway is read back with the same verdict, for any request', async () => {
  const gateway = await inspected({ capture: 'bodies' });
  const explain = offlineExplainer(await compiledShippedRuleBook());
  let [count, compared] = [0, 0];
  const path = fc.constantFrom(
    '/orders/floor_plans',
    '/clients',
    '/clients/7',
    '/x/../clients',
    '/x/%2e%2e/clients',
    '/a%2Fb',
    '/a;v=1',
    '//a',
    '/a\\b',
    '/a%',
    '/%zz',
    '/a|b',
    '/a{b}[c]',
    "/a'b",
    '/clients?a[]=1&b=%20+',
    '/clients?a=b?c',
    '',
  );
  const type = fc.constantFrom(
    'application/json',
    'text/plain',
    'application/json; charset=latin1',
    'a/b+json',
    '',
  );
  const body = fc.oneof(
    fc.constantFrom(
      ORDER,
      '{"data":1}',
      '{"data":{},"a":1}',
      '{',
      '',
      '[1]',
      '\uFEFF{}',
      '{"a":"\u0000"}',
      '{"data":{"a":1,"a":2}}',
    ),
    fc.string({ unit: CODE_POINT }),
  );
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom('POST', 'PATCH', 'GET', 'PUT', 'DELETE', 'PROPFIND'),
      fc.constantFrom('/api/v1', '/api/v2', '/api/v1', '/api/v1/..'),
      path,
      type,
      body,
      async (method, prefix, rest, media, text) => {
        const bytes = Buffer.from(text.toWellFormed());
        const client = rawClient(gateway.port);
        client.write(
          `${method} ${prefix}${rest} HTTP/1.1\r\nHost: g\r\n${media === '' ? '' : `Content-Type: ${media}\r\n`}Content-Length: ${bytes.length}\r\n\r\n`,
        );
        client.socket.write(bytes);
        count += 1;
        const { verdict, failure } = await gateway.entry(count);
        client.socket.destroy();
        const archive = await fetch(`${gateway.adminOrigin}/entries/${count}/har`);
        // The budget of observation is spent, so nothing of this exchange is kept.
        if (archive.status === 404) return;
        compared += 1;
        const har = await archive.text();
        const read = readHar(har);
        if ('fault' in read) throw new Error(`${read.fault} ${har}`);
        const [front] = read.requests;
        const explanation = await explain(front?.request ?? {});
        if ('fault' in explanation) throw new Error(explanation.fault);
        expect([explanation.verdict, explanation.refusal?.code, read.faults, har]).toEqual([
          verdict,
          failure,
          [],
          har,
        ]);
      },
    ),
    { numRuns: fuzzRuns(300) },
  );
  expect(compared).toBeGreaterThan(count / 4);
});

test('explain judges a file by its bytes, alone and in a curl command', async () => {
  const folder = temporaryFolder('body-bytes');
  const file = join(folder, 'body.json');
  writeFileSync(file, LATIN_1);
  const gzip = join(folder, 'body.gz');
  writeFileSync(gzip, gzipSync(ORDER));
  const curl = (path: string, more = ''): string =>
    `curl http://h/api/v1/orders/floor_plans -H 'Content-Type: application/json' ${more} --data-binary @${path}`;
  const [alone, inCurl, coded] = await commandRuns([
    ['explain', file, '--operation', 'order_floor_plan', '--json'],
    ['explain', '--curl', curl(file), '--json'],
    ['explain', '--curl', curl(gzip, "-H 'Content-Encoding: gzip'"), '--json'],
  ]);
  for (const run of [alone, inCurl]) {
    expect(run?.code).toBe(1);
    expect(JSON.parse(run?.out ?? '')).toMatchObject({
      verdict: 'refused',
      refusal: { code: 'malformed-json', status: 400 },
    });
  }
  expect(coded?.code).toBe(0);
  expect(JSON.parse(coded?.out ?? '')).toMatchObject({
    verdict: 'rewritten',
    v2Body: '{"property":{"address":{"suburb":"Enmore"}, "n":1.50}}',
  });
});

/** A client that counts its requests. */
class CountingClient extends AdminClient {
  asked = 0;

  override ask(...request: Parameters<AdminClient['ask']>): ReturnType<AdminClient['ask']> {
    this.asked += 1;
    return super.ask(...request);
  }
}

test('many kept exchanges are read with one request a page, and a busy listener refuses none of them', async () => {
  const gateway = await inspected({ capture: 'bodies' });
  for (let n = 0; n < 520; n += 1) await gateway.post('/clients', `{"data":{"name":"${n}"}}`);
  await gateway.entry(520);
  const client = new CountingClient({ url: gateway.adminOrigin, token: undefined });
  const recorded = await readAdminRequests(client);
  if ('fault' in recorded) throw new Error(recorded.fault);
  // The budget of observation leaves out the content of some exchanges.
  const names = recorded.requests.map(({ request }) => Number(/\d+/.exec(request.body ?? '')));
  expect(names).toEqual([...new Set(names)].sort((one, other) => other - one));
  expect(names.length).toBeGreaterThan(20);
  expect(client.asked).toBe(2);
});
