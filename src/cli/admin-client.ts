import type { Dispatcher } from 'undici/index.js';

/** Where an admin listener is, and what opens it. */
export interface AdminAddress {
  /** Such as `http://127.0.0.1:8081`. */
  readonly url: string;
  readonly token: string | undefined;
}

/** Milliseconds to connect, and from the request to the head of its response. */
const CONNECT_TIMEOUT_MS = 5000;
const HEADERS_TIMEOUT_MS = 30_000;
/** Milliseconds between two parts of a response: a stream of entries says something every 2 s. */
const BODY_TIMEOUT_MS = 10_000;

/**
 * Asks an admin listener, on undici: its connection is kept between requests, and connecting, the head and each part of a response
 * have a time of their own, so that a gateway that went away without a word is noticed.
 */
export class AdminClient {
  readonly url: string;
  private readonly token: string | undefined;
  private agent: Dispatcher | undefined = undefined;

  constructor({ url, token }: AdminAddress) {
    this.url = url;
    this.token = token;
  }

  /** Asks, or with a `body` of JSON tells; rejects when the listener cannot be reached. The body of the response must be read. */
  async ask(
    path: string,
    headers: Readonly<Record<string, string>> = {},
    body?: string,
  ): Promise<Dispatcher.ResponseData> {
    // A tenth of a second to load, which the other commands need not pay.
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
