import { onTestFinished } from 'vitest';
import type {
  Upstream,
  UpstreamCall,
  UpstreamFault,
  UpstreamReceiver,
  UpstreamRequest,
} from '../../../src/gateway/upstream.ts';
import type { HeaderList } from '../../../src/http/header-list.ts';
import type { NodeUpstream, UpstreamOptions } from '../../../src/node/upstream/origin.ts';
import { createSocketUpstream } from '../../../src/node/upstream/pool.ts';
import { ok, type RawResponse, rawServer, type RawServer } from '../../support/raw-server.ts';
import { NEVER_MS } from '../../support/until.ts';
import type { ResponseHead } from '../../../src/http/response-head.ts';

/** An upstream on sockets that ends with the test. Only the limits that a test gives it are met. */
export function upstreamTo(origin: string, over: Partial<UpstreamOptions> = {}): NodeUpstream {
  const upstream = createSocketUpstream({
    origin,
    connections: 4,
    connectTimeout: 2000,
    headersTimeout: NEVER_MS,
    bodyTimeout: NEVER_MS,
    headerBytes: 16_384,
    headerCount: 100,
    idleTimeout: 4000,
    maxAge: 0,
    waiting: { count: 1000, bytes: 2 ** 20 },
    tls: undefined,
    ...over,
  });
  onTestFinished(() => upstream.close());
  return upstream;
}

/** Starts a V2 of bytes, with what it responds to each request, and an upstream to it. */
export async function servedUpstream(
  response: string | RawResponse = ok(),
  over: Partial<UpstreamOptions> = {},
): Promise<{ readonly v2: RawServer; readonly upstream: NodeUpstream }> {
  const v2 = await rawServer(
    typeof response === 'string' ? (socket) => void socket.write(response) : response,
  );
  return { v2, upstream: upstreamTo(v2.origin, over) };
}

/** Makes a call, and resolves to it once it is over. */
export async function called(...given: ConstructorParameters<typeof Call>): Promise<Call> {
  const call = new Call(...given);
  await call.over;
  return call;
}

/** A body that comes in parts, each in its own turn. */
export async function* inParts(...parts: readonly string[]): AsyncGenerator<Buffer, void> {
  for (const part of parts) {
    await new Promise((resolve) => {
      setImmediate(resolve);
    });
    yield Buffer.from(part);
  }
}

/** One request and all of its events, in order. */
export class Call implements UpstreamReceiver {
  /** Such as `103`, `200`, `data`, `end` and `fail closed`. */
  readonly events: string[] = [];
  readonly interim: number[] = [];
  body = '';
  headers: HeaderList = [];
  fault: UpstreamFault | undefined = undefined;
  /** Resolves at the end, and at a fault. */
  readonly over: Promise<void>;
  /** Called for each event, from within it. */
  heard: ((event: string) => void) | undefined = undefined;
  private readonly call: UpstreamCall;
  private readonly settle: () => void;

  constructor(
    upstream: Upstream,
    over: Partial<UpstreamRequest> = {},
    heard?: (event: string, call: Call) => void,
  ) {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.over = promise;
    this.settle = resolve;
    if (heard !== undefined) this.heard = (event) => heard(event, this);
    const request = { method: 'GET', target: '/', headers: [], body: null, length: undefined, ...over };
    this.call = upstream.send(request, this);
  }

  abort(): void {
    this.call.abort();
  }

  pause(): void {
    this.call.pause();
  }

  resume(): void {
    this.call.resume();
  }

  information(status: number): void {
    this.interim.push(status);
    this.tell(String(status));
  }

  head({ status, headers }: ResponseHead): void {
    this.headers = headers;
    this.tell(String(status));
  }

  data(chunk: Uint8Array): void {
    this.body += Buffer.from(chunk).toString('latin1');
    this.tell('data');
  }

  end(): void {
    this.tell('end');
    this.settle();
  }

  fail(fault: UpstreamFault): void {
    this.fault = fault;
    this.tell(`fail ${fault.kind}`);
    this.settle();
  }

  /** The outcome: `end`, or a fault such as `fail closed`; all of them, if there were more. */
  get outcome(): string {
    return this.events.filter((event) => event === 'end' || event.startsWith('fail')).join(', ');
  }

  private tell(event: string): void {
    this.events.push(event);
    this.heard?.(event);
  }
}
