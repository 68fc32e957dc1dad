import type { UpstreamCall, UpstreamReceiver, UpstreamRequest } from '../../gateway/upstream.ts';
import type { UndiciUpstream } from './undici-upstream.ts';

/** Where calls wait for a connection. */
export interface CallQueue<Call> {
  /** A call that waits waits no longer. */
  leave(call: Call): void;
}

/** A request whose body comes in parts: it waits for room like any other, and none of its body is read before. */
export class StreamCall implements UpstreamCall {
  readonly receiver: UpstreamReceiver;
  /** When the first byte of the response must be there, on the queue's clock; `Infinity` for never. */
  readonly due: number;
  private readonly queue: CallQueue<StreamCall>;
  private readonly request: UpstreamRequest;
  private call: UpstreamCall | undefined = undefined;
  private isPaused = false;

  constructor(
    queue: CallQueue<StreamCall>,
    request: UpstreamRequest,
    receiver: UpstreamReceiver,
    due: number,
  ) {
    this.queue = queue;
    this.request = request;
    this.receiver = receiver;
    this.due = due;
  }

  /** Sends it, in what is left of the time for a first byte. */
  start(streams: UndiciUpstream, now: number): void {
    // What is over already is told so by a timer, and not as if there were no limit.
    const patience = this.due === Infinity ? 0 : Math.max(1, Math.ceil(this.due - now));
    this.call = streams.send(this.request, this.receiver, patience);
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
}
