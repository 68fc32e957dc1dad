import { setTimeout as wait } from 'node:timers/promises';
import type { Dispatcher } from 'undici/index.js';
import { errorCode, readSecretText } from '../node/files.ts';
import { readSecret } from '../settings/read-settings.ts';
import { environmentName, type Setting, settings as table } from '../settings/settings.ts';
import type { CommandFault } from './command-fault.ts';
import { givenSettings } from './settings-file.ts';

/** The address of an admin listener and its credentials. */
interface AdminAddress {
  /** Such as `http://127.0.0.1:8081`. */
  readonly url: string;
  readonly token: string | undefined;
  /** How the token is set, such as `GATEWAY_ADMIN_TOKEN_FILE`. */
  readonly tokenName?: string | undefined;
}

/** Maximum milliseconds to connect, and until the response headers. */
const CONNECT_TIMEOUT_MS = 5000;
const HEADERS_TIMEOUT_MS = 30_000;
/** Maximum milliseconds between two chunks of a response: a stream of entries sends something every 2 s. */
const BODY_TIMEOUT_MS = 10_000;
/** Maximum seconds to wait for a busy listener before one request, and how often. */
const MAX_WAIT_SECONDS = 30;
const MAX_WAITS = 10;

/**
 * A client for an admin listener, with one kept-alive connection. Connecting, the response headers and each chunk of the body have
 * separate timeouts, so that the command notices a gateway that vanished without closing.
 */
export class AdminClient {
  readonly url: string;
  private readonly token: string | undefined;
  private readonly tokenName: string;
  private agent: Dispatcher | undefined = undefined;

  constructor({ url, token, tokenName = environmentName(table.adminToken) }: AdminAddress) {
    this.url = url;
    this.token = token;
    this.tokenName = tokenName;
  }

  /**
   * Asks for a view, which has `member`, by a GET, or by a POST of a JSON `body`. The fault says whether nothing responds, another server
   * does, the token is wrong, or the gateway refuses what was asked.
   */
  async view<View extends object>(
    path: string,
    member: keyof View,
    body?: string,
  ): Promise<View | CommandFault> {
    try {
      const response = await this.ask(path, {}, body);
      const text = await response.body.text();
      if (response.statusCode !== 200) return this.refusal(response.statusCode, text);
      return viewIn<View>(text, member) ?? { fault: this.anotherServer() };
    } catch (error) {
      return this.unreachable(error);
    }
  }

  /** The fault of a listener that does not respond. */
  unreachable(error: unknown): CommandFault {
    return {
      fault: `No response from ${this.url} (${errorCode(error)}): start the gateway with serve, or name its admin listener with --admin.`,
    };
  }

  /** The fault of a status other than 200, and what to do about a token. */
  refusal(status: number, text = ''): CommandFault {
    const listener = `The admin listener at ${this.url}`;
    const { detail, code } = refusalIn(text);
    if (status === 404) return { fault: this.anotherServer(detail) };
    if (status !== 401)
      return { fault: detail ?? `${listener} responded with ${status}.`, isJunk: true, code };
    return {
      fault:
        this.token === undefined
          ? `${listener} requires its token; set GATEWAY_ADMIN_TOKEN, or GATEWAY_ADMIN_TOKEN_FILE to a file that holds it.`
          : `${listener} refused the token in ${this.tokenName}; set the one that the gateway has.`,
    };
  }

  private anotherServer(detail?: string): string {
    return `${this.url} is not the admin listener; name that with --admin.${detail === undefined ? '' : ` It says: ${detail}`}`;
  }

  /**
   * Sends a GET, or a POST with a JSON `body`; rejects if the listener is unreachable. While the listener has too many requests, it
   * waits as long as the listener says. The caller must read the response body.
   */
  async ask(
    path: string,
    headers: Readonly<Record<string, string>> = {},
    body?: string,
  ): Promise<Dispatcher.ResponseData> {
    for (let waits = 0; ; waits += 1) {
      const response = await this.send(path, headers, body);
      const seconds = response.statusCode === 429 ? Number(response.headers['retry-after']) : Number.NaN;
      if (!(seconds >= 0 && seconds <= MAX_WAIT_SECONDS) || waits === MAX_WAITS) return response;
      await response.body.dump();
      await wait(seconds * 1000);
    }
  }

  private async send(
    path: string,
    headers: Readonly<Record<string, string>>,
    body: string | undefined,
  ): Promise<Dispatcher.ResponseData> {
    // Loaded late, because it takes 100 ms that other commands need not spend.
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

/** Reads a view of the admin listener, which has `member`; undefined for the response of another server. */
function viewIn<View extends object>(text: string, member: keyof View): View | undefined {
  try {
    const view: View | null = JSON.parse(text);
    return typeof view?.[member] === 'object' ? view : undefined;
  } catch {
    return undefined;
  }
}

/** The sentence of the admin listener's refusal, and its code. */
export function refusalIn(text: string): { readonly detail?: string; readonly code?: string } {
  const refusal = viewIn<{ readonly errors: readonly ReturnType<typeof refusalIn>[] }>(text, 'errors');
  return refusal?.errors[0] ?? {};
}

/** Reads one of the gateway's secrets as the gateway does. */
export async function secretOf(
  setting: Setting<string | undefined>,
  config: string | undefined,
): Promise<ReturnType<typeof readSecret>> {
  const given = await givenSettings({ config }, process.env);
  const [fault] = given.file?.faults ?? [];
  if (fault !== undefined) return { fault };
  return readSecret(setting, { ...given, readFile: readSecretText });
}

/** Returns a client for the admin listener at `url`, with the token from the environment or the settings file. */
export async function openAdmin(url: string, config?: string): Promise<AdminClient | CommandFault> {
  const read = await secretOf(table.adminToken, config);
  return 'fault' in read ? read : new AdminClient({ url, token: read.secret, tokenName: read.name });
}
