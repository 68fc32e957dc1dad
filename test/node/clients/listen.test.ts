import { connect, createServer } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { closePort, listen } from '../../../src/node/clients/listen.ts';
import { freePort } from '../../support/free-port.ts';

const TURNS = 100;
const CLIENTS = 64;

/** Connects to `port`, and resolves to how that ended: the bytes received, or the code of the error. */
function outcomeOf(port: number): Promise<string> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    let outcome = 'closed';
    socket.on('data', (bytes) => (outcome = bytes.toString()));
    socket.on('error', (error) => (outcome = 'code' in error ? String(error.code) : error.message));
    socket.on('close', () => resolve(outcome));
  });
}

test('connections that arrive in every turn in which a port is closed are served or refused, never reset', async () => {
  const port = await freePort();
  let accepted = 0;
  const server = createServer((socket) => {
    accepted += 1;
    socket.end('served');
  });
  await listen(server, { host: '127.0.0.1', port }, 'http');
  const outcomes: Promise<string>[] = [];
  const connectInEachTurn = (): void => {
    outcomes.push(outcomeOf(port));
    // The system has the connection at the end of this turn; the server sees it in the next one.
    if (outcomes.length < TURNS) setImmediate(connectInEachTurn);
  };
  connectInEachTurn();
  const closed = Promise.withResolvers<void>();
  await closePort(server, { accepted: () => accepted, isOwn: true, onClosed: closed.resolve });
  expect(server.listening).toBe(false);
  const ended = await Promise.all(outcomes);
  await closed.promise;
  expect(ended.filter((outcome) => outcome === 'served')).toHaveLength(accepted);
  expect(ended.filter((outcome) => outcome !== 'served' && outcome !== 'ECONNREFUSED')).toEqual([]);
});

test('clients that connect again and again while a port is closed are served or refused, never reset', async () => {
  const port = await freePort();
  const server = createServer((socket) => socket.end('served'));
  await listen(server, { host: '127.0.0.1', port }, 'http');
  const outcomes = new Set<string>();
  const connectAgain = async (): Promise<void> => {
    while (server.listening) {
      outcomes.add(await outcomeOf(port));
      await pause(Math.random() * 5);
    }
  };
  const clients = Array.from({ length: CLIENTS }, connectAgain);
  await closePort(server, { accepted: () => 0, isOwn: true, onClosed: () => {} });
  await Promise.all(clients);
  outcomes.delete('ECONNREFUSED');
  expect([...outcomes]).toEqual(['served']);
});

test('a port that others listen on, too, is closed after a turn that brought no connection', async () => {
  const server = createServer((socket) => socket.end('served'));
  const port = await freePort();
  await listen(server, { host: '127.0.0.1', port }, 'http');
  const outcome = outcomeOf(port);
  let accepted = 0;
  server.on('connection', () => (accepted += 1));
  await closePort(server, { accepted: () => accepted, isOwn: false, onClosed: () => {} });
  expect(await outcome).toBe('served');
  expect(await outcomeOf(port)).toBe('ECONNREFUSED');
});
