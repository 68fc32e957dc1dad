/**
 * `node bench/message-corpora.ts <folder>`: plays the HTTP messages in other projects' tests, whose sources lie in the folder (llhttp,
 * picohttpparser, h11, gunicorn, Puma, aiohttp, hyper, Go …: `node bench/fetch-corpora.ts <folder>`), against a gateway, and prints the outcome of
 * each kind beside Node's. Ends with 1 when a message leaves a client without a response and without a close.
 */
import { createServer } from 'node:http';
import { connect } from 'node:net';
import { messageServer, readByNode, readThrough } from '../test/support/response-plays.ts';
import { startGatewayProcess } from './gateway-process.ts';
import { readMessages } from './messages-in-sources.ts';

const [folder] = process.argv.slice(2);
if (folder === undefined) throw new Error('Name a folder with the sources of other projects.');
/** Milliseconds to wait for a message: longer than the gateway waits for V2. */
const WAIT_MS = 2500;
const messages = readMessages(folder);
const v2 = await messageServer();
const gateway = await startGatewayProcess({
  upstream: `http://127.0.0.1:${v2.port}`,
  breaker: 'off',
  'upstream-headers-timeout': '500',
  'upstream-body-timeout': '500',
  'client-headers-timeout': '500',
  'client-body-timeout': '500',
});
const kinds = new Map<string, { count: number; readonly example: string }>();
let held = 0;

for (const text of messages.responses) {
  v2.message = text;
  const [whole, inParts, byNode] = [
    await readThrough(gateway.port, 'whole'),
    await readThrough(gateway.port, 'in parts'),
    await readByNode(v2.port, WAIT_MS),
  ];
  const paths = whole === inParts ? outcome(whole) : `${outcome(whole)} / in parts ${outcome(inParts)}`;
  note(`response: ${paths}, by Node ${outcome(byNode)}`, text, [whole, inParts].includes('waits'));
}
const node = await nodeServer();
for (const text of messages.requests) {
  v2.message = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok';
  const mine = await firstStatus(gateway.port, text);
  note(`request: ${mine}, by Node ${await firstStatus(node.port, text)}`, text, mine === 'waits');
}
node.close();
v2.close();
await gateway.stop();

process.stdout.write(`${messages.responses.length} responses, ${messages.requests.length} requests\n`);
for (const [kind, { count, example }] of [...kinds].toSorted((one, other) => other[1].count - one[1].count))
  process.stdout.write(`${String(count).padStart(6)}  ${kind}  ${JSON.stringify(example).slice(0, 160)}\n`);
process.stdout.write(`${held} leave a client without a response and without a close\n`);
process.exitCode = held === 0 ? 0 : 1;

function note(kind: string, text: string, isHeld: boolean): void {
  if (isHeld) held += 1;
  const known = kinds.get(kind);
  if (known === undefined) kinds.set(kind, { count: 1, example: text });
  else known.count += 1;
}

/** The kind of an outcome: whatever the body is. */
function outcome(text: string): string {
  return /^(?:200|204|304|[1-9]\d\d) ./.test(text)
    ? 'taken'
    : /^\d+$/.test(text)
      ? text
      : (text.split(' ', 1)[0] ?? '');
}

/** The status of the first response to bytes that a client writes before it closes its side; `closes` and `waits` where there is none. */
function firstStatus(port: number, bytes: string): Promise<string> {
  return new Promise((resolve) => {
    const socket = connect({ port, host: '127.0.0.1' });
    let text = '';
    const settle = (otherwise: string): void => {
      clearTimeout(timer);
      resolve(/^(?:HTTP\/1\.1 1\d\d [^]*?\r\n\r\n)*HTTP\/1\.1 (\d{3}) /.exec(text)?.[1] ?? otherwise);
      socket.destroy();
    };
    const timer = setTimeout(() => settle('waits'), WAIT_MS);
    socket.on('data', (chunk) => {
      text += chunk.toString('latin1');
      if (/\r\n\r\n[^]+$|\r\ncontent-length: 0\r\n/i.test(text)) settle('waits');
    });
    socket.on('error', () => {});
    socket.on('close', () => settle('closes'));
    socket.write(Buffer.from(bytes, 'latin1'));
  });
}

/** Node's own server, which responds to every request. */
async function nodeServer(): Promise<{ readonly port: number; close(): void }> {
  const server = createServer(
    { headersTimeout: 500, requestTimeout: 1000, connectionsCheckingInterval: 200 },
    (incoming, outgoing) => {
      incoming.resume();
      outgoing.end('ok');
    },
  );
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  const bound = server.address();
  return {
    port: typeof bound === 'object' && bound !== null ? bound.port : 0,
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}
