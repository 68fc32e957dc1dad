import { deflateSync, gzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { pointers, service } from './service.ts';

const cases: [string, unknown, string[]][] = [
  ['POST /clients', { data: { name: 'x' } }, ['/name', '/data']],
  ['POST /bookings', { data: { property_id: 1 } }, ['/data']],
  [
    'POST /orders/floor_plans',
    { property: { suburb: 'x', latitude: 1 } },
    ['/property/suburb', '/property/latitude'],
  ],
  ['POST /orders/post_productions', { transition_type: 'dusk' }, ['/transition_type']],
  ['POST /virtual_tours', { 'a/b~c': 1 }, ['/a~1b~0c']],
  ['POST /orders/floor_plans', { property: { address: { town: 'x' } } }, ['/property/address/town']],
  ['POST /clients', {}, ['/name']],
  ['POST /clients', { name: null }, ['/name']],
  ['POST /contacts', { email: 5, client_id: '5' }, ['/email', '/client_id']],
  ['POST /bookings', { property_id: 0 }, ['/property_id']],
  ['POST /bookings', '{"property_id":12345678901234567890}', ['/property_id']],
  ['POST /bookings', '{"property":{"latitude":1e400}}', ['/property/latitude']],
  ['POST /bookings', { property: { address: { suburb: 'x' } } }, ['/property/address']],
  ['POST /orders/floor_plans', '{"property":{"address":{"latitude":1e400}}}', ['/property/address/latitude']],
  ['POST /orders/floor_plans', { property: { address: null } }, ['/property/address']],
  ['POST /bookings', '{"services":["a",1]}', ['/services/1']],
  ['POST /clients', [], ['']],
  ['POST /clients', 'null', ['']],
  ['PATCH /properties/1', { address: { suburb: 'x' } }, ['/address']],
  ['PATCH /properties/1', { data: {} }, ['/data']],
];

test.each(cases)('%s with %j is a 422 that points at %j', async (line, body, expected) => {
  const { send } = await service();
  const refused = await send(line, body);
  expect(refused.status).toBe(422);
  expect(pointers(refused)).toEqual(expected);
  for (const error of refused.body.errors)
    expect(error).toMatchObject({ status: '422', title: 'Unprocessable Content' });
  expect((await send('GET /properties')).body.meta.total).toBe(0);
});

test('the refusal of a V1 spelling names the V2 spelling', async () => {
  const { send } = await service();
  const body = { data: {}, transition_type: 'x', property: { postcode: '3000' } };
  const { errors } = (await send('POST /orders/post_productions', body)).body;
  const details = errors.map((error: { detail: string }) => error.detail).join('\n');
  expect(details).toContain('flat');
  expect(details).toContain('transition_type is called highlight_type.');
  expect(details).toContain('address object');
});

test('with unknown=strip, members unknown to V2 are dropped silently', async () => {
  const { send } = await service({ unknown: 'strip' });
  const order = await send('POST /orders/post_productions', {
    data: { highlight_type: 'lost' },
    transition_type: 'dusk',
    external_id: 'P-1',
    property: { display_name: 'x', suburb: 'lost', address: { town: 'lost', state: 'VIC' } },
  });
  expect(order.status).toBe(201);
  expect(order.body.data).toEqual({
    id: 2,
    external_id: 'P-1',
    property: { display_name: 'x', address: { state: 'VIC' } },
    property_id: 1,
  });
  expect((await send('POST /clients', { data: { name: 'x' } })).status).toBe(422);
});

test.each([
  ['', 400],
  [' ', 400],
  ['{"name":', 400],
  ["{'name':'x'}", 400],
  ['{"name":"x"}{}', 400],
  [Uint8Array.of(0x7b, 0x22, 0xff, 0x22, 0x7d), 400],
])('the body %j is a %i', async (body, status) => {
  const { send } = await service();
  const refused = await send('POST /clients', body);
  expect(refused).toMatchObject({ status, body: { errors: [{ status: String(status) }] } });
});

test.each([
  ['text/plain', 415],
  ['application/x-www-form-urlencoded', 415],
  ['application/jsonp', 415],
  ['application/json; charset=latin1', 415],
  ['application/json;charset="UTF-8"', 201],
  ['APPLICATION/JSON ; version=2', 201],
  ['application/json, application/json', 415],
  ['application/vnd.capture+json', 201],
])('the media type %s gets %i', async (type, status) => {
  const { send } = await service();
  expect((await send('POST /clients', '{"name":"x"}', { 'content-type': type })).status).toBe(status);
});

test('a body in another coding is a 415 that lists the accepted codings', async () => {
  const { send } = await service();
  const refused = await send('POST /clients', '{"name":"x"}', { 'content-encoding': 'compress' });
  expect(refused.status).toBe(415);
  expect(refused.headers.get('accept-encoding')).toBe('gzip, deflate');
});

test.each([
  ['gzip', gzipSync],
  ['deflate', deflateSync],
] as const)('a body in %s is decoded, within the limit', async (coding, encode) => {
  const { send } = await service({ bodyLimit: 1000 });
  const headers = { 'content-encoding': coding };
  expect((await send('POST /clients', encode('{"name":"x"}'), headers)).body.data.name).toBe('x');
  expect((await send('POST /clients', encode('{"name":"'), headers)).status).toBe(400);
  expect((await send('POST /clients', '{"name":"x"}', headers)).status).toBe(400);
  // Attack: a small body that unpacks to a large one.
  expect((await send('POST /clients', encode(`{"name":"${'x'.repeat(100_000)}"}`), headers)).status).toBe(
    413,
  );
});

test('a body may be nested 512 levels deep, and no depth exhausts the stack', async () => {
  const { send } = await service();
  const nested = (levels: number): string => `{"notes":${'['.repeat(levels - 1)}${']'.repeat(levels - 1)}}`;
  expect((await send('POST /bookings', nested(512))).status).toBe(422);
  for (const levels of [513, 1_000_000]) {
    const refused = await send('POST /bookings', nested(levels));
    expect(refused.status).toBe(400);
    expect(refused.body.errors[0].detail).toBe('The body is nested too deep: at most 512 levels.');
  }
});

test('strings survive: escapes, lone surrogates, NUL, other planes', async () => {
  const { send } = await service();
  const name = '"\\/\u0000\ud800é😀\u2028';
  await send('POST /clients', { name });
  expect((await send('GET /clients/1')).body.data.name).toBe(name);
});

// Attack: an own member __proto__, which a careless merge would make the prototype of every object.
test('__proto__ is an attribute like any other that V2 does not have', async () => {
  const body = '{"name":"x","__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}}}';
  const strict = await (await service()).send('POST /clients', body);
  expect(pointers(strict)).toEqual(['/__proto__', '/constructor']);
  const lax = await (await service({ unknown: 'strip' })).send('POST /clients', body);
  expect(lax.body.data).toEqual({ id: 1, name: 'x' });
  expect({}).not.toHaveProperty('polluted');
});

// Attack: nesting so deep that a recursive reader runs out of stack.
test('a million open brackets get a response, and the service keeps running', async () => {
  const { send } = await service();
  const depth = 1_000_000;
  const deep = `{"name":"x","notes":${'['.repeat(depth)}${']'.repeat(depth)}}`;
  expect([400, 422]).toContain((await send('POST /clients', deep)).status);
  expect((await send('GET /heartbeat')).status).toBe(200);
});

// Attack: a body with a million unknown names, whose response would be a list a hundred times its size.
test('the list of faults is short, however many there are', async () => {
  const { send } = await service();
  const body = Object.fromEntries(Array.from({ length: 100_000 }, (_, index) => [`x${index}`, 1]));
  const refused = await send('POST /bookings', body);
  expect(refused.status).toBe(422);
  expect(refused.body.errors).toHaveLength(20);
});

// Attack: more than the limit, once announced by Content-Length and once in chunks that announce nothing.
test('a body beyond 10 MiB is a 413, announced or not', async () => {
  const { send, origin } = await service();
  const tooMuch = new TextEncoder().encode(`{"name":"${'x'.repeat(10 * 1024 * 1024)}"}`);
  expect((await send('POST /clients', tooMuch)).status).toBe(413);
  const chunked = await fetch(`${origin}/api/v2/clients`, {
    method: 'POST',
    headers: { authorization: 'Bearer key', 'content-type': 'application/json' },
    body: new Blob([tooMuch]).stream(),
    duplex: 'half',
  } as RequestInit);
  expect(chunked.status).toBe(413);
  expect((await send('GET /clients')).body.meta.total).toBe(0);
});
