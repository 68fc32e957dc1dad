import { expect, test } from 'vitest';
import { EdgeExchange } from '../../src/edge/exchange.ts';
import { HopFields } from '../../src/http/fields.ts';

test.each([
  ['HTTP/1.0', '1.0'],
  ['HTTP/1.1', '1.1'],
  ['HTTP/2', '2'],
  ['HTTP/3', '3'],
  [undefined, '1.1'],
])('a request over %s has that version, also in Via', (httpProtocol, version) => {
  const request = Object.assign(new Request('https://g.example/api/v2/x'), { cf: { httpProtocol } });
  const exchange = new EdgeExchange(request, { bodyTimeout: 0, refusals: undefined });
  expect(exchange.version).toBe(version);
  expect(new HopFields('g', Date.now).ofRequest(exchange.version).text).toBe(`via: ${version} g\r\n`);
});
