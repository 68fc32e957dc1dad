import { IncomingMessage } from 'node:http';
import { isHopByHop } from '../../http/hop-by-hop.ts';
import type { MigratedRequest } from '../../library/request-verdict.ts';

/** Replaces target and header fields of a request whose body is streamed; its framing stays. */
export function replaceHead(incoming: IncomingMessage, sent: MigratedRequest): void {
  incoming.url = sent.target;
  setFields(incoming, incoming, [...connectionFields(incoming, true), ...sent.headers]);
}

/** Returns a request with a rewritten body, in place of one whose body was read. */
export function bufferedRequest(incoming: IncomingMessage, sent: MigratedRequest): IncomingMessage {
  const { body } = sent;
  const request = new IncomingMessage(incoming.socket);
  // A property of its own: Express replaces the prototype. There is nothing to read from the socket.
  request._read = () => {};
  request.httpVersion = incoming.httpVersion;
  request.httpVersionMajor = incoming.httpVersionMajor;
  request.httpVersionMinor = incoming.httpVersionMinor;
  request.method = sent.method;
  request.url = sent.target;
  const length: Field = ['Content-Length', String(body?.length ?? 0)];
  setFields(request, incoming, [...connectionFields(incoming, false), ...sent.headers, length]);
  request.complete = true;
  if (body !== null) request.push(body);
  request.push(null);
  return request;
}

type Field = [name: string, value: string];

/** The fields of the connection, which are not those of the request; with its framing, if the body is as received. */
function connectionFields({ rawHeaders }: IncomingMessage, isFramed: boolean): Field[] {
  const fields: Field[] = [];
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at] ?? '';
    const lower = name.toLowerCase();
    const isFraming = lower === 'content-length' || lower === 'transfer-encoding' || lower === 'trailer';
    if (isFraming ? isFramed : lower === 'host' || isHopByHop(lower))
      fields.push([name, rawHeaders[at + 1] ?? '']);
  }
  return fields;
}

/** Sets the fields in all three forms that Node has. Lines of one name were joined by Node, and are as received. */
function setFields(request: IncomingMessage, received: IncomingMessage, fields: readonly Field[]): void {
  const lines = new Map<string, string[]>();
  for (const [name, value] of fields) {
    const lower = name.toLowerCase();
    lines.set(lower, [...(lines.get(lower) ?? []), value]);
  }
  const headers = { ...received.headers };
  for (const name of Object.keys(headers)) if (!lines.has(name)) delete headers[name];
  for (const [name, values] of lines) {
    if (values.length === 1 && name !== 'set-cookie') headers[name] = values[0];
  }
  request.rawHeaders = fields.flat();
  request.headers = headers;
  request.headersDistinct = Object.fromEntries(lines);
}
