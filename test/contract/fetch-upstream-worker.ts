import type { HeaderList } from '../../src/http/header-list.ts';
import type { UpstreamFault, UpstreamReceiver } from '../../src/gateway/upstream.ts';
import { createFetchUpstream } from '../../src/edge/upstream.ts';

/** A call of the contract's suite to the upstream in workerd; the body of the request is that of the request to V2. */
export interface WorkerRequest {
  readonly origin: string;
  readonly method: string;
  readonly target: string;
  readonly headers: HeaderList;
  readonly body: 'none' | 'whole' | 'parts';
  readonly length?: number;
  /** Milliseconds until it is given up, and for which the first part of the response is paused. */
  readonly abortAfter?: number;
  readonly pauseFor?: number;
}

/** An event, one line each; bytes as latin1. */
export type Event =
  | { readonly kind: 'head'; readonly status: number; readonly reason: string; readonly headers: HeaderList }
  | { readonly kind: 'data'; readonly text: string }
  | { readonly kind: 'end' }
  | { readonly kind: 'fail'; readonly fault: UpstreamFault }
  | { readonly kind: 'aborted' };

/** Runs the edge's upstream on its own runtime, and writes its events. */
// oxlint-disable-next-line import/no-default-export -- the form of a worker
export default {
  async fetch(request: Request): Promise<Response> {
    const workerRequest = JSON.parse(request.headers.get('x-worker-request') ?? '') as WorkerRequest;
    const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
    const writer = writable.getWriter();
    const encoder = new TextEncoder();
    const tell = (event: Event): void =>
      void writer.write(encoder.encode(`${JSON.stringify(event)}\n`)).catch(() => {});
    const finish = (event: Event): void => {
      tell(event);
      void writer.close().catch(() => {});
    };
    let parts = 0;
    const receiver: UpstreamReceiver = {
      information: () => {},
      head: ({ status, reason = '', headers }) => tell({ kind: 'head', status, reason, headers }),
      data: (chunk) => {
        tell({ kind: 'data', text: Array.from(chunk, (byte) => String.fromCharCode(byte)).join('') });
        parts += 1;
        if (workerRequest.pauseFor === undefined || parts > 1) return;
        call.pause();
        setTimeout(() => call.resume(), workerRequest.pauseFor);
      },
      end: () => finish({ kind: 'end' }),
      fail: (fault) => finish({ kind: 'fail', fault }),
    };
    const upstream = createFetchUpstream({
      origin: workerRequest.origin,
      headersTimeout: 2000,
      bodyTimeout: 2000,
    });
    const call = upstream.send(
      { ...workerRequest, length: workerRequest.length, body: await bodyOf(request, workerRequest) },
      receiver,
    );
    if (workerRequest.abortAfter !== undefined) {
      setTimeout(() => {
        call.abort();
        setTimeout(() => finish({ kind: 'aborted' }), 100);
      }, workerRequest.abortAfter);
    }
    return new Response(readable);
  },
};

async function bodyOf(
  request: Request,
  { body }: WorkerRequest,
): Promise<Uint8Array | AsyncIterable<Uint8Array> | null> {
  if (body === 'none' || request.body === null) return null;
  if (body === 'whole') return new Uint8Array(await request.arrayBuffer());
  return partsOf(request.body.getReader());
}

async function* partsOf(reader: ReadableStreamDefaultReader<Uint8Array>): AsyncGenerator<Uint8Array, void> {
  for (;;) {
    const { value } = await reader.read();
    if (value === undefined) return;
    yield value;
  }
}
