import { createServer } from 'node:http';

/** V2 on Node: sends the id of the request back, and ends at once when it is told to, as most do. */
createServer((incoming, outgoing) => {
  incoming.on('error', () => {});
  incoming.resume().on('end', () => {
    const body = JSON.stringify({ data: { id: String(incoming.headers['x-id'] ?? '') } });
    outgoing.writeHead(200, { 'content-type': 'application/json', 'content-length': body.length }).end(body);
  });
}).listen(Number(process.argv[2]), '127.0.0.1');
