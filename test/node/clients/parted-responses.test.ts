import type { Socket } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { gatewayFor } from '../../support/gateway.ts';
import { exchange, rawClient } from '../../support/raw-client.ts';
import { rawServer } from '../../support/raw-server.ts';
import { until } from '../../support/until.ts';

/** Letters that no size of a chunk has. */
const LETTERS = Array.from('ghijklmnopqrstuvwxyz');
const PART = 1500;

test.each(['Content-Length: 3000\r\n', 'Transfer-Encoding: chunked\r\n'])(
  'responses in parts that arrive in the same turns of the event loop stay apart (%j)',
  async (framing) => {
    const isChunked = framing.startsWith('Transfer');
    const part = (letter: string) => {
      const text = letter.repeat(PART);
      return isChunked ? `${PART.toString(16)}\r\n${text}\r\n` : text;
    };
    const asked = new Map<string, Socket>();
    const v2 = await rawServer((socket, request) => {
      const letter = /\/api\/v2\/([a-z])/.exec(request)?.[1] ?? '';
      asked.set(letter, socket);
    });
    const { port } = await gatewayFor(v2.origin);
    const responses = Promise.all(
      LETTERS.map((letter) =>
        exchange(port, `GET /api/v2/${letter} HTTP/1.1\r\nHost: g\r\nConnection: close\r\n\r\n`),
      ),
    );
    await until(() => asked.size === LETTERS.length);
    for (const [letter, socket] of asked) socket.write(`HTTP/1.1 200 OK\r\n${framing}\r\n${part(letter)}`);
    await pause(50);
    for (const [letter, socket] of asked) socket.write(part(letter) + (isChunked ? '0\r\n\r\n' : ''));
    const texts = (await responses).map(({ text }) => text.slice(text.indexOf('\r\n\r\n') + 4));
    expect(texts.map((text) => text.replaceAll(/[\r\n0-9a-f]/g, ''))).toEqual(
      LETTERS.map((letter) => letter.repeat(2 * PART)),
    );
  },
);

test('a head reaches the client though nothing follows it', async () => {
  const v2 = await rawServer((socket) =>
    socket.write('HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n'),
  );
  const { port } = await gatewayFor(v2.origin);
  const client = rawClient(port);
  client.write('GET /api/v2/events HTTP/1.1\r\nHost: g\r\n\r\n');
  expect((await client.until(/\r\n\r\n/)).text).toContain('text/event-stream');
  client.socket.destroy();
});
