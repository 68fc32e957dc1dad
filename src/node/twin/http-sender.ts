import { Agent as HttpAgent, type IncomingMessage, request as httpRequest } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import { brotliDecompressSync, gunzipSync, inflateSync } from 'node:zlib';
import type { NoResponse, Sender, Side, TwinRequest, TwinResponse } from '../../twin/sender.ts';

/** How requests are put on the wire. */
export interface SenderOptions {
  /** Sends bodies in chunks, without a length. */
  readonly isChunked?: boolean;
  /** Fields that every request gets. */
  readonly fields?: readonly (readonly [name: string, value: string])[];
  /** PEM text of the authority that signed the service's certificate, where it is not a public one. */
  readonly ca?: string | undefined;
}

/** Time within which a response must be complete, in milliseconds. */
const TIMEOUT_MS = 30_000;

/** A service at an origin, with connections of its own that are kept; `close` ends them. */
export function httpSide(origin: string, options: SenderOptions = {}): Side & { close(): void } {
  const url = new URL(origin);
  const isSecure = url.protocol === 'https:';
  const agent = isSecure
    ? new HttpsAgent({ keepAlive: true, ...(options.ca === undefined ? {} : { ca: options.ca }) })
    : new HttpAgent({ keepAlive: true });
  const send: Sender = (request) =>
    new Promise((resolve) => {
      const outgoing = (isSecure ? httpsRequest : httpRequest)(
        {
          agent,
          host: url.hostname.replace(/^\[|\]$/g, ''),
          port: url.port,
          method: request.method,
          path: `${url.pathname.replace(/\/$/, '')}${request.target}`,
          headers: headersOf(request, options, url.host),
          timeout: TIMEOUT_MS,
        },
        (incoming) => void readResponse(incoming).then(resolve),
      );
      outgoing.on('timeout', () => outgoing.destroy(new Error(`no response within ${TIMEOUT_MS / 1000} s`)));
      outgoing.on('error', (error) => resolve({ fault: error.message }));
      outgoing.end(request.body);
    });
  return { origin: url.origin, send, close: () => agent.destroy() };
}

/** Raw, so that Node adds nothing: names, values and order are the script's. */
function headersOf({ method, headers, body }: TwinRequest, options: SenderOptions, host: string): string[] {
  const fields = [['Host', host] as const, ...headers, ...(options.fields ?? [])];
  if (body !== undefined && options.isChunked === true) fields.push(['Transfer-Encoding', 'chunked']);
  else if (body !== undefined) fields.push(['Content-Length', String(body.length)]);
  else if (method === 'POST' || method === 'PATCH' || method === 'PUT') fields.push(['Content-Length', '0']);
  return fields.flat();
}

async function readResponse(incoming: IncomingMessage): Promise<TwinResponse | NoResponse> {
  const chunks: Buffer[] = [];
  try {
    for await (const chunk of incoming) {
      if (Buffer.isBuffer(chunk)) chunks.push(chunk);
    }
  } catch (error) {
    return { fault: error instanceof Error ? error.message : String(error) };
  }
  const { rawHeaders, statusCode = 0 } = incoming;
  const headers: (readonly [string, string])[] = [];
  for (let at = 0; at < rawHeaders.length; at += 2)
    headers.push([rawHeaders[at] ?? '', rawHeaders[at + 1] ?? '']);
  return { status: statusCode, headers, body: decoded(Buffer.concat(chunks), incoming) };
}

function decoded(bytes: Buffer, { headers }: IncomingMessage): Uint8Array {
  const decode = DECODERS.get(headers['content-encoding'] ?? '');
  return bytes.length === 0 || decode === undefined ? bytes : decode(bytes);
}

const DECODERS: ReadonlyMap<string, (bytes: Buffer) => Buffer> = new Map([
  ['gzip', gunzipSync],
  ['deflate', inflateSync],
  ['br', brotliDecompressSync],
]);
