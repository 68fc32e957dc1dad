import { describe, expect, onTestFinished, test } from 'vitest';
import { createClientHash, SYSTEM_CLOCK } from '../../src/node/runtime.ts';
import { parsedJson } from '../../src/rewrite-log/attributes.ts';
import { Replica } from '../../src/rollout/replica.ts';
import { SignalHeaders } from '../../src/rollout/retirement.ts';
import { RolloutControl } from '../../src/rollout/rollout-control.ts';
import { MemoryState } from '../../src/rollout/shared-state.ts';
import type { Ends, Newcomers, Rollout } from '../../src/rules/rollout.ts';
import { gatewayFor, type TestGateway } from '../support/gateway.ts';
import { storedKnownClients, storeKnownClients } from '../support/known-clients.ts';
import { exchange, statusOf } from '../support/raw-client.ts';
import { ok, rawServer, type RawServer } from '../support/raw-server.ts';
import { until } from '../support/until.ts';

const none: Rollout = { clients: {}, brownouts: [], pins: [] };
const clientOf = createClientHash('a secret of the tests');
const acme = clientOf('Bearer acme');
const DAY = 86_400_000;

async function serve(
  rollout: Partial<Rollout>,
  response = ok(),
): Promise<{ gateway: TestGateway; v2: RawServer }> {
  const v2 = await rawServer((socket) => socket.write(response));
  return { v2, gateway: await gatewayFor(v2.origin, { ruleBook: { rollout: { ...none, ...rollout } } }) };
}

