import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { bodyStructure, Capture, type CaptureOptions } from '../../src/rewrite-log/capture.ts';
import { maskHeaders, maskQuerySecrets } from '../../src/rewrite-log/masks.ts';
import type { CapturedExchange } from '../../src/rewrite-log/observer.ts';
import { anyDocument, brokenDocument } from '../rewrite/documents.ts';
import { fuzzRuns } from '../support/fuzz.ts';
import { planOf, SHIPPED } from '../support/plan-of.ts';

const encoder = new TextEncoder();
const decoder = new TextDecoder();

const options: CaptureOptions = {
  mode: 'off',
  masks: [],
  maxEntries: 10,
  maxBytes: 100_000,
  structurePerSecond: 5,
  bodyLimit: 10_000,
  now: () => 0,
};

function material(body: string, response?: string): CapturedExchange {
  return {
    v1Request: {
      method: 'POST',
      target: '/api/v1/clients?api_key=k1&page=p1',
      headers: ['Authorization', 'Bearer secret-key', 'X-Customer', 'Jane', 'Accept', 'text/html'],
      body: encoder.encode(body),
    },
    ...(response === undefined
      ? {}
      : { v2Response: { status: 201, headers: ['Set-Cookie', 'sid=1'], body: encoder.encode(response) } }),
  };
}

function bytesOfStructure(body: Uint8Array): Uint8Array | undefined {
  const structure = bodyStructure(body);
  return typeof structure === 'string' ? undefined : structure;
}

function kept(given: Partial<CaptureOptions>, body: string, response?: string): string {
  const capture = new Capture({ ...options, ...given });
  capture.keep(1, material(body, response), [{ change: 'c', rule: 'unwrap', from: '/data', path: '' }]);
  const exchange = capture.of(1);
  const text = (bytes: Uint8Array | undefined): string => (bytes === undefined ? '' : decoder.decode(bytes));
  return JSON.stringify(exchange, (_, value: unknown) => (value instanceof Uint8Array ? text(value) : value));
}

describe('structure', () => {
  test('keeps names and types, and nothing else', () => {
    const text = '{ "a": "x", "b": [1, -2.5e3, true, false, null], "c": {} }';
    const structure = bytesOfStructure(encoder.encode(text));
    expect(decoder.decode(structure)).toBe(
      '{ "a": "‹string›", "b": ["‹number›", "‹number›", "‹boolean›", "‹boolean›", null], "c": {} }',
    );
  });

  test('goes through the plan as the body does: the same verdict, edits and pointers', () => {
    const plan = planOf(SHIPPED);
    fc.assert(
      fc.property(anyDocument, (text) => {
        const body = encoder.encode(text);
        const structure = bytesOfStructure(body);
        const [real, masked] = [plan.rewrite(body), plan.rewrite(structure ?? new Uint8Array())];
        expect(masked.verdict).toBe(real.verdict);
        if (real.verdict === 'refused' || masked.verdict === 'refused') return;
        expect(masked.records).toEqual(real.records);
        expect(decoder.decode(masked.body)).toBe(decoder.decode(bytesOfStructure(real.body)));
      }),
      { numRuns: fuzzRuns(2000) },
    );
  });

  // Attack: a body of nothing but digits grows tenfold when each becomes a type.
  test('is not made of bodies with very many values, nor of very large ones', () => {
    const digits = (count: number): string => `[${Array.from({ length: count }, () => '1').join(',')}]`;
    expect(bytesOfStructure(encoder.encode(digits(1000)))?.length).toBe(15_001);
    expect(bodyStructure(encoder.encode(digits(1001)))).toBe('too-large');
    expect(bodyStructure(encoder.encode(`["${'x'.repeat(100_000)}"]`))).toBe('too-large');
  });

  test('holds nothing of a value, however it is spelled', () => {
    const text = String.raw`{"a":"x\\","b":"\"secret\\","c":"${'long '.repeat(20)}\"secret\" \\"}`;
    const structure = bytesOfStructure(encoder.encode(text));
    expect(decoder.decode(structure)).toBe('{"a":"‹string›","b":"‹string›","c":"‹string›"}');
  });

  test('is not made of a body that is not JSON', () => {
    fc.assert(
      fc.property(brokenDocument, (bytes) => {
        const structure = bytesOfStructure(bytes);
        expect(structure === undefined || isJson(decoder.decode(structure))).toBe(true);
      }),
      { numRuns: fuzzRuns(2000) },
    );
  });
});

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

