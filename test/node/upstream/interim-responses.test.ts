import { expect, test } from 'vitest';
import { rawClient } from '../../support/raw-client.ts';
import { ok } from '../../support/raw-server.ts';
import { served } from '../../support/served.ts';

const ORDER = '{"data":{"a":1}}';
const fields = `Host: g\r\nContent-Type: application/json\r\nContent-Length: ${ORDER.length}\r\n`;

test.each([
  ['a GET that passes', 'GET /api/v2/x HTTP/1.1\r\nHost: g\r\n\r\n'],
  ['a GET that is migrated', 'GET /api/v1/x HTTP/1.1\r\nHost: g\r\n\r\n'],
  ['a POST that is migrated', `POST /api/v1/x HTTP/1.1\r\n${fields}\r\n${ORDER}`],
  ['a POST that passes', `POST /api/v2/x HTTP/1.1\r\n${fields}\r\n${ORDER}`],
  [
    'a POST that streams',
    'POST /api/v2/x HTTP/1.1\r\nHost: g\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n',
    '0\r\n\r\n',
  ],
])('an unexpected 100 of V2 is forwarded before the response: %s', async (_what, request, rest = '') => {
  const { v2, gateway } = await served((socket) => {
    socket.write('HTTP/1.1 100 Continue\r\n\r\n');
    setTimeout(() => socket.write(`HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n${ok('"done"')}`), 5);
  });
  const client = rawClient(gateway.port);
  client.write(request);
  if (rest !== '') setTimeout(() => client.write(rest), 50);
  const { text } = await client.until(/"done"$/);
  client.socket.destroy();
  expect(text.match(/^HTTP\/1\.1 \d{3}/gm)).toEqual(['HTTP/1.1 100', 'HTTP/1.1 103', 'HTTP/1.1 200']);
  expect(await gateway.entry()).toMatchObject({ status: 200 });
  expect(v2.received.join('').match(/ HTTP\/1\.1\r\n/g)).toHaveLength(1);
});
