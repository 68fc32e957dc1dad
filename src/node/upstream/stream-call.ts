import type {
  UpstreamCall,
  UpstreamFault,
  UpstreamReceiver,
  UpstreamRequest,
} from '../../gateway/upstream.ts';
import type { UndiciUpstream } from './undici-upstream.ts';

/** Where calls wait for a connection. */
export interface CallQueue<Call> {
  /** A call that waits waits no longer. */
  leave(call: Call): void;
}

/** Where a body in parts waits for its connection. */
export interface StreamQueue extends CallQueue<StreamCall> {
  /** The connection that began to be made at `began` could not be made, and none of the body was read. */
  streamUnsent(call: StreamCall, began: number, fault: UpstreamFault): void;
}

/** When a call came, and when the first byte of its response must be there, on the queue's clock; `Infinity` for never. */
export interface CallTimes {
  readonly since: number;
  readonly due: number;
}

/** A request whose body comes in parts: it waits for room like any other, and none of its body is read before. */
export class StreamCall implements UpstreamCall {
  readonly receiver: UpstreamReceiver;
  readonly due: number;
  readonly since: number;
  readonly isBackground = false;
  /** None of the body is read while it waits. */
  readonly heldBytes = 0;
  private readonly queue: StreamQueue;
  private readonly request: UpstreamRequest;
  private call: UpstreamCall | undefined = undefined;
  private isPaused = false;

  constructor(queue: StreamQueue, request: UpstreamRequest, receiver: UpstreamReceiver, times: CallTimes) {
    this.queue = queue;
    this.request = request;
    this.receiver = receiver;
    this.since = times.since;
    this.due = times.due;
  }

  /** Sends it, in what is left of the time for a first byte. */
  start(streams: UndiciUpstream, now: number): void {
    // What is over already is told so by a timer, and not as if there were no limit.
    const patience = this.due === Infinity ? 0 : Math.max(1, Math.ceil(this.due - now));
    this.call = streams.send(this.request, this.receiverSince(now), patience);
    if (this.isPaused) this.call.pause();
  }

  pause(): void {
    this.isPaused = true;
    this.call?.pause();
  }

  resume(): void {
    this.isPaused = false;
    this.call?.resume();
  }

  abort(): void {
    if (this.call === undefined) this.queue.leave(this);
    else this.call.abort();
  }

  /** Who is told, but for a connection that could not be made: the queue has others made. */
  private receiverSince(began: number): UpstreamReceiver {
    const { receiver } = this;
    return {
      information: (status, headers) => receiver.information(status, headers),
      head: (status, reason, headers) => receiver.head(status, reason, headers),
      data: (chunk) => receiver.data(chunk),
      end: (trailers) => receiver.end(trailers),
      fail: (fault) => {
        const isUnsent = !fault.sent && fault.kind !== 'rejected' && fault.cause !== 'closed';
        if (!isUnsent || performance.now() >= this.due) {
          receiver.fail(fault);
          return;
        }
        this.call = undefined;
        this.queue.streamUnsent(this, began, fault);
      },
    };
  }
}
