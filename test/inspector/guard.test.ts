import { describe, expect, test } from 'vitest';
import { Sessions } from '../../src/inspector/guard.ts';
import { adminFault } from '../../src/node/admin/operators.ts';
import { readSettings } from '../../src/settings/read-settings.ts';
import { inspected } from '../support/inspected.ts';
import { connect } from 'node:net';

const TOKEN = 'a-token-of-sixteen';

describe('the admin listener without a token', () => {
  test.each([
    ['an address', '127.0.0.1:8081', 200],
    ['an IPv6 address', '[::1]:8081', 200],
    ['localhost', 'localhost', 200],
    ['a listed name', 'ops.example:8081', 200],
    // A page of evil.example, whose name was made to point at 127.0.0.1, would read all traffic of the operator who has it open.
    ['a name that an attacker made point here', 'evil.example', 403],
    ['an address in a name', '127.0.0.1.evil.example', 403],
    ['a name that begins like localhost', 'localhost.evil.example', 403],
    ['no host', '', 400],
  ])('takes %s for a Host or not', async (_, host, status) => {
    const { adminPort } = await inspected({ 'admin-hosts': 'ops.example' });
    expect(
      await exchangeRaw(adminPort, `GET /state HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`),
    ).toMatchObject({ status });
  });

  test("serves no page of another site, which could otherwise time or read the operators' data", async () => {
    const { adminOrigin } = await inspected();
    const statusFor = async (headers: Record<string, string>): Promise<number> =>
      (await fetch(`${adminOrigin}/entries`, { headers })).status;
    expect(await statusFor({ origin: 'https://evil.example' })).toBe(403);
    expect(await statusFor({ origin: 'null' })).toBe(403);
    expect(await statusFor({ origin: adminOrigin })).toBe(200);
  });

  test('says why it refused, and how a proxy in front of it can pass', async () => {
    const detailOf = (text: string): string => {
      const { errors } = JSON.parse(text.slice(text.indexOf('{'), text.lastIndexOf('}') + 1)) as {
        readonly errors: readonly { readonly detail: string }[];
      };
      return errors[0]?.detail ?? '';
    };
    const asked = async (port: number, fields: readonly string[]): Promise<readonly [number, string]> => {
      const head = ['GET /state HTTP/1.1', ...fields, 'Connection: close', '', ''].join('\r\n');
      const { status, text } = await exchangeRaw(port, head);
      return [status, status === 403 ? detailOf(text) : ''];
    };
    const { adminPort } = await inspected();
    const listed = await inspected({ 'admin-hosts': 'ops.example' });
    const unknown = ['Host: ops.example:8081'];
    expect(await asked(adminPort, unknown)).toEqual([
      403,
      "This listener does not know the name ops.example:8081. If it is reached under that name, for example behind a proxy, list it: GATEWAY_ADMIN_HOSTS=ops.example. If a proxy made the name up, let it pass on the browser's Host (nginx: proxy_set_header Host $host) and list that one.",
    ]);
    expect(await asked(listed.adminPort, unknown)).toEqual([200, '']);
    const fromElsewhere = 'Origin: https://ops.example';
    expect(await asked(adminPort, ['Host: 127.0.0.1', fromElsewhere])).toEqual([
      403,
      'The request is from a page at ops.example, and its Host is 127.0.0.1. If that page is this one, behind a proxy, let the proxy pass on the Host (nginx: proxy_set_header Host $host) and set GATEWAY_ADMIN_HOSTS=ops.example. Pages of other sites may not send it.',
    ]);
    expect(await asked(listed.adminPort, ['Host: ops.example', fromElsewhere])).toEqual([200, '']);
    expect(await asked(listed.adminPort, ['Host: ops.example', 'Sec-Fetch-Site: cross-site'])).toEqual([
      403,
      'Pages of other sites may not send this request.',
    ]);
  });

  test('lets no outside content into the page, and no site frame it', async () => {
    const { adminOrigin } = await inspected();
    for (const path of ['/', '/entries', '/nowhere', '/entries/4711']) {
      const { headers } = await fetch(`${adminOrigin}${path}`);
      const policy = headers.get('content-security-policy') ?? '';
      expect(policy).toContain("default-src 'none'");
      expect(policy).toContain("frame-ancestors 'none'");
      expect(policy).not.toMatch(/unsafe|https?:|\*/);
      expect(headers.get('x-content-type-options')).toBe('nosniff');
      expect(headers.get('access-control-allow-origin')).toBeNull();
    }
  });
});

