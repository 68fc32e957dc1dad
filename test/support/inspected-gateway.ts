import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { type AdminCalls, adminCalls } from './admin-calls.ts';
import { PROGRAM_ENVIRONMENT } from './program-environment.ts';
import { PROGRAM } from './product.ts';

const root = new URL('../../', import.meta.url).pathname;

/** A real gateway in a separate process, in front of the embedded V2, with its inspector. */
export interface InspectedGateway extends AdminCalls {
  readonly origin: string;
  readonly adminOrigin: string;
  /** Sends a request as a client does; returns the status. */
  send(method: string, path: string, body?: string, key?: string, requestId?: string): Promise<number>;
  stop(): Promise<void>;
}

/** Starts `serve` on free ports. The caller stops it. */
export async function inspectGateway(
  flags: Readonly<Record<string, string>> = {},
  environment: Readonly<Record<string, string>> = {},
): Promise<InspectedGateway> {
  const all = {
    listen: '127.0.0.1:0',
    'admin-listen': '127.0.0.1:0',
    'log-file': 'off',
    ...flags,
  };
  const args = Object.entries(all).flatMap(([name, value]) => [`--${name}`, value]);
  const child = spawn(process.execPath, [PROGRAM, 'serve', ...args], {
    cwd: root,
    env: { ...PROGRAM_ENVIRONMENT, GATEWAY_LOG_FORMAT: 'text', ...environment },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let output = '';
  for await (const chunk of child.stderr.setEncoding('utf8').iterator({ destroyOnReturn: false })) {
    output += String(chunk);
    if (output.includes('-d ')) break;
  }
  child.stderr.resume();
  const origin = /clients +(\S+)/.exec(output)?.[1];
  const adminOrigin = /admin +(\S+)/.exec(output)?.[1];
  if (origin === undefined || adminOrigin === undefined) throw new Error(`it did not start: ${output}`);
  return {
    origin,
    adminOrigin,
    send: async (method, path, body, key = API_KEY, requestId) => {
      const response = await fetch(`${origin}${path}`, {
        method,
        headers: {
          authorization: `Bearer ${key}`,
          'x-customer': 'customer-of-the-tests',
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
          ...(requestId === undefined ? {} : { 'x-request-id': requestId }),
        },
        ...(body === undefined ? {} : { body }),
      });
      await response.arrayBuffer();
      return response.status;
    },
    ...adminCalls(adminOrigin),
    stop: async () => {
      if (child.exitCode !== null || child.signalCode !== null) return;
      child.kill('SIGKILL');
      await once(child, 'exit');
    },
  };
}

/** The key that requests have by default. */
export const API_KEY = 'key-that-nobody-may-see';

/** A V1 floor plan order; every value in it is one that nothing else has. */
export const FLOOR_PLAN_ORDER = JSON.stringify({
  data: {
    property: {
      display_name: 'Gables of the tests',
      street_address: '77 Secret Street',
      suburb: 'Hiddenville',
      postcode: '98761',
      latitude: -37.12345,
    },
    external_id: 'private-external-id',
  },
});

/** The values in it, and in what else is sent, that must not be seen while capture is off. */
export const SECRETS = [
  API_KEY,
  'customer-of-the-tests',
  'Gables of the tests',
  '77 Secret Street',
  'Hiddenville',
  '98761',
  '37.12345',
  'private-external-id',
  'query-value-of-the-tests',
];
