import { connect, type ClientHttp2Session, type IncomingHttpHeaders } from 'node:http2';
import { onTestFinished } from 'vitest';
import { certificate } from './certificates.ts';
import { gatewayFor, type TestGateway } from './gateway.ts';
import { type RawH2, rawH2 } from './raw-h2.ts';
import { ok, type RawResponse, rawServer, type RawServer } from './raw-server.ts';

export const ca = certificate({ name: 'private CA' });
/** The certificate of the gateway, and its key. */
export const mine = certificate({ name: 'gateway', hosts: ['localhost', '127.0.0.1'], issuer: ca });

/** Starts a gateway that speaks TLS, HTTP/2 and HTTP/1.1, with its clients. */
export async function secureGateway(
  upstream: string,
  flags: Record<string, string> = {},
): Promise<TestGateway> {
  return gatewayFor(upstream, { flags, parts: { clientTls: mine } });
}

/** Starts a V2 of bytes and a gateway of `secureGateway` in front of it, with what V2 responds to each request. */
export async function securelyServed(
  response: string | RawResponse = ok(),
  flags: Record<string, string> = {},
): Promise<{ readonly v2: RawServer; readonly gateway: TestGateway }> {
  const v2 = await rawServer(
    typeof response === 'string' ? (socket) => void socket.write(response) : response,
  );
  return { v2, gateway: await secureGateway(v2.origin, flags) };
}

/** The same, with a raw connection of HTTP/2 that has sent these settings. */
export async function servedOverH2(
  response: string | RawResponse = ok(),
  flags: Record<string, string> = {},
  settings: readonly (readonly [number, number])[] = [],
): Promise<{ readonly v2: RawServer; readonly gateway: TestGateway; readonly raw: RawH2 }> {
  const served = await securelyServed(response, flags);
  return { ...served, raw: await rawH2(served.gateway.port, ca.cert, settings) };
}

/** Opens a connection of HTTP/2 to a gateway of `secureGateway`; it ends with the test. */
export function session(
  gateway: TestGateway,
  settings: { readonly initialWindowSize?: number; readonly headerTableSize?: number } = {},
): ClientHttp2Session {
  const client = connect(`https://localhost:${gateway.port}`, { ca: ca.cert, settings });
  client.on('error', () => {});
  onTestFinished(() => client.destroy());
  return client;
}

/** The response that an HTTP/2 client got. */
export interface H2Response {
  readonly headers: IncomingHttpHeaders;
  readonly trailers: IncomingHttpHeaders | undefined;
  readonly interim: readonly IncomingHttpHeaders[];
  readonly body: string;
  /** Of the reset that ended the stream; 0 without one. */
  readonly code: number;
}

/** Sends one request on a new stream, and resolves when the stream is closed. */
export function sendRequest(
  client: ClientHttp2Session,
  headers: Record<string, string | string[]>,
  body?: string | Buffer,
): Promise<H2Response> {
  return new Promise((resolve) => {
    const stream = client.request(headers, { endStream: body === undefined });
    let got: IncomingHttpHeaders = {};
    let trailers: IncomingHttpHeaders | undefined;
    const interim: IncomingHttpHeaders[] = [];
    let text = '';
    stream.on('response', (fields) => {
      got = fields;
    });
    stream.on('headers', (fields) => void interim.push(fields));
    stream.on('trailers', (fields) => {
      trailers = fields;
    });
    stream.on('data', (chunk: Buffer) => {
      text += chunk.toString('latin1');
    });
    stream.on('error', () => {});
    stream.on('close', () =>
      resolve({ headers: got, trailers, interim, body: text, code: stream.rstCode ?? 0 }),
    );
    if (body !== undefined) stream.end(body);
  });
}