// Attack: a query of nothing but what begins a parameter. In quadratic time this test does not end.
test.each(['?', '&', '=', '?&', '&?=', 'key?', '%'])(
  'the secrets of a target of 500,000 of %s are masked in one pass',
  (separator) => {
    const target = `/api/v1/clients?key=secret&${separator.repeat(500_000)}`;
    expect(maskQuerySecrets(target, [])).toMatch(/^\/api\/v1\/clients\?key=…&/);
  },
);

describe('a kept exchange', () => {
  test('has no secret of a query whose name a rule changed to or from an innocent one', () => {
    const capture = new Capture({ ...options, mode: 'bodies' });
    const { v1Request } = material('{}');
    const v2Request = { ...v1Request, target: '/api/v2/clients?who=k1&session=k2&page=p1' };
    const records = [
      { change: 'c', rule: 'rename', from: '?api_key', path: '?who' },
      { change: 'c', rule: 'rename', from: '?s', path: '?session' },
    ] as const;
    const target = '/api/v1/clients?api_key=k1&s=k2&page=p1';
    capture.keep(1, { v1Request: { ...v1Request, target }, v2Request }, records);
    expect(capture.of(1)?.v1Request.target).toBe('/api/v1/clients?api_key=…&s=…&page=p1');
    expect(capture.of(1)?.v2Request?.target).toBe('/api/v2/clients?who=…&session=…&page=p1');
  });

  test('has no value, key, cookie or query value while capture is off', () => {
    const text = kept({}, '{"data":{"name":"Jane Doe","age":41}}', '{"data":{"id":77}}');
    expect(text).toContain('‹string›');
    for (const secret of ['Jane', '41', '77', 'secret-key', 'k1', 'p1', 'sid'])
      expect(text).not.toContain(secret);
  });

  test('has values while capture is on, but never credentials', () => {
    const text = kept({ mode: 'bodies' }, '{"data":{"name":"Jane Doe"}}');
    expect(text).toContain('Jane Doe');
    expect(text).toContain('page=p1');
    for (const secret of ['secret-key', 'k1']) expect(text).not.toContain(secret);
  });

  test.each([['/data/name'], ['/name'], ['name'], ['/data/*'], ['/*/name'], ['/data']])(
    'masks the field that %s names, where V1 has it and wherever it goes',
    (mask) => {
      const text = kept(
        { mode: 'bodies', masks: [mask] },
        '{"data":{"name":"Jane","rest":[{"name":"Jane"}]},"x":1}',
        '{"data":{"name":"Jane"}}',
      );
      expect(text).toContain('\\"name\\":\\"…\\"');
      expect(JSON.parse(text)).not.toHaveProperty('v2Response.body.bytes', '{"data":{"name":"Jane"}}');
    },
  );

  test('keeps a multipart body but for parts whose names are those of credentials', () => {
    const part = (name: string, value: string): string =>
      `--B\r\nContent-Disposition: form-data; name="${name}"\r\nContent-Type: text/x-key\r\n\r\n${value}\r\n`;
    const body = `${part('data[api_key]', 'hunter2\r\nhunter2')}${part('name', 'Joan')}--B--\r\n`;
    const headers = ['Content-Type', 'multipart/form-data; boundary=B'];
    const capture = new Capture({ ...options, mode: 'bodies' });
    capture.keep(
      1,
      { ...material(''), v1Request: { method: 'POST', target: '/', headers, body: encoder.encode(body) } },
      [],
    );
    const { bytes } = capture.of(1)?.v1Request.body ?? {};
    expect(decoder.decode(bytes)).toBe(body.replace('hunter2\r\nhunter2', '…'));
  });

  test('withholds a body that it cannot mask', () => {
    expect(kept({ mode: 'bodies', masks: ['name'] }, 'name=Joan')).not.toContain('Joan');
  });

  test('is bounded by number and by bytes; the oldest go first', () => {
    const few = new Capture({ ...options, maxEntries: 3 });
    for (let seq = 1; seq <= 10; seq += 1) few.keep(seq, material('{}'), []);
    expect([few.of(7), few.of(8) !== undefined, few.held.entries]).toEqual([undefined, true, 3]);
    const small = new Capture({ ...options, maxEntries: 1000, maxBytes: 5000 });
    for (let seq = 1; seq <= 100; seq += 1) small.keep(seq, material(`{"x":"${'y'.repeat(500)}"}`), []);
    expect(small.held.bytes).toBeLessThanOrEqual(5000);
    expect(small.of(100)).toBeDefined();
    small.forget(100);
    expect(small.held).toEqual({ entries: 0, bytes: 0 });
  });

  test('outlasts other exchanges if it failed, in half of the room', () => {
    const capture = new Capture({ ...options, maxEntries: 8 });
    const failure = { ...material('{}'), clientResponse: { status: 422, headers: [] } };
    const ordinary = { ...material('{}'), clientResponse: { status: 201, headers: [] } };
    for (let seq = 1; seq <= 3; seq += 1) capture.keep(seq, failure, []);
    for (let seq = 4; seq <= 100; seq += 1) capture.keep(seq, ordinary, []);
    expect([1, 2, 3, 95, 96, 100].map((seq) => capture.of(seq) !== undefined)).toEqual([
      true,
      true,
      true,
      false,
      true,
      true,
    ]);
    for (let seq = 101; seq <= 200; seq += 1) capture.keep(seq, failure, []);
    expect([capture.held.entries, capture.of(96) !== undefined, capture.of(196)]).toEqual([
      8,
      false,
      undefined,
    ]);
  });

  test('is limited to so many exchanges a second, and unlimited while capture is on', () => {
    let now = 0;
    const capture = new Capture({ ...options, now: () => now });
    const nextLevels = (times: number): string[] => Array.from({ length: times }, () => capture.nextLevel());
    expect(nextLevels(7).filter((level) => level === 'structure')).toHaveLength(5);
    // Of all others, if they fail.
    expect(new Set(nextLevels(2000))).toEqual(new Set(['failure']));
    now = 1000;
    expect(capture.nextLevel()).toBe('structure');
    expect(new Capture({ ...options, mode: 'bodies', structurePerSecond: 0 }).nextLevel()).toBe('bodies');
  });

  // Attack: bodies that are expensive to look at, sent as fast as they can be.
  test('has a budget of bytes a second, half of it for exchanges that failed', () => {
    let now = 0;
    const capture = new Capture({
      ...options,
      maxEntries: 10_000,
      maxBytes: 1 << 30,
      bodyLimit: 1 << 20,
      now: () => now,
    });
    const body = `{"a":"${'x'.repeat(60_000)}"}`;
    const keptOf = (status: number): number => {
      for (let seq = 1; seq <= 200; seq += 1)
        capture.keep(seq, { ...material(body), clientResponse: { status, headers: [] } }, []);
      const { entries } = capture.held;
      capture.forget(200);
      return entries;
    };
    const [ordinary, failed] = [keptOf(201), keptOf(422)];
    expect([ordinary, failed]).toEqual([69, 70]);
    now = 1000;
    expect(keptOf(201)).toBe(69);
  });

  test('does not change when the memory it was made from is used again', () => {
    const capture = new Capture({ ...options, mode: 'bodies' });
    const body = Buffer.from('{"a":"first"}');
    capture.keep(1, { v1Request: { method: 'POST', target: '/', headers: [], body } }, []);
    body.fill(0x78);
    expect(decoder.decode(capture.of(1)?.v1Request.body.bytes)).toBe('{"a":"first"}');
  });
});

