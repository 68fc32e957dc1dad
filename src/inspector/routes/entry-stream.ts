import type { Filter } from '../../rewrite-log/filter/filter.ts';
import type { Ring } from '../../rewrite-log/ring.ts';
import type { State, StreamGap } from '../api.ts';

/** The parts of a stream of entries. */
export interface StreamParts {
  readonly ring: Ring;
  /** The text of what is kept of an exchange. */
  readonly contentOf: (seq: number) => string;
  /** Identifies this run in event ids, so that a reader of the previous run starts over. */
  readonly run: string;
  readonly filter: Filter;
  /** The `seq` of the last entry that the reader has received. */
  readonly after: number;
  readonly state: () => State;
  /** Calls `run` at a fixed interval until the returned function is called. */
  readonly every: (milliseconds: number, run: () => void) => () => void;
  /** Called when the reader comes; the returned function when it leaves. */
  readonly watch?: (() => () => void) | undefined;
}

/** Milliseconds between two checks of the ring: the entries of one interval are sent together. */
const POLL_INTERVAL_MS = 100;
/** Checks between two states; when nothing has changed, a comment keeps the connection alive. */
const POLLS_PER_STATE = 20;
/** Maximum entries read per check: a reader gets up to 10,000 a second. */
const MAX_ENTRIES_PER_POLL = 1000;

const encoder = new TextEncoder();

/**
 * Streams entries as server-sent events. The ring is the only buffer: the stream does not wait for a slow reader, and reports
 * missed entries in a `gap`.
 */
export function entryStream(parts: StreamParts): Response {
  let stop: (() => void) | undefined;
  let leave: (() => void) | undefined;
  const body = new ReadableStream<Uint8Array>(
    {
      start: (controller) => {
        const reader = new StreamReader(parts);
        leave = parts.watch?.();
        controller.enqueue(encoder.encode(`retry: 1000\n\n${reader.state()}`));
        stop = parts.every(POLL_INTERVAL_MS, () => {
          if ((controller.desiredSize ?? 0) <= 0) return;
          const events = reader.poll();
          if (events !== '') controller.enqueue(encoder.encode(events));
        });
      },
      cancel: () => {
        stop?.();
        leave?.();
      },
    },
    { highWaterMark: 4 },
  );
  return new Response(body, {
    headers: { 'Content-Type': 'text/event-stream; charset=utf-8', 'X-Accel-Buffering': 'no' },
  });
}

/** Reads the ring incrementally. */
class StreamReader {
  private readonly parts: StreamParts;
  private position: number;
  private polls = 0;
  private lastState = '';

  constructor(parts: StreamParts) {
    this.parts = parts;
    this.position = parts.after;
  }

  /** Returns the events since the last call; empty when there are none. */
  poll(): string {
    const { ring, filter, run, contentOf } = this.parts;
    let events = '';
    const missed = ring.oldest - 1 - this.position;
    if (missed > 0) {
      const gap: StreamGap = { missed };
      events += `event: gap\ndata: ${JSON.stringify(gap)}\n\n`;
      this.position = ring.oldest - 1;
    }
    const end = Math.min(ring.latest, this.position + MAX_ENTRIES_PER_POLL);
    for (let seq = this.position + 1; seq <= end; seq += 1) {
      const entry = ring.at(seq);
      if (entry === undefined || !filter.accepts(entry, () => contentOf(seq))) continue;
      events += `event: entry\nid: ${run}-${seq}\ndata: ${JSON.stringify({ seq, ...entry })}\n\n`;
    }
    this.position = end;
    this.polls += 1;
    return this.polls % POLLS_PER_STATE === 0 ? events + this.state() : events;
  }

  /** Returns the state as an event, or a comment when it is unchanged. */
  state(): string {
    const state = this.parts.state();
    const text = JSON.stringify({ ...state, now: '' });
    if (text === this.lastState) return ': keep-alive\n\n';
    this.lastState = text;
    return `event: state\ndata: ${JSON.stringify(state)}\n\n`;
  }
}
