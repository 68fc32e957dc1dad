import { createServer, type Server } from 'node:http';
import { getRequestListener } from '@hono/node-server';
import { editionOfV1, editionOfV2 } from '../../reference/edition.ts';
import { refusalResponse, Refusal, toResponse } from '../../reference/envelope.ts';
import { createReference, type ReferenceParts } from '../../reference/reference.ts';
import { createSchemas, isFreeName } from '../../reference/schemas.ts';
import type { Store } from '../../reference/store.ts';
import { ReferenceFault } from './reference-fault.ts';
import { openReferenceStore } from './reference-store.ts';

/** How the reference service runs. Without `listen` it uses a free port of the loopback interface. */
export interface ReferenceOptions extends Omit<ReferenceParts, 'store' | 'now'> {
  readonly listen?: { readonly host: string; readonly port: number } | undefined;
  /** A file; without one, memory. */
  readonly db?: string | undefined;
}

/** A running reference service. */
export interface RunningReference {
  /** Such as `http://127.0.0.1:8090`. */
  readonly origin: string;
  /** Stops accepting, finishes requests in flight (within 5 seconds), closes the store. */
  close(): Promise<void>;
}

/** Starts the reference service; rejects with a {@link ReferenceFault} when the address or the file cannot be used. */
export async function startReference(options: ReferenceOptions): Promise<RunningReference> {
  const { listen: address = { host: '127.0.0.1', port: 0 }, db, ...parts } = options;
  checkDeprecated(parts.deprecated ?? []);
  const store = openStore(db);
  const app = createReference({ ...parts, store, now: () => performance.now() });
  const respond = getRequestListener(app.fetch, { overrideGlobalObjects: false, errorHandler });
  const server = createServer(
    { keepAliveTimeout: KEEP_ALIVE_MS },
    (incoming, outgoing) => void respond(incoming, outgoing),
  );
  try {
    const port = await listen(server, address.host, address.port);
    const host = address.host.includes(':') ? `[${address.host}]` : address.host;
    return { origin: `http://${host}:${port}`, close: () => close(server, store) };
  } catch (error) {
    store.close();
    const { message } = asError(error);
    throw new ReferenceFault(
      'listen',
      `${address.host}:${address.port}: ${message}. Choose another address or port.`,
      { cause: error },
    );
  }
}

/** Longer than proxies keep idle connections, so that they close them first. Milliseconds. */
const KEEP_ALIVE_MS = 65_000;

/** Requests that the adapter cannot read, such as with a bad Host, get a response in the envelope too, and are never printed. */
function errorHandler(): Response {
  return toResponse(
    refusalResponse(new Refusal(400, 'The request has a target or a Host that cannot be read.')),
  );
}

function checkDeprecated(names: readonly string[]): void {
  const editions = [editionOfV1([], 'data'), editionOfV2('2025-01-01')];
  const schemas = editions.map(({ spelling }) => createSchemas('refuse', spelling));
  for (const name of names) {
    if (schemas.every((known) => isFreeName(name, known))) continue;
    throw new ReferenceFault(
      'deprecated',
      `${JSON.stringify(name)}: V2 has an attribute of this name, or it is no plain word. Choose another, such as legacy_code.`,
    );
  }
}

function openStore(path: string | undefined): Store {
  try {
    return openReferenceStore(path);
  } catch (error) {
    const { message } = asError(error);
    throw new ReferenceFault(
      'db',
      `${path ?? 'in memory'}: ${message}. Choose a new file, or one that a reference service made.`,
      { cause: error },
    );
  }
}

function listen(server: Server, host: string, port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, () => {
      server.off('error', reject);
      const address = server.address();
      resolve(typeof address === 'object' && address !== null ? address.port : port);
    });
  });
}

async function close(server: Server, store: Store): Promise<void> {
  const closed = new Promise((resolve) => {
    server.close(resolve);
  });
  // Connections that are busy now become idle after their response, and nothing else would close them.
  const idle = setInterval(() => server.closeIdleConnections(), 20);
  const deadline = setTimeout(() => server.closeAllConnections(), 5000);
  await closed;
  clearInterval(idle);
  clearTimeout(deadline);
  store.close();
}

function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error));
}