const ORDER = '{"data":{"property":{"suburb":"Enmore"},"transition_type":"x"}}';
const request = (path = '/api/v1/orders/post_productions', more = '', body = ORDER): string =>
  `POST ${path} HTTP/1.1\r\nHost: g\r\n${more}Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
const as = (key: string): string => `Authorization: Bearer ${key}\r\n`;
const field = (text: string, name: string): string | undefined =>
  new RegExp(`\r\n${name}: ([^\r]*)\r\n`, 'i').exec(text)?.[1];

describe('the header fields of V1 responses', () => {
  const signals = {
    since: Date.UTC(2026, 11, 1),
    attributes: true,
    sunset: Date.UTC(2027, 5, 30),
    links: [
      ['deprecation', 'https://x.test/d'],
      ['successor-version', 'https://x.test/api/v2'],
    ],
  } as const;

  test('Deprecation, Sunset, Link and the deprecated attributes of this very request', async () => {
    const { gateway } = await serve({ signals }, ok('{}', 'Link: </a>; rel="next"\r\nSunset: never\r\n'));
    const { text } = await exchange(gateway.port, request());
    expect(field(text, 'deprecation')).toBe('@1796083200');
    expect(field(text, 'sunset')).toBe('Wed, 30 Jun 2027 00:00:00 GMT');
    expect(text.match(/\r\nLink: .*/g)).toEqual([
      '\r\nLink: </a>; rel="next"',
      '\r\nLink: <https://x.test/d>; rel="deprecation"',
      '\r\nLink: <https://x.test/api/v2>; rel="successor-version"',
    ]);
    expect(field(text, 'x-deprecated-attributes')).toBe('property.suburb, transition_type');
    const plain = await exchange(gateway.port, request(undefined, '', '{"data":{}}'));
    expect(field(plain.text, 'deprecation')).toBe('@1796083200');
    expect(field(plain.text, 'x-deprecated-attributes')).toBeUndefined();
  });

  test('V2 responses say nothing of it, refusals of V1 requests do', async () => {
    const { gateway } = await serve({ signals });
    const v2 = await exchange(gateway.port, request('/api/v2/x'));
    expect(v2.text).not.toMatch(/deprecat|sunset/i);
    const refused = await exchange(gateway.port, request(undefined, '', '{'));
    expect(statusOf(refused)).toBe(400);
    expect(field(refused.text, 'sunset')).toBe('Wed, 30 Jun 2027 00:00:00 GMT');
  });

  test('V2’s own fields stay if the rule book does not set them', async () => {
    const { gateway } = await serve({}, ok('{}', 'Sunset: Wed, 30 Jun 2027 00:00:00 GMT\r\n'));
    const { text } = await exchange(gateway.port, request());
    expect(field(text, 'sunset')).toBe('Wed, 30 Jun 2027 00:00:00 GMT');
  });

  // Attack: a member whose name ends the header field and begins another one, or fills the client's buffer.
  test('names of attributes cannot break out of the field, nor make it endless', async () => {
    const v2 = await rawServer((socket) => socket.write(ok()));
    const members = ['a\r\nX-Evil: 1', 'é', ...Array.from({ length: 200 }, (_, n) => `long_name_${n}`)];
    const change = {
      id: 'c',
      summary: 's',
      on: 'every',
      response: [],
      policies: {},
      assumed: false,
    } as const;
    const gateway = await gatewayFor(v2.origin, {
      ruleBook: {
        rollout: { ...none, signals },
        changes: [{ ...change, request: [{ rule: 'strip', members, in: [] }] }],
      },
    });
    const body = JSON.stringify(Object.fromEntries(members.map((name) => [name, 1])));
    const bytes = Buffer.from(body, 'utf8').toString('latin1');
    const { text } = await exchange(gateway.port, request(undefined, '', bytes));
    const value = field(text, 'x-deprecated-attributes') ?? '';
    expect(text).not.toMatch(/\r\nX-Evil/);
    expect(value).toMatch(/^a%0D%0AX-Evil:%201, %C3%A9, long_name_0/);
    expect(value.length).toBeLessThan(1100);
  });
});

describe('brownouts', () => {
  test.each([
    ['now, for all clients', {}, [410, 410]],
    ['for one client', { clients: [acme] }, [410, 200]],
    ['for all but one', { except: [acme] }, [200, 410]],
    ['of an operation', { operations: ['order_post_production'] }, [410, 410]],
    ['of another operation', { operations: ['create_client'] }, [200, 200]],
    ['that has begun', { from: Date.now() - DAY, until: Date.now() + DAY }, [410, 410]],
    ['that is over', { until: Date.now() - DAY }, [200, 200]],
    ['that is to come', { from: Date.now() + DAY }, [200, 200]],
  ])('%s', async (_, over, statuses) => {
    const { gateway, v2 } = await serve({ brownouts: [{ id: 'one', share: 100, status: 410, ...over }] });
    const responses = [
      await exchange(gateway.port, request(undefined, as('acme'))),
      await exchange(gateway.port, request(undefined, as('other'))),
    ];
    expect(responses.map(statusOf)).toEqual(statuses);
    expect(v2.received.join('').match(/POST /g) ?? []).toHaveLength(statuses.filter((s) => s === 200).length);
  });

  test('name the retirement, say when to retry, and are logged', async () => {
    const signals = {
      attributes: false,
      sunset: Date.UTC(2027, 5, 30),
      links: [['sunset', 'https://x.test/s']],
    } as const;
    const brownouts = [{ id: 'hour', share: 100, status: 503, until: Date.now() + 60_000 }] as const;
    const { gateway } = await serve({ signals, brownouts });
    const { text } = await exchange(gateway.port, request());
    expect(text).toMatch(/^HTTP\/1.1 503/);
    expect(Number(field(text, 'retry-after'))).toBeGreaterThan(50);
    expect(field(text, 'x-gateway-error')).toBe('brownout');
    expect(text).toContain(
      'V1 ends on 2027-06-30; it is switched off for a while as a reminder. Use V2 under /api/v2. See https://x.test/s',
    );
    expect(await gateway.entry()).toMatchObject({
      verdict: 'refused',
      failure: 'brownout',
      note: 'hour',
      status: 503,
    });
  });

  test('a share of the requests', async () => {
    const { gateway } = await serve({ brownouts: [{ id: 'some', share: 50, status: 410 }] });
    const statuses: number[] = [];
    for (let n = 0; n < 60; n += 1) statuses.push(statusOf(await exchange(gateway.port, request())));
    expect(new Set(statuses)).toEqual(new Set([200, 410]));
  });

  test('of a share lets a client try again at once, not at its end: the next request may pass', async () => {
    const until = Date.now() + 8_640_000_000;
    const { gateway } = await serve({ brownouts: [{ id: 'some', share: 99, status: 503, until }] });
    let text = '';
    while (!text.startsWith('HTTP/1.1 503')) ({ text } = await exchange(gateway.port, request()));
    expect(field(text, 'retry-after')).toBe('1');
  });

  test('V2 requests are not concerned', async () => {
    const { gateway } = await serve({ brownouts: [{ id: 'one', share: 100, status: 410 }] });
    expect(statusOf(await exchange(gateway.port, request('/api/v2/x')))).toBe(200);
  });
});

describe('after the sunset', () => {
  const past = { attributes: false, sunset: Date.UTC(2026, 0, 1), links: [] } as const;

  test('V1 goes on unless the rule book says that it is gone', async () => {
    const { gateway } = await serve({ signals: past });
    expect(statusOf(await exchange(gateway.port, request()))).toBe(200);
  });

  test('V1 is gone for all clients but the excepted ones', async () => {
    const { gateway } = await serve({ signals: past, gone: { except: [acme] } });
    const gone = await exchange(gateway.port, request());
    expect(statusOf(gone)).toBe(410);
    expect(gone.text).toContain('V1 ended on 2026-01-01');
    expect(statusOf(await exchange(gateway.port, request(undefined, as('acme'))))).toBe(200);
    expect(await gateway.entry()).toMatchObject({ failure: 'sunset', status: 410 });
  });
});

describe('version pins', () => {
  const pins = [
    { version: '2025-03-03', clients: [acme] },
    { version: '2025-04-04', operations: ['order_post_production'] },
  ];
  test.each([
    ['by client', '/api/v1/clients', as('acme'), '2025-03-03', 'pin'],
    ['by operation', undefined, as('other'), '2025-04-04', 'pin'],
    ['the first that fits', undefined, as('acme'), '2025-03-03', 'pin'],
    ['none that fits', '/api/v1/clients', as('other'), '2025-01-01', 'absent'],
    [
      'a valid one is the choice of the client',
      undefined,
      `${as('acme')}X-Api-Version: 2025-09-09\r\n`,
      '2025-09-09',
      'client',
    ],
    [
      'an invalid one is distinguished',
      undefined,
      `${as('acme')}X-Api-Version: soon\r\n`,
      '2025-03-03',
      'invalid',
    ],
  ])('%s', async (_, path, more, sent, why) => {
    const { gateway, v2 } = await serve({ pins });
    await exchange(gateway.port, request(path, more));
    expect(v2.received.join('').match(/x-api-version: .*/gi)).toEqual([
      expect.stringMatching(new RegExp(`^x-api-version: ${sent}\r?$`, 'i')),
    ]);
    expect(await gateway.entry()).toMatchObject({ apiVersion: { sent, why } });
  });
});

describe('an end of its own', () => {
  const [PAST, AHEAD, LATER] = [Date.now() - DAY, Date.now() + DAY, Date.now() + 9 * DAY];
  const dateOf = (time: number): string => new Date(time).toUTCString();
  const ends = (operation: object, changes: Ends['changes'] = {}): Partial<Rollout> => ({
    ends: { operations: { order_post_production: { links: [], ...operation } }, changes },
  });
  const other = (more = ''): string => request('/api/v1/clients', more, '{"data":{}}');

  test.each<[string, Partial<Rollout>, object, object]>([
    [
      'is only on its own responses',
      ends({ since: PAST, sunset: AHEAD, links: [['sunset', 'https://x.test/s']] }),
      {
        sunset: dateOf(AHEAD),
        deprecation: `@${Math.floor(PAST / 1000)}`,
        link: '<https://x.test/s>; rel="sunset"',
      },
      { sunset: undefined, deprecation: undefined, link: undefined },
    ],
    [
      'comes in place of that of V1, whose other fields stay',
      {
        ...ends({ sunset: AHEAD }),
        signals: {
          since: PAST,
          sunset: LATER,
          attributes: false,
          links: [['deprecation', 'https://x.test/d']],
        },
      },
      {
        sunset: dateOf(AHEAD),
        deprecation: `@${Math.floor(PAST / 1000)}`,
        link: '<https://x.test/d>; rel="deprecation"',
      },
      {
        sunset: dateOf(LATER),
        deprecation: `@${Math.floor(PAST / 1000)}`,
        link: '<https://x.test/d>; rel="deprecation"',
      },
    ],
    [
      'of a change is announced in responses to requests that it edits',
      { ends: { operations: {}, changes: { 'property-address': { sunset: AHEAD, links: [] } } } },
      { sunset: dateOf(AHEAD) },
      { sunset: undefined },
    ],
  ])('%s', async (_, rollout, own, others) => {
    const { gateway } = await serve(rollout);
    for (const [sent, fields] of [
      [request(), own],
      [other(), others],
    ] as const) {
      const { text } = await exchange(gateway.port, sent);
      for (const [name, value] of Object.entries(fields))
        expect([name, field(text, name)]).toEqual([name, value]);
    }
  });

  test('refuses its own requests after it, and no others', async () => {
    const { gateway, v2 } = await serve(
      ends({ sunset: PAST, links: [['sunset', 'https://x.test/s']], gone: { except: [acme] } }),
    );
    const refused = await exchange(gateway.port, request());
    expect(statusOf(refused)).toBe(410);
    expect(field(refused.text, 'x-gateway-error')).toBe('sunset');
    expect(refused.text).toMatch(
      /Operation order_post_production of V1 ended on [\d-]{10}; use V2 under \/api\/v2\. See https:\/\/x\.test\/s/,
    );
    expect(await gateway.entry()).toMatchObject({ failure: 'sunset', operation: 'order_post_production' });
    expect(statusOf(await exchange(gateway.port, request(undefined, as('acme'))))).toBe(200);
    expect(statusOf(await exchange(gateway.port, other()))).toBe(200);
    expect(v2.received.join('').match(/POST /g)).toHaveLength(2);
  });

  test('that is announced or to come refuses nothing', async () => {
    for (const end of [{ sunset: PAST }, { sunset: AHEAD, gone: {} }]) {
      const { gateway } = await serve(ends(end));
      expect(statusOf(await exchange(gateway.port, request()))).toBe(200);
    }
  });

  // Attack: an operation or a change by a name that every object has.
  test('is found only by own properties of the object', () => {
    const headers: string[] = [];
    const announced = SignalHeaders.of({ ...none, ends: { operations: {}, changes: { c: { links: [] } } } });
    announced?.addTo(headers, { operation: 'constructor', used: [], edits: [[{ change: 'toString' }]] });
    expect(headers).toEqual([]);
  });
});

describe('newcomers', () => {
  const LIST = clientOf('capture-gateway: known clients');
  const [FAR, AHEAD, PAST] = [Date.now() - 60 * DAY, Date.now() + DAY, Date.now() - DAY];

  /** A gateway whose store has learned these clients, since then. */
  async function closed(
    newcomers: Partial<Newcomers>,
    { known = [], since = FAR, more = {}, ...options }: ClosedOptions = {},
  ): Promise<{ gateway: TestGateway; v2: RawServer; store: MemoryState }> {
    const store = new MemoryState(Date.now);
    await storeKnownClients(store, { list: LIST, since, clients: known });
    const control = new RolloutControl({ time: Date.now, onNotice: () => {} });
    const replica = new Replica({
      control,
      store,
      name: 'one',
      clock: SYSTEM_CLOCK,
      parse: parsedJson,
      onNotice: () => {},
    });
    await replica.start();
    onTestFinished(() => replica.close());
    const v2 = await rawServer((socket) => socket.write(options.response ?? ok()));
    const rollout = {
      ...none,
      newcomers: { from: PAST, answer: 'refuse', except: [], ...newcomers } as const,
      ...more,
    };
    const gateway = await gatewayFor(v2.origin, {
      ruleBook: { rollout },
      parts: { rollout: control, replica },
      ...(options.flags && { flags: options.flags }),
    });
    await until(() => gateway.gateway.knownClients.standing(acme) !== 'not-known');
    return { gateway, v2, store };
  }
  interface ClosedOptions {
    readonly known?: readonly string[];
    readonly since?: number;
    readonly more?: Partial<Rollout>;
    readonly flags?: Record<string, string>;
    readonly response?: string;
  }

  test('a client that never used V1 gets 403 with the link of its guide, known ones are served', async () => {
    const { gateway, v2 } = await closed({ guide: 'https://x.test/guide' }, { known: [acme] });
    const refused = await exchange(gateway.port, request(undefined, as('new')));
    expect(statusOf(refused)).toBe(403);
    expect(field(refused.text, 'x-gateway-error')).toBe('newcomer');
    expect(field(refused.text, 'link')).toBe('<https://x.test/guide>; rel="help"');
    expect(refused.text).toMatch(
      /V1 takes no new clients since [\d-]{10}, .* use V2 under \/api\/v2\. See https:\/\/x/,
    );
    expect(await gateway.entry()).toMatchObject({
      failure: 'newcomer',
      newcomer: 'refused',
      verdict: 'refused',
    });
    expect(statusOf(await exchange(gateway.port, request(undefined, as('acme'))))).toBe(200);
    expect(v2.received.join('').match(/POST /g)).toHaveLength(1);
    expect((await gateway.entry(2)).newcomer).toBeUndefined();
  });

  test('where self-service is on, the guide is its own', async () => {
    const { gateway } = await closed({}, { flags: { 'self-service': 'on' } });
    const { text } = await exchange(gateway.port, request(undefined, as('new')));
    expect(field(text, 'link')).toBe('</api/v1/migration>; rel="help"');
  });

  test.each<[string, Partial<Newcomers>, ClosedOptions, string, string | undefined]>([
    ['before the day', { from: AHEAD }, {}, 'new', 'would'],
    ['with a warning', { answer: 'warn', guide: 'https://x.test/' }, {}, 'new', 'warned'],
    ['by name', {}, { more: { clients: { [acme]: 'acme' } } }, 'acme', undefined],
    ['by exception', { except: [acme] }, {}, 'acme', undefined],
    ['while the list is too young', {}, { since: Date.now() - 3 * DAY }, 'new', 'not-known'],
  ])('is served %s', async (_, newcomers, options, key, note) => {
    const { gateway } = await closed(newcomers, options);
    const { text } = await exchange(gateway.port, request(undefined, as(key)));
    expect(text).toMatch(/^HTTP\/1.1 200/);
    expect(field(text, 'link')).toBe(note === 'warned' ? '<https://x.test/>; rel="help"' : undefined);
    expect((await gateway.entry()).newcomer).toBe(note);
  });

  test('is refused with a rotated key that has no name', async () => {
    const { gateway } = await closed({}, { known: [acme], more: { clients: { [acme]: 'acme' } } });
    expect(statusOf(await exchange(gateway.port, request(undefined, as('acme-rotated'))))).toBe(403);
  });

  test('before the day a client is learned with its first accepted request, one with a wrong key is not', async () => {
    const { gateway, store } = await closed({ from: AHEAD });
    for (let n = 0; n < 2; n += 1) await exchange(gateway.port, request(undefined, as('acme')));
    expect([(await gateway.entry()).newcomer, (await gateway.entry(2)).newcomer]).toEqual([
      'would',
      undefined,
    ]);
    await until(async () => String((await storedKnownClients(store)).clients) === acme);
    const refusing = await closed(
      { from: AHEAD },
      { response: 'HTTP/1.1 401 No\r\nContent-Length: 0\r\n\r\n' },
    );
    for (let n = 0; n < 2; n += 1) await exchange(refusing.gateway.port, request(undefined, as('acme')));
    expect((await refusing.gateway.entry(2)).newcomer).toBe('would');
  });

  test.each<[string, Partial<Rollout>, string]>([
    ['brownout', { brownouts: [{ id: 'b', share: 100, status: 410 }] }, 'b'],
    ['sunset', { gone: {}, signals: { sunset: PAST, attributes: false, links: [] } }, 'sunset'],
  ])(
    'a request that a %s refuses to every client is not refused for being new',
    async (failure, more, note) => {
      for (const from of [PAST, AHEAD]) {
        const { gateway } = await closed({ from }, { more });
        expect(statusOf(await exchange(gateway.port, request(undefined, as('new'))))).toBe(410);
        const entry = await gateway.entry();
        expect([entry.failure, entry.note, entry.newcomer]).toEqual([failure, note, undefined]);
      }
    },
  );

  test('are not preflights, nor requests without a key', async () => {
    const { gateway } = await closed({});
    const preflight = `OPTIONS /api/v1/clients HTTP/1.1\r\nHost: g\r\nOrigin: https://x.test\r\nAccess-Control-Request-Method: POST\r\n${as('new')}\r\n`;
    expect(statusOf(await exchange(gateway.port, preflight))).toBe(200);
    expect(statusOf(await exchange(gateway.port, request()))).toBe(200);
    expect([(await gateway.entry()).newcomer, (await gateway.entry(2)).newcomer]).toEqual([
      undefined,
      undefined,
    ]);
  });

  test('cost nothing in a rule book without them: no list is begun or read', async () => {
    const store = new MemoryState(Date.now);
    const asked: string[] = [];
    const read = store.read.bind(store);
    store.read = (key) => {
      asked.push(key);
      return read(key);
    };
    const v2 = await rawServer((socket) => socket.write(ok()));
    const gateway = await gatewayFor(v2.origin, {
      ruleBook: { rollout: { ...none, clients: { [acme]: 'acme' } } },
      parts: { store },
    });
    for (const key of ['acme', 'new'])
      expect(statusOf(await exchange(gateway.port, request(undefined, as(key))))).toBe(200);
    expect((await gateway.entry(2)).newcomer).toBeUndefined();
    expect(asked).toEqual([]);
  });
});
