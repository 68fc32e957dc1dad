import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { gatewayFor } from '../../../support/gateway.ts';
import { rawClient } from '../../../support/raw-client.ts';
import { ok, rawServer } from '../../../support/raw-server.ts';
import { until } from '../../../support/until.ts';

const source = readFileSync(
  new URL('../../../../src/node/clients/http1/connection.ts', import.meta.url),
  'utf8',
);
/** The rows of the table at the head of the connection: its states, what holds them, and what the client's FIN does. */
const rows = [...source.matchAll(/^ \* \| (.+) \|$/gm)]
  .map(([, row = '']) => row.split(' | '))
  .filter(([first = '']) => first !== 'state' && !first.startsWith('---'))
  .map(([state = '', held = '', , fin = '']) => ({ name: state.split(':')[0] ?? '', held, fin }));

const POST = 'POST /api/v2/x HTTP/1.1\r\nHost: g\r\n';
const GET = 'GET /api/v2/x HTTP/1.1\r\nHost: g\r\n\r\n';

/** How a client brings its connection into a state, and the status of the entry that its FIN leaves; none where there is no request. */
const plays: Readonly<Record<string, readonly [bytes: string, status: number | undefined]>> = {
  new: ['', undefined],
  idle: [GET.replace('/x', '/served'), 200],
  head: [GET.slice(0, 20), 400],
  'small body': [`${POST}Content-Length: 5\r\n\r\nhe`, 0],
  body: [`${POST}Transfer-Encoding: chunked\r\n\r\n5\r\nhe`, 0],
  busy: [GET, 0],
};

test('the table names the states that are played here, and those that end by themselves', () => {
  const ends = ['early', 'yielding', 'closing'];
  expect(rows.map(({ name }) => name)).toEqual([...Object.keys(plays), ...ends]);
});

test.each(rows.flatMap(({ held }) => [...held.matchAll(/`(\w+)`/g)].map(([, field]) => field ?? '')))(
  'a connection has the field %s that the table names',
  (field) => {
    expect(source).toMatch(new RegExp(`^  (?:private )?${field}\\b`, 'm'));
  },
);

test.each(rows.filter(({ name }) => name in plays))(
  '$name, and the client closes its side: $fin',
  async ({ name, fin }) => {
    const v2 = await rawServer((socket, request) => void (request.includes('/served') && socket.write(ok())));
    const gateway = await gatewayFor(v2.origin);
    const client = rawClient(gateway.port);
    const [bytes = '', status] = plays[name] ?? [];
    client.write(bytes);
    if (name === 'idle') await client.until(/\}$/);
    if (name === 'busy') await until(() => gateway.gateway.inFlight === 1);
    if (name === 'body') await until(() => gateway.gateway.inFlight === 1);
    client.socket.end();
    const { text, closed } = await client.end();
    expect(closed).toBe(true);
    if (status !== undefined) expect((await gateway.entry()).status).toBe(status);
    else expect(gateway.lines).toEqual([]);
    expect(text.startsWith('HTTP/1.1 400 ')).toBe(fin.startsWith('400'));
    await until(() => gateway.gateway.inFlight === 0);
  },
);