describe('the admin listener with a token', () => {
  test('shows nothing without it', async () => {
    const { adminOrigin } = await inspected({ 'admin-token': TOKEN });
    const guesses = [
      undefined,
      '',
      'Bearer',
      `Bearer ${TOKEN}x`,
      `Bearer ${TOKEN.slice(0, -1)}`,
      `Basic ${TOKEN}`,
      TOKEN,
    ];
    for (const path of [
      '/entries',
      '/entries/1',
      '/entries/stream',
      '/state',
      '/history',
      '/series',
      '/overview',
      '/metrics',
      '/report',
      '/rules',
      '/explain',
    ]) {
      for (const guess of guesses) {
        const headers = guess === undefined ? {} : { authorization: guess };
        const response = await fetch(`${adminOrigin}${path}`, { headers });
        // After ten wrong tokens, further guesses have to wait.
        expect([path, guess, [401, 429].includes(response.status)]).toEqual([path, guess, true]);
        expect(Object.keys((await response.json()) as object)).toEqual(['errors']);
      }
    }
    expect((await fetch(`${adminOrigin}/livez`)).status).toBe(200);
    expect(await (await fetch(`${adminOrigin}/entries`)).json()).toMatchObject({
      errors: [{ status: '401', detail: 'The admin listener requires its token.' }],
    });
    const other = await inspected({ 'admin-token': TOKEN });
    expect(
      (await fetch(`${other.adminOrigin}/state`, { headers: { authorization: `Bearer ${TOKEN}` } })).status,
    ).toBe(200);
  });

  test('gives the page a cookie for it, which scripts cannot read and other sites do not send', async () => {
    const { adminOrigin } = await inspected({ 'admin-token': TOKEN });
    const login = (body: string): Promise<Response> =>
      fetch(`${adminOrigin}/login`, { method: 'POST', body });
    expect((await login('{"token":"wrong"}')).status).toBe(401);
    expect((await login('nonsense')).status).toBe(401);
    const granted = await login(JSON.stringify({ token: TOKEN }));
    expect(granted.status).toBe(204);
    const [cookie = ''] = granted.headers.getSetCookie();
    expect(cookie).toMatch(/HttpOnly; SameSite=Strict/);
    expect(cookie).not.toContain(TOKEN);
    const pair = cookie.split(';', 1)[0] ?? '';
    expect((await fetch(`${adminOrigin}/state`, { headers: { cookie: `a=b; ${pair}` } })).status).toBe(200);
    for (const forged of [
      `${pair.slice(0, -1)}0x`,
      pair.replace('=', '=9'),
      pair.replace(/=.*/, '='),
      `${pair}.`,
    ])
      expect((await fetch(`${adminOrigin}/state`, { headers: { cookie: forged } })).status).toBe(401);
  });

  test('begins a new session at each login, and the logout ends only that session', async () => {
    const { adminOrigin } = await inspected({ 'admin-token': TOKEN });
    const login = async (): Promise<string> => {
      const granted = await fetch(`${adminOrigin}/login`, {
        method: 'POST',
        body: JSON.stringify({ token: TOKEN }),
      });
      return granted.headers.getSetCookie()[0]?.split(';', 1)[0] ?? '';
    };
    const state = async (cookie: string): Promise<number> =>
      (await fetch(`${adminOrigin}/state`, { headers: { cookie } })).status;
    const [one, other] = [await login(), await login()];
    expect(one).not.toBe(other);
    expect([await state(one), await state(other)]).toEqual([200, 200]);
    const ended = await fetch(`${adminOrigin}/logout`, { method: 'POST', headers: { cookie: one } });
    expect([ended.status, ended.headers.getSetCookie()]).toEqual([
      204,
      [`${one.split('=', 1)[0]}=; Max-Age=0; HttpOnly; SameSite=Strict`],
    ]);
    expect([await state(one), await state(other)]).toEqual([401, 200]);
    const foreign = await fetch(`${adminOrigin}/logout`, {
      method: 'POST',
      headers: { cookie: other, origin: 'https://evil.example' },
    });
    expect([foreign.status, await state(other)]).toEqual([403, 200]);
  });

  test('begins sessions beside those of gateways on other ports or paths of the host', async () => {
    const tokens = [TOKEN, 'another-token-of-16'];
    const gateways = await Promise.all(tokens.map((token) => inspected({ 'admin-token': token })));
    const granted = await Promise.all(
      gateways.map(({ adminOrigin }, at) =>
        fetch(`${adminOrigin}/login`, { method: 'POST', body: JSON.stringify({ token: tokens[at] }) }),
      ),
    );
    const cookies = granted.flatMap(({ headers }) => headers.getSetCookie());
    // The folder of the login is the default (RFC 6265 §5.1.4), which only the browser knows.
    expect(cookies.filter((cookie) => /path=/i.test(cookie))).toEqual([]);
    const jar = new Map(cookies.map((cookie) => [cookie.split('=', 1)[0], cookie.split(';', 1)[0]]));
    const headers = { cookie: [...jar.values()].join('; ') };
    const states = gateways.map(
      async ({ adminOrigin }) => (await fetch(`${adminOrigin}/state`, { headers })).status,
    );
    expect(await Promise.all(states)).toEqual([200, 200]);
  });

  test('begins sessions that end by themselves, hold on every replica with the token, and with no other', async () => {
    let now = Date.parse('2026-01-01T00:00:00Z');
    const [one, replica, renewed] = [TOKEN, TOKEN, 'another token'].map(
      (token) => new Sessions({ token, hosts: [] }, () => now),
    );
    const cookie = (await one?.begin(true))?.split(';', 1)[0];
    const held = async (): Promise<readonly unknown[]> =>
      Promise.all([one, replica, renewed].map(async (sessions) => sessions?.has(cookie)));
    expect(await held()).toEqual([true, true, false]);
    now += 12 * 60 * 60 * 1000 - 1;
    expect(await held()).toEqual([true, true, false]);
    now += 1;
    expect(await held()).toEqual([false, false, false]);
  });
});

