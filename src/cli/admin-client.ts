import type { Dispatcher } from 'undici/index.js';
import { readText } from '../node/files.ts';
import { readSecret } from '../settings/read-settings.ts';
import { type Setting, settings as table } from '../settings/settings.ts';
import type { CommandFault } from './command-fault.ts';
import { givenSettings } from './settings-file.ts';

/** The address of an admin listener and its credentials. */
interface AdminAddress {
  /** Such as `http://127.0.0.1:8081`. */
  readonly url: string;
  readonly token: string | undefined;
}

/** Maximum time to connect, and from the request to the response headers, in milliseconds. */
const CONNECT_TIMEOUT_MS = 5000;
const HEADERS_TIMEOUT_MS = 30_000;
/** Maximum time between two chunks of a response, in milliseconds: a stream of entries sends something every 2 s. */
const BODY_TIMEOUT_MS = 10_000;

/**
 * Client of an admin listener, on undici. Its connection is kept alive between requests. Connecting, the response headers and
 * each chunk of the body have separate timeouts, so that a gateway that vanished without closing is noticed.
 */
export class AdminClient {
  readonly url: string;
  private readonly token: string | undefined;
  private agent: Dispatcher | undefined = undefined;

  constructor({ url, token }: AdminAddress) {
    this.url = url;
    this.token = token;
  }

  /** Says why the listener responded with another status than 200, and what to do about a token. */
  refusal(status: number): string {
    const listener = `The admin listener at ${this.url}`;
    if (status !== 401) return `${listener} responded with ${status}.`;
    return this.token === undefined
      ? `${listener} requires its token; set GATEWAY_ADMIN_TOKEN, or GATEWAY_ADMIN_TOKEN_FILE to a file that holds it.`
      : `${listener} refused the token in GATEWAY_ADMIN_TOKEN; set the one that the gateway has.`;
  }

  /**
   * Sends a GET, or a POST with a JSON `body`; rejects when the listener cannot be reached. The caller must read the response
   * body.
   */
  async ask(
    path: string,
    headers: Readonly<Record<string, string>> = {},
    body?: string,
  ): Promise<Dispatcher.ResponseData> {
    // Loading takes 100 ms, which the other commands need not spend.
    const { Agent, request } = await import('undici/index.js');
    this.agent ??= new Agent({
      connections: 1,
      connect: { timeout: CONNECT_TIMEOUT_MS },
      headersTimeout: HEADERS_TIMEOUT_MS,
      bodyTimeout: BODY_TIMEOUT_MS,
    });
    return request(new URL(path, this.url), {
      dispatcher: this.agent,
      method: body === undefined ? 'GET' : 'POST',
      headers: {
        ...headers,
        ...(this.token === undefined ? {} : { authorization: `Bearer ${this.token}` }),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body }),
    });
  }
}

/** Reads a secret of the gateway as the gateway itself does. */
export async function secretOf(
  setting: Setting<string | undefined>,
  config: string | undefined,
): Promise<ReturnType<typeof readSecret>> {
  const given = await givenSettings({ config }, process.env);
  const [fault] = given.file?.faults ?? [];
  if (fault !== undefined) return { fault };
  return readSecret(setting, { ...given, readFile: readText });
}

/** Returns a client of the admin listener at `url` that knows the token of the environment, or of the settings file. */
export async function openAdmin(url: string, config?: string): Promise<AdminClient | CommandFault> {
  const read = await secretOf(table.adminToken, config);
  return 'fault' in read ? read : new AdminClient({ url, token: read.secret });
}
