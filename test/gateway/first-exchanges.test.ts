import { expect, test } from 'vitest';
import { gatewayFor } from '../support/gateway.ts';
import { exchange, statusOf } from '../support/raw-client.ts';
import { ok, rawServer } from '../support/raw-server.ts';

const ORDER =
  '{"data":{"property":{"street_address":"1 Main St","suburb":"Enmore","id":12345678901234567890}}}';

test('a V1 floor plan order reaches V2 flat, with its address nested and its numbers untouched', async () => {
  const v2 = await rawServer((socket) => socket.write(ok('{"data":{"id":1}}')));
  const gateway = await gatewayFor(v2.origin);
  const response = await exchange(
    gateway.port,
    `POST /api/v1/orders/floor_plans?a=1 HTTP/1.1\r\nHost: gateway\r\nAuthorization: Bearer k\r\nContent-Type: application/json\r\nContent-Length: ${ORDER.length}\r\n\r\n${ORDER}`,
  );
  expect(statusOf(response)).toBe(200);
  expect(response.text).toMatch(/\{"data":\{"id":1\}\}$/);
  const [received = ''] = v2.received;
  expect(received).toMatch(/^POST \/api\/v2\/orders\/floor_plans\?a=1 HTTP\/1\.1\r\n/);
  expect(received).toContain(`Authorization: Bearer k\r\n`);
  expect(received).toContain(`x-api-version: 2025-01-01\r\n`);
  expect(received).toMatch(/traceparent: 00-[0-9a-f]{32}-[0-9a-f]{16}-00\r\n/);
  expect(received.split('\r\n\r\n')[1]).toBe(
    '{"property":{"address":{"street_address":"1 Main St","suburb":"Enmore"},"id":12345678901234567890}}',
  );
  const entry = await gateway.entry();
  expect(entry).toMatchObject({
    route: 'migrate',
    verdict: 'rewritten',
    operation: 'order_floor_plan',
    status: 200,
  });
  expect(entry.path).toBe('/api/v1/orders/floor_plans?a=…');
});

// Two readers of the request would continue two traces; the tests of W3C Trace Context ask for a new one.
test('two traceparent fields of a V1 request become that of a new trace', async () => {
  const v2 = await rawServer((socket) => socket.write(ok()));
  const gateway = await gatewayFor(v2.origin);
  const one = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
  const two = '00-11111111111111111111111111111111-b7ad6b7169203331-01';
  const fields = `Host: g\r\ntraceparent: ${one}\r\ntraceparent: ${two}\r\ntracestate: a=1\r\n`;
  expect(statusOf(await exchange(gateway.port, `GET /api/v1/clients HTTP/1.1\r\n${fields}\r\n`))).toBe(200);
  const [received = ''] = v2.received;
  const sent = received.match(/(?<=traceparent: ).+(?=\r\n)/g) ?? [];
  expect(sent).toHaveLength(1);
  expect([one, two]).not.toContain(sent[0]);
  expect(received).not.toContain('tracestate');
  expect((await gateway.entry()).traceId).toBe(sent[0]?.slice(3, 35));
});

test('a V2 request passes unchanged, and a path under neither prefix gets a 404 from the gateway', async () => {
  const v2 = await rawServer((socket) => socket.write(ok()));
  const gateway = await gatewayFor(v2.origin);
  const passed = await exchange(
    gateway.port,
    'POST /api/v2/x?q=%20 HTTP/1.1\r\nHost: g\r\nX-A: 1\r\nx-a: 2\r\nContent-Length: 2\r\n\r\nhi',
  );
  expect(statusOf(passed)).toBe(200);
  expect(v2.received[0]).toBe(
    `POST /api/v2/x?q=%20 HTTP/1.1\r\nhost: 127.0.0.1:${v2.port}\r\nconnection: keep-alive\r\nX-A: 1\r\nx-a: 2\r\nvia: 1.1 capture-gateway\r\ncontent-length: 2\r\n\r\nhi`,
  );
  const other = await exchange(gateway.port, 'GET /other HTTP/1.1\r\nHost: g\r\n\r\n');
  expect(statusOf(other)).toBe(404);
  expect(other.text).toContain('x-gateway-error: not-found');
});
