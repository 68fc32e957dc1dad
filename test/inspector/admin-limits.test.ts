import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { TokenBuckets } from '../../src/rollout/rate-limit.ts';
import { bodyFailure, jsonParts, jsonResponse, readBody } from '../../src/inspector/routes/responses.ts';
import type { EntryDetail, Explanation } from '../../src/inspector/api.ts';
import { inspected } from '../support/inspected.ts';
import { rawClient } from '../support/raw-client.ts';

const TOKEN = 'a-token-of-sixteen';

describe('bodies', () => {
  // Attack: a client without a token sends a body that never ends; 3 GB were held.
  test.each(['/login', '/explain', '/rollout'])('of POST %s are read up to a limit', async (path) => {
    const { adminPort } = await inspected();
    const client = rawClient(adminPort);
    client.write(
      `POST ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n`,
    );
    const part = `10000\r\n${'x'.repeat(65_536)}\r\n`;
    for (let k = 0; k < 16 && client.text() === ''; k += 1) client.write(part);
    expect((await client.until(/\r\n\r\n/)).text).toMatch(/^HTTP\/1\.1 413 /);
    expect((await client.end()).closed).toBe(true);
  });

  // Attack: a client without a token sends a body that trickles and never ends.
  test('are waited for, up to a time limit', async () => {
    vi.useFakeTimers();
    onTestFinished(() => void vi.useRealTimers());
    const body = new ReadableStream<Uint8Array>({
      start: (endless) => endless.enqueue(new Uint8Array([123])),
    });
    const init = { method: 'POST', body, duplex: 'half' };
    const reading = readBody(new Request('http://g/login', init), 1000);
    await vi.advanceTimersByTimeAsync(10_000);
    const fault = await reading;
    if (typeof fault !== 'string') throw new Error('it was read');
    const response = bodyFailure(fault, 1000);
    expect(response.status).toBe(408);
    expect(response.headers.get('connection')).toBe('close');
    expect(await response.json()).toMatchObject({
      errors: [{ status: '408', detail: 'The body was not received in time.' }],
    });
  });

  test('whose length is too large are not read at all', async () => {
    const { adminPort } = await inspected();
    const client = rawClient(adminPort);
    client.write('POST /login HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 3000000000\r\n\r\n');
    expect((await client.until(/\r\n\r\n/)).text).toMatch(/^HTTP\/1\.1 413 /);
  });
});

