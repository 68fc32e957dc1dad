/** A plain proxy in Node: its own server in front, its own client behind, and bytes piped between them. */
import { Agent, createServer, request } from 'node:http';

const [port, upstream] = process.argv.slice(2).map(Number);
const agent = new Agent({ keepAlive: true, maxSockets: 128 });
const server = createServer({ keepAliveTimeout: 600_000 }, (incoming, outgoing) => {
  const { method, url, headers } = incoming;
  const sent = request(
    { agent, host: '127.0.0.1', port: upstream, method, path: url, headers },
    (response) => {
      outgoing.writeHead(response.statusCode ?? 502, response.headers);
      response.pipe(outgoing);
    },
  );
  sent.on('error', () => outgoing.destroy());
  incoming.pipe(sent);
});
server.listen(port, '127.0.0.1');
