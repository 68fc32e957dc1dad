/** Measures one kind of work, for `own-code.ts`: the whole gateway of `serve`, whose connections are objects of this process. */
import { subscribe } from 'node:diagnostics_channel';
import { type AddressInfo, type OnReadOpts, Server, type Socket } from 'node:net';
import { run } from '../../src/cli/program.ts';
import { Origin } from '../../src/node/upstream/origin.ts';
import { freePort } from '../../test/support/free-port.ts';
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

/** Starts the gateway; resolves to its server for clients, which is the one on the port. */
async function listening(): Promise<Server> {
  const port = await freePort();
  const found = new Promise<Server>((resolve) => {
    subscribe('tracing:net.server.listen:asyncEnd', (message) => {
      const server: unknown = Reflect.get(Object(message), 'server');
      if (server instanceof Server && (server.address() as AddressInfo | null)?.port === port)
        resolve(server);
    });
  });
  const flags = {
    listen: `127.0.0.1:${port}`,
    'admin-listen': '127.0.0.1:0',
    upstream: 'http://127.0.0.1:9',
    'log-file': '/dev/null',
    'log-level': 'error',
  };
  const args = Object.entries(flags).flatMap(([flag, value]) => [`--${flag}`, value]);
  void run([process.execPath, 'main.ts', 'serve', ...args]);
  return found;
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
