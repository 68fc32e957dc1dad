import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { inspected, type Inspected } from '../support/inspected.ts';
import { rawClient } from '../support/raw-client.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

/** What moves the cursor, changes a colour, reverses the direction or is not seen, of each kind. */
const HOSTILE = 'a\u001B[31mb\u009B31mc\u0085d\u202Ee\u2066f\u200Bg\u2028h\u007Fi\u0000j\u{E0041}k';
const UNPRINTABLE = /(?![\n\r])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/u;

async function hostileGateway(): Promise<Inspected> {
  const names = join(temporaryFolder('printable'), 'names.json');
  writeFileSync(names, '{}');
  const gateway = await inspected(
    { capture: 'bodies', 'client-names': names },
    JSON.stringify({ errors: [{ detail: HOSTILE, source: { pointer: `/${HOSTILE}` } }], [HOSTILE]: HOSTILE }),
    undefined,
    undefined,
    422,
  );
  await gateway.post('/clients', JSON.stringify({ data: { [HOSTILE]: HOSTILE } }));
  const client = rawClient(gateway.port);
  client.write(
    Buffer.from(
      'POST /api/v1/clients?q=\u0085 HTTP/1.1\r\nHost: g\r\nUser-Agent: a\u009B31mb\u0085c\r\nAuthorization: Bearer k\r\nX-Request-Id: r\u0085\r\nContent-Type: application/json\r\nContent-Length: 11\r\nConnection: close\r\n\r\n{"data":{}}',
      'latin1',
    ),
  );
  await client.end();
  await gateway.entry(2);
  return gateway;
}

/** The first bytes of an endless response. */
async function beginning(response: Response): Promise<string> {
  const reader = response.body?.getReader();
  const { value } = (await reader?.read()) ?? {};
  await reader?.cancel();
  return new TextDecoder().decode(value);
}

// Attack: an operator runs curl on a terminal, and a client has put into names, values and fields what the terminal obeys.
test('no response for operators has a character that a terminal obeys, and its values are the same', async () => {
  const gateway = await hostileGateway();
  const q = encodeURIComponent(HOSTILE);
  for (const path of [
    '/entries',
    '/entries/1',
    '/entries/2',
    '/entries/requests',
    '/entries/histogram',
    '/entries/1/har',
    '/problems',
    '/overview',
    '/state',
    '/series?by=hour',
    '/clients',
    '/rules',
    '/report',
    '/report?format=csv',
    '/report?format=md',
    '/metrics',
    `/entries?filter=${q}`,
    `/entries?limit=${q}`,
    `/entries/find?id=${q}`,
    `/plan?zone=${q}`,
    `/report?format=${q}`,
    `/report?client=${q}`,
    `/${q}`,
  ]) {
    const text = await (await fetch(gateway.adminOrigin + path)).text();
    expect([path, UNPRINTABLE.exec(text)?.[0]?.codePointAt(0)]).toEqual([path, undefined]);
  }
  expect(await beginning(await fetch(`${gateway.adminOrigin}/entries/stream?after=0`))).not.toMatch(
    UNPRINTABLE,
  );
  const headers = { 'content-type': 'application/json' };
  for (const [path, body] of [
    [
      '/explain',
      { method: 'POST', target: '/api/v1/clients', body: JSON.stringify({ data: { [HOSTILE]: HOSTILE } }) },
    ],
    [
      '/explain',
      {
        method: 'POST',
        target: '/api/v1/clients',
        body: JSON.stringify({ data: { [HOSTILE]: 'x'.repeat(40_000) } }),
      },
    ],
    ['/explain/read', `curl '${HOSTILE}'`],
    ['/rules/try', HOSTILE],
    ['/clients', { client: HOSTILE, name: HOSTILE }],
  ] as const) {
    const response = await fetch(gateway.adminOrigin + path, {
      method: 'POST',
      headers,
      body: typeof body === 'string' ? body : JSON.stringify(body),
    });
    expect([path, UNPRINTABLE.exec(await response.text())?.[0]?.codePointAt(0)]).toEqual([path, undefined]);
  }
  const detail: { readonly v1Request: { readonly body: unknown } } = await gateway.readJson('/entries/1');
  expect(JSON.stringify(detail)).toContain(JSON.stringify(JSON.stringify(HOSTILE)).slice(2, -2));
});
