import { Readable } from 'node:stream';
import { setImmediate } from 'node:timers/promises';
import { Agent, request } from 'undici';

/** A request of a client. */
export interface ClientRequest {
  readonly method?: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** One in pieces comes in chunks, unless `headers` has its length. */
  readonly body?: string | readonly string[] | undefined;
  /** Milliseconds after which the client goes away; one without stays. */
  readonly leavesAfter?: number | undefined;
}

/** A response that arrived whole. */
export interface ClientResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly text: string;
}

/** Milliseconds for a connection: how long one takes is measured, and a machine that stands still for a while is no loss of one. */
const CONNECT_MS = 60_000;

/** An ordinary client, which keeps connections of HTTP/1.1 or HTTP/2. */
export class Client {
  private readonly origin: string;
  private readonly agent: Agent;

  /** Any certificate will do. */
  constructor(origin: string, connections: number, isHttp2 = false) {
    this.origin = origin;
    const connect = { rejectUnauthorized: false, timeout: CONNECT_MS };
    this.agent = new Agent({ connections, allowH2: isHttp2, connect });
  }

  /** Sends a request; resolves to its response, or to what became of it. */
  async send(sent: ClientRequest): Promise<ClientResponse | 'no response' | 'response broken'> {
    const { method = 'GET', path, headers = {}, body = null, leavesAfter } = sent;
    const signal = leavesAfter === undefined ? null : AbortSignal.timeout(leavesAfter);
    let failure: 'no response' | 'response broken' = 'no response';
    try {
      const response = await request(`${this.origin}${path}`, {
        dispatcher: this.agent,
        method,
        headers,
        body: typeof body === 'string' || body === null ? body : Readable.from(inTurns(body)),
        signal,
      });
      failure = 'response broken';
      return {
        status: response.statusCode,
        headers: response.headers,
        text: await response.body.text(),
      };
    } catch {
      return failure;
    }
  }

  /** Closes its connections. */
  close(): void {
    void this.agent.destroy();
  }
}

/** Each piece in a turn of its own. */
async function* inTurns(body: readonly string[]): AsyncGenerator<string> {
  for (const piece of body) {
    yield piece;
    await setImmediate();
  }
}
