import { connect, createServer, type Server } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { describe, expect, onTestFinished, test } from 'vitest';
import {
  listenFault,
  ACCEPT_QUEUES,
  closePort,
  listen,
  listenTogether,
  requireFree,
} from '../../../src/node/clients/listen.ts';
import { freePort } from '../../support/free-port.ts';
import { fuzzRuns } from '../../support/fuzz.ts';
import { until } from '../../support/until.ts';

const TURNS = 100;
const CLIENTS = 64;

/** Connects to `port`, and resolves to how that ended: the bytes received, or the code of the error. */
function outcomeOf(port: number, host = '127.0.0.1'): Promise<string> {
  return new Promise((resolve) => {
    const socket = connect(port, host);
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
  await closePort([server], { accepted: () => accepted, isOwn: true, onClosed: closed.resolve });
  expect(server.listening).toBe(false);
  const ended = await Promise.all(outcomes);
  await closed.promise;
  expect(ended.filter((outcome) => outcome === 'served')).toHaveLength(accepted);
  expect(ended.filter((outcome) => outcome !== 'served' && outcome !== 'ECONNREFUSED')).toEqual([]);
});

test('a port on which others also listen is closed after a turn that brought no connection', async () => {
  const server = createServer((socket) => socket.end('served'));
  const port = await freePort();
  await listen(server, { host: '127.0.0.1', port }, 'http');
  const outcome = outcomeOf(port);
  let accepted = 0;
  server.on('connection', () => (accepted += 1));
  await closePort([server], { accepted: () => accepted, isOwn: false, onClosed: () => {} });
  expect(await outcome).toBe('served');
  expect(await outcomeOf(port)).toBe('ECONNREFUSED');
});

/** Servers that share a port, and serve every connection. */
function several(count = ACCEPT_QUEUES): [Server, ...Server[]] {
  const one = (): Server => createServer((socket) => socket.on('error', () => {}).end('served'));
  return [one(), ...Array.from({ length: count - 1 }, one)];
}

function closeAll(servers: readonly Server[]): void {
  for (const server of servers) server.close();
}

test.each([
  [
    { code: 'EADDRINUSE', address: '127.0.0.1', port: 80 },
    '127.0.0.1:80 is in use by another program (EADDRINUSE)',
  ],
  [{ code: 'EADDRINUSE', address: '::', port: 80 }, '[::]:80 is in use by another program (EADDRINUSE)'],
  [{ code: 'EACCES', address: '127.0.0.1', port: 80 }, 'this user may not listen on 127.0.0.1:80 (EACCES)'],
  [
    { code: 'EADDRNOTAVAIL', address: '10.1.2.3', port: 80 },
    '10.1.2.3 is no address of this machine (EADDRNOTAVAIL)',
  ],
  [{ code: 'ENOTFOUND', hostname: 'a.invalid' }, 'the host a.invalid is unknown (ENOTFOUND)'],
  [{ code: 'EINVAL', address: '::', port: 80 }, 'listen EINVAL'],
] as const)('an address that the system refuses: %o', (parts, fault) => {
  const error = Object.assign(new Error('listen EINVAL'), { syscall: 'listen', ...parts });
  expect(listenFault(error)).toEqual({ fault, ...('port' in parts ? { port: parts.port } : {}) });
  expect(listenFault(new Error('of another kind'))).toBeUndefined();
});

describe('several listening sockets of one port', () => {
  test('each of them accepts', async () => {
    const servers = several();
    onTestFinished(() => closeAll(servers));
    const accepting = new Set<Server>();
    for (const server of servers) server.on('connection', () => accepting.add(server));
    const port = await freePort();
    expect(await listenTogether(servers, { host: 'localhost', port }, 'http', false)).toMatch(`:${port}`);
    const host = (servers[0].address() as { readonly address: string }).address;
    expect(servers.map((server) => server.address())).toEqual(
      servers.map(() => expect.objectContaining({ port, address: host })),
    );
    for (let count = 0; accepting.size < servers.length && count < 1000; count += 1)
      await outcomeOf(port, host);
    expect(accepting.size).toBe(servers.length);
  });

  // With SO_REUSEPORT alone, a second gateway of the same user would take half of the first one's connections, without a word.
  test.each([
    ['one that shares', true],
    ['one that does not', false],
  ])('a port in use is an error: %s', async (_who, shares) => {
    const port = await freePort();
    const other = several();
    onTestFinished(() => closeAll(other));
    if (shares) await listenTogether(other, { host: '127.0.0.1', port }, 'http', false);
    else await listen(other[0], { host: '127.0.0.1', port }, 'http');
    for (const host of ['127.0.0.1', '0.0.0.0'])
      await expect(listenTogether(several(), { host, port }, 'http', false)).rejects.toMatchObject({
        code: 'EADDRINUSE',
        port,
      });
    await expect(requireFree({ host: '127.0.0.1', port })).rejects.toMatchObject({ code: 'EADDRINUSE' });
  });

  test('of many processes that want one port at the same moment, one gets it', async () => {
    const port = await freePort();
    const all = Array.from({ length: 12 }, () => several(2));
    onTestFinished(() => closeAll(all.flat()));
    const outcomes = await Promise.allSettled(
      all.map((servers) => listenTogether(servers, { host: '127.0.0.1', port }, 'http', false)),
    );
    expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
  });

  test('a gateway that waits for its turn at the port warns of nothing, and starts after a second', async () => {
    const port = await freePort();
    const holder = createServer().listen(`\0capture-gateway:${port}`);
    const servers = several();
    onTestFinished(() => closeAll([holder, ...servers]));
    const warnings: string[] = [];
    const note = ({ message }: Error): unknown => warnings.push(message);
    process.on('warning', note);
    onTestFinished(() => void process.off('warning', note));
    expect(await listenTogether(servers, { host: '127.0.0.1', port }, 'http', false)).toMatch(`:${port}`);
    expect(warnings).toEqual([]);
  });

  test('restarts under a burst of connections reset none', async () => {
    const restarts = fuzzRuns(30);
    const port = await freePort();
    const counts = new Map<string, number>();
    const servedSoFar = (): number => counts.get('served') ?? 0;
    const over = new AbortController();
    const connectAgain = async (): Promise<void> => {
      while (!over.signal.aborted) {
        const outcome = await outcomeOf(port);
        counts.set(outcome, (counts.get(outcome) ?? 0) + 1);
        await pause(Math.random() * 5);
      }
    };
    const clients = Array.from({ length: CLIENTS }, connectAgain);
    for (let count = 0; count < restarts; count += 1) {
      const servers = several();
      const before = servedSoFar();
      await listenTogether(servers, { host: '127.0.0.1', port }, 'http', false);
      await pause(20);
      await until(() => servedSoFar() > before);
      await closePort(servers, { accepted: () => 0, isOwn: true, onClosed: () => {} });
      expect(servers.filter(({ listening }) => listening)).toEqual([]);
    }
    over.abort();
    await Promise.all(clients);
    const { served: _served, ECONNREFUSED: _refused, ...others } = Object.fromEntries(counts);
    expect(others).toEqual({});
  });
});
