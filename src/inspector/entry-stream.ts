import type { Filter } from '../rewrite-log/filter.ts';
import type { Ring } from '../rewrite-log/ring.ts';
import type { State, StreamGap } from './api.ts';

/** What a stream of entries is made of. */
export interface StreamParts {
  readonly ring: Ring;
  /** Names this run in event ids, so that a reader of the run before starts anew. */
  readonly run: string;
  readonly filter: Filter;
  /** The number of the last entry that the reader has. */
  readonly after: number;
  readonly state: () => State;
  /** Runs something every so many milliseconds until the returned function is called. */
  readonly every: (milliseconds: number, run: () => void) => () => void;
}

/** Milliseconds between two looks at the ring: entries are sent in bundles, however many there are. */
const LOOK = 100;
/** Looks between two states; where nothing has changed, a comment keeps the connection alive. */
const STATE_LOOKS = 20;
/** Entries looked through at one look: a reader gets up to 10,000 a second. */
const BUNDLE = 1000;

const encoder = new TextEncoder();

/**
 * Streams entries as server-sent events. The ring is the only buffer: a slow reader is not waited for, and hears of what it
 * missed in a `gap`.
 */
export function entryStream(parts: StreamParts): Response {
  let stop: (() => void) | undefined;
  const body = new ReadableStream<Uint8Array>(
    {
      start: (controller) => {
        const reader = new StreamReader(parts);
        controller.enqueue(encoder.encode(`retry: 1000\n\n${reader.state()}`));
        stop = parts.every(LOOK, () => {
          if ((controller.desiredSize ?? 0) <= 0) return;
          const events = reader.look();
          if (events !== '') controller.enqueue(encoder.encode(events));
        });
      },
      cancel: () => stop?.(),
    },
    { highWaterMark: 4 },
  );
  return new Response(body, {
    headers: { 'Content-Type': 'text/event-stream; charset=utf-8', 'X-Accel-Buffering': 'no' },
  });
}

/** Reads on from where it was. */
class StreamReader {
  private readonly parts: StreamParts;
  private position: number;
  private looks = 0;
  private tellState = '';

  constructor(parts: StreamParts) {
    this.parts = parts;
    this.position = parts.after;
  }

  /** The events since the last look; empty when there is nothing to say. */
  look(): string {
    const { ring, filter, run } = this.parts;
    let events = '';
    const missed = ring.oldest - 1 - this.position;
    if (missed > 0) {
      const gap: StreamGap = { missed };
      events += `event: gap\ndata: ${JSON.stringify(gap)}\n\n`;
      this.position = ring.oldest - 1;
    }
    const end = Math.min(ring.latest, this.position + BUNDLE);
    for (let seq = this.position + 1; seq <= end; seq += 1) {
      const entry = ring.at(seq);
      if (entry === undefined || !filter.accepts(entry)) continue;
      events += `event: entry\nid: ${run}-${seq}\ndata: ${JSON.stringify({ seq, ...entry })}\n\n`;
    }
    this.position = end;
    this.looks += 1;
    return this.looks % STATE_LOOKS === 0 ? events + this.state() : events;
  }

  /** The state as an event, or a comment when it is as it was. */
  state(): string {
    const state = this.parts.state();
    const text = JSON.stringify({ ...state, now: '' });
    if (text === this.tellState) return ': keep-alive\n\n';
    this.tellState = text;
    return `event: state\ndata: ${JSON.stringify(state)}\n\n`;
  }
}
