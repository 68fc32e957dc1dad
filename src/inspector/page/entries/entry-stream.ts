import type { State, StreamGap } from '../../api.ts';

/** Receives the events of a stream. */
export interface StreamListener {
  open(): void;
  /** A `NumberedEntry` as unparsed JSON. */
  entry(data: string): void;
  gap(gap: StreamGap): void;
  state(state: State): void;
  /** Called when the stream breaks. The browser reconnects by itself, unless the failure is permanent. */
  lost(isForGood: boolean): void;
}

/** Opens a stream of entries. */
export function openEntryStream(address: string, listener: StreamListener): { close(): void } {
  const stream = new EventSource(address);
  stream.addEventListener('open', () => listener.open());
  stream.addEventListener('entry', ({ data }: MessageEvent<string>) => listener.entry(data));
  stream.addEventListener('gap', ({ data }: MessageEvent<string>) => listener.gap(JSON.parse(data)));
  stream.addEventListener('state', ({ data }: MessageEvent<string>) => listener.state(JSON.parse(data)));
  stream.addEventListener('error', () => listener.lost(stream.readyState === EventSource.CLOSED));
  return stream;
}
