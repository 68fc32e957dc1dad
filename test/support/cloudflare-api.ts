import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';

/** What Wrangler uploaded with a worker. */
export interface UploadMetadata {
  readonly bindings: readonly { readonly name: string; readonly type: string; readonly text?: string }[];
  readonly migrations?: unknown;
}

/** Stands in for Cloudflare's API before an account without workers: it takes uploads, and knows nothing before. */
export interface CloudflareApi {
  readonly origin: string;
  /** The uploads so far, by name of the worker. */
  readonly uploads: ReadonlyMap<string, UploadMetadata>;
}

/** Starts the stand-in; it ends with the test. */
export async function cloudflareApi(): Promise<CloudflareApi> {
  const uploads = new Map<string, UploadMetadata>();
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const { method, url = '' } = request;
      const metadata = /name="metadata"\r\n\r\n(.*)\r\n/.exec(Buffer.concat(chunks).toString('latin1'))?.[1];
      const name = /\/scripts\/([^/?]+)/.exec(url)?.[1];
      if (method === 'PUT' && name !== undefined && metadata !== undefined)
        uploads.set(name, JSON.parse(metadata) as UploadMetadata);
      const isKnown = method !== 'GET' || uploads.size > 0 || url.endsWith('/workers/subdomain');
      response.statusCode = isKnown ? 200 : 404;
      response.setHeader('Content-Type', 'application/json');
      response.end(JSON.stringify(isKnown ? KNOWN : notFound(url)));
    });
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  return { origin: `http://127.0.0.1:${port}/client/v4`, uploads };
}

const KNOWN = {
  success: true,
  errors: [],
  messages: [],
  result: { id: 'id', deployment_id: 'id', startup_time_ms: 1, subdomain: 'acme', enabled: true },
};

/** The codes by which Wrangler tells a worker that does not exist from an error. */
function notFound(url: string): object {
  const code = url.includes('/services/') ? 10_090 : 10_007;
  return { success: false, errors: [{ code, message: 'not found' }], messages: [], result: null };
}