describe('header masks', () => {
  test.each([
    'Authorization',
    'Cookie',
    'X-Api-Key',
    'X-Auth-Token',
    'Proxy-Authorization',
    'X-Session-Id',
    'X-Amz-Signature',
  ])('hide the credentials in %s, also while capture is on', (name) => {
    expect(maskHeaders([name, 'Bearer hunter2'], true)).toEqual([{ name, value: 'Bearer …', masked: true }]);
    expect(maskHeaders([name, 'hunter2'], true)).toEqual([{ name, value: '…', masked: true }]);
  });
});

/** Places of a secret, `hunter2`, in targets, fields and forms, as clients, proxies and services spell them. */
const SPELLINGS = [
  'access_token=hunter2',
  'a=1&api_key=hunter2&b=2',
  't%6Fken=hunter2',
  '%74%6f%6b%65%6e=hunter2',
  't%256Fken=hunter2',
  'pass%77ord=hunter2',
  'user[password]=hunter2',
  'user%5Bpassword%5D=hunter2',
  'a=1;session=hunter2',
  'next=https%3A%2F%2Fa.example%2F%3Ftoken%3Dhunter2',
  'next=%2Fx%253Ft%256Fken%253Dhunter2%2526a%253D1',
  'client_secret=hunter2=hunter2',
  'token="hunter2 hunter2"',
  ...[
    'assertion',
    'bearer',
    'code',
    'csrf',
    'hmac',
    'id.jwt',
    'otp',
    'passphrase',
    'pin',
    'pwd',
    'sid',
    'sig',
    'sign',
  ].map((name) => `${name}=hunter2`),
] as const;

