/** Measures one kind of work, for `own-code.ts`: the whole gateway of `serve`, whose connections are objects of this process. */
import { subscribe } from 'node:diagnostics_channel';
import { once } from 'node:events';
import { type OnReadOpts, Server, type Socket } from 'node:net';
import { run } from '../../src/cli/program.ts';
import { Origin } from '../../src/node/upstream/origin.ts';
import { migrate, pass } from '../work.ts';
import { response } from '../v2-response.ts';
import { MemorySocket } from './memory-socket.ts';

/** Requests until nearly all code is compiled, and those of a round. */
const WARMING = 60_000;
const MEASURED = 20_000;

const [name, rounds, connections] = process.argv.slice(2);
const { request } = name === 'migrate' ? migrate : pass;

/** The connections to V2 with a request to respond to. */
let asked: OnReadOpts[] = [];

Origin.prototype.connect = function connectInMemory(onread): Socket {
  const socket = new MemorySocket(() => {
    if (onread !== undefined) asked.push(onread);
  });
  setImmediate(() => socket.emit('connect'));
  return socket;
};

function respond(reader: OnReadOpts): void {
  const { buffer } = reader;
  const read = typeof buffer === 'function' ? buffer() : buffer;
  read.set(response);
  reader.callback(response.length, read);
}

const server = await listening();
await play(WARMING);
const costs: number[] = [];
for (let round = 0; round < Number(rounds); round += 1) costs.push(await play(MEASURED));
process.send?.(costs);
process.disconnect();
process.exit();

/** Starts the gateway; resolves to its server for clients. */
async function listening(): Promise<Server> {
  const found = new Promise<Server>((resolve) => {
    subscribe('tracing:net.server.listen:asyncStart', (message) => {
      const started: unknown = Reflect.get(Object(message), 'server');
      if (started instanceof Server && started.listenerCount('checkExpectation') > 0) resolve(started);
    });
  });
  const local = [
    '--listen',
    '127.0.0.1:0',
    '--admin-listen',
    '127.0.0.1:0',
    '--upstream',
    'http://127.0.0.1:9',
  ];
  void run([
    process.execPath,
    'main.ts',
    'serve',
    ...local,
    '--log-file',
    '/dev/null',
    '--log-level',
    'error',
  ]);
  const started = await found;
  if (!started.listening) await once(started, 'listening');
  return started;
}

/** Plays so many requests, those of all connections in each turn of the event loop; returns microseconds of processor time a request. */
async function play(requests: number): Promise<number> {
  let idle: MemorySocket[] = [];
  const clients = Array.from({ length: Number(connections) }, () => {
    const client: MemorySocket = new MemorySocket(() => void idle.push(client));
    server.emit('connection', client);
    return client;
  });
  idle.push(...clients);
  const before = process.cpuUsage();
  let sent = 0;
  while (sent < requests) {
    const sending = idle;
    idle = [];
    sent += sending.length;
    for (const client of sending) client.receive(request);
    // Requests are sent to V2 at the end of the turn.
    await turn();
    await turn();
    const waiting = asked;
    asked = [];
    for (const connection of waiting) respond(connection);
  }
  const { user, system } = process.cpuUsage(before);
  for (const client of clients) client.destroy();
  return (user + system) / sent;
}

function turn(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}