describe('tries', () => {
  // Attack: tokens are tried one after the other, 1,670 a second.
  test('of tokens are throttled, at the login and as a bearer', async () => {
    const { adminOrigin } = await inspected({ 'admin-token': TOKEN });
    const login = async (token: string): Promise<number> =>
      (await fetch(`${adminOrigin}/login`, { method: 'POST', body: JSON.stringify({ token }) })).status;
    const statuses: number[] = [];
    for (let k = 0; k < 14; k += 1) statuses.push(await login(`wrong-${k}`));
    expect(statuses.slice(0, 10)).toEqual(Array.from({ length: 10 }, () => 401));
    expect(statuses).toContain(429);
    const bearer = async (): Promise<Response> =>
      fetch(`${adminOrigin}/state`, { headers: { authorization: 'Bearer wrong' } });
    let throttled = await bearer();
    while (throttled.status === 401) throttled = await bearer();
    expect(throttled.status).toBe(429);
    expect(throttled.headers.get('retry-after')).toBe('1');
    expect(await throttled.json()).toMatchObject({ errors: [{ detail: 'Try again in a second.' }] });
  });

  // Behind a balancer, all operators have one address.
  test('do not lock the right token out, at the login or as a bearer', async () => {
    const { adminOrigin } = await inspected({ 'admin-token': TOKEN });
    const send = async (token: string): Promise<readonly number[]> => {
      const [bearer, login] = await Promise.all([
        fetch(`${adminOrigin}/state`, { headers: { authorization: `Bearer ${token}` } }),
        fetch(`${adminOrigin}/login`, { method: 'POST', body: JSON.stringify({ token }) }),
      ]);
      return [bearer.status, login.status];
    };
    for (let k = 0; k < 12; k += 1) await send('wrong');
    expect(await send('wrong')).toContain(429);
    expect(await send(TOKEN)).toEqual([200, 204]);
  });

  test('do not lock out a logged-in operator', async () => {
    const { adminOrigin } = await inspected({ 'admin-token': TOKEN });
    const response = await fetch(`${adminOrigin}/login`, {
      method: 'POST',
      body: JSON.stringify({ token: TOKEN }),
    });
    const cookie = response.headers.get('set-cookie')?.split(';')[0] ?? '';
    for (let k = 0; k < 20; k += 1)
      await fetch(`${adminOrigin}/state`, { headers: { authorization: 'Bearer wrong' } });
    expect((await fetch(`${adminOrigin}/state`, { headers: { cookie } })).status).toBe(200);
  });

  test('are counted by address, so many at once and so many a second', () => {
    let now = 0;
    const limit = new TokenBuckets({ burst: 3, perSecond: 2 }, () => now);
    const takes = (address: string): number => {
      let count = 0;
      while (limit.take(address)) count += 1;
      return count;
    };
    expect([takes('a'), takes('a'), takes('b')]).toEqual([3, 0, 3]);
    now = 1000;
    expect([takes('a'), limit.isSpent('a')]).toEqual([2, true]);
    now = 3_600_000;
    expect(takes('a')).toBe(3);
    for (let k = 0; k < 5000; k += 1) limit.take(`address-${k}`);
    expect(limit.isSpent('a')).toBe(false);
  });
});

describe('large data', () => {
  const nested = `${'{"a":'.repeat(250)}1${'}'.repeat(250)}`;

  // Attack: 260 KB nested 250 deep, sent by anybody, become 136 MB of detail when an operator opens the entry.
  test('is folded in an entry, with a sign that says how much', async () => {
    const gateway = await inspected({ capture: 'bodies' });
    const body = `{"data":{"list":[${Array.from({ length: 160 }, () => nested).join(',')}],"suburb":1}}`;
    await gateway.post('/orders/floor_plans', body);
    await gateway.entry(1);
    const response = await fetch(`${gateway.adminOrigin}/entries/1`);
    const text = await response.text();
    expect(text.length).toBeLessThan(2_000_000);
    const detail = JSON.parse(text) as EntryDetail;
    expect(detail.v1Request?.body).toMatchObject({ isFolded: true, bytes: body.length });
    expect(detail.v1Request?.body.text).toMatch(/\[ … \d+ bytes … \]/);
    expect(detail.diff?.marks.map(({ rule }) => rule)).toContain('unwrap');
    expect(detail.curl?.v1).toContain('--data-binary @body.json');
  });

  // Attack: 530 KB to explain become 141 MB.
  test('is folded in an explanation too', async () => {
    const { adminOrigin } = await inspected();
    const list = Array.from({ length: 90 }, () => nested).join(',');
    const request = JSON.stringify({ operation: 'create_client', body: `{"data":{"list":[${list}]}}` });
    const response = await fetch(`${adminOrigin}/explain`, { method: 'POST', body: request });
    const text = await response.text();
    expect(text.length).toBeLessThan(2_000_000);
    expect((JSON.parse(text) as Explanation).verdict).toBe('rewritten');
  });

  test('is sent in parts that are the JSON of the whole', async () => {
    const values: readonly object[] = [
      {},
      [],
      { a: undefined, b: [undefined, null, { c: [], d: {} }], 'é"': 'x'.repeat(10) },
      { rows: Array.from({ length: 5000 }, (_, k) => ({ k, pointer: `/data/${k}`, list: [1, [2]] })) },
    ];
    for (const value of values) {
      expect([...jsonParts(value)].join('')).toBe(JSON.stringify(value));
      expect(await jsonResponse(value).text()).toBe(JSON.stringify(value));
    }
  });
});