describe('secrets', () => {
  const FIELDS = [
    ['Referer', 'https://a.example/x?…'],
    ['Location', 'https://a.example/x?…'],
    ['Location', '/x#…'],
    ['Location', '/x;…'],
    ['Content-Location', '/x?…'],
    ['Link', '<https://a.example/1?a=b>; rel="prev", <https://a.example/2?…>; rel="next"'],
    ['Refresh', '5; url=https://a.example/x?…'],
    ['X-Original-Url', '/x?…'],
    ['X-Next', 'see <https://a.example/x?…> or else'],
    ['X-Form', '…'],
  ] as const;

  test.each(FIELDS)('in a URL of %s: %s are masked, and only they', (name, value) => {
    for (const pair of SPELLINGS) {
      const [header] = maskHeaders([name, value.replace('…', pair)], true);
      expect([pair, header?.value, header?.masked]).toEqual([
        pair,
        expect.not.stringContaining('hunter2'),
        true,
      ]);
    }
    for (const [plain, isMasked] of [
      ['a=1&page=2', false],
      ['postcode=2042&country-code=AU&pinned=1&design=2&option=3', false],
      ['q=%3D', false],
      ['next=%2Fx%3Fpage%3D2', false],
    ] as const) {
      const whole = value.replace('…', plain);
      expect(maskHeaders([name, whole], true)).toEqual([{ name, value: whole, masked: isMasked }]);
    }
  });

  test('as user information of a URL are masked', () => {
    expect(maskHeaders(['Location', 'https://jane:hunter2@a.example/x'], true)).toEqual([
      { name: 'Location', value: 'https://…@a.example/x', masked: true },
    ]);
  });

  test.each(SPELLINGS)('in the query and in a form, as %s, are in nothing that is kept', (pair) => {
    const form = ['Content-Type', 'application/x-www-form-urlencoded; charset=UTF-8'];
    const capture = new Capture({ ...options, mode: 'bodies' });
    capture.keep(
      1,
      {
        v1Request: {
          method: 'POST',
          target: `/x?${pair}`,
          headers: form,
          body: encoder.encode(`z=9&${pair}`),
        },
        v2Request: { method: 'POST', target: `/x?${pair}`, headers: form },
        v2Response: { status: 200, headers: form, body: encoder.encode(pair) },
        clientResponse: { status: 200, headers: form, body: encoder.encode(pair) },
      },
      [],
    );
    const exchange = capture.of(1);
    const texts = [
      exchange?.v1Request.target,
      exchange?.v2Request?.target,
      ...[exchange?.v1Request, exchange?.v2Response, exchange?.clientResponse].map((side) =>
        decoder.decode(side?.body.bytes),
      ),
    ];
    for (const text of texts) {
      expect(text).not.toContain('hunter2');
      expect(text).toContain('…');
    }
    expect(texts[2]).toContain('z=9&');
  });

  test('are found in time that grows with the text', () => {
    for (const part of ['a=', '&token="', '%2525', '?a%3D', '//x', '//@', 'a;', '%3D%253D', '#']) {
      const text = part.repeat(Math.ceil(200_000 / part.length));
      expect(maskHeaders(['X-Long', text], true)[0]?.name).toBe('X-Long');
    }
  });

  test('and nothing else is: a text without a pair of that name stays unchanged', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme-ascii', maxLength: 40 }), (text) => {
        fc.pre(!/auth|cookie|key|passw|secret|session|signature|token|credential|@|%/i.test(text));
        expect(maskHeaders(['X-Text', text], true)).toEqual([{ name: 'X-Text', value: text, masked: false }]);
      }),
    );
  });
});
