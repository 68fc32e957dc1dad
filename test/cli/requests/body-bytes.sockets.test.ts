import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { AdminClient } from '../../../src/cli/admin-client.ts';
import { offlineExplainer, readAdminRequests, readHar } from '../../../src/cli/explain/requests.ts';
import type { ExplainRequest } from '../../../src/inspector/api.ts';
import { commandRuns } from '../../support/command-runs.ts';
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
