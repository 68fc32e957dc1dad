/** Two sockets of Node, joined: bytes go through as they come, unread. What is left between it and a proxy is the proxy's own. */
import { connect, createServer } from 'node:net';

const [port, upstream] = process.argv.slice(2).map(Number);
const buffer = Buffer.allocUnsafeSlow(64 * 1024);
const server = createServer({ noDelay: true }, (client) => {
  const v2 = connect({
    port: upstream ?? 0,
    host: '127.0.0.1',
    noDelay: true,
    onread: {
      buffer,
      callback(length) {
        client.write(buffer.subarray(0, length));
        return true;
      },
    },
  });
  client.on('data', (chunk) => v2.write(chunk));
  client.on('close', () => v2.destroy());
  v2.on('close', () => client.destroy());
  for (const socket of [client, v2]) socket.on('error', () => socket.destroy());
});
server.listen(port, '127.0.0.1');
