import { Agent, type IncomingHttpHeaders, request } from 'node:http';
import { connect, type ClientHttp2Session } from 'node:http2';

/** A request of a client. */
export interface SoakRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | undefined;
  /** Milliseconds after which the client goes away; undefined for one that stays. */
  readonly leavesAfter: number | undefined;
}

/** A response that arrived whole, or what became of it. */
export type SoakResponse =
  | { readonly status: number; readonly headers: IncomingHttpHeaders; readonly text: string }
  | 'no response'
  | 'response broken';

/** Clients of one protocol. */
export interface SoakClients {
  send(sent: SoakRequest): Promise<SoakResponse>;
  /** Closes their connections. */
  close(): void;
}

/** Bytes of a body that are sent before the rest of it. */
const FIRST_BYTES = 150;
/** Connections over which HTTP/2 clients share their streams. */
const SESSIONS = 4;

/** Clients with so many connections of HTTP/1.1. */
export function http1Clients(port: number, connections: number): SoakClients {
  const agent = new Agent({ keepAlive: true, maxSockets: connections });
  return { send: (sent) => sendOverHttp1(agent, port, sent), close: () => agent.destroy() };
}

/** Clients that share four connections of HTTP/2, and open a new one for each that breaks. */
export function http2Clients(port: number): SoakClients {
  const sessions: (ClientHttp2Session | undefined)[] = Array.from({ length: SESSIONS });
  let next = 0;
  return {
    send(sent) {
      next = (next + 1) % SESSIONS;
      const kept = sessions[next];
      const session = kept === undefined || kept.destroyed || kept.closed ? open(port) : kept;
      sessions[next] = session;
      return sendOverHttp2(session, sent);
    },
    close() {
      for (const session of sessions) session?.destroy();
    },
  };
}

function open(port: number): ClientHttp2Session {
  return connect(`https://127.0.0.1:${port}`, { rejectUnauthorized: false }).on('error', () => {});
}

function sendOverHttp1(agent: Agent, port: number, sent: SoakRequest): Promise<SoakResponse> {
  const { method, path, headers, body, leavesAfter } = sent;
  return new Promise((resolve) => {
    const outgoing = request({ agent, host: '127.0.0.1', port, method, path, headers });
    outgoing.on('response', (response) => {
      let text = '';
      response.setEncoding('latin1');
      response.on('data', (chunk: string) => {
        text += chunk;
      });
      response.on('error', () => resolve('response broken'));
      response.on('end', () =>
        resolve({ status: response.statusCode ?? 0, headers: response.headers, text }),
      );
    });
    outgoing.on('error', () => resolve('no response'));
    if (leavesAfter !== undefined) setTimeout(() => outgoing.destroy(), leavesAfter);
    if (body !== undefined) outgoing.write(body.slice(0, FIRST_BYTES));
    outgoing.end(body?.slice(FIRST_BYTES));
  });
}

function sendOverHttp2(session: ClientHttp2Session, sent: SoakRequest): Promise<SoakResponse> {
  const { method, path, headers, body, leavesAfter } = sent;
  return new Promise((resolve) => {
    const stream = session.request(
      { ':method': method, ':path': path, ...headers },
      { endStream: body === undefined },
    );
    let head: (IncomingHttpHeaders & { readonly ':status'?: number | undefined }) | undefined;
    let text = '';
    const over = (isWhole: boolean): void => {
      if (head === undefined) resolve('no response');
      else if (isWhole) resolve({ status: head[':status'] ?? 0, headers: head, text });
      else resolve('response broken');
    };
    stream.setEncoding('latin1');
    stream.on('response', (fields) => (head = fields));
    stream.on('data', (chunk: string) => {
      text += chunk;
    });
    // Not `close`: Node's client does not emit it for a response that came before its request was sent whole.
    stream.on('end', () => setImmediate(() => over(stream.rstCode === 0)));
    stream.on('error', () => over(false));
    stream.on('close', () => over(stream.readableEnded && stream.rstCode === 0));
    if (leavesAfter !== undefined) setTimeout(() => stream.close(8), leavesAfter);
    if (body === undefined) return;
    stream.write(body.slice(0, FIRST_BYTES));
    stream.end(body.slice(FIRST_BYTES));
  });
}