describe('the settings', () => {
  test.each([
    ['127.0.0.1:8081', undefined, undefined],
    ['[::1]:8081', undefined, undefined],
    ['0.0.0.0:8081', undefined, 'GATEWAY_ADMIN_TOKEN'],
    ['10.0.0.5:8081', undefined, 'GATEWAY_ADMIN_TOKEN'],
    ['0.0.0.0:8081', TOKEN, undefined],
  ])('of a listener on %s with the token %s', (listen, token, fault) => {
    const flags = { 'admin-listen': listen, 'admin-token': token };
    const read = readSettings({ flags, environment: {}, readFile: () => '' });
    if ('faults' in read) throw new Error(read.faults.join());
    const found = adminFault(read.settings);
    if (fault === undefined) expect(found).toBeUndefined();
    else expect(found).toContain(fault);
  });
});

/** Sends bytes to a port and reads until it closes: fetch does not allow setting Host. */
function exchangeRaw(
  port: number,
  request: string,
): Promise<{ readonly status: number; readonly text: string }> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1', () => socket.write(request));
    let text = '';
    socket.setEncoding('latin1').on('data', (chunk: string) => (text += chunk));
    socket.on('error', reject);
    socket.on('close', () => resolve({ status: Number(/^HTTP\/1\.1 (\d{3})/.exec(text)?.[1]), text }));
  });
}
